#include "app/application.h"

#include "core/device.h"
#include "ui/empty_state.h"
#include "ui/message_bar.h"
#include "ui/status_bar.h"
#include "ui/theme.h"

#include <QApplication>
#include <QDir>

namespace vitrine {
namespace {

constexpr int kMemoryEveryMs = 2000;

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

Application::Application(Profile profile, QObject* parent)
    : QObject(parent),
      m_profile(std::move(profile)),
      m_settings(m_profile.settingsFile()),
      m_database(m_profile.databaseFile()) {
    applyTheme();
    buildPlaces();
    restoreWindow();

    connect(&m_window, &MainWindow::themeChosen, this, [this](const QString& name) {
        m_settings.set(setting::theme, name);
        applyTheme();
    });
    connect(&m_appearance, &DesktopAppearance::changed, this, &Application::applyTheme);
    connect(&m_window, &MainWindow::closing, this, &Application::saveWindow);
    connect(&m_window, &MainWindow::placeChanged, this,
            [this](const QString& place) { m_settings.set(setting::place, place); });
    connect(&m_window.status(), &StatusBar::modelClicked, this,
            [this] { m_window.showPlace(QStringLiteral("models")); });

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

    connect(&m_engine, &EngineWorker::stateChanged, this, &Application::showModel);
    connect(&m_engine, &EngineWorker::loadFailed, this, complain);
    connect(&m_engine, &EngineWorker::loadProgressed, this, [this](quint64 done, quint64 total) {
        if (m_loading) m_loading->setProgress(static_cast<double>(done), static_cast<double>(total));
    });
    connect(&m_activities, &ActivityList::changed, this, &Application::showJob);
    connect(&m_window.status(), &StatusBar::stopRequested, this, [this] {
        if (!m_activities.all().isEmpty()) m_activities.all().constFirst()->stop();
    });
    connect(&m_memoryTimer, &QTimer::timeout, this, &Application::showMemory);
    m_memoryTimer.start(kMemoryEveryMs);
    showModel();
    showMemory();
}

Application::~Application() {
    m_loading.reset();
}

QString Application::demoModelFolder() {
    return QStringLiteral(VITRINE_RESOURCES "/demo/model");
}

void Application::start() {
    m_window.show();
    loadModel();
}

void Application::openPaths(const QStringList& paths) {
    if (paths.isEmpty()) return;
    m_window.showPlace(QStringLiteral("captions"));
}

void Application::comeToFront() {
    m_window.setWindowState(m_window.windowState() & ~Qt::WindowMinimized);
    m_window.show();
    m_window.raise();
    m_window.activateWindow();
}

void Application::buildPlaces() {
    m_window.setAboutText(
        tr("Vitrine %1\n\nA see-through vision-language model on the desktop: every layer written by hand, everything "
           "inside open to view.\n\nGPL-3.0-or-later")
            .arg(QStringLiteral(VITRINE_VERSION)));
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
