#pragma once

#include "app/chat/chat_tables.h"
#include "app/database.h"
#include "app/profile.h"

#include <QColor>
#include <QImage>
#include <QSqlDatabase>
#include <QTemporaryDir>
#include <QtTest/QtTest>

#include <optional>
#include <type_traits>

// A profile of its own, gone with this object, and what tests of chats share.
namespace vitrine::test {

struct ChatProfile {
    QTemporaryDir folder;
    Profile profile = Profile::at(folder.path());

    QString pictures() const { return profile.dataFolder() + QStringLiteral("/chat_pictures"); }
    QString file(const QString& name) const { return folder.filePath(name); }

    // A PNG of one colour.
    QString picture(const QString& name, const QColor& color, QSize size = {40, 30}) const {
        QImage image(size, QImage::Format_RGB32);
        image.fill(color);
        image.save(file(name), "PNG");
        return file(name);
    }
};

// The result of work on the store thread; what it throws is thrown here.
template <typename Work>
auto onStore(Database& database, Work work) {
    auto future = database.ask(std::move(work));
    future.waitForFinished();
    if constexpr (!std::is_void_v<std::invoke_result_t<Work, QSqlDatabase&>>) return future.result();
}

inline ChatMessage message(qint64 id, qint64 parent, Role role, const QString& text) {
    ChatMessage message;
    message.id = id;
    message.parent = parent;
    message.role = role;
    message.text = text;
    message.created = 1'700'000'000'000 + id;
    return message;
}

inline ChatInfo chatInfo(qint64 id, const QString& title, qint64 changed) {
    ChatInfo info;
    info.id = id;
    info.title = title;
    info.created = info.changed = changed;
    return info;
}

}  // namespace vitrine::test
