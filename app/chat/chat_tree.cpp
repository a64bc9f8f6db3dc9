#include "app/chat/chat_tree.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <utility>

namespace vitrine {
namespace {

constexpr qsizetype kTitleLength = 60;

constexpr std::array<std::pair<TurnState, QLatin1String>, 6> kStates{{
    {TurnState::complete, QLatin1String("complete")},
    {TurnState::waiting, QLatin1String("waiting")},
    {TurnState::streaming, QLatin1String("streaming")},
    {TurnState::stopped, QLatin1String("stopped")},
    {TurnState::failed, QLatin1String("failed")},
    {TurnState::interrupted, QLatin1String("interrupted")},
}};

constexpr std::array<std::pair<Role, QLatin1String>, 3> kRoles{{
    {Role::system, QLatin1String("system")},
    {Role::user, QLatin1String("user")},
    {Role::assistant, QLatin1String("assistant")},
}};

template <typename Table, typename Value>
QString nameIn(const Table& table, Value value) {
    return std::find_if(table.begin(), table.end(), [value](const auto& row) { return row.first == value; })->second;
}

template <typename Table, typename Value>
Value valueIn(const Table& table, const QString& name, Value fallback) {
    const auto row =
        std::find_if(table.begin(), table.end(), [&name](const auto& other) { return other.second == name; });
    return row == table.end() ? fallback : row->first;
}

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
    const GenerationOptions& generation = settings.generation;
    const SamplingOptions& sampling = generation.sampling;
    QJsonObject json{
        {QStringLiteral("temperature"), sampling.temperature},
        {QStringLiteral("top_k"), sampling.top_k},
        {QStringLiteral("top_p"), sampling.top_p},
        {QStringLiteral("min_p"), sampling.min_p},
        {QStringLiteral("repetition_penalty"), sampling.repetition_penalty},
        {QStringLiteral("presence_penalty"), sampling.presence_penalty},
        {QStringLiteral("penalty_window"), sampling.penalty_window},
        {QStringLiteral("max_tokens"), generation.max_tokens},
        {QStringLiteral("thinking"), generation.thinking},
        {QStringLiteral("detect_loops"), generation.detect_loops},
    };
    // As text: a double has only 53 bits.
    if (settings.fixedSeed) json.insert(QStringLiteral("seed"), QString::number(sampling.seed));
    return json;
}

ChatSettings chatSettingsFromJson(const QJsonObject& json) {
    ChatSettings settings;
    GenerationOptions& generation = settings.generation;
    SamplingOptions& sampling = generation.sampling;
    const auto real = [&json](const char* key, double& value, double low, double high) {
        value = std::clamp(json.value(QLatin1String(key)).toDouble(value), low, high);
    };
    const auto whole = [&json](const char* key, int& value, int low, int high) {
        value = std::clamp(json.value(QLatin1String(key)).toInt(value), low, high);
    };
    real("temperature", sampling.temperature, 0.0, 5.0);
    whole("top_k", sampling.top_k, 0, 1000);
    real("top_p", sampling.top_p, 0.01, 1.0);
    real("min_p", sampling.min_p, 0.0, 0.99);
    real("repetition_penalty", sampling.repetition_penalty, 0.5, 3.0);
    real("presence_penalty", sampling.presence_penalty, -5.0, 5.0);
    whole("penalty_window", sampling.penalty_window, 0, 8192);
    whole("max_tokens", generation.max_tokens, 1, 32'768);
    generation.thinking = json.value(QStringLiteral("thinking")).toBool(generation.thinking);
    generation.detect_loops = json.value(QStringLiteral("detect_loops")).toBool(generation.detect_loops);
    sampling.seed = json.value(QStringLiteral("seed")).toString().toULongLong(&settings.fixedSeed);
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
