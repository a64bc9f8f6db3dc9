#pragma once

#include "app/chat/chat_tree.h"

#include <QList>
#include <QSet>
#include <QSqlDatabase>
#include <QString>

#include <optional>

// The chats as tables of the profile's database: conversations, messages, their pictures and two full-text indexes.
// Everything here runs on the store thread and throws StoreError.
namespace vitrine::chat_tables {

struct Overview {
    QList<ChatInfo> chats;  // the one changed last first; without the deleted ones
    qint64 lastId = 0;      // the largest id in use
};

struct Hit {
    qint64 conversation = 0;
    qint64 message = 0;  // 0: it was the title
    QString snippet;     // with kFoundBegin and kFoundEnd around what was found; empty for a title
};

void migrate(QSqlDatabase& database);

// What a program that ended without a word left: answers being written become interrupted.
void markInterrupted(QSqlDatabase& database);

Overview overview(QSqlDatabase& database);
std::optional<Chat> load(QSqlDatabase& database, qint64 conversation);

void save(QSqlDatabase& database, const ChatInfo& info);  // new or changed
void rename(QSqlDatabase& database, qint64 conversation, const QString& title);
void add(QSqlDatabase& database, qint64 conversation, const ChatMessage& message);  // and chooses it
void append(QSqlDatabase& database, qint64 message, const QString& text, const QString& reasoning);
void finish(QSqlDatabase& database,
            const ChatMessage& message);  // everything that may have changed while it was written
void choose(QSqlDatabase& database, qint64 conversation, qint64 parent, qint64 child);

// Deleted conversations can be brought back until they are purged.
void setDeleted(QSqlDatabase& database, qint64 conversation, bool deleted);
void purge(QSqlDatabase& database, qint64 deletedBefore);  // milliseconds since 1970
QSet<QString> picturesInUse(QSqlDatabase& database);       // also by deleted conversations

// Messages and titles that contain every word of the query, in any case and anywhere in a word. One hit for each
// conversation, the one changed last first.
QList<Hit> search(QSqlDatabase& database, const QString& query);

// A piece of the text around the first word found, with marks around all of them.
QString excerpt(const QString& text, const QStringList& words);

}  // namespace vitrine::chat_tables
