#pragma once

#include "core/types.h"

#include <QList>
#include <QMetaType>
#include <QString>

// What the Chat place shows. Everything is a value made by app; nothing here knows where it comes from.
namespace vitrine {

enum class TurnState : std::uint8_t {
    complete,
    waiting,      // for its turn, or for the model to read the prompt
    streaming,    // more is to come
    stopped,      // by the user; what was written is kept
    failed,       // Turn::problem says why
    interrupted,  // the program ended while it was written
};

// A picture of a turn or one about to be sent. `key` names its content: equal keys, equal pictures.
struct TurnPicture {
    QString key;
    QString name;
    QString problem = {};  // why it cannot be used; empty: it can
    bool loading = false;

    bool operator==(const TurnPicture&) const = default;
};

struct Turn {
    qint64 id = 0;
    Role role = Role::user;
    QString text;
    QString reasoning;
    QList<TurnPicture> pictures;
    TurnState state = TurnState::complete;
    QString note;     // "34 tokens, 12.1 tokens/s"
    QString problem;  // a failed turn's reason
    int branch = 1;   // of the versions of this turn, 1-based
    int branches = 1;

    bool operator==(const Turn&) const = default;
};

struct ChatSettings {
    QString systemPrompt;
    GenerationOptions generation{.max_tokens = 512};
    bool fixedSeed = false;  // otherwise each answer takes a new one
};

// What can be asked now, and of whom.
struct ChatModelState {
    QString name;                // empty: nothing is loaded
    QString about;               // what it can and cannot do
    QList<QString> suggestions;  // things to ask about a picture
    QString whyNot;              // why no question can be answered; empty: it can
    bool loading = false;
};

enum class ChatExportFormat : std::uint8_t { markdown, json };

// Roles of the model of conversations. A row is either a heading ("Yesterday") or a conversation.
namespace ChatRoles {
enum Role {
    title = Qt::DisplayRole,
    heading = Qt::UserRole + 1,  // bool
    conversation,                // qint64
    message,                     // qint64: the one that was found; 0: none
    snippet,                     // QString with found words between kFoundBegin and kFoundEnd; may be empty
    busy,                        // bool: an answer is being written
};
}  // namespace ChatRoles
inline constexpr QChar kFoundBegin = u'\x02';
inline constexpr QChar kFoundEnd = u'\x03';

}  // namespace vitrine

Q_DECLARE_METATYPE(vitrine::ChatSettings)
Q_DECLARE_METATYPE(vitrine::ChatExportFormat)
