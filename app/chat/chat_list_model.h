#pragma once

#include "app/chat/chat_tables.h"

#include <QAbstractListModel>
#include <QDate>
#include <QList>
#include <QSet>

namespace vitrine {

// The conversations for the drawer: headings by date ("Today", "Yesterday", ...) and below each its conversations, the
// one changed last first; or only what a search found. Lives on the UI thread.
class ChatListModel : public QAbstractListModel {
    Q_OBJECT

public:
    using QAbstractListModel::QAbstractListModel;

    void setChats(const QList<ChatInfo>& chats);  // the stored ones; what was put before they came stays
    void put(const ChatInfo& chat);               // new or changed
    void remove(qint64 conversation);
    void setHits(const QList<chat_tables::Hit>& hits);
    void clearHits();
    void setBusy(const QSet<qint64>& conversations);
    const ChatInfo* find(qint64 conversation) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

    // "Today", "Yesterday", "Last 7 days", "Last 30 days", then months.
    static QString groupOf(const QDate& day, const QDate& today);

Q_SIGNALS:
    void renamed(qint64 conversation, const QString& title);

private:
    struct Row {
        QString heading;  // or
        qint64 id = 0;
        int chat = -1;  // where it stands in m_chats
        qint64 message = 0;
        QString snippet;
    };

    QList<Row> rowsNow() const;
    void refresh();

    QList<ChatInfo> m_chats;
    QList<Row> m_rows;
    QList<chat_tables::Hit> m_hits;
    bool m_searching = false;
    QSet<qint64> m_busy;
};

}  // namespace vitrine
