#include "app/captions/captions_controller.h"

#include "app/activity.h"
#include "app/captions/caption_settings.h"
#include "app/database.h"
#include "app/dialogs.h"
#include "app/engine_worker.h"
#include "app/names.h"
#include "app/pictures/picture_file.h"
#include "app/profile.h"
#include "app/settings.h"
#include "core/captions/prompt.h"
#include "core/image/decode.h"
#include "ui/captions/captions_page.h"
#include "ui/message_bar.h"

#include <QClipboard>
#include <QDesktopServices>
#include <QFileInfo>
#include <QGuiApplication>
#include <QUrl>

#include <algorithm>

namespace vitrine {
namespace {

constexpr int kLookMs = 300;
constexpr qsizetype kBlock = 1000;  // rows handed to the list at once

const QString kSettingsKey = QStringLiteral("settings");
const QString kLayoutKey = QStringLiteral("layout");

bool isWanted(const CaptionEntry& entry, CaptionPolicy policy) {
    switch (policy) {
        case CaptionPolicy::onlyMissing: return entry.caption.isEmpty();
        case CaptionPolicy::replaceMachine: return !entry.caption.isEmpty() && !entry.isHandMade();
        case CaptionPolicy::allButEdited: return !entry.isHandMade();
        case CaptionPolicy::everything: return true;
    }
    return false;
}

CaptionQueue::Engine engineOf(EngineWorker& worker) {
    return {[&worker](EngineWorker::Prompt prompt, const GenerationOptions& options) {
                return worker.generate(std::move(prompt), options);
            },
            [&worker]() -> std::optional<QString> {
                if (worker.state() != EngineWorker::State::ready || !worker.model()) return std::nullopt;
                return QString::fromStdString(worker.model()->name);
            }};
}

}  // namespace

CaptionsController::CaptionsController(CaptionsPage& page, Database& database, EngineWorker& engine,
                                       ActivityList& activities, Settings& settings, Dialogs& dialogs,
                                       const Profile& profile, QObject* parent)
    : QObject(parent),
      m_page(page),
      m_engine(engine),
      m_activities(activities),
      m_settings(settings),
      m_dialogs(dialogs),
      m_library(database),
      m_thumbnails(profile.cacheFolder(QStringLiteral("thumbnails"))),
      m_list([this](const QString& path) { return m_thumbnails.find(path); }),
      m_queue(engineOf(engine)),
      m_intake(activities, profile.dataFolder() + QStringLiteral("/pasted")) {
    m_presets = captionPresets({});
    const QJsonObject stored = m_settings.get(setting::captions);
    const QJsonObject chosen = stored.value(kSettingsKey).toObject();
    const CaptionSettings start = chosen.isEmpty() ? defaultCaptionSettings(m_presets) : captionSettingsFrom(chosen);
    m_sidecar = start.sidecar;
    m_page.setPresets(m_presets);
    m_page.setSettings(start);
    m_page.restoreState(QByteArray::fromBase64(stored.value(kLayoutKey).toString().toLatin1()));
    m_page.setModel(&m_list);
    connectPage();
    connectQueue();
    connectWorkers();
    showModel();
    restoreList();
}

CaptionsController::~CaptionsController() {
    m_page.disconnect(this);
    m_page.setModel(nullptr);
}

void CaptionsController::connectPage() {
    connect(&m_page, &CaptionsPage::openFilesWanted, this, &CaptionsController::chooseFiles);
    connect(&m_page, &CaptionsPage::openFolderWanted, this, &CaptionsController::chooseFolder);
    connect(&m_page, &CaptionsPage::pasteWanted, this, &CaptionsController::paste);
    connect(&m_page, &CaptionsPage::pictureWanted, &m_pictures, &PictureLoader::want);
    connect(&m_page, &CaptionsPage::pictureWanted, this, [this] {
        if (m_watched) m_lookTimer.start();
    });
    m_lookTimer.setSingleShot(true);
    m_lookTimer.setInterval(kLookMs);
    connect(&m_lookTimer, &QTimer::timeout, this, &CaptionsController::lookInside);
    connect(&m_page, &CaptionsPage::thumbnailsWanted, &m_thumbnails, &Thumbnails::want);
    connect(&m_page, &CaptionsPage::captionEdited, this, &CaptionsController::edit);
    connect(&m_page, &CaptionsPage::captionWanted, this, &CaptionsController::caption);
    connect(&m_page, &CaptionsPage::retryWanted, this,
            [this](const QStringList& paths) { caption(paths, CaptionPolicy::allButEdited); });
    connect(&m_page, &CaptionsPage::stopWanted, this, [this] {
        if (m_captioning) m_captioning->stop();
    });
    connect(&m_page, &CaptionsPage::resumeWanted, &m_queue, &CaptionQueue::resume);
    connect(&m_page, &CaptionsPage::removeWanted, this, &CaptionsController::removeRows);
    connect(&m_page, &CaptionsPage::revealWanted, this,
            [](const QString& path) { QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(path).path())); });
    connect(&m_page, &CaptionsPage::exportWanted, this, &CaptionsController::exportRows);
    connect(&m_page, &CaptionsPage::settingsChanged, this, &CaptionsController::takeSettings);
}

