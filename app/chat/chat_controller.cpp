#include "app/chat/chat_controller.h"

#include "app/activity.h"
#include "app/chat/chat_export.h"
#include "app/chat/chat_pictures.h"
#include "app/pictures/picture_file.h"
#include "app/settings.h"
#include "ui/chat/chat_drawer.h"
#include "ui/chat/chat_page.h"
#include "ui/message_bar.h"
#include "ui/pictures/picture.h"

#include <QDateTime>
#include <QDesktopServices>
#include <QFileInfo>
#include <QLocale>
#include <QRandomGenerator>
#include <QUrl>
#include <QtConcurrentRun>

#include <algorithm>

namespace vitrine {
namespace {

constexpr int kThumbnailSide = 420;  // sharp at twice the size of a tile
constexpr int kSuggestions = 3;
const QString kGeneration = QStringLiteral("generation");
const QString kSystemPrompt = QStringLiteral("system_prompt");
const QString kLayout = QStringLiteral("layout");

QString fromUtf8(const std::string& text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace

ChatController::ChatController(ChatPage& page, Database& database, Settings& settings, const QString& picturesFolder,
                               QObject* parent)
    : QObject(parent),
      m_page(&page),
      m_settings(settings),
      m_pictures(std::make_shared<ChatPictures>(picturesFolder)),
      m_store(database, m_pictures),
      m_attachments(m_pictures, m_pool),
      m_answers(m_store, m_pictures) {
    m_pool.setMaxThreadCount(2);
    m_pool.setObjectName(QStringLiteral("chat pictures"));
    page.setConversations(&m_list);
    page.restoreState(QByteArray::fromBase64(m_settings.get(setting::chat).value(kLayout).toString().toLatin1()));
    connectPage();
    connectAnswers();
    connect(&m_list, &ChatListModel::renamed, this, [this](qint64 conversation, const QString& title) {
        m_store.rename(conversation, title);
        if (const auto running = m_answers.find(conversation)) running->info.title = title;
        if (m_chat->info.id != conversation) return;
        m_chat->info.title = title;
        if (m_page) m_page->setTitle(title);
    });
    connect(&m_attachments, &ChatAttachments::changed, this, [this] {
        if (m_page) m_page->setAttachments(m_attachments.all());
    });
    setModel(EngineWorker::State::empty, {}, {});
    newChat();
    m_store.overview()
        .then(this,
              [this](const chat_tables::Overview& overview) {
                  m_lastId = std::max(m_lastId, overview.lastId);
                  m_list.setChats(overview.chats);
                  if (m_page) m_page->drawer()->setCurrent(m_chat->info.id);
              })
        .onFailed(this, [this](const std::exception& error) { complain(tr("The chats cannot be read"), error); });
}

ChatController::~ChatController() {
    m_pool.clear();
    m_pool.waitForDone();
    if (!m_page) return;
    QJsonObject kept = m_settings.get(setting::chat);
    kept.insert(kLayout, QString::fromLatin1(m_page->saveState().toBase64()));
    m_settings.set(setting::chat, kept);
    m_page->setConversations(nullptr);
}

void ChatController::connectPage() {
    ChatPage* page = m_page;
    connect(page, &ChatPage::sendWanted, this, &ChatController::send);
    connect(page, &ChatPage::stopWanted, &m_answers, &ChatAnswers::stop);
    connect(page, &ChatPage::insightWanted, this, &ChatController::lookInto);
    connect(page, &ChatPage::regenerateWanted, this, &ChatController::regenerate);
    connect(page, &ChatPage::editWanted, this, &ChatController::edit);
    connect(page, &ChatPage::branchWanted, this, &ChatController::switchBranch);
    connect(page, &ChatPage::filesOffered, this, &ChatController::addPictures);
    connect(page, &ChatPage::imageOffered, this, [this](const QImage& image) { m_attachments.add(image); });
    connect(page, &ChatPage::attachmentRemoved, &m_attachments, &ChatAttachments::remove);
    connect(page, &ChatPage::thumbnailWanted, this, &ChatController::loadThumbnail);
    connect(page, &ChatPage::pictureWanted, this, &ChatController::enlarge);
    connect(page, &ChatPage::settingsChanged, this, &ChatController::applySettings);
    connect(page, &ChatPage::modelWanted, this, &ChatController::modelWanted);
    connect(page, &ChatPage::conversationOpened, this, &ChatController::open);
    connect(page, &ChatPage::newWanted, this, &ChatController::newChat);
    connect(page, &ChatPage::searchChanged, this, &ChatController::search);
    connect(page, &ChatPage::deleteWanted, this, &ChatController::remove);
    connect(page, &ChatPage::exportWanted, this, &ChatController::chooseExport);
    connect(page, &ChatPage::attachWanted, this, &ChatController::chooseFiles);
    connect(page, &ChatPage::linkClicked, this, [this](const QString& target) {
        if (!m_page) return;
        m_page->messages().show(MessageBar::Kind::information, tr("This link leads to %1").arg(target),
                                tr("Open in browser"), [target] { QDesktopServices::openUrl(QUrl(target)); });
    });
}

void ChatController::connectAnswers() {
    connect(&m_answers, &ChatAnswers::streamed, this,
            [this](qint64 conversation, qint64 answer, const QString& text, const QString& reasoning) {
                if (m_page && conversation == m_chat->info.id) m_page->append(answer, text, reasoning);
            });
    connect(&m_answers, &ChatAnswers::changed, this, [this](qint64 conversation, qint64 answer) {
        if (conversation == m_chat->info.id) {
            refresh(false);
            return;
        }
        // The end of an answer elsewhere: its title leads there.
        const ChatInfo* info = m_list.find(conversation);
        if (info == nullptr || m_answers.isRunning(answer) || !m_page) return;
        m_page->messages().show(MessageBar::Kind::information, tr("“%1” has an answer").arg(info->title), tr("Show"),
                                [this, conversation] { open(conversation); });
    });
    connect(&m_answers, &ChatAnswers::speedChanged, this, [this](qint64 conversation, double speed) {
        if (m_page && conversation == m_chat->info.id) m_page->setSpeed(tr("%L1 tokens/s").arg(speed, 0, 'f', 1));
    });
    connect(&m_answers, &ChatAnswers::queueChanged, this, &ChatController::refreshBusy);
}

void ChatController::attach(EngineWorker& engine) {
    setGenerate([&engine](EngineWorker::Prompt prompt, const GenerationOptions& options) {
        return engine.generate(std::move(prompt), options);
    });
    const auto follow = [this, &engine] { setModel(engine.state(), engine.model(), engine.fault()); };
    connect(&engine, &EngineWorker::stateChanged, this, follow);
    follow();
}

void ChatController::showActivities(ActivityList& activities) {
    m_activities = &activities;
}

void ChatController::setModel(EngineWorker::State state, const std::optional<ModelSummary>& model,
                              const QString& fault) {
    ChatModelState shown;
    shown.loading = state == EngineWorker::State::loading;
    if (model) {
        shown.name = fromUtf8(model->name);
        shown.about = fromUtf8(model->about);
        for (const auto& [name, prompt] : model->presets) {
            if (shown.suggestions.size() < kSuggestions) shown.suggestions += fromUtf8(prompt).simplified();
        }
        if (shown.suggestions.isEmpty())
            shown.suggestions = {tr("What is in this picture?"), tr("Describe it in one sentence.")};
    } else if (state == EngineWorker::State::empty) {
        shown.whyNot = fault.isEmpty() ? tr("No model is loaded.") : fault;
    }
    m_contextSize = model ? static_cast<int>(model->context) : 0;
    m_answers.setModelName(shown.name);
    if (!m_page) return;
    m_page->setModel(shown);
    if (m_chat) refreshContext();
}

ChatSettings ChatController::standardSettings() const {
    const QJsonObject kept = m_settings.get(setting::chat);
    ChatSettings settings = chatSettingsFromJson(kept.value(kGeneration).toObject());
    settings.systemPrompt = kept.value(kSystemPrompt).toString();
    return settings;
}

qint64 ChatController::newId() {
    m_lastId = std::max(m_lastId + 1, QDateTime::currentMSecsSinceEpoch() * 1000);
    return m_lastId;
}

void ChatController::newChat() {
    m_wanted = 0;
    auto chat = std::make_shared<Chat>();
    chat->info.settings = standardSettings();
    show(chat, true);
}

void ChatController::open(qint64 conversation, qint64 message) {
    m_wanted = conversation;
    const auto lead = [this, message](const std::shared_ptr<Chat>& chat) {
        for (const qint64 id : chat->tree.pathTo(message)) {
            if (chat->tree.chosen(chat->tree.find(id)->parent) == id) continue;
            chat->tree.choose(id);
            m_store.choose(chat->info.id, chat->tree.find(id)->parent, id);
        }
        if (chat != m_chat || message != 0) show(chat, message == 0);
        if (message != 0 && m_page) m_page->showTurn(message);
    };
    if (conversation == m_chat->info.id) return lead(m_chat);
    if (const auto live = m_answers.find(conversation)) return lead(live);
    m_store.load(conversation)
        .then(this,
              [this, conversation, lead](const std::optional<Chat>& chat) {
                  if (chat && m_wanted == conversation) lead(std::make_shared<Chat>(*chat));
              })
        .onFailed(this, [this](const std::exception& error) { complain(tr("The chat cannot be read"), error); });
}

void ChatController::show(const std::shared_ptr<Chat>& chat, bool jumpToEnd) {
    m_chat = chat;
    if (!m_page) return;
    m_page->setSettings(chat->info.settings);
    m_page->setSpeed({});
    refresh(jumpToEnd);
    refreshBusy();
}

void ChatController::refresh(bool jumpToEnd) {
    if (!m_page) return;
    m_page->showConversation(m_chat->info.id, m_chat->info.title, turns(), jumpToEnd);
    refreshContext();
}

void ChatController::refreshBusy() {
    const qint64 id = m_chat->info.id;
    m_list.setBusy(m_answers.busy());
    const auto running = m_answers.running();
    if (m_page) m_page->setAnswering(running && running->info.id == id && id != 0, m_answers.waiting(id));
    if (!running || m_activities == nullptr) {
        m_activity.reset();
    } else if (!m_activity) {
        m_activity = m_activities->begin(tr("Answering in “%1”").arg(running->info.title));
        connect(m_activity.get(), &Activity::stopRequested, &m_answers, &ChatAnswers::stop);
    } else {
        m_activity->setTitle(tr("Answering in “%1”").arg(running->info.title));
    }
}

void ChatController::refreshContext() {
    const QList<qint64> path = m_chat->tree.path();
    const auto last =
        std::find_if(path.rbegin(), path.rend(), [this](qint64 id) { return m_chat->tree.find(id)->promptTokens > 0; });
    int used = 0;
    if (last != path.rend()) used = m_chat->tree.find(*last)->promptTokens + m_chat->tree.find(*last)->tokens;
    m_page->setContext(used, m_contextSize);
}

QString ChatController::noteOf(const ChatMessage& message) const {
    QStringList parts;
    if (message.tokens > 0) parts += tr("%n token(s)", nullptr, message.tokens);
    if (message.tokensPerSecond > 0) parts += tr("%L1 tokens/s").arg(message.tokensPerSecond, 0, 'f', 1);
    if (message.firstTokenMs > 0) parts += tr("first after %L1 s").arg(message.firstTokenMs / 1000.0, 0, 'f', 1);
    const auto endedBy = [&message](FinishReason reason) {
        return message.finish == QLatin1String(name_of(reason).data(), static_cast<qsizetype>(name_of(reason).size()));
    };
    if (endedBy(FinishReason::length)) parts.prepend(tr("Reached the longest answer"));
    if (endedBy(FinishReason::loop)) parts.prepend(tr("Ended because it repeated itself"));
    return parts.join(QStringLiteral(" · "));
}

Turn ChatController::turnOf(const ChatMessage& message) const {
    Turn turn;
    turn.id = message.id;
    turn.role = message.role;
    turn.text = message.text;
    turn.reasoning = message.reasoning;
    turn.state = message.state;
    for (const ChatPicture& picture : message.pictures)
        turn.pictures += TurnPicture{.key = picture.key, .name = picture.name};
    if (message.state == TurnState::failed) turn.problem = message.detail;
    if (message.role == Role::assistant) {
        turn.note = noteOf(message);
        if (message.state == TurnState::streaming && message.text.isEmpty() && message.reasoning.isEmpty())
            turn.state = TurnState::waiting;  // the model reads
    }
    const QList<qint64>& siblings = m_chat->tree.children(message.parent);
    turn.branches = static_cast<int>(siblings.size());
    turn.branch = static_cast<int>(siblings.indexOf(message.id)) + 1;
    return turn;
}

// What is read. An answer that waits for its turn shows as the state of its question.
QList<Turn> ChatController::turns() const {
    QList<Turn> turns;
    for (const qint64 id : m_chat->tree.path()) {
        const ChatMessage& message = *m_chat->tree.find(id);
        if (message.state == TurnState::waiting && message.role == Role::assistant) {
            if (!turns.isEmpty()) turns.last().state = TurnState::waiting;
        } else {
            turns += turnOf(message);
        }
    }
    return turns;
}

void ChatController::touch() {
    m_chat->info.changed = QDateTime::currentMSecsSinceEpoch();
    m_store.save(m_chat->info);
    m_list.put(m_chat->info);
}

void ChatController::send(const QString& text) {
    const QList<ChatPicture> pictures = m_attachments.take();
    if (text.trimmed().isEmpty() && pictures.isEmpty()) return;
    if (m_page) m_page->clearMessage();
    const QList<qint64> path = m_chat->tree.path();
    ask(path.isEmpty() ? 0 : path.last(), text, pictures);
}

void ChatController::ask(qint64 parent, const QString& text, const QList<ChatPicture>& pictures) {
    if (m_chat->info.id == 0) {
        m_chat->info.id = m_wanted = newId();
        m_chat->info.created = QDateTime::currentMSecsSinceEpoch();
        m_chat->info.title = titleFor(text, pictures);
    }
    touch();
    ChatMessage message;
    message.id = newId();
    message.parent = parent;
    message.text = text;
    message.pictures = pictures;
    message.created = QDateTime::currentMSecsSinceEpoch();
    m_chat->tree.add(message);
    m_store.add(m_chat->info.id, message);
    answer(message.id);
}

void ChatController::answer(qint64 user) {
    const ChatSettings& settings = m_chat->info.settings;
    ChatMessage message;
    message.id = newId();
    message.parent = user;
    message.role = Role::assistant;
    message.state = TurnState::waiting;
    message.seed = settings.fixedSeed ? settings.generation.sampling.seed : QRandomGenerator::global()->generate();
    message.created = QDateTime::currentMSecsSinceEpoch();
    m_chat->tree.add(message);
    m_store.add(m_chat->info.id, message);
    m_answers.stopUnread(*m_chat);
    m_answers.ask(m_chat, message.id);
    refresh(true);
}

void ChatController::regenerate(qint64 turn) {
    const ChatMessage* message = m_chat->tree.find(turn);
    if (message == nullptr || message->role != Role::assistant) return;
    touch();
    answer(message->parent);
}

void ChatController::lookInto(qint64 turn) {
    const ChatMessage* message = m_chat->tree.find(turn);
    if (message == nullptr || message->role != Role::assistant || message->text.isEmpty()) return;
    Message answer{.role = Role::assistant, .text = message->text.toStdString()};
    if (!message->reasoning.isEmpty()) answer.reasoning = message->reasoning.toStdString();
    Q_EMIT insightWanted([before = ChatAnswers::promptFor(*m_chat, turn, m_pictures), answer] {
        std::vector<Message> messages = before();
        messages.push_back(answer);
        return messages;
    });
}

void ChatController::lookInside() {
    const QList<qint64> path = m_chat->tree.path();
    if (!path.isEmpty()) lookInto(path.last());
}

void ChatController::edit(qint64 turn, const QString& text) {
    const ChatMessage* message = m_chat->tree.find(turn);
    if (message == nullptr || message->role != Role::user) return;
    ask(message->parent, text, QList<ChatPicture>(message->pictures));
}

void ChatController::switchBranch(qint64 turn, int step) {
    const ChatMessage* message = m_chat->tree.find(turn);
    if (message == nullptr) return;
    const QList<qint64>& siblings = m_chat->tree.children(message->parent);
    const qsizetype index = siblings.indexOf(turn) + step;
    if (index < 0 || index >= siblings.size()) return;
    m_chat->tree.choose(siblings[index]);
    m_store.choose(m_chat->info.id, message->parent, siblings[index]);
    refresh(false);
}

void ChatController::applySettings(const ChatSettings& settings) {
    m_chat->info.settings = settings;
    if (m_chat->info.id != 0) m_store.save(m_chat->info);
    QJsonObject kept = m_settings.get(setting::chat);
    kept.insert(kGeneration, toJson(settings));
    kept.insert(kSystemPrompt, settings.systemPrompt);
    m_settings.set(setting::chat, kept);
}

void ChatController::remove(qint64 conversation) {
    const ChatInfo* found = m_list.find(conversation);
    if (found == nullptr) return;
    const ChatInfo info = *found;
    m_answers.stopAll(conversation);
    m_store.setDeleted(conversation, true);
    m_list.remove(conversation);
    if (m_chat->info.id == conversation) newChat();
    if (!m_page) return;
    m_page->messages().show(MessageBar::Kind::information, tr("“%1” was deleted").arg(info.title), tr("Undo"),
                            [this, info] {
                                m_store.setDeleted(info.id, false);
                                m_list.put(info);
                                open(info.id);
                            });
}

void ChatController::search(const QString& text) {
    m_query = text.trimmed();
    if (m_query.isEmpty()) {
        m_list.clearHits();
        if (m_page) m_page->drawer()->setCurrent(m_chat->info.id);
        return;
    }
    m_store.search(m_query)
        .then(this,
              [this, query = m_query](const QList<chat_tables::Hit>& hits) {
                  if (query == m_query) m_list.setHits(hits);
              })
        .onFailed(this, [this](const std::exception& error) { complain(tr("The search failed"), error); });
}

void ChatController::chooseFiles() {
    m_dialogs->openFiles(m_page, {.title = tr("Add pictures to the message"), .filter = pictureFilter()},
                         [here = QPointer(this)](const QStringList& files) {
                             QList<QUrl> urls;
                             for (const QString& file : files) urls += QUrl::fromLocalFile(file);
                             if (here) here->addPictures(urls);
                         });
}

void ChatController::chooseExport(qint64 conversation, ChatExportFormat format) {
    const bool markdown = format == ChatExportFormat::markdown;
    const ChatInfo* info = m_list.find(conversation);
    if (info == nullptr) return;
    const QString suffix = markdown ? QStringLiteral(".md") : QStringLiteral(".json");
    m_dialogs->saveFile(m_page,
                        {.title = markdown ? tr("Export as Markdown") : tr("Export as JSON"),
                         .filter = markdown ? tr("Markdown (*.md)") : tr("JSON (*.json)"),
                         .suggested = fileNameFor(info->title) + suffix},
                        [here = QPointer(this), conversation, format, suffix](const QString& file) {
                            if (!here) return;
                            const bool named = !QFileInfo(file).suffix().isEmpty();
                            const QString target = named ? file : file + suffix;
                            const auto write = [here, conversation, format, target] {
                                if (here) here->exportChat(conversation, format, target);
                            };
                            if (named || !QFileInfo::exists(target)) return write();
                            here->m_dialogs->confirm(here->m_page, tr("Replace the file?"),
                                                     tr("%1 is there already.").arg(target), tr("Replace it"), write);
                        });
}

void ChatController::exportChat(qint64 conversation, ChatExportFormat format, const QString& file) {
    m_store.exportTo(conversation, format, file)
        .then(this,
              [this, file](const QStringList& missing) {
                  if (!m_page) return;
                  if (missing.isEmpty())
                      m_page->messages().show(MessageBar::Kind::information, tr("Exported to %1").arg(file));
                  else
                      m_page->messages().show(MessageBar::Kind::warning,
                                              tr("Exported to %1 without pictures that are gone: %2")
                                                  .arg(file, missing.join(QStringLiteral(", "))));
              })
        .onFailed(this, [this](const std::exception& error) { complain(tr("The chat was not exported"), error); });
}

void ChatController::loadThumbnail(const QString& key) {
    if (m_thumbnailsOnTheWay.contains(key)) return;
    m_thumbnailsOnTheWay += key;
    QtConcurrent::run(&m_pool, [pictures = m_pictures, key] {
        try {
            return pictures->thumbnail(key, kThumbnailSide);
        } catch (const std::exception&) {
            return QImage();  // the tile keeps its sign; why it cannot be used is said when it is
        }
    }).then(this, [this, key](const QImage& image) {
        m_thumbnailsOnTheWay.remove(key);
        if (m_page && !image.isNull()) m_page->setThumbnail(key, image);
    });
}

void ChatController::enlarge(const QString& key) {
    QString name;
    for (const qint64 id : m_chat->tree.path()) {
        for (const ChatPicture& picture : m_chat->tree.find(id)->pictures) {
            if (picture.key == key) name = picture.name;
        }
    }
    for (const TurnPicture& picture : m_attachments.all()) {
        if (picture.key == key) name = picture.name;
    }
    QtConcurrent::run(&m_pool,
                      [pictures = m_pictures, key] { return Picture::of(toQImage(Image(*pictures->decoded(key)))); })
        .then(this,
              [this, name](const Picture& picture) {
                  if (m_page) m_page->showPicture(name, picture);
              })
        .onFailed(this, [this](const std::exception& error) { complain(tr("The picture cannot be shown"), error); });
}

void ChatController::complain(const QString& what, const std::exception& error) {
    if (m_page) m_page->messages().show(MessageBar::Kind::error, tr("%1: %2").arg(what, fromUtf8(error.what())));
}

}  // namespace vitrine
