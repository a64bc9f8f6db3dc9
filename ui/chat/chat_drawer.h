#pragma once

#include "ui/chat/chat_values.h"

#include <QListView>
#include <QTimer>
#include <QWidget>

class QAbstractItemModel;
class QLabel;
class QLineEdit;
class QModelIndex;
class QPushButton;

namespace vitrine {

// Left of the Chat place: the conversations of a model with the roles of ChatRoles, a search field, and what can be
// done with a conversation. Renaming happens in the list (setData of the model). Lives on the UI thread.
class ChatDrawer : public QWidget {
    Q_OBJECT

public:
    explicit ChatDrawer(QWidget* parent = nullptr);

    void setModel(QAbstractItemModel* model);
    void setCurrent(qint64 conversation);
    qint64 current() const;
    void focusSearch();
    void focusList();
    void renameCurrent();
    void deleteCurrent();
    QListView* list() const { return m_list; }
    QLineEdit* search() const { return m_search; }

Q_SIGNALS:
    void opened(qint64 conversation, qint64 message);
    void newWanted();
    void searchChanged(const QString& text);  // after a short pause
    void deleteWanted(qint64 conversation);
    void exportWanted(qint64 conversation, vitrine::ChatExportFormat format);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void showMenu(const QPoint& position);
    void open(const QModelIndex& index);
    void refreshEmpty();
    void moveBy(int step);

    QLineEdit* m_search;
    QPushButton* m_new;
    QListView* m_list;
    QLabel* m_empty;
    QTimer m_pause;
    bool m_restoring = false;  // the selection changes because of us
};

}  // namespace vitrine