void CaptionsController::connectQueue() {
    m_queue.setFilter([this](const QString& path, CaptionPolicy policy) {
        const CaptionEntry* const entry = m_list.find(path);
        return entry != nullptr && isWanted(*entry, policy);
    });
    connect(&m_queue, &CaptionQueue::progressed, this, &CaptionsController::showProgress);
    connect(&m_queue, &CaptionQueue::begun, this, [this](const QString& path) {
        m_list.setWork({path}, CaptionWork::working);
        m_page.beginStream(path);
    });
    connect(&m_queue, &CaptionQueue::streamed, &m_page, &CaptionsPage::appendStream);
    connect(&m_queue, &CaptionQueue::captioned, this, &CaptionsController::take);
    connect(&m_queue, &CaptionQueue::failed, this, &CaptionsController::takeFailure);
    connect(&m_queue, &CaptionQueue::returned, this, [this](const QString& path) {
        m_list.setWork({path}, CaptionWork::queued);
        m_page.endStream(path);
    });
    connect(&m_queue, &CaptionQueue::skipped, this,
            [this](const QString& path) { m_list.setWork({path}, CaptionWork::idle); });
    connect(&m_queue, &CaptionQueue::halted, this, &CaptionsController::warn);
}

void CaptionsController::connectWorkers() {
    connect(&m_engine, &EngineWorker::stateChanged, this, &CaptionsController::showModel);
    connect(&m_pictures, &PictureLoader::ready, &m_page, &CaptionsPage::setPicture);
    connect(&m_pictures, &PictureLoader::failed, &m_page, &CaptionsPage::setPictureFailed);
    connect(&m_thumbnails, &Thumbnails::ready, &m_list, &CaptionListModel::thumbnailChanged);
    connect(&m_intake, &PictureIntake::found, this, &CaptionsController::addBatch);
    connect(&m_intake, &PictureIntake::told, this, &CaptionsController::tell);
    connect(&m_intake, &PictureIntake::warned, this, &CaptionsController::warn);
    connect(&m_library, &CaptionLibrary::sidecarFailed, this, [this](const QString& path, const QString& reason) {
        if (const CaptionEntry* const known = m_list.find(path)) {
            CaptionEntry entry = *known;
            entry.note = reason;
            m_list.update(entry);
        }
        warn(reason);
    });
    connect(&m_library, &CaptionLibrary::sidecarFound, this, [this](CaptionEntry entry) {
        const CaptionEntry* const known = m_list.find(entry.path);
        if (known == nullptr) return;
        entry.stamp = known->stamp;
        change(entry);
        tell(tr("The text file of %1 was changed elsewhere: its text was kept.").arg(QFileInfo(entry.path).fileName()));
    });
    connect(&m_exporter, &CaptionExporter::progressed, this, [this](int done, int total) {
        if (m_exporting) m_exporting->setProgress(done, total);
    });
    connect(&m_exporter, &CaptionExporter::failed, this, [this](const QString& reason) {
        m_exporting.reset();
        complain(reason);
    });
    connect(&m_exporter, &CaptionExporter::finished, this, [this](const ExportSummary& summary) {
        m_exporting.reset();
        if (summary.stopped) return tell(tr("Nothing was written: the export was stopped."));
        QString text = tr("%1 captions written to %2").arg(summary.written).arg(summary.target);
        if (summary.withoutCaption > 0) text += tr(", %1 pictures have none").arg(summary.withoutCaption);
        if (summary.leftOut.isEmpty()) return tell(text);
        warn(
            tr("%1. Left out: %2, the first is %3").arg(text).arg(summary.leftOut.size()).arg(summary.leftOut.first()));
    });
}

