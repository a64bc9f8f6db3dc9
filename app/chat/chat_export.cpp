#include "app/chat/chat_export.h"

#include "app/chat/chat_pictures.h"
#include "core/error.h"
#include "core/weights/file.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QLocale>
#include <QRegularExpression>
#include <QSet>
#include <QUrl>

namespace vitrine {
namespace {

QString tr(const char* text) {
    return QCoreApplication::translate("vitrine::ChatExport", text);
}

QString isoTime(qint64 milliseconds) {
    return QDateTime::fromMSecsSinceEpoch(milliseconds, Qt::UTC).toString(Qt::ISODateWithMs);
}

// A name for the copy that no file system refuses and that tells where the picture came from.
QString copyName(const ChatPicture& picture, QSet<QString>& taken) {
    QString stem = QFileInfo(picture.name).completeBaseName();
    static const QRegularExpression unsafe(QStringLiteral("[^\\w.-]+"), QRegularExpression::UseUnicodePropertiesOption);
    stem = stem.replace(unsafe, QStringLiteral("_")).left(60);
    if (stem.isEmpty() || stem.startsWith(u'.')) stem = QStringLiteral("picture");
    const QString suffix = picture.key.section(u'.', 1);
    QString name = stem + u'.' + suffix;
    for (int i = 2; taken.contains(name.toLower()); ++i) name = QStringLiteral("%1-%2.%3").arg(stem).arg(i).arg(suffix);
    taken += name.toLower();
    return name;
}

QString altText(QString name) {
    return name.replace(u'[', u'(').replace(u']', u')').simplified();
}

QJsonObject toJson(const ChatMessage& message, const ChatTree& tree, const QHash<QString, QString>& pictures) {
    QJsonObject json{{QStringLiteral("id"), message.id},
                     {QStringLiteral("parent"), message.parent == 0 ? QJsonValue() : QJsonValue(message.parent)},
                     {QStringLiteral("chosen"), tree.chosen(message.parent) == message.id},
                     {QStringLiteral("role"), nameOf(message.role)},
                     {QStringLiteral("text"), message.text},
                     {QStringLiteral("created"), isoTime(message.created)}};
    if (!message.pictures.isEmpty()) {
        QJsonArray list;
        for (const ChatPicture& picture : message.pictures) {
            QJsonObject entry{{QStringLiteral("name"), picture.name},
                              {QStringLiteral("sha256"), picture.key.section(u'.', 0, 0)}};
            if (pictures.contains(picture.key)) entry.insert(QStringLiteral("file"), pictures.value(picture.key));
            list += entry;
        }
        json.insert(QStringLiteral("pictures"), list);
    }
    if (message.role != Role::assistant) return json;
    json.insert(QStringLiteral("state"), nameOf(message.state));
    if (!message.reasoning.isEmpty()) json.insert(QStringLiteral("reasoning"), message.reasoning);
    if (!message.finish.isEmpty()) json.insert(QStringLiteral("finish"), message.finish);
    if (!message.detail.isEmpty()) json.insert(QStringLiteral("detail"), message.detail);
    json.insert(QStringLiteral("model"), message.model);
    json.insert(QStringLiteral("seed"), QString::number(message.seed));
    json.insert(QStringLiteral("tokens"), message.tokens);
    json.insert(QStringLiteral("prompt_tokens"), message.promptTokens);
    json.insert(QStringLiteral("cached_tokens"), message.cachedTokens);
    json.insert(QStringLiteral("tokens_per_s"), message.tokensPerSecond);
    json.insert(QStringLiteral("first_token_ms"), message.firstTokenMs);
    return json;
}

}  // namespace

QString fileNameFor(const QString& title) {
    static const QRegularExpression unsafe(QStringLiteral("[/\\\\:*?\"<>|\\x00-\\x1f]+"));
    const QString name = QString(title).replace(unsafe, QStringLiteral(" ")).simplified().left(60).trimmed();
    return name.isEmpty() || name.startsWith(u'.') ? tr("chat") : name;
}

QString chatToMarkdown(const Chat& chat, const QHash<QString, QString>& pictures) {
    QStringList parts;
    parts += QStringLiteral("# ") + chat.info.title.simplified();
    if (!chat.info.settings.systemPrompt.trimmed().isEmpty())
        parts += QStringLiteral("## %1\n\n%2").arg(tr("System prompt"), chat.info.settings.systemPrompt.trimmed());
    for (const qint64 id : chat.tree.path()) {
        const ChatMessage& message = *chat.tree.find(id);
        const bool user = message.role == Role::user;
        parts += QStringLiteral("## ") + (user ? tr("You") : message.model.isEmpty() ? tr("Answer") : message.model);
        for (const ChatPicture& picture : message.pictures) {
            const QString path = pictures.value(picture.key);
            if (path.isEmpty())
                parts += QStringLiteral("*%1*").arg(tr("Picture %1 is gone.").arg(altText(picture.name)));
            else
                parts += QStringLiteral("![%1](%2)")
                             .arg(altText(picture.name),
                                  QString::fromLatin1(QUrl::toPercentEncoding(path, QByteArrayLiteral("/"))));
        }
        if (!message.text.trimmed().isEmpty()) parts += message.text.trimmed();
        if (message.state == TurnState::failed)
            parts += QStringLiteral("*%1*").arg(tr("No answer: %1").arg(message.detail));
        if (message.state == TurnState::stopped || message.state == TurnState::interrupted)
            parts += QStringLiteral("*%1*").arg(tr("(not finished)"));
    }
    return parts.join(QStringLiteral("\n\n")) + u'\n';
}

QByteArray chatToJson(const Chat& chat, const QHash<QString, QString>& pictures) {
    QJsonArray messages;
    for (const qint64 id : chat.tree.all()) messages += toJson(*chat.tree.find(id), chat.tree, pictures);
    const QJsonObject json{{QStringLiteral("format"), QStringLiteral("vitrine-chat")},
                           {QStringLiteral("version"), 1},
                           {QStringLiteral("title"), chat.info.title},
                           {QStringLiteral("created"), isoTime(chat.info.created)},
                           {QStringLiteral("changed"), isoTime(chat.info.changed)},
                           {QStringLiteral("system_prompt"), chat.info.settings.systemPrompt},
                           {QStringLiteral("settings"), vitrine::toJson(chat.info.settings)},
                           {QStringLiteral("messages"), messages}};
    return QJsonDocument(json).toJson(QJsonDocument::Indented);
}

QStringList exportChat(const Chat& chat, ChatExportFormat format, const QString& file, const ChatPictures& pictures) {
    const QFileInfo target(file);
    const QString folderName = target.completeBaseName() + QStringLiteral("_pictures");
    const QList<qint64> shown = format == ChatExportFormat::json ? chat.tree.all() : chat.tree.path();
    QHash<QString, QString> copies;
    QSet<QString> taken;
    QStringList missing;
    for (const qint64 id : shown) {
        for (const ChatPicture& picture : chat.tree.find(id)->pictures) {
            if (copies.contains(picture.key)) continue;
            if (!QFileInfo::exists(pictures.pathOf(picture.key))) {
                missing += picture.name;
                continue;
            }
            const QString name = copyName(picture, taken);
            QDir(target.path()).mkdir(folderName);  // never the folder a person has mistyped
            const ReadOnlyFile kept(pictures.pathOf(picture.key).toStdString());
            write_file(QDir(target.path()).filePath(folderName + u'/' + name).toStdString(), kept.read_all());
            copies.insert(picture.key, folderName + u'/' + name);
        }
    }
    const QByteArray content =
        format == ChatExportFormat::json ? chatToJson(chat, copies) : chatToMarkdown(chat, copies).toUtf8();
    write_file(file.toStdString(), std::string_view(content.constData(), static_cast<std::size_t>(content.size())));
    return missing;
}

}  // namespace vitrine
