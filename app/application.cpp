#include "app/application.h"

#include "app/captions/captions_controller.h"
#include "app/chat/chat_controller.h"
#include "app/insight/insight_controller.h"
#include "app/models/models_controller.h"
#include "core/device.h"
#include "ui/captions/captions_page.h"
#include "ui/captions/drop_overlay.h"
#include "ui/chat/chat_page.h"
#include "ui/insight/insight_panel.h"
#include "ui/keys_dialog.h"
#include "ui/message_bar.h"
#include "ui/models/models_page.h"
#include "ui/status_bar.h"
#include "ui/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QDockWidget>
#include <QUrl>

namespace vitrine {
namespace {

constexpr int kMemoryEveryMs = 2000;
constexpr int kHintSeconds = 60;

const QString kCaptions = QStringLiteral("captions");
const QString kChat = QStringLiteral("chat");
const QString kModels = QStringLiteral("models");

QString bytesText(quint64 bytes) {
    return QString::fromStdString(size_text(bytes));
}

QString parametersText(std::int64_t count) {
    const double millions = static_cast<double>(count) / 1e6;
    return millions < 1000 ? Application::tr("%1 million").arg(millions, 0, 'f', 1)
                           : Application::tr("%1 billion").arg(millions / 1000, 0, 'f', 2);
}

QString explanationOf(const ModelSummary& model) {
    QStringList lines{Application::tr("Vision tower %1, projector %2, language model %3 parameters")
                          .arg(parametersText(model.vision_parameters), parametersText(model.projector_parameters),
                               parametersText(model.language_parameters)),
                      Application::tr("Weights %1 as %2, context %3 positions, %4 patches a picture")
                          .arg(bytesText(model.weight_bytes), QString::fromLatin1(name_of(model.dtype).data()))
                          .arg(model.context)
                          .arg(model.patches_per_picture)};
    if (!model.about.empty()) lines << QString::fromStdString(model.about);
    for (const std::string& warning : model.warnings) lines << QString::fromStdString(warning);
    return lines.join(QLatin1Char('\n'));
}

}  // namespace

Application::Application(Profile profile, std::unique_ptr<Dialogs> dialogs)
    : m_profile(std::move(profile)),
      m_settings(m_profile.settingsFile()),
      m_database(m_profile.databaseFile()),
      m_dialogs(std::move(dialogs)),
      m_captionsPage(new CaptionsPage),
      m_chatPage(new ChatPage),
      m_modelsPage(new ModelsPage),
      m_insightPanel(new InsightPanel),
      m_insightDock(new QDockWidget(tr("Insight"), &m_window)) {
    applyTheme();
    buildPlaces();
    buildInsight();
    connectWindow();
    connectStores();
    connectEngine();
    restoreWindow();
    showModel();
    showMemory();
}

Application::~Application() {
    m_insightDock->disconnect(this);  // it is hidden when the window goes, and that is later than what would be told
    m_loading.reset();
}

QString Application::demoModelFolder() {
    return QStringLiteral(VITRINE_RESOURCES "/demo/model");
}

QString Application::examplesFolder() {
    return QStringLiteral(VITRINE_RESOURCES "/examples");
}

void Application::start() {
    m_window.show();
    loadModel();
    showHint();
}

void Application::openPaths(const QStringList& paths) {
    if (paths.isEmpty()) return;
    m_window.showPlace(kCaptions);
    m_captions->open(paths);
}

void Application::comeToFront() {
    m_window.setWindowState(m_window.windowState() & ~Qt::WindowMinimized);
    m_window.show();
    m_window.raise();
    m_window.activateWindow();
}

void Application::showInsight() {
    m_insightDock->show();
    m_insightDock->raise();
}

void Application::buildPlaces() {
    m_window.addPlace(kCaptions, tr("Captions"), QStringLiteral("captions"), m_captionsPage);
    m_window.addPlace(kChat, tr("Chat"), QStringLiteral("chat"), m_chatPage);
    m_window.addPlace(kModels, tr("Models"), QStringLiteral("models"), m_modelsPage);
    m_window.setAboutText(
        tr("Vitrine %1\n\nA see-through vision-language model on the desktop: every layer written by hand, everything "
           "inside open to view.\n\nGPL-3.0-or-later")
            .arg(QStringLiteral(VITRINE_VERSION)));

    m_captions = std::make_unique<CaptionsController>(*m_captionsPage, m_database, m_engine, m_activities, m_settings,
                                                      *m_dialogs, m_profile);
    m_chat = std::make_unique<ChatController>(*m_chatPage, m_database, m_settings,
                                              m_profile.dataFolder() + QStringLiteral("/pictures"));
    m_chat->attach(m_engine);
    m_chat->setDialogs(*m_dialogs);
    m_chat->showActivities(m_activities);
    connect(m_chat.get(), &ChatController::modelWanted, &m_window, [this] { m_window.showPlace(kModels); });
    m_models = std::make_unique<ModelsController>(
        ModelsController::Parts{*m_modelsPage, m_engine, m_activities, m_settings, *m_dialogs, m_profile},
        demoModelFolder());
}

void Application::buildInsight() {
    m_insightDock->setObjectName(QStringLiteral("insight"));
    m_insightDock->setWidget(m_insightPanel);
    m_window.addDock(m_insightDock, QStringLiteral("insight"), QKeySequence(QStringLiteral("Ctrl+I")));
    m_insight = std::make_unique<InsightController>(*m_insightPanel, m_engine, m_settings, *m_dialogs);
    const auto lookInside = [this] {
        if (m_window.place() == kChat)
            m_chat->lookInside();
        else if (m_window.place() == kCaptions)
            m_captions->lookInside();
    };
    connect(m_insightDock, &QDockWidget::visibilityChanged, this, [this, lookInside](bool visible) {
        m_insight->setWatching(visible);
        m_captions->setWatched(visible);
        if (visible && !m_insight->recording()) lookInside();
    });
    connect(m_captions.get(), &CaptionsController::insightWanted, m_insight.get(), &InsightController::open);
    connect(m_chat.get(), &ChatController::insightWanted, this, [this](const EngineWorker::Prompt& prompt) {
        showInsight();
        m_insight->open(prompt);
    });
}

void Application::connectWindow() {
    auto* overlay = new DropOverlay(&m_window);
    overlay->setHeadline([this](const DropData& content) {
        if (m_window.place() == kChat) return tr("Drop to ask about %1").arg(content.summary());
        if (m_window.place() == kModels && !content.folders.isEmpty()) return tr("Drop to look for models there");
        return tr("Drop to add %1 to Captions").arg(content.summary());
    });
    connect(overlay, &DropOverlay::dropped, this, &Application::take);
    connect(&m_window, &MainWindow::pasteRequested, this, [this] {
        const QMimeData* const mime = QGuiApplication::clipboard()->mimeData();
        take(mime != nullptr ? DropData::of(*mime) : DropData());
    });
    const auto inCaptions = [this](void (CaptionsController::*wish)()) {
        return [this, wish] {
            m_window.showPlace(kCaptions);
            (m_captions.get()->*wish)();
        };
    };
    connect(&m_window, &MainWindow::openFilesRequested, this, inCaptions(&CaptionsController::chooseFiles));
    connect(&m_window, &MainWindow::openFolderRequested, this, inCaptions(&CaptionsController::chooseFolder));
    connect(&m_window, &MainWindow::helpRequested, this, &Application::showKeys);
    connect(&m_window, &MainWindow::themeChosen, this, [this](const QString& name) {
        m_settings.set(setting::theme, name);
        applyTheme();
    });
    connect(&m_appearance, &DesktopAppearance::changed, this, &Application::applyTheme);
    connect(&m_window, &MainWindow::closing, this, &Application::saveWindow);
    connect(&m_window, &MainWindow::placeChanged, this,
            [this](const QString& place) { m_settings.set(setting::place, place); });
    connect(&m_window.status(), &StatusBar::modelClicked, this, [this] { m_window.showPlace(kModels); });
}

void Application::connectStores() {
    const auto complain = [this](const QString& message) {
        m_window.messages().show(MessageBar::Kind::error, message);
    };
    connect(&m_settings, &Settings::failed, this, complain);
    connect(&m_database, &Database::failed, this, complain);
    const auto replaced = [this](const QString& keptAs) {
        m_window.messages().show(
            MessageBar::Kind::warning,
            tr("A damaged file was put aside and a new one begun. The old one is %1.").arg(keptAs));
    };
    connect(&m_settings, &Settings::damaged, this, replaced);
    connect(&m_database, &Database::replaced, this, replaced);
}

void Application::connectEngine() {
    connect(&m_engine, &EngineWorker::stateChanged, this, &Application::showModel);
    connect(&m_engine, &EngineWorker::loadFailed, this,
            [this](const QString& message) { m_window.messages().show(MessageBar::Kind::error, message); });
    connect(&m_engine, &EngineWorker::loadProgressed, this, [this](quint64 done, quint64 total) {
        if (m_loading) m_loading->setProgress(static_cast<double>(done), static_cast<double>(total));
    });
    connect(&m_activities, &ActivityList::changed, this, &Application::showJob);
    connect(&m_window.status(), &StatusBar::stopRequested, this, [this] {
        if (!m_activities.all().isEmpty()) m_activities.all().constFirst()->stop();
    });
    connect(&m_memoryTimer, &QTimer::timeout, this, &Application::showMemory);
    m_memoryTimer.start(kMemoryEveryMs);
}

void Application::take(const DropData& data) {
    if (m_window.place() == kChat) {
        QList<QUrl> urls;
        for (const QString& file : data.files) urls << QUrl::fromLocalFile(file);
        m_chat->addPictures(urls);
        const QImage image = data.image.isNull() ? QImage::fromData(data.imageBytes) : data.image;
        if (!image.isNull()) Q_EMIT m_chatPage->imageOffered(image);
        return;
    }
    if (m_window.place() == kModels && !data.folders.isEmpty()) {
        Q_EMIT m_modelsPage->foldersDropped(data.folders);
        return;
    }
    m_window.showPlace(kCaptions);
    m_captions->openDropped(data);
}

void Application::showHint() {
    if (m_settings.get(setting::hintSeen)) return;
    m_settings.set(setting::hintSeen, true);
    if (!QDir(examplesFolder()).exists()) return;
    m_window.messages().show(
        MessageBar::Kind::information,
        tr("Drop pictures anywhere in this window to have them described. The small model that "
           "comes with Vitrine knows coloured shapes; larger ones go in under Models."),
        tr("Open the example pictures"), [this] { openPaths({examplesFolder()}); }, kHintSeconds);
}

void Application::showKeys() {
    const QList<KeyGroup> groups{
        {tr("Everywhere"),
         {{QStringLiteral("Ctrl+1, 2, 3"), tr("Captions, Chat, Models")},
          {QStringLiteral("Ctrl+O"), tr("Open pictures")},
          {QStringLiteral("Ctrl+Shift+O"), tr("Open a folder with all the folders in it")},
          {QStringLiteral("Ctrl+Shift+V"), tr("Paste a picture")},
          {QStringLiteral("Ctrl+I"), tr("Show or hide Insight")},
          {QStringLiteral("F1"), tr("These keys")}}},
        {tr("Captions"),
         {{QStringLiteral("↑ ↓"), tr("Previous and next picture; with Alt also while typing")},
          {QStringLiteral("Ctrl+Return"), tr("Caption the picture")},
          {QStringLiteral("F2"), tr("Edit the caption; Esc goes back to the list")},
          {QStringLiteral("Ctrl+F"), tr("Search")},
          {QStringLiteral("+ − 1 F"), tr("Zoom in, out, real size, fit")},
          {QStringLiteral("Del"), tr("Take off the list; the file stays")}}},
        {tr("Chat"),
         {{QStringLiteral("Return"), tr("Send; Shift+Return begins a new line")},
          {QStringLiteral("Ctrl+N"), tr("New conversation")},
          {QStringLiteral("Ctrl+K"), tr("Search all conversations")},
          {QStringLiteral("Ctrl+B"), tr("Show or hide the list of conversations")},
          {QStringLiteral("Ctrl+Shift+A"), tr("Add pictures to the message")},
          {QStringLiteral("Ctrl+L"), tr("Go to the message")},
          {QStringLiteral("Ctrl+↑ ↓"), tr("Previous and next turn")},
          {QStringLiteral("F2"), tr("Rename the conversation")},
          {QStringLiteral("Esc"), tr("Stop the answer")}}},
        {tr("Insight"),
         {{QStringLiteral("← →"), tr("Previous and next word")},
          {QStringLiteral("Space"), tr("Play along the answer")},
          {QStringLiteral("↑ ↓"), tr("Previous and next layer")},
          {QStringLiteral("[ ]"), tr("Previous and next head")}}},
    };
    (new KeysDialog(groups, &m_window))->open();
}

void Application::applyTheme() {
    const QString name = m_settings.get(setting::theme);
    theme::apply(*qApp, theme::choiceFromName(name), m_appearance.isDark());
    m_window.setTheme(theme::nameOf(theme::choiceFromName(name)));
}

void Application::restoreWindow() {
    m_window.restoreGeometry(m_settings.get(setting::windowGeometry));
    m_window.restoreState(m_settings.get(setting::windowState));
    m_window.showPlace(m_settings.get(setting::place));
}

void Application::saveWindow() {
    m_settings.set(setting::windowGeometry, m_window.saveGeometry());
    m_settings.set(setting::windowState, m_window.saveState());
    m_captions->save();
    m_models->saveLayout();
    m_insight->save();
}

void Application::loadModel() {
    const QString chosen = m_settings.get(setting::model);
    const QString folder = !chosen.isEmpty() && QDir(chosen).exists() ? chosen : demoModelFolder();
    if (!QDir(folder).exists()) return;
    LoadOptions options;
    options.device = m_settings.get(setting::device).toStdString();
    options.dtype = dtype_from_name(m_settings.get(setting::dtype).toStdString());
    options.threads = m_settings.get(setting::threads);
    m_engine.load(folder, options);
}

void Application::showModel() {
    if (m_engine.state() == EngineWorker::State::loading) {
        m_loading = m_activities.begin(tr("Loading %1").arg(QDir(m_engine.folder()).dirName()));
        connect(m_loading.get(), &Activity::stopRequested, &m_engine, &EngineWorker::cancelLoad);
    } else {
        m_loading.reset();
    }
    StatusBar& status = m_window.status();
    if (const auto& model = m_engine.model()) {
        status.setModel(QString::fromStdString(model->name), explanationOf(*model));
        status.setDevice(QStringLiteral("%1 · %2").arg(QString::fromStdString(name_of(model->device)),
                                                       QString::fromLatin1(name_of(model->dtype).data())),
                         tr("Where the model runs, and the type of its weights"));
    } else {
        status.setModel(m_loading ? tr("Loading…") : tr("No model"), m_engine.fault());
        status.setDevice({}, {});
    }
}

void Application::showMemory() {
    const quint64 total = memory_of(Device{}).total;
    m_window.status().setMemory(tr("%1 in use").arg(bytesText(resident_bytes())),
                                tr("Memory of this program; the machine has %1, of which %2 are free")
                                    .arg(bytesText(total), bytesText(memory_of(Device{}).available)));
}

void Application::showJob() {
    const QList<Activity*> all = m_activities.all();
    if (all.isEmpty()) return m_window.status().setJob(std::nullopt);
    const Activity& first = *all.constFirst();
    JobView view{.title = first.title(),
                 .detail = first.detail(),
                 .fraction = first.total() > 0 ? first.done() / first.total() : -1.0,
                 .stopping = first.stopping(),
                 .others = static_cast<int>(all.size()) - 1};
    if (const auto left = first.secondsLeft()) {
        view.detail +=
            (view.detail.isEmpty() ? QString() : QStringLiteral(" · ")) + tr("%1 left").arg(durationText(*left));
    }
    m_window.status().setJob(view);
}

}  // namespace vitrine
