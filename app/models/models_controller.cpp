#include "app/models/models_controller.h"

#include "app/activity.h"
#include "app/dialogs.h"
#include "app/engine_worker.h"
#include "app/models/model_views.h"
#include "app/names.h"
#include "app/profile.h"
#include "app/settings.h"
#include "core/model/pairing.h"
#include "ui/models/models_page.h"

#include <QDesktopServices>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QFuture>
#include <QJsonObject>
#include <QRandomGenerator>
#include <QUrl>
#include <QtConcurrent>

#include <algorithm>
#include <exception>
#include <utility>

namespace vitrine {
namespace {

const QString kSplitter = QStringLiteral("splitter");

std::filesystem::path pathOf(const QString& path) {
    return std::filesystem::path(QFile::encodeName(path).toStdString());
}

// What a file system takes, of a name that a person typed.
QString folderNameFor(const QString& name) {
    QString folder;
    for (const QChar letter : name.trimmed())
        folder += letter.isLetterOrNumber() || QStringLiteral("-_.+ ").contains(letter) ? letter : QLatin1Char('_');
    folder = folder.simplified().replace(QLatin1Char(' '), QLatin1Char('-')).left(80);
    while (folder.startsWith(QLatin1Char('.')) || folder.startsWith(QLatin1Char('-'))) folder.remove(0, 1);
    if (folder.endsWith(QLatin1String(".part"))) folder.chop(5);
    return folder.isEmpty() ? QStringLiteral("model") : folder;
}

QString freeFolder(const QString& parent, const QString& name) {
    const QString base = parent + QLatin1Char('/') + name;
    QString folder = base;
    for (int number = 2; QFileInfo::exists(folder); ++number) folder = base + QStringLiteral("-%1").arg(number);
    return folder;
}

// The result of work on another thread, or why there is none.
template <typename Value>
struct Outcome {
    Value value{};
    QString fault;
};

template <typename Work>
auto attempt(Work work) -> Outcome<decltype(work())> {
    try {
        return {work(), {}};
    } catch (const std::exception& error) {
        return {{}, wordsOf(error)};
    }
}

}  // namespace

ModelsController::ModelsController(Parts parts, const QString& demoFolder, HubEndpoint endpoint,
                                   DownloadOptions downloads, QObject* parent)
    : QObject(parent),
      m_parts(parts),
      m_downloads(std::move(endpoint), parts.profile.modelsFolder(), std::move(downloads)),
      m_places{.demo = demoFolder, .own = parts.profile.modelsFolder()} {
    m_pool.setMaxThreadCount(1);
    const QJsonObject layout = m_parts.settings.get(setting::models);
    m_parts.page.restoreState(QByteArray::fromBase64(layout[kSplitter].toString().toLatin1()));

    connect(&m_finder, &ModelFinder::changed, this, [this] {
        m_fresh.clear();
        m_parts.page.setSearching(m_finder.searching());
        showEntries();
        if (m_finder.find(m_wanted) != nullptr) m_parts.page.select(std::exchange(m_wanted, {}));
        m_parts.page.setPairChoices(view::pairChoices(m_finder.models()));
        showChoices();
        showSelected();
    });
    connect(&m_finder, &ModelFinder::measured, this, [this] {
        showEntries();
        showSelected();
    });
    connect(&m_parts.engine, &EngineWorker::stateChanged, this, [this] {
        m_loadProgress = -1.0;
        const QString& folder = m_parts.engine.folder();
        if (!folder.isEmpty() && m_finder.find(folder) == nullptr && !m_places.added.contains(folder)) refresh();
        showEntries();
        showLoad();
        m_finder.measure();
    });
    connect(&m_parts.engine, &EngineWorker::loadProgressed, this, [this](quint64 done, quint64 total) {
        m_loadProgress = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : -1.0;
        showLoad();
    });
    joinPage();
    joinHub();
    refresh();
}

ModelsController::~ModelsController() {
    m_pool.waitForDone();
}

void ModelsController::joinPage() {
    ModelsPage& page = m_parts.page;
    connect(&page, &ModelsPage::selected, this, &ModelsController::showSelected);
    connect(&page, &ModelsPage::refreshWanted, this, &ModelsController::refresh);
    connect(&page, &ModelsPage::loadWanted, this, &ModelsController::load);
    connect(&page, &ModelsPage::cancelLoadWanted, &m_parts.engine, &EngineWorker::cancelLoad);
    connect(&page, &ModelsPage::unloadWanted, &m_parts.engine, &EngineWorker::unload);
    connect(&page, &ModelsPage::choiceChanged, this, [this] {
        m_parts.settings.set(setting::device, m_parts.page.device());
        m_parts.settings.set(setting::dtype, m_parts.page.dtype());
        showEntries();
        showEstimate();
    });
    connect(&page, &ModelsPage::addFolderWanted, this, [this] {
        m_parts.dialogs.openFolder(&m_parts.page, {.title = tr("Add a folder with models")},
                                   [this](const QString& folder) { addFolders({folder}); });
    });
    connect(&page, &ModelsPage::foldersDropped, this, &ModelsController::addFolders);
    connect(&page, &ModelsPage::forgetWanted, this, &ModelsController::forget);
    connect(&page, &ModelsPage::revealWanted, this, &ModelsController::reveal);
    connect(&page, &ModelsPage::pairWanted, this, &ModelsController::openPairing);
    connect(&page, &ModelsPage::pairChoiceChanged, this, &ModelsController::checkPairing);
    connect(&page, &ModelsPage::pairCreateWanted, this, &ModelsController::createPairing);
}

void ModelsController::joinHub() {
    ModelsPage& page = m_parts.page;
    connect(&page, &ModelsPage::hubWanted, this, [this] { m_parts.page.openHub(m_downloads.host()); });
    connect(&page, &ModelsPage::hubListWanted, this, [this](const QString& text) {
        m_listing = {};
        if (const auto hubId = hubIdFrom(text)) return m_downloads.list(*hubId);
        m_parts.page.setHubFault({}, tr("A model on a hub is named owner/model, for example Qwen/Qwen3-0.6B."));
    });
    connect(&page, &ModelsPage::downloadWanted, this, &ModelsController::startDownload);
    connect(&page, &ModelsPage::pauseWanted, &m_downloads, &Downloads::pause);
    connect(&page, &ModelsPage::resumeWanted, &m_downloads, &Downloads::resume);
    connect(&page, &ModelsPage::cancelWanted, &m_downloads, &Downloads::cancel);

    connect(&m_downloads, &Downloads::listed, this, [this](const HubListing& listing, qint64 free) {
        m_listing = listing;
        m_parts.page.setHubListing(view::listing(listing, free, m_places.own));
    });
    connect(&m_downloads, &Downloads::listFailed, &page, &ModelsPage::setHubFault);
    connect(&m_downloads, &Downloads::changed, this, &ModelsController::onDownload);
    connect(&m_downloads, &Downloads::finished, this, [this](const QString& hubId, const QString& folder) {
        m_downloads.dismiss(hubId);
        m_wanted = folder;
        m_parts.page.showMessage(MessageBar::Kind::information, tr("%1 is complete.").arg(hubId), tr("Show"),
                                 [this, folder] { m_parts.page.select(folder); });
        refresh();
    });
}

void ModelsController::refresh() {
    m_places.added = m_parts.settings.get(setting::modelFolders);
    const QString& loaded = m_parts.engine.folder();  // wherever it lies
    if (!loaded.isEmpty() && !m_places.added.contains(loaded)) m_places.added << loaded;
    m_finder.search(m_places);
    m_parts.page.setSearching(true);
}

void ModelsController::saveLayout() {
    m_parts.settings.set(setting::models,
                         QJsonObject{{kSplitter, QString::fromLatin1(m_parts.page.saveState().toBase64())}});
}

const FoundDevice* ModelsController::device(const QString& id) const {
    const QList<FoundDevice>& all = m_finder.devices();
    const auto found = std::find_if(all.begin(), all.end(), [&](const FoundDevice& one) {
        return id == QLatin1String("auto") ? one.id != QLatin1String("cpu") : one.id == id;
    });
    if (found != all.end()) return &*found;
    return all.isEmpty() ? nullptr : &all.first();  // the CPU
}

std::optional<DType> ModelsController::chosenDType() const {
    return dtype_from_name(m_parts.settings.get(setting::dtype).toStdString());
}

quint64 ModelsController::freedOn(const FoundDevice& device) const {
    const auto& loaded = m_parts.engine.model();
    return loaded && QString::fromStdString(name_of(loaded->device)) == device.id ? loaded->weight_bytes : 0;
}

void ModelsController::showEntries() {
    QList<ModelEntry> entries;
    const FoundDevice* chosen = device(m_parts.settings.get(setting::device));
    for (const FoundModel& found : m_finder.models()) {
        ModelEntry entry = view::entry(found);
        if (found.kind == FoundModel::Kind::model && chosen != nullptr) {
            const view::Estimate told = view::estimate(found, chosenDType(), *chosen, freedOn(*chosen));
            entry.fit = told.fit;
            entry.fitText = told.brief;
        }
        const bool ours = m_parts.engine.folder() == found.path && m_parts.engine.state() != EngineWorker::State::empty;
        if (ours) {
            entry.active = true;
            entry.state = m_parts.engine.state() == EngineWorker::State::loading ? tr("loading") : tr("loaded");
        }
        entries.append(entry);
    }
    for (const DownloadStatus& status : m_downloads.all())
        if (status.state != DownloadState::finished) entries.append(view::entry(status));
    m_parts.page.setEntries(entries);
    if (m_greeted || m_finder.models().isEmpty()) return;
    // Something to look at when the program begins: what is loaded, or else the first model that can be.
    m_greeted = true;
    const auto first =
        std::find_if(entries.begin(), entries.end(), [](const ModelEntry& entry) { return entry.active; });
    if (first != entries.end())
        m_parts.page.select(first->id);
    else if (entries.first().group == ModelGroup::ready)
        m_parts.page.select(entries.first().id);
}

void ModelsController::showSelected() {
    const QString id = m_parts.page.current();
    if (const auto status = m_downloads.find(id)) return m_parts.page.setDownload(view::progress(*status));
    const FoundModel* found = m_finder.find(id);
    if (found == nullptr) return;
    const auto known = m_read.constFind(id);
    ModelDetails details = known != m_read.constEnd() ? *known : view::details(*found);
    const FoundDevice* chosen = device(m_parts.settings.get(setting::device));
    if (chosen != nullptr) details.memory = view::memory(*found, m_finder.devices(), freedOn(*chosen));
    details.memoryNote = tr("Weights, the KV cache for %1 positions and working memory, told from the configuration. "
                            "“Free” counts what unloading the present model gives back.")
                             .arg(LoadOptions{}.context);
    m_parts.page.setDetails(details);
    showLoad();
    showEstimate();
    if (!m_fresh.contains(id)) readTables(*found);
}

void ModelsController::readTables(const FoundModel& found) {
    m_fresh.insert(found.path);
    QtConcurrent::run(&m_pool, [found] {
        return attempt([&] {
            using Kind = FoundModel::Kind;
            const auto path = pathOf(found.path);
            ModelDetails details = view::details(found);
            if (found.kind == Kind::projector)
                view::complete(details, {describe_part(PartKind::projector, path)});
            else if (found.kind != Kind::unusable)
                view::complete(details, describe_model(path));
            details.complete = true;
            return details;
        });
    }).then(this, [this, found](Outcome<ModelDetails> read) {
        if (m_finder.find(found.path) == nullptr) return;
        if (!read.fault.isEmpty()) {
            read.value = view::details(found);
            read.value.complete = true;
            read.value.fault = read.fault;
        }
        m_read.insert(found.path, read.value);
        if (m_parts.page.current() == found.path) showSelected();
    });
}

void ModelsController::showLoad() {
    LoadView shown;
    if (m_parts.engine.state() != EngineWorker::State::empty)
        shown = {m_parts.engine.folder(), m_parts.engine.state() == EngineWorker::State::loading, m_loadProgress};
    m_parts.page.setLoad(shown);
}

void ModelsController::showChoices() {
    QList<Choice> devices;
    const FoundDevice* automatic = device(QStringLiteral("auto"));
    devices.append(
        {QStringLiteral("auto"), automatic != nullptr ? tr("Automatic (%1)").arg(automatic->id) : tr("Automatic")});
    for (const FoundDevice& one : m_finder.devices()) devices.append({one.id, one.id});
    QList<Choice> dtypes{{QString(), tr("as stored")}};
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
        const QString name = QString::fromLatin1(name_of(dtype).data());
        dtypes.append({name, name});
    }
    m_parts.page.setChoices(devices, m_parts.settings.get(setting::device), dtypes,
                            m_parts.settings.get(setting::dtype));
}

