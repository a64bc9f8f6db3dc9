#pragma once

#include "app/chat/chat_tables.h"
#include "app/database.h"

#include <QFuture>
#include <QString>
#include <QStringList>

#include <memory>
#include <optional>

namespace vitrine {

class ChatPictures;

// The chats on the disk, as the UI thread sees them: changes are handed over and forgotten, questions come back as
// futures. Everything runs in order on the store thread, so what was written is there for the next question. A change
// that fails is told by Database::failed().
class ChatStore {
public:
    // Brings the tables up to date, marks answers that a crash cut off, purges what was deleted long ago and the
    // pictures nothing refers to.
    ChatStore(Database& database, std::shared_ptr<ChatPictures> pictures);

    QFuture<chat_tables::Overview> overview();
    QFuture<std::optional<Chat>> load(qint64 conversation);
    QFuture<QList<chat_tables::Hit>> search(const QString& query);
    // Names of pictures that are gone and could not be exported.
    QFuture<QStringList> exportTo(qint64 conversation, ChatExportFormat format, const QString& file);

    void save(const ChatInfo& info);
    void rename(qint64 conversation, const QString& title);
    void add(qint64 conversation, const ChatMessage& message);
    void append(qint64 message, const QString& text, const QString& reasoning);
    void finish(const ChatMessage& message);
    void choose(qint64 conversation, qint64 parent, qint64 child);
    void setDeleted(qint64 conversation, bool deleted);

private:
    Database& m_database;
    std::shared_ptr<ChatPictures> m_pictures;
};

}  // namespace vitrine
