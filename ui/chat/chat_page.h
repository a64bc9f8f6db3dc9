#pragma once

#include "ui/chat/chat_values.h"

#include <QImage>
#include <QList>
#include <QUrl>
#include <QWidget>

class QAbstractItemModel;
class QLabel;
class QSplitter;
class QStackedWidget;
class QToolButton;

namespace vitrine {

class ChatDrawer;
class Composer;
class ConversationView;
class EmptyState;
class MessageBar;
struct Picture;

// The Chat place: conversations at the left, the open one in the middle, the composer below. It shows values and emits
// wishes; pictures arrive as thumbnails, by key, when they have been asked for. Lives on the UI thread.
class ChatPage : public QWidget {
    Q_OBJECT

public:
    explicit ChatPage(QWidget* parent = nullptr);

    void setConversations(QAbstractItemModel* model);
    // The conversation that is open; id 0: a new one. With `jumpToEnd` the last turn is shown, else the place is kept.
    void showConversation(qint64 id, const QString& title, const QList<Turn>& turns, bool jumpToEnd);
    void updateTurn(const Turn& turn);
    void append(qint64 turn, const QString& text, const QString& reasoning);
    void showTurn(qint64 turn);
    void setTitle(const QString& title);

    void setModel(const ChatModelState& model);
    void setAnswering(bool answering, int waiting);
    void setSpeed(const QString& text);
    void setContext(int used, int total);
    void setSettings(const ChatSettings& settings);
    void setAttachments(const QList<TurnPicture>& pictures);
    void setThumbnail(const QString& key, const QImage& image);
    void clearMessage();
    void setMessage(const QString& text);
    void showPicture(const QString& name, const Picture& picture);  // enlarged
    MessageBar& messages() { return *m_messages; }

    QByteArray saveState() const;
    void restoreState(const QByteArray& state);

    ChatDrawer* drawer() const { return m_drawer; }
    ConversationView* conversation() const { return m_view; }
    Composer* composer() const { return m_composer; }

Q_SIGNALS:
    void sendWanted(const QString& text);
    void stopWanted();
    void regenerateWanted(qint64 turn);
    void insightWanted(qint64 turn);
    void editWanted(qint64 turn, const QString& text);
    void branchWanted(qint64 turn, int step);
    void attachWanted();  // pictures, by a dialog
    void filesOffered(const QList<QUrl>& urls);
    void imageOffered(const QImage& image);
    void attachmentRemoved(const QString& key);
    void thumbnailWanted(const QString& key);
    void pictureWanted(const QString& key);
    void linkClicked(const QString& target);
    void settingsChanged(const vitrine::ChatSettings& settings);
    void modelWanted();
    void conversationOpened(qint64 id, qint64 message);
    void newWanted();
    void searchChanged(const QString& text);
    void deleteWanted(qint64 id);
    void exportWanted(qint64 id, vitrine::ChatExportFormat format);

protected:
    void showEvent(QShowEvent* event) override;

private:
    QWidget* buildColumn();
    void buildShortcuts();
    void rebuildEmptyState();
    void refreshBody();

    QSplitter* m_splitter;
    ChatDrawer* m_drawer;
    QToolButton* m_fold;
    QLabel* m_title;
    QToolButton* m_menu;
    QStackedWidget* m_body;
    EmptyState* m_empty = nullptr;
    ConversationView* m_view;
    MessageBar* m_messages;
    Composer* m_composer;
    ChatModelState m_model;
    qint64 m_open = 0;
    bool m_hasTurns = false;
};

}  // namespace vitrine