void ModelsController::showEstimate() {
    const FoundModel* found = m_finder.find(m_parts.page.current());
    const FoundDevice* chosen = device(m_parts.settings.get(setting::device));
    if (found == nullptr || found->kind != FoundModel::Kind::model || chosen == nullptr) return;
    const view::Estimate told = view::estimate(*found, chosenDType(), *chosen, freedOn(*chosen));
    m_parts.page.setEstimate(found->path, told.full, told.fit);
}

void ModelsController::load(const QString& id) {
    const FoundModel* found = m_finder.find(id);
    if (found == nullptr || found->kind != FoundModel::Kind::model) return;
    const bool demo = found->place == FoundModel::Place::demo;
    m_parts.settings.set(setting::model, demo ? QString() : found->path);
    LoadOptions options;
    options.device = m_parts.settings.get(setting::device).toStdString();
    options.dtype = chosenDType();
    options.threads = m_parts.settings.get(setting::threads);
    m_parts.engine.load(found->path, options);
}

void ModelsController::addFolders(const QStringList& folders) {
    QStringList known = m_parts.settings.get(setting::modelFolders);
    for (const QString& folder : folders) {
        // Of a file, the folder it lies in: people pick the file they see.
        const QString path = QFileInfo(folder).isDir() ? QDir(folder).absolutePath() : QFileInfo(folder).absolutePath();
        if (!known.contains(path)) known.append(path);
        m_wanted = path;
    }
    m_parts.settings.set(setting::modelFolders, known);
    refresh();
}

