#include "app/chat/chat_store.h"

#include "app/chat/chat_export.h"
#include "app/chat/chat_pictures.h"

#include <QDateTime>

namespace vitrine {
namespace {

constexpr qint64 kKeepDeletedMs = 7LL * 24 * 3600 * 1000;

}  // namespace

ChatStore::ChatStore(Database& database, std::shared_ptr<ChatPictures> pictures)
    : m_database(database), m_pictures(std::move(pictures)) {
    // At the start nobody holds a picture that is not in a message yet.
    m_database.run([kept = m_pictures](QSqlDatabase& tables) {
        chat_tables::migrate(tables);
        chat_tables::markInterrupted(tables);
        chat_tables::purge(tables, QDateTime::currentMSecsSinceEpoch() - kKeepDeletedMs);
        kept->collect(chat_tables::picturesInUse(tables));
    });
}

QFuture<chat_tables::Overview> ChatStore::overview() {
    return m_database.ask([](QSqlDatabase& tables) { return chat_tables::overview(tables); });
}

QFuture<std::optional<Chat>> ChatStore::load(qint64 conversation) {
    return m_database.ask([conversation](QSqlDatabase& tables) { return chat_tables::load(tables, conversation); });
}

QFuture<QList<chat_tables::Hit>> ChatStore::search(const QString& query) {
    return m_database.ask([query](QSqlDatabase& tables) { return chat_tables::search(tables, query); });
}

QFuture<QStringList> ChatStore::exportTo(qint64 conversation, ChatExportFormat format, const QString& file) {
    return m_database.ask([conversation, format, file, kept = m_pictures](QSqlDatabase& tables) {
        const std::optional<Chat> chat = chat_tables::load(tables, conversation);
        if (!chat) throw StoreError(Database::tr("This chat is gone.").toStdString());
        return exportChat(*chat, format, file, *kept);
    });
}

void ChatStore::save(const ChatInfo& info) {
    m_database.run([info](QSqlDatabase& tables) { chat_tables::save(tables, info); });
}

void ChatStore::rename(qint64 conversation, const QString& title) {
    m_database.run([=](QSqlDatabase& tables) { chat_tables::rename(tables, conversation, title); });
}

void ChatStore::add(qint64 conversation, const ChatMessage& message) {
    m_database.run([=](QSqlDatabase& tables) { chat_tables::add(tables, conversation, message); });
}

void ChatStore::append(qint64 message, const QString& text, const QString& reasoning) {
    m_database.run([=](QSqlDatabase& tables) { chat_tables::append(tables, message, text, reasoning); });
}

void ChatStore::finish(const ChatMessage& message) {
    m_database.run([message](QSqlDatabase& tables) { chat_tables::finish(tables, message); });
}

void ChatStore::choose(qint64 conversation, qint64 parent, qint64 child) {
    m_database.run([=](QSqlDatabase& tables) { chat_tables::choose(tables, conversation, parent, child); });
}

void ChatStore::setDeleted(qint64 conversation, bool deleted) {
    m_database.run([=](QSqlDatabase& tables) { chat_tables::setDeleted(tables, conversation, deleted); });
}

}  // namespace vitrine
