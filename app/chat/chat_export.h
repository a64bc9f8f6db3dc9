#pragma once

#include "app/chat/chat_tree.h"

#include <QByteArray>
#include <QHash>
#include <QString>

namespace vitrine {

class ChatPictures;

// The branch that is read, for people: headings, text as it was written, pictures by the name they have in `pictures`
// (key -> relative path).
QString chatToMarkdown(const Chat& chat, const QHash<QString, QString>& pictures);

// Every version of every turn, for programs.
QByteArray chatToJson(const Chat& chat, const QHash<QString, QString>& pictures);

// A file name, without suffix, that no file system refuses.
QString fileNameFor(const QString& title);

// Writes one of them into `file`, and the pictures it shows into "NAME_pictures" beside it. Any thread. Throws Error
// when something cannot be written; a kept picture that is gone is left out and named in the result.
QStringList exportChat(const Chat& chat, ChatExportFormat format, const QString& file, const ChatPictures& pictures);

}  // namespace vitrine
