#include "app/chat/chat_list_model.h"

#include <QDateTime>
#include <QLocale>

#include <algorithm>
#include <utility>

namespace vitrine {

QString ChatListModel::groupOf(const QDate& day, const QDate& today) {
    const qint64 days = day.daysTo(today);
    if (days <= 0) return tr("Today");
    if (days == 1) return tr("Yesterday");
    if (days < 7) return tr("Last 7 days");
    if (days < 30) return tr("Last 30 days");
    return QLocale().toString(day, QStringLiteral("MMMM yyyy"));
}

void ChatListModel::setChats(const QList<ChatInfo>& chats) {
    const QList<ChatInfo> early = std::exchange(m_chats, chats);
    for (auto chat = early.crbegin(); chat != early.crend(); ++chat) put(*chat);
    refresh();
}

void ChatListModel::put(const ChatInfo& chat) {
    m_chats.removeIf([&chat](const ChatInfo& other) { return other.id == chat.id; });
    const auto place = std::find_if(m_chats.begin(), m_chats.end(),
                                    [&chat](const ChatInfo& other) { return other.changed <= chat.changed; });
    m_chats.insert(place, chat);
    refresh();
}

void ChatListModel::remove(qint64 conversation) {
    m_chats.removeIf([conversation](const ChatInfo& chat) { return chat.id == conversation; });
    refresh();
}

void ChatListModel::setHits(const QList<chat_tables::Hit>& hits) {
    m_searching = true;
    m_hits = hits;
    refresh();
}

void ChatListModel::clearHits() {
    if (!std::exchange(m_searching, false)) return;
    m_hits.clear();
    refresh();
}

void ChatListModel::setBusy(const QSet<qint64>& conversations) {
    if (m_busy == conversations) return;
    m_busy = conversations;
    if (!m_rows.isEmpty()) Q_EMIT dataChanged(index(0), index(static_cast<int>(m_rows.size()) - 1), {ChatRoles::busy});
}

const ChatInfo* ChatListModel::find(qint64 conversation) const {
    const auto found = std::find_if(m_chats.begin(), m_chats.end(),
                                    [conversation](const ChatInfo& chat) { return chat.id == conversation; });
    return found == m_chats.end() ? nullptr : &*found;
}

QList<ChatListModel::Row> ChatListModel::rowsNow() const {
    QHash<qint64, chat_tables::Hit> found;
    for (const chat_tables::Hit& hit : m_hits) found.insert(hit.conversation, hit);
    const QDate today = QDate::currentDate();
    QList<Row> rows;
    QString group;
    for (int i = 0; i < m_chats.size(); ++i) {
        if (m_searching && !found.contains(m_chats[i].id)) continue;
        const QString own = groupOf(QDateTime::fromMSecsSinceEpoch(m_chats[i].changed).date(), today);
        if (own != group) rows += Row{.heading = own};
        group = own;
        const chat_tables::Hit hit = found.value(m_chats[i].id);
        rows += Row{.id = m_chats[i].id, .chat = i, .message = hit.message, .snippet = hit.snippet};
    }
    return rows;
}

// Rows that only say something new do not reset the list: a reset would end a renaming that is going on.
void ChatListModel::refresh() {
    QList<Row> rows = rowsNow();
    const bool same =
        std::equal(rows.begin(), rows.end(), m_rows.begin(), m_rows.end(), [](const Row& a, const Row& b) {
            return a.heading == b.heading && a.id == b.id && a.snippet.isEmpty() == b.snippet.isEmpty();
        });
    if (same && !rows.isEmpty()) {
        m_rows = rows;
        Q_EMIT dataChanged(index(0), index(static_cast<int>(rows.size()) - 1));
        return;
    }
    beginResetModel();
    m_rows = rows;
    endResetModel();
}

int ChatListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

QVariant ChatListModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Row& row = m_rows[index.row()];
    if (row.chat < 0) {
        if (role == ChatRoles::title) return row.heading;
        return role == ChatRoles::heading ? QVariant(true) : QVariant();
    }
    const ChatInfo& chat = m_chats[row.chat];
    switch (role) {
        case ChatRoles::title:
        case Qt::EditRole:
        case Qt::ToolTipRole: return chat.title;
        case ChatRoles::heading: return false;
        case ChatRoles::conversation: return chat.id;
        case ChatRoles::message: return row.message;
        case ChatRoles::snippet: return row.snippet;
        case ChatRoles::busy: return m_busy.contains(chat.id);
        case Qt::AccessibleTextRole: return m_busy.contains(chat.id) ? tr("%1, answering").arg(chat.title) : chat.title;
        default: return {};
    }
}

bool ChatListModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !checkIndex(index, CheckIndexOption::IndexIsValid)) return false;
    const int chat = m_rows[index.row()].chat;
    const QString title = value.toString().simplified();
    if (chat < 0 || title.isEmpty() || title == m_chats[chat].title) return false;
    m_chats[chat].title = title;
    Q_EMIT dataChanged(index, index);
    Q_EMIT renamed(m_chats[chat].id, title);
    return true;
}

Qt::ItemFlags ChatListModel::flags(const QModelIndex& index) const {
    if (!index.isValid() || m_rows[index.row()].chat < 0) return Qt::NoItemFlags;
    return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable;
}

}  // namespace vitrine
