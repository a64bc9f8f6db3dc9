#include "app/chat/chat_tables.h"

#include "app/database.h"

#include <QDateTime>
#include <QJsonDocument>
#include <QRegularExpression>
#include <QSqlQuery>

#include <algorithm>

namespace vitrine::chat_tables {
namespace {

constexpr int kIndexedLength = 3;   // the index knows no shorter pieces of words
constexpr int kMostMessages = 400;  // looked at for one search
constexpr qsizetype kExcerptLength = 110;
constexpr qsizetype kExcerptBefore = 30;

// Trigrams find words anywhere, also in languages written without spaces. An answer enters the index when it is
// finished: while it streams, each piece would index the whole text again.
const std::vector<QStringList>& steps() {
    static const std::vector<QStringList> steps{
        {QStringLiteral(
             "CREATE TABLE chat_conversations ("
             " id INTEGER PRIMARY KEY, title TEXT NOT NULL, created INTEGER NOT NULL, changed INTEGER NOT NULL,"
             " system_prompt TEXT NOT NULL DEFAULT '', settings TEXT NOT NULL DEFAULT '{}',"
             " model TEXT NOT NULL DEFAULT '', chosen INTEGER NOT NULL DEFAULT 0, deleted INTEGER)"),
         QStringLiteral("CREATE INDEX chat_conversations_changed ON chat_conversations(changed)"),
         QStringLiteral(
             "CREATE TABLE chat_messages ("
             " id INTEGER PRIMARY KEY,"
             " conversation INTEGER NOT NULL REFERENCES chat_conversations(id) ON DELETE CASCADE,"
             " parent INTEGER REFERENCES chat_messages(id) ON DELETE CASCADE,"
             " role TEXT NOT NULL, text TEXT NOT NULL, reasoning TEXT NOT NULL DEFAULT '',"
             " state TEXT NOT NULL, finish TEXT NOT NULL DEFAULT '', detail TEXT NOT NULL DEFAULT '',"
             " tokens INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER NOT NULL DEFAULT 0,"
             " cached_tokens INTEGER NOT NULL DEFAULT 0, tokens_per_s REAL NOT NULL DEFAULT 0,"
             " first_token_ms REAL NOT NULL DEFAULT 0, seed TEXT NOT NULL DEFAULT '0',"
             " model TEXT NOT NULL DEFAULT '', created INTEGER NOT NULL, chosen INTEGER NOT NULL DEFAULT 0)"),
         QStringLiteral("CREATE INDEX chat_messages_conversation ON chat_messages(conversation)"),
         QStringLiteral("CREATE INDEX chat_messages_parent ON chat_messages(parent)"),
         QStringLiteral("CREATE TABLE chat_pictures ("
                        " message INTEGER NOT NULL REFERENCES chat_messages(id) ON DELETE CASCADE,"
                        " position INTEGER NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL,"
                        " PRIMARY KEY (message, position)) WITHOUT ROWID"),
         QStringLiteral("CREATE VIRTUAL TABLE chat_message_index USING fts5("
                        " text, content='chat_messages', content_rowid='id', tokenize='trigram')"),
         QStringLiteral("CREATE VIRTUAL TABLE chat_title_index USING fts5("
                        " title, content='chat_conversations', content_rowid='id', tokenize='trigram')"),
         QStringLiteral("CREATE TRIGGER chat_messages_added AFTER INSERT ON chat_messages BEGIN"
                        " INSERT INTO chat_message_index(rowid, text)"
                        "  SELECT new.id, new.text WHERE new.state <> 'streaming'; END"),
         QStringLiteral("CREATE TRIGGER chat_messages_removed AFTER DELETE ON chat_messages BEGIN"
                        " INSERT INTO chat_message_index(chat_message_index, rowid, text)"
                        "  SELECT 'delete', old.id, old.text WHERE old.state <> 'streaming'; END"),
         QStringLiteral("CREATE TRIGGER chat_messages_changed AFTER UPDATE OF text, state ON chat_messages BEGIN"
                        " INSERT INTO chat_message_index(chat_message_index, rowid, text)"
                        "  SELECT 'delete', old.id, old.text WHERE old.state <> 'streaming';"
                        " INSERT INTO chat_message_index(rowid, text)"
                        "  SELECT new.id, new.text WHERE new.state <> 'streaming'; END"),
         QStringLiteral("CREATE TRIGGER chat_conversations_added AFTER INSERT ON chat_conversations BEGIN"
                        " INSERT INTO chat_title_index(rowid, title) VALUES (new.id, new.title); END"),
         QStringLiteral("CREATE TRIGGER chat_conversations_removed AFTER DELETE ON chat_conversations BEGIN"
                        " INSERT INTO chat_title_index(chat_title_index, rowid, title)"
                        "  VALUES ('delete', old.id, old.title); END"),
         QStringLiteral("CREATE TRIGGER chat_conversations_changed AFTER UPDATE OF title ON chat_conversations BEGIN"
                        " INSERT INTO chat_title_index(chat_title_index, rowid, title)"
                        "  VALUES ('delete', old.id, old.title);"
                        " INSERT INTO chat_title_index(rowid, title) VALUES (new.id, new.title); END")},
    };
    return steps;
}

QString stored(const QString& text) {
    return text.isNull() ? QStringLiteral("") : text;  // a null string would be NULL
}

// In the database an answer that waits or streams is one and the same: not finished.
QString storedState(TurnState state) {
    return nameOf(state == TurnState::waiting ? TurnState::streaming : state);
}

ChatInfo infoOf(const QSqlQuery& row) {
    ChatInfo info;
    info.settings = chatSettingsFromJson(QJsonDocument::fromJson(row.value(5).toString().toUtf8()).object());
    info.id = row.value(0).toLongLong();
    info.title = row.value(1).toString();
    info.created = row.value(2).toLongLong();
    info.changed = row.value(3).toLongLong();
    info.settings.systemPrompt = row.value(4).toString();
    info.model = row.value(6).toString();
    return info;
}

QString likePattern(const QString& word) {
    QString pattern = word;
    for (const QChar special : {QChar(u'\\'), QChar(u'%'), QChar(u'_')})
        pattern.replace(special, u'\\' + QString(special));
    return u'%' + pattern + u'%';
}

// The condition that `column` holds all words, through the index where it knows them.
struct Condition {
    QString sql;
    QVariantList values;
};

Condition contains(const QStringList& words, const QString& index, const QString& column) {
    Condition condition;
    QStringList parts;
    QStringList phrases;
    for (const QString& word : words) {
        if (word.toUcs4().size() >= kIndexedLength)
            phrases += u'"' + QString(word).replace(u'"', QStringLiteral("\"\"")) + u'"';
    }
    if (!phrases.isEmpty()) {
        parts += QStringLiteral("%1.rowid IN (SELECT rowid FROM %2 WHERE %2 MATCH ?)")
                     .arg(column.section(u'.', 0, 0), index);
        condition.values += phrases.join(QStringLiteral(" AND "));
    }
    for (const QString& word : words) {
        if (word.toUcs4().size() >= kIndexedLength) continue;
        parts += column + QStringLiteral(" LIKE ? ESCAPE '\\'");
        condition.values += likePattern(word);
    }
    condition.sql = parts.join(QStringLiteral(" AND "));
    return condition;
}

}  // namespace

void migrate(QSqlDatabase& database) {
    sql::migrate(database, QStringLiteral("chat"), steps());
}

void markInterrupted(QSqlDatabase& database) {
    sql::exec(database, QStringLiteral("UPDATE chat_messages SET state = 'interrupted' WHERE state = 'streaming'"));
}

Overview overview(QSqlDatabase& database) {
    Overview all;
    QSqlQuery rows =
        sql::exec(database, QStringLiteral("SELECT id, title, created, changed, system_prompt, settings, model"
                                           " FROM chat_conversations WHERE deleted IS NULL"
                                           " ORDER BY changed DESC, id DESC"));
    while (rows.next()) all.chats += infoOf(rows);
    for (const auto* table : {"chat_conversations", "chat_messages"}) {
        QSqlQuery last = sql::exec(database, QStringLiteral("SELECT max(id) FROM %1").arg(QLatin1String(table)));
        if (last.next()) all.lastId = std::max(all.lastId, last.value(0).toLongLong());
    }
    return all;
}

std::optional<Chat> load(QSqlDatabase& database, qint64 conversation) {
    QSqlQuery row =
        sql::exec(database,
                  QStringLiteral("SELECT id, title, created, changed, system_prompt, settings, model, chosen"
                                 " FROM chat_conversations WHERE id = ?"),
                  {conversation});
    if (!row.next()) return std::nullopt;
    Chat chat;
    chat.info = infoOf(row);
    QList<qint64> chosen{row.value(7).toLongLong()};

    QHash<qint64, QList<ChatPicture>> pictures;
    QSqlQuery kept = sql::exec(database,
                               QStringLiteral("SELECT p.message, p.key, p.name FROM chat_pictures p"
                                              " JOIN chat_messages m ON m.id = p.message WHERE m.conversation = ?"
                                              " ORDER BY p.message, p.position"),
                               {conversation});
    while (kept.next()) pictures[kept.value(0).toLongLong()] += {kept.value(1).toString(), kept.value(2).toString()};

    QSqlQuery rows = sql::exec(
        database,
        QStringLiteral(
            "SELECT id, parent, role, text, reasoning, state, finish, detail, tokens, prompt_tokens, cached_tokens,"
            " tokens_per_s, first_token_ms, seed, model, created, chosen"
            " FROM chat_messages WHERE conversation = ? ORDER BY id"),
        {conversation});
    while (rows.next()) {
        ChatMessage message;
        message.id = rows.value(0).toLongLong();
        message.parent = rows.value(1).toLongLong();
        message.role = roleFromName(rows.value(2).toString());
        message.text = rows.value(3).toString();
        message.reasoning = rows.value(4).toString();
        message.state = turnStateFromName(rows.value(5).toString());
        message.finish = rows.value(6).toString();
        message.detail = rows.value(7).toString();
        message.tokens = rows.value(8).toInt();
        message.promptTokens = rows.value(9).toInt();
        message.cachedTokens = rows.value(10).toInt();
        message.tokensPerSecond = rows.value(11).toDouble();
        message.firstTokenMs = rows.value(12).toDouble();
        message.seed = rows.value(13).toString().toULongLong();
        message.model = rows.value(14).toString();
        message.created = rows.value(15).toLongLong();
        message.pictures = pictures.value(message.id);
        chat.tree.add(message);
        chosen += rows.value(16).toLongLong();
    }
    for (const qint64 child : chosen) chat.tree.choose(child);  // 0, nothing chosen, is no message
    return chat;
}

void save(QSqlDatabase& database, const ChatInfo& info) {
    sql::exec(
        database,
        QStringLiteral("INSERT INTO chat_conversations (id, title, created, changed, system_prompt, settings, model)"
                       " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET title = excluded.title,"
                       " changed = excluded.changed, system_prompt = excluded.system_prompt,"
                       " settings = excluded.settings, model = excluded.model"),
        {info.id, stored(info.title), info.created, info.changed, stored(info.settings.systemPrompt),
         QString::fromUtf8(QJsonDocument(toJson(info.settings)).toJson(QJsonDocument::Compact)), stored(info.model)});
}

void rename(QSqlDatabase& database, qint64 conversation, const QString& title) {
    sql::exec(database, QStringLiteral("UPDATE chat_conversations SET title = ? WHERE id = ?"),
              {stored(title), conversation});
}

void add(QSqlDatabase& database, qint64 conversation, const ChatMessage& message) {
    sql::Transaction transaction(database);
    sql::exec(
        database,
        QStringLiteral("INSERT INTO chat_messages (id, conversation, parent, role, text, reasoning, state, seed, model,"
                       " created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
        {message.id, conversation, message.parent == 0 ? QVariant() : QVariant(message.parent), nameOf(message.role),
         stored(message.text), stored(message.reasoning), storedState(message.state), QString::number(message.seed),
         stored(message.model), message.created});
    for (qsizetype i = 0; i < message.pictures.size(); ++i) {
        sql::exec(database,
                  QStringLiteral("INSERT INTO chat_pictures (message, position, key, name) VALUES (?, ?, ?, ?)"),
                  {message.id, i, message.pictures[i].key, stored(message.pictures[i].name)});
    }
    choose(database, conversation, message.parent, message.id);
    transaction.commit();
}

void append(QSqlDatabase& database, qint64 message, const QString& text, const QString& reasoning) {
    sql::exec(database,
              QStringLiteral("UPDATE chat_messages SET text = text || ?, reasoning = reasoning || ? WHERE id = ?"),
              {stored(text), stored(reasoning), message});
}

void finish(QSqlDatabase& database, const ChatMessage& message) {
    sql::exec(database,
              QStringLiteral(
                  "UPDATE chat_messages SET text = ?, reasoning = ?, state = ?, finish = ?, detail = ?, tokens = ?,"
                  " prompt_tokens = ?, cached_tokens = ?, tokens_per_s = ?, first_token_ms = ?, model = ?"
                  " WHERE id = ?"),
              {stored(message.text), stored(message.reasoning), storedState(message.state), stored(message.finish),
               stored(message.detail), message.tokens, message.promptTokens, message.cachedTokens,
               message.tokensPerSecond, message.firstTokenMs, stored(message.model), message.id});
}

void choose(QSqlDatabase& database, qint64 conversation, qint64 parent, qint64 child) {
    if (parent == 0)
        sql::exec(database, QStringLiteral("UPDATE chat_conversations SET chosen = ? WHERE id = ?"),
                  {child, conversation});
    else
        sql::exec(database, QStringLiteral("UPDATE chat_messages SET chosen = ? WHERE id = ?"), {child, parent});
}

void setDeleted(QSqlDatabase& database, qint64 conversation, bool deleted) {
    sql::exec(database, QStringLiteral("UPDATE chat_conversations SET deleted = ? WHERE id = ?"),
              {deleted ? QVariant(QDateTime::currentMSecsSinceEpoch()) : QVariant(), conversation});
}

void purge(QSqlDatabase& database, qint64 deletedBefore) {
    sql::exec(database, QStringLiteral("DELETE FROM chat_conversations WHERE deleted < ?"), {deletedBefore});
}

QSet<QString> picturesInUse(QSqlDatabase& database) {
    QSet<QString> keys;
    QSqlQuery rows = sql::exec(database, QStringLiteral("SELECT DISTINCT key FROM chat_pictures"));
    while (rows.next()) keys += rows.value(0).toString();
    return keys;
}

QList<Hit> search(QSqlDatabase& database, const QString& query) {
    static const QRegularExpression space(QStringLiteral("\\s+"));
    const QStringList words = query.split(space, Qt::SkipEmptyParts);
    if (words.isEmpty()) return {};
    QHash<qint64, Hit> hits;
    const Condition text = contains(words, QStringLiteral("chat_message_index"), QStringLiteral("m.text"));
    QSqlQuery messages =
        sql::exec(database,
                  QStringLiteral("SELECT m.conversation, m.id, m.text FROM chat_messages m"
                                 " JOIN chat_conversations c ON c.id = m.conversation WHERE c.deleted IS NULL AND %1"
                                 " ORDER BY m.id DESC LIMIT %2")
                      .arg(text.sql)
                      .arg(kMostMessages),
                  text.values);
    while (messages.next()) {
        const qint64 conversation = messages.value(0).toLongLong();
        if (hits.contains(conversation)) continue;
        hits.insert(conversation,
                    {conversation, messages.value(1).toLongLong(), excerpt(messages.value(2).toString(), words)});
    }
    const Condition title = contains(words, QStringLiteral("chat_title_index"), QStringLiteral("c.title"));
    QSqlQuery titles = sql::exec(
        database, QStringLiteral("SELECT c.id FROM chat_conversations c WHERE c.deleted IS NULL AND %1").arg(title.sql),
        title.values);
    while (titles.next()) {
        const qint64 conversation = titles.value(0).toLongLong();
        if (!hits.contains(conversation)) hits.insert(conversation, {conversation, 0, {}});
    }
    QList<Hit> ordered;
    for (const ChatInfo& info : overview(database).chats) {
        if (hits.contains(info.id)) ordered += hits.value(info.id);
    }
    return ordered;
}

QString excerpt(const QString& text, const QStringList& words) {
    qsizetype first = text.size();
    for (const QString& word : words) {
        const qsizetype at = text.indexOf(word, 0, Qt::CaseInsensitive);
        if (at >= 0) first = std::min(first, at);
    }
    if (first == text.size()) first = 0;
    qsizetype begin = std::max<qsizetype>(0, first - kExcerptBefore);
    if (begin > 0) {  // between words, where there are any
        const qsizetype space = text.indexOf(u' ', begin);
        if (space >= 0 && space < first) begin = space + 1;
    }
    const QString piece = text.mid(begin, kExcerptLength);
    QString marked = begin > 0 ? QStringLiteral("…") : QString();
    for (qsizetype at = 0; at < piece.size();) {
        qsizetype length = 0;
        for (const QString& word : words) {
            if (QStringView(piece).mid(at).startsWith(word, Qt::CaseInsensitive))
                length = std::max(length, word.size());
        }
        if (length == 0) {
            marked += piece[at++];
            continue;
        }
        marked += kFoundBegin + piece.mid(at, length) + kFoundEnd;
        at += length;
    }
    return begin + piece.size() < text.size() ? marked + u'…' : marked;
}

}  // namespace vitrine::chat_tables
