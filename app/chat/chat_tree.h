#pragma once

#include "ui/chat/chat_values.h"

#include <QHash>
#include <QJsonObject>
#include <QList>
#include <QString>

namespace vitrine {

struct ChatPicture {
    QString key;   // names the content kept by ChatPictures
    QString name;  // of the file it came from

    bool operator==(const ChatPicture&) const = default;
};

// One message as it is stored.
struct ChatMessage {
    qint64 id = 0;
    qint64 parent = 0;  // 0: it begins the conversation
    Role role = Role::user;
    QString text;
    QString reasoning;
    QList<ChatPicture> pictures;
    TurnState state = TurnState::complete;
    QString finish;  // name of the FinishReason; empty while there is none
    QString detail;  // the loop, the stop string, or why it failed
    int tokens = 0;
    int promptTokens = 0;
    int cachedTokens = 0;
    double tokensPerSecond = 0.0;
    double firstTokenMs = 0.0;
    quint64 seed = 0;
    QString model;       // that wrote it
    qint64 created = 0;  // milliseconds since 1970, UTC

    bool operator==(const ChatMessage&) const = default;
};

// All versions of one conversation. Editing a turn or answering it again adds a child beside the others; which child is
// read on is remembered for each message. A plain value.
class ChatTree {
public:
    // Appends below message.parent, behind its siblings, and makes it the one that is read. Ids are unique.
    void add(const ChatMessage& message);
    ChatMessage* find(qint64 id);
    const ChatMessage* find(qint64 id) const;

    QList<qint64> path() const;             // what is read, first message first
    QList<qint64> pathTo(qint64 id) const;  // from the first message to this one
    const QList<qint64>& children(qint64 parent) const;
    QList<qint64> all() const;  // parents before children
    qint64 chosen(qint64 parent) const { return m_chosen.value(parent); }
    void choose(qint64 child);  // among its siblings
    bool isEmpty() const { return m_messages.isEmpty(); }

private:
    QHash<qint64, ChatMessage> m_messages;
    QHash<qint64, QList<qint64>> m_children;
    QHash<qint64, qint64> m_chosen;  // parent -> child
};

struct ChatInfo {
    qint64 id = 0;
    QString title;
    qint64 created = 0;
    qint64 changed = 0;
    ChatSettings settings;
    QString model;  // that answered last
};

struct Chat {
    ChatInfo info;
    ChatTree tree;
};

QString nameOf(TurnState state);  // as stored; an unknown name is "complete"
TurnState turnStateFromName(const QString& name);
QString nameOf(Role role);
Role roleFromName(const QString& name);

// Everything of the settings but the system prompt; absent or wrong values are the defaults.
QJsonObject toJson(const ChatSettings& settings);
ChatSettings chatSettingsFromJson(const QJsonObject& json);

// A title for a conversation that begins like this: the first line, cut between words.
QString titleFor(const QString& text, const QList<ChatPicture>& pictures);

}  // namespace vitrine
