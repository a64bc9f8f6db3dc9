#pragma once

#include "app/chat/chat_tree.h"
#include "app/engine_worker.h"

#include <QElapsedTimer>
#include <QObject>
#include <QSet>
#include <QTimer>

#include <deque>
#include <functional>
#include <memory>
#include <optional>

namespace vitrine {

class ChatPictures;
class ChatStore;

// Answers that are asked for, one after the other. An answer is a message of its conversation from the moment it is
// asked for; what the engine writes goes into that message at once and onto the disk twice a second. Lives on the UI
// thread; conversations are shared with whoever shows them. A failure becomes the state of its message.
class ChatAnswers : public QObject {
    Q_OBJECT

public:
    using Generate = std::function<std::shared_ptr<EngineJob>(EngineWorker::Prompt, const GenerationOptions&)>;

    ChatAnswers(ChatStore& store, std::shared_ptr<ChatPictures> pictures, QObject* parent = nullptr);
    ~ChatAnswers() override;

    void setGenerate(Generate generate) { m_generate = std::move(generate); }
    void setModelName(const QString& name) { m_modelName = name; }

    void ask(const std::shared_ptr<Chat>& chat, qint64 answer);
    void stop();                        // the running one; what it wrote stays
    void stopUnread(const Chat& chat);  // what is on no branch that is read
    void stopAll(qint64 conversation);

    bool isRunning(qint64 answer) const { return m_running && m_running->answer == answer; }
    std::shared_ptr<Chat> running() const { return m_running ? m_running->chat : nullptr; }
    std::shared_ptr<Chat> find(qint64 conversation) const;  // with an answer running or waiting; else null
    int waiting(qint64 conversation) const;
    QSet<qint64> busy() const;  // conversations

    // What the engine is given for this answer.
    static EngineWorker::Prompt promptFor(const Chat& chat, qint64 answer, std::shared_ptr<ChatPictures> pictures);

Q_SIGNALS:
    void streamed(qint64 conversation, qint64 answer, const QString& text, const QString& reasoning);
    void changed(qint64 conversation, qint64 answer);  // its state
    void speedChanged(qint64 conversation, double tokensPerSecond);
    void queueChanged();

private:
    struct Task {
        std::shared_ptr<Chat> chat;
        qint64 answer = 0;
    };
    struct Running : Task {
        std::shared_ptr<EngineJob> job;
        QString unsavedText;
        QString unsavedReasoning;
        QElapsedTimer sinceFirst;
        int tokens = 0;
    };

    void next();
    void take(const std::vector<TokenEvent>& events);
    void save();
    void end(const std::function<void(ChatMessage&)>& result);
    void cancelWaiting(const std::function<bool(const Task&)>& which);

    ChatStore& m_store;
    std::shared_ptr<ChatPictures> m_pictures;
    Generate m_generate;
    QString m_modelName;
    std::deque<Task> m_waiting;
    std::optional<Running> m_running;
    QTimer m_saveTimer;
};

}  // namespace vitrine
