#include "app/chat/chat_answers.h"

#include "app/chat/chat_pictures.h"
#include "app/chat/chat_store.h"

#include <QRandomGenerator>

#include <algorithm>

namespace vitrine {
namespace {

constexpr int kSaveMs = 500;  // a crash loses no more than this

QString fromUtf8(const std::string& text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace

ChatAnswers::ChatAnswers(ChatStore& store, std::shared_ptr<ChatPictures> pictures, QObject* parent)
    : QObject(parent), m_store(store), m_pictures(std::move(pictures)) {
    m_saveTimer.setInterval(kSaveMs);
    connect(&m_saveTimer, &QTimer::timeout, this, &ChatAnswers::save);
}

ChatAnswers::~ChatAnswers() {
    if (!m_running) return;
    m_running->job->disconnect(this);
    m_running->job->stop();
    ChatMessage message = *m_running->chat->tree.find(m_running->answer);
    message.state = TurnState::interrupted;
    m_store.finish(message);
}

EngineWorker::Prompt ChatAnswers::promptFor(const Chat& chat, qint64 answer, std::shared_ptr<ChatPictures> pictures) {
    struct Part {
        Message message;
        QStringList keys;
    };
    std::vector<Part> parts;
    const QString system = chat.info.settings.systemPrompt.trimmed();
    if (!system.isEmpty()) parts.push_back({{.role = Role::system, .text = system.toStdString()}, {}});
    for (const qint64 id : chat.tree.pathTo(chat.tree.find(answer)->parent)) {
        const ChatMessage& message = *chat.tree.find(id);
        if (message.role == Role::assistant && message.text.isEmpty()) continue;  // failed, or stopped before a word
        Part part{{.role = message.role, .text = message.text.toStdString()}, {}};
        if (!message.reasoning.isEmpty()) part.message.reasoning = message.reasoning.toStdString();
        for (const ChatPicture& picture : message.pictures) part.keys += picture.key;
        parts.push_back(std::move(part));
    }
    return [parts = std::move(parts), pictures = std::move(pictures)] {  // on the engine thread
        std::vector<Message> messages;
        messages.reserve(parts.size());
        for (const Part& part : parts) {
            messages.push_back(part.message);
            for (const QString& key : part.keys) messages.back().pictures.push_back(pictures->decoded(key));
        }
        return messages;
    };
}

void ChatAnswers::ask(const std::shared_ptr<Chat>& chat, qint64 answer) {
    m_waiting.push_back({chat, answer});
    next();
    Q_EMIT queueChanged();
}

void ChatAnswers::next() {
    if (m_running || m_waiting.empty() || !m_generate) return;
    m_running.emplace();
    static_cast<Task&>(*m_running) = std::move(m_waiting.front());
    m_waiting.pop_front();
    Chat& chat = *m_running->chat;
    ChatMessage& message = *chat.tree.find(m_running->answer);
    message.state = TurnState::streaming;
    message.model = m_modelName;
    chat.info.model = m_modelName;
    GenerationOptions options = chat.info.settings.generation;
    options.sampling.seed = message.seed;
    options.alternatives = 0;
    m_running->job = m_generate(promptFor(chat, m_running->answer, m_pictures), options);
    const EngineJob* job = m_running->job.get();
    connect(job, &EngineJob::streamed, this, &ChatAnswers::take);
    connect(job, &EngineJob::finished, this, [this](const GenerationResult& result) {
        end([&result](ChatMessage& answer) {
            answer.state = result.finish == FinishReason::stopped ? TurnState::stopped : TurnState::complete;
            answer.text = fromUtf8(result.text);
            answer.reasoning = fromUtf8(result.reasoning);
            answer.finish = QString::fromLatin1(name_of(result.finish).data(),
                                                static_cast<qsizetype>(name_of(result.finish).size()));
            answer.detail = fromUtf8(result.detail);
            answer.tokens = static_cast<int>(result.ids.size());
            answer.promptTokens = result.prompt_tokens;
            answer.cachedTokens = result.cached_tokens;
            answer.tokensPerSecond = result.tokens_per_s;
            answer.firstTokenMs = result.first_token_ms;
        });
    });
    connect(job, &EngineJob::failed, this, [this](const QString& problem) {
        end([&problem](ChatMessage& answer) {
            answer.state = TurnState::failed;
            answer.detail = problem;
        });
    });
    m_saveTimer.start();
    Q_EMIT changed(chat.info.id, m_running->answer);
}

void ChatAnswers::take(const std::vector<TokenEvent>& events) {
    if (!m_running) return;
    QString text;
    QString reasoning;
    for (const TokenEvent& event : events) (event.reasoning ? reasoning : text) += fromUtf8(event.text);
    Running& running = *m_running;
    if (running.tokens == 0) running.sinceFirst.start();
    running.tokens += static_cast<int>(events.size());
    const double seconds = static_cast<double>(running.sinceFirst.nsecsElapsed()) / 1e9;
    if (seconds > 0.2) Q_EMIT speedChanged(running.chat->info.id, running.tokens / seconds);
    ChatMessage& message = *running.chat->tree.find(running.answer);
    message.text += text;
    message.reasoning += reasoning;
    running.unsavedText += text;
    running.unsavedReasoning += reasoning;
    Q_EMIT streamed(running.chat->info.id, running.answer, text, reasoning);
}

void ChatAnswers::save() {
    if (!m_running || (m_running->unsavedText.isEmpty() && m_running->unsavedReasoning.isEmpty())) return;
    m_store.append(m_running->answer, std::exchange(m_running->unsavedText, {}),
                   std::exchange(m_running->unsavedReasoning, {}));
}

void ChatAnswers::end(const std::function<void(ChatMessage&)>& result) {
    if (!m_running) return;
    const Running ended = std::move(*m_running);
    m_running.reset();
    m_saveTimer.stop();
    ChatMessage& message = *ended.chat->tree.find(ended.answer);
    result(message);
    m_store.finish(message);
    Q_EMIT changed(ended.chat->info.id, ended.answer);
    next();
    Q_EMIT queueChanged();
}

void ChatAnswers::stop() {
    if (m_running) m_running->job->stop();
}

void ChatAnswers::stopUnread(const Chat& chat) {
    const QList<qint64> path = chat.tree.path();
    const auto unread = [&](const Task& task) { return task.chat.get() == &chat && !path.contains(task.answer); };
    cancelWaiting(unread);
    if (m_running && unread(*m_running)) stop();
}

void ChatAnswers::stopAll(qint64 conversation) {
    const auto own = [conversation](const Task& task) { return task.chat->info.id == conversation; };
    cancelWaiting(own);
    if (m_running && own(*m_running)) stop();
}

void ChatAnswers::cancelWaiting(const std::function<bool(const Task&)>& which) {
    std::deque<Task> kept;
    for (const Task& task : std::exchange(m_waiting, {})) {
        if (!which(task)) {
            kept.push_back(task);
            continue;
        }
        ChatMessage& message = *task.chat->tree.find(task.answer);
        message.state = TurnState::stopped;
        m_store.finish(message);
        Q_EMIT changed(task.chat->info.id, task.answer);
    }
    m_waiting = std::move(kept);
    Q_EMIT queueChanged();
}

std::shared_ptr<Chat> ChatAnswers::find(qint64 conversation) const {
    if (m_running && m_running->chat->info.id == conversation) return m_running->chat;
    const auto task = std::find_if(m_waiting.begin(), m_waiting.end(),
                                   [conversation](const Task& other) { return other.chat->info.id == conversation; });
    return task == m_waiting.end() ? nullptr : task->chat;
}

int ChatAnswers::waiting(qint64 conversation) const {
    return static_cast<int>(std::count_if(m_waiting.begin(), m_waiting.end(), [conversation](const Task& task) {
        return task.chat->info.id == conversation;
    }));
}

QSet<qint64> ChatAnswers::busy() const {
    QSet<qint64> conversations;
    if (m_running) conversations += m_running->chat->info.id;
    for (const Task& task : m_waiting) conversations += task.chat->info.id;
    return conversations;
}

}  // namespace vitrine