// The list of last time appears as it was stored; then the disk is asked what has changed since.
void CaptionsController::restoreList() {
    ++m_adding;
    m_library.list()
        .then(this,
              [this](const QList<CaptionEntry>& entries) {
                  --m_adding;
                  QStringList paths;
                  for (const CaptionEntry& entry : entries) paths << entry.path;
                  for (qsizetype at = 0; at < entries.size(); at += kBlock) {
                      QMetaObject::invokeMethod(
                          this, [this, block = entries.mid(at, kBlock)] { m_list.add(block); }, Qt::QueuedConnection);
                  }
                  if (paths.isEmpty()) return;
                  QMetaObject::invokeMethod(
                      this, [this, paths] { m_intake.recheck(paths); }, Qt::QueuedConnection);
                  m_library.queue().then(this, [this](const QStringList& waiting) {
                      if (waiting.isEmpty()) return;
                      m_list.setWork(waiting, CaptionWork::queued);
                      m_queue.hold(waiting, m_page.settings());
                  });
              })
        .onFailed(this, [this](const std::exception& error) {
            --m_adding;
            complain(wordsOf(error));
        });
}

void CaptionsController::open(const QStringList& paths) {
    m_intake.open(paths);
}

void CaptionsController::openDropped(const DropData& data) {
    m_intake.open(data);
}

void CaptionsController::paste() {
    const QMimeData* const mime = QGuiApplication::clipboard()->mimeData();
    const DropData data = mime == nullptr ? DropData() : DropData::of(*mime);
    if (!data.isOurs()) return tell(tr("There is no picture to paste."));
    openDropped(data);
}

void CaptionsController::chooseFiles() {
    m_dialogs.openFiles(&m_page, {.title = tr("Open pictures"), .filter = pictureFilter()},
                        [this](const QStringList& files) { open(files); });
}

void CaptionsController::chooseFolder() {
    m_dialogs.openFolder(&m_page, {.title = tr("Open a folder of pictures")},
                         [this](const QString& folder) { open({folder}); });
}

void CaptionsController::addBatch(const QList<FoundPicture>& batch, bool first) {
    ++m_adding;
    m_library.add(batch)
        .then(this,
              [this, first](QList<CaptionEntry> entries) {
                  entries.removeIf([this](const CaptionEntry& entry) { return m_touched.contains(entry.path); });
                  m_list.add(entries);
                  if (--m_adding == 0) m_touched.clear();
                  if (first && !entries.isEmpty()) m_page.select(entries.first().path);
              })
        .onFailed(this, [this](const std::exception& error) {
            if (--m_adding == 0) m_touched.clear();
            complain(wordsOf(error));
        });
}

void CaptionsController::showModel() {
    const std::optional<ModelSummary>& model = m_engine.model();
    switch (m_engine.state()) {
        case EngineWorker::State::ready: m_page.setReady(true); break;
        case EngineWorker::State::loading: m_page.setReady(false, tr("The model is loading.")); break;
        case EngineWorker::State::empty:
            m_page.setReady(false, m_engine.fault().isEmpty() ? tr("No model is loaded: choose one under Models.")
                                                              : m_engine.fault());
            break;
    }
    if (m_engine.state() != EngineWorker::State::ready || !model) return;

    // A prompt that nobody has changed follows the new model's wording of the preset.
    const QList<CaptionPreset> before = std::exchange(m_presets, captionPresets(model->presets));
    CaptionSettings settings = m_page.settings();
    const bool untouched = before.contains(CaptionPreset{settings.preset, settings.prompt});
    m_page.setPresets(m_presets);
    const auto same = std::find_if(m_presets.cbegin(), m_presets.cend(),
                                   [&](const CaptionPreset& preset) { return preset.name == settings.preset; });
    if (!untouched || same == m_presets.cend()) return;
    settings.prompt = same->prompt;
    m_page.setSettings(settings);
}