void ModelsController::forget(const QString& id) {
    const QStringList before = m_parts.settings.get(setting::modelFolders);
    QStringList after = before;
    after.removeIf([&](const QString& folder) { return id == folder || id.startsWith(folder + QLatin1Char('/')); });
    if (after == before) return;
    m_parts.settings.set(setting::modelFolders, after);
    refresh();
    m_parts.page.showMessage(MessageBar::Kind::information, tr("Taken off the list; nothing was deleted."), tr("Undo"),
                             [this, before] {
                                 m_parts.settings.set(setting::modelFolders, before);
                                 refresh();
                             });
}

void ModelsController::reveal(const QString& id) {
    const FoundModel* found = m_finder.find(id);
    if (found == nullptr) return;
    const bool file = found->kind == FoundModel::Kind::projector;
    QDesktopServices::openUrl(QUrl::fromLocalFile(file ? QFileInfo(id).path() : id));
}

void ModelsController::openPairing(const QString& id) {
    m_parts.page.openPairing(view::pairChoices(m_finder.models()), id);
}

void ModelsController::checkPairing(const QString& vision, const QString& language, const QString& projector) {
    QtConcurrent::run(&m_pool, [pairing = Pairing{pathOf(vision), pathOf(language), pathOf(projector)}] {
        return attempt([&] { return view::pairVerdict(check_pairing(pairing)); });
    }).then(this, [this, number = ++m_pairing](const Outcome<PairVerdict>& outcome) {
        if (number != m_pairing) return;  // something else is chosen by now
        if (outcome.fault.isEmpty())
            m_parts.page.setPairVerdict(outcome.value);
        else
            m_parts.page.setPairFault(outcome.fault);
    });
}

