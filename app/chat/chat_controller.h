#pragma once

#include "app/chat/chat_answers.h"
#include "app/chat/chat_attachments.h"
#include "app/chat/chat_list_model.h"
#include "app/chat/chat_store.h"
#include "app/dialogs.h"

#include <QObject>
#include <QPointer>
#include <QSet>
#include <QThreadPool>

#include <memory>

namespace vitrine {

class Activity;
class ActivityList;
class ChatPage;
class Settings;

// Joins the Chat place with the stored conversations and the engine. Owns what is open; an answer goes on when another
// conversation is opened. Lives on the UI thread; files and pictures are read on a pool of its own, SQL runs on the
// store thread. Failures are shown where they belong: at the turn, at the picture, or in the page's message bar.
class ChatController : public QObject {
    Q_OBJECT

public:
    ChatController(ChatPage& page, Database& database, Settings& settings, const QString& picturesFolder,
                   QObject* parent = nullptr);
    ~ChatController() override;

    void attach(EngineWorker& engine);  // generates with it and follows what it has loaded
    void showActivities(ActivityList& activities);
    void setDialogs(Dialogs& dialogs) { m_dialogs = &dialogs; }  // instead of the desktop's own

    // The two halves of attach(), for another engine.
    void setGenerate(ChatAnswers::Generate generate) { m_answers.setGenerate(std::move(generate)); }
    void setModel(EngineWorker::State state, const std::optional<ModelSummary>& model, const QString& fault);

    // Pictures from elsewhere in the program join the message being written.
    void addPictures(const QList<QUrl>& urls) { m_attachments.add(urls); }

    void newChat();
    void open(qint64 conversation, qint64 message = 0);
    void send(const QString& text);
    void lookInside();  // at the last answer of what is open, if there is one
    const Chat& current() const { return *m_chat; }
    ChatListModel& list() { return m_list; }

Q_SIGNALS:
    void modelWanted();                                               // the user wants to choose one
    void insightWanted(const vitrine::EngineWorker::Prompt& prompt);  // an answer is to be looked into

private:
    void connectPage();
    void connectAnswers();
    void show(const std::shared_ptr<Chat>& chat, bool jumpToEnd);
    void refresh(bool jumpToEnd);
    void refreshBusy();
    void refreshContext();
    Turn turnOf(const ChatMessage& message) const;
    QList<Turn> turns() const;
    QString noteOf(const ChatMessage& message) const;

    void ask(qint64 parent, const QString& text, const QList<ChatPicture>& pictures);
    void answer(qint64 user);
    void touch();  // the open conversation was changed now
    void regenerate(qint64 turn);
    void lookInto(qint64 turn);
    void edit(qint64 turn, const QString& text);
    void switchBranch(qint64 turn, int step);
    void applySettings(const ChatSettings& settings);
    void remove(qint64 conversation);
    void search(const QString& text);
    void chooseFiles();
    void chooseExport(qint64 conversation, ChatExportFormat format);
    void exportChat(qint64 conversation, ChatExportFormat format, const QString& file);
    void loadThumbnail(const QString& key);
    void enlarge(const QString& key);
    void complain(const QString& what, const std::exception& error);
    qint64 newId();
    ChatSettings standardSettings() const;

    QPointer<ChatPage> m_page;
    Settings& m_settings;
    std::shared_ptr<ChatPictures> m_pictures;
    ChatStore m_store;
    ChatListModel m_list;
    QThreadPool m_pool;
    ChatAttachments m_attachments;
    ChatAnswers m_answers;
    std::shared_ptr<Chat> m_chat;  // never null; id 0: a new one
    qint64 m_wanted = 0;           // the conversation asked for last
    QString m_query;
    QSet<QString> m_thumbnailsOnTheWay;
    qint64 m_lastId = 0;
    int m_contextSize = 0;
    Dialogs m_desktopDialogs;
    Dialogs* m_dialogs = &m_desktopDialogs;
    ActivityList* m_activities = nullptr;
    std::shared_ptr<Activity> m_activity;
};

}  // namespace vitrine