void CaptionsController::showProgress() {
    CaptionProgress progress = m_queue.progress();
    const bool busy = progress.run == CaptionRun::running || progress.run == CaptionRun::stopping;
    // A stop is for the run it was asked in: what is begun while that one ends is a new one.
    const bool anew = progress.run == CaptionRun::running && m_captioning && m_captioning->stopping();
    if (busy && (!m_captioning || anew)) {
        m_failed.clear();
        m_captioning = m_activities.begin(tr("Writing captions"));
        connect(m_captioning.get(), &Activity::stopRequested, &m_queue, &CaptionQueue::stop);
    }
    if (busy) {
        m_captioning->setProgress(progress.done, progress.total);
        m_captioning->setDetail(tr("%1 of %2").arg(progress.done).arg(progress.total));
        if (const auto left = m_captioning->secondsLeft())
            progress.remaining = tr("about %1 left").arg(durationText(*left));
    }
    const bool ended = !busy && m_captioning;
    if (!busy) m_captioning.reset();
    m_page.setProgress(progress);
    if (!ended || progress.failed == 0) return;
    m_page.messages()->show(MessageBar::Kind::warning,
                            tr("%1 of %2 pictures failed; each row says why.").arg(progress.failed).arg(progress.done),
                            tr("Retry"), [this, paths = m_failed] { caption(paths, CaptionPolicy::allButEdited); });
}

void CaptionsController::caption(const QStringList& paths, CaptionPolicy policy) {
    QStringList wanted;
    for (const QString& path : paths) {
        const CaptionEntry* const entry = m_list.find(path);
        if (entry != nullptr && isWanted(*entry, policy)) wanted << path;
    }
    if (wanted.isEmpty()) return tell(tr("Nothing to do: these pictures have the captions they are to keep."));
    CaptionSettings settings = m_page.settings();
    settings.policy = policy;
    m_list.setWork(wanted, CaptionWork::queued);
    m_queue.add(wanted, settings);
    m_library.setQueue(m_queue.waiting());
}

void CaptionsController::take(const CaptionResult& result) {
    m_list.setWork({result.path}, CaptionWork::idle);
    const CaptionEntry* const known = m_list.find(result.path);
    const bool kept = known != nullptr && isWanted(*known, result.policy);
    if (!kept) return m_page.endStream(result.path);  // removed, or written by hand meanwhile

    CaptionEntry entry = *known;
    entry.stamp = result.stamp;
    entry.caption = result.text;
    entry.state = CaptionState::machine;
    entry.reason.clear();
    entry.note.clear();
    entry.from = result.from;
    entry.outdated = false;
    const bool replace = result.policy == CaptionPolicy::everything;
    m_library.save(entry, m_sidecar, replace)
        .then(this,
              [this, entry] {  // shown as done only now that it is safe
                  change(entry);
                  m_page.endStream(entry.path);
              })
        .onFailed(this, [this, path = entry.path](const std::exception& error) { takeFailure(path, wordsOf(error)); });
}

void CaptionsController::takeFailure(const QString& path, const QString& reason) {
    m_list.setWork({path}, CaptionWork::idle);
    m_failed << path;
    if (const CaptionEntry* const known = m_list.find(path)) {
        CaptionEntry entry = *known;
        entry.state = CaptionState::failed;
        entry.reason = reason;
        change(entry);
        m_library.save(entry, SidecarKind::none, false);
    }
    m_page.endStream(path);
}

void CaptionsController::edit(const QString& path, const QString& text) {
    const CaptionEntry* const known = m_list.find(path);
    if (known == nullptr || known->caption == text) return;
    CaptionEntry entry = *known;
    entry.caption = text;
    entry.state = text.isEmpty() ? CaptionState::none : CaptionState::edited;
    entry.reason.clear();
    entry.from.time = captions::utc_time();
    entry.from.edited = true;
    if (text.isEmpty()) entry.from = {};
    change(entry);
    m_library.save(entry, m_sidecar, true).onFailed(this, [this](const std::exception& error) {
        complain(tr("The caption could not be saved: %1").arg(wordsOf(error)));
    });
}

void CaptionsController::change(const CaptionEntry& entry) {
    if (m_adding > 0) m_touched.insert(entry.path);
    m_list.update(entry);
}

void CaptionsController::removeRows(const QStringList& paths) {
    m_queue.remove(paths);
    const QList<CaptionEntry> removed = m_list.remove(paths);
    if (removed.isEmpty()) return;
    m_library.remove(paths);
    const QString text =
        removed.size() == 1
            ? tr("%1 was taken off the list; the file stays.").arg(QFileInfo(removed.first().path).fileName())
            : tr("%1 pictures were taken off the list; the files stay.").arg(removed.size());
    m_page.messages()->show(MessageBar::Kind::information, text, tr("Undo"), [this, paths, removed] {
        m_list.add(removed);
        m_library.putBack(paths);
        m_page.select(removed.first().path);
    });
}