void ModelsController::createPairing(const QString& name, const QString& vision, const QString& language,
                                     const QString& projector) {
    const quint64 seed = QRandomGenerator::global()->generate();
    QtConcurrent::run(&m_pool, [pairing = Pairing{pathOf(vision), pathOf(language), pathOf(projector)}, name, seed,
                                models = m_places.own] {
        return attempt([&] {
            const QString folder = freeFolder(models, folderNameFor(name));
            write_paired_model(pairing, name.toStdString(), seed, pathOf(folder));
            return folder;
        });
    }).then(this, [this, name](const Outcome<QString>& made) {
        if (!made.fault.isEmpty()) return m_parts.page.setPairFault(made.fault);
        m_wanted = made.value;
        m_parts.page.closePairing();
        m_parts.page.showMessage(MessageBar::Kind::information, tr("%1 is made.").arg(name));
        refresh();
    });
}

void ModelsController::startDownload(const QString& hubId, const QStringList& files) {
    if (m_listing.hubId != hubId) return;
    HubListing chosen = m_listing;
    chosen.files.removeIf([&](const HubFile& file) { return !files.contains(file.name); });
    m_downloads.start(chosen);
    m_wanted = hubId;
}

void ModelsController::onDownload(const QString& hubId) {
    const auto status = m_downloads.find(hubId);
    if (status && status->state == DownloadState::running) {
        std::shared_ptr<Activity>& activity = m_running[hubId];
        if (!activity) {
            activity = m_parts.activities.begin(tr("Downloading %1").arg(hubId));
            connect(activity.get(), &Activity::stopRequested, &m_downloads,
                    [this, hubId] { m_downloads.pause(hubId); });
        }
        activity->setProgress(static_cast<double>(status->done), static_cast<double>(status->total));
    } else {
        m_running.remove(hubId);
    }
    showEntries();
    if (status && m_wanted == hubId) m_parts.page.select(std::exchange(m_wanted, {}));
    if (m_parts.page.current() == hubId) showSelected();
}

}  // namespace vitrine
