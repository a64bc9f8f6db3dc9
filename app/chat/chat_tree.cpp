#include "app/chat/chat_tree.h"

#include "app/generation_json.h"
#include "app/names.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <utility>

namespace vitrine {
namespace {

constexpr qsizetype kTitleLength = 60;

constexpr NameTable<TurnState, 6> kStates{{
    {TurnState::complete, QLatin1String("complete")},
    {TurnState::waiting, QLatin1String("waiting")},
    {TurnState::streaming, QLatin1String("streaming")},
    {TurnState::stopped, QLatin1String("stopped")},
    {TurnState::failed, QLatin1String("failed")},
    {TurnState::interrupted, QLatin1String("interrupted")},
}};

constexpr NameTable<Role, 3> kRoles{{
    {Role::system, QLatin1String("system")},
    {Role::user, QLatin1String("user")},
    {Role::assistant, QLatin1String("assistant")},
}};

}  // namespace

void ChatTree::add(const ChatMessage& message) {
    m_messages.insert(message.id, message);
    m_children[message.parent] += message.id;
    m_chosen[message.parent] = message.id;
}

ChatMessage* ChatTree::find(qint64 id) {
    const auto found = m_messages.find(id);
    return found == m_messages.end() ? nullptr : &*found;
}

const ChatMessage* ChatTree::find(qint64 id) const {
    const auto found = m_messages.constFind(id);
    return found == m_messages.constEnd() ? nullptr : &*found;
}

QList<qint64> ChatTree::path() const {
    QList<qint64> path;
    for (qint64 id = m_chosen.value(0); id != 0; id = m_chosen.value(id)) path += id;
    return path;
}

QList<qint64> ChatTree::pathTo(qint64 id) const {
    QList<qint64> path;
    for (const ChatMessage* message = find(id); message != nullptr; message = find(message->parent))
        path += message->id;
    std::reverse(path.begin(), path.end());
    return path;
}

const QList<qint64>& ChatTree::children(qint64 parent) const {
    static const QList<qint64> none;
    const auto found = m_children.constFind(parent);
    return found == m_children.constEnd() ? none : *found;
}

QList<qint64> ChatTree::all() const {
    QList<qint64> all = children(0);
    for (qsizetype i = 0; i < all.size(); ++i) all += children(all[i]);
    return all;
}

void ChatTree::choose(qint64 child) {
    if (const ChatMessage* message = find(child)) m_chosen[message->parent] = child;
}

QString nameOf(TurnState state) {
    return nameIn(kStates, state);
}
QString nameOf(Role role) {
    return nameIn(kRoles, role);
}

TurnState turnStateFromName(const QString& name) {
    return valueIn(kStates, name, TurnState::complete);
}
Role roleFromName(const QString& name) {
    return valueIn(kRoles, name, Role::user);
}

QJsonObject toJson(const ChatSettings& settings) {
    QJsonObject json = toJson(settings.generation);
    if (!settings.fixedSeed) json.remove(QStringLiteral("seed"));
    return json;
}

ChatSettings chatSettingsFromJson(const QJsonObject& json) {
    ChatSettings settings;
    settings.generation = generationFrom(json, settings.generation);
    settings.fixedSeed = json.contains(QStringLiteral("seed"));
    return settings;
}

QString titleFor(const QString& text, const QList<ChatPicture>& pictures) {
    const QString trimmed = text.trimmed();
    QString title = trimmed.left(trimmed.indexOf(u'\n')).left(4 * kTitleLength).simplified();
    if (title.isEmpty()) {
        return pictures.isEmpty() ? QCoreApplication::translate("vitrine::ChatTree", "New chat")
                                  : pictures.first().name;
    }
    if (title.size() <= kTitleLength) return title;
    const qsizetype space = title.lastIndexOf(u' ', kTitleLength);
    title.truncate(space > kTitleLength / 2 ? space : kTitleLength);
    if (title.back().isHighSurrogate()) title.chop(1);
    return title + QStringLiteral(" …");
}

}  // namespace vitrine