void CaptionsController::exportRows(CaptionExport format, const QStringList& paths) {
    const auto table = static_cast<captions::Format>(format);
    static_assert(static_cast<int>(CaptionExport::llava) == static_cast<int>(captions::Format::llava));
    const QString ending = QString::fromUtf8(captions::ending_of(table).data());
    const QString first = paths.isEmpty() ? QString() : QFileInfo(paths.first()).path();
    m_dialogs.saveFile(&m_page,
                       {.title = tr("Export captions"),
                        .folder = first,
                        .filter = QStringLiteral("*%1").arg(ending),
                        .suggested = QStringLiteral("captions%1").arg(ending)},
                       [this, table, paths, ending](QString target) {
                           if (QFileInfo(target).suffix().isEmpty()) target += ending;
                           QList<CaptionEntry> entries;
                           for (const QString& path : paths) {
                               if (const CaptionEntry* const entry = m_list.find(path)) entries << *entry;
                           }
                           m_exporting = m_activities.begin(tr("Exporting captions"));
                           connect(m_exporting.get(), &Activity::stopRequested, &m_exporter, &CaptionExporter::stop);
                           m_exporter.start(table, target, entries);
                       });
}

void CaptionsController::takeSettings(const CaptionSettings& settings) {
    const SidecarKind before = std::exchange(m_sidecar, settings.sidecar);
    storeSettings();
    if (m_sidecar != SidecarKind::none && m_sidecar != before) offerSidecars(m_sidecar);
}

// Sidecars were just switched on: captions that are there already get theirs when asked for.
void CaptionsController::offerSidecars(SidecarKind kind) {
    const auto captioned = [this] {
        QStringList paths = m_list.paths();
        paths.removeIf([this](const QString& path) { return m_list.find(path)->caption.isEmpty(); });
        return paths;
    };
    const qsizetype count = captioned().size();
    if (count == 0) return;
    m_page.messages()->show(
        MessageBar::Kind::information,
        tr("From now on captions are also written beside the pictures. %1 are there already.").arg(count),
        tr("Write those too"), [this, captioned, kind] {
            for (const QString& path : captioned()) m_library.writeSidecar(*m_list.find(path), kind, false);
        });
}

void CaptionsController::storeSettings() {
    m_settings.set(setting::captions, QJsonObject{{kSettingsKey, toJson(m_page.settings())},
                                                  {kLayoutKey, QString::fromLatin1(m_page.saveState().toBase64())}});
}

void CaptionsController::save() {
    m_page.flushEdits();
    storeSettings();
}

void CaptionsController::tell(const QString& text) {
    m_page.messages()->show(MessageBar::Kind::information, text);
}

void CaptionsController::complain(const QString& text) {
    m_page.messages()->show(MessageBar::Kind::error, text);
}

void CaptionsController::warn(const QString& text) {
    m_page.messages()->show(MessageBar::Kind::warning, text);
}

void CaptionsController::setWatched(bool watched) {
    m_watched = watched;
    if (!watched) m_lookTimer.stop();
}

void CaptionsController::lookInside() {
    const CaptionEntry* entry = m_list.find(m_page.currentPath());
    if (entry == nullptr || entry->caption.isEmpty()) return;
    if (m_engine.state() != EngineWorker::State::ready || m_queue.progress().run == CaptionRun::running) return;
    // A caption by a person is looked at as if the model had said it.
    const CaptionSettings settings = m_page.settings();
    const std::string prompt =
        !entry->from.prompt.empty()
            ? entry->from.prompt
            : captions::expand_prompt(settings.prompt.toStdString(), entry->path.toStdString(), settings.length);
    Q_EMIT insightWanted([path = entry->path.toStdString(), prompt, caption = entry->caption.toStdString()] {
        std::vector<Message> messages{{.role = Role::user, .text = prompt}, {.role = Role::assistant, .text = caption}};
        messages.front().pictures.push_back(std::make_shared<const Image>(decode_image_file(path)));
        return messages;
    });
}

}  // namespace vitrine
