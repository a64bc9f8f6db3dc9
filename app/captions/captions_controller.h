#pragma once

#include "app/captions/caption_exporter.h"
#include "app/captions/caption_library.h"
#include "app/captions/caption_list_model.h"
#include "app/captions/caption_queue.h"
#include "app/captions/picture_intake.h"
#include "app/engine_worker.h"
#include "app/pictures/picture_loader.h"
#include "app/pictures/thumbnails.h"

#include <QObject>
#include <QSet>
#include <QStringList>
#include <QTimer>

#include <memory>

namespace vitrine {

class Activity;
class ActivityList;
class CaptionsPage;
class Dialogs;
class EngineWorker;
class Profile;
class Settings;

// Joins the captions page with the library, the queue, the engine and the status bar: what the page wishes is done
// here, and what happens is shown there. Owns the list and everything that reads pictures for it; page and stores
// outlive it. Lives on the UI thread; faults become a line on the page or the reason of a row.
class CaptionsController : public QObject {
    Q_OBJECT

public:
    CaptionsController(CaptionsPage& page, Database& database, EngineWorker& engine, ActivityList& activities,
                       Settings& settings, Dialogs& dialogs, const Profile& profile, QObject* parent = nullptr);
    ~CaptionsController() override;

    void open(const QStringList& paths);  // files and folders, to the end of the list
    void openDropped(const DropData& data);
    void paste();
    void chooseFiles();
    void chooseFolder();

    // Whether what the model looks at is being watched: then captions of pictures that are selected are asked for.
    void setWatched(bool watched);
    void lookInside();  // at the caption of the current picture, if it has one

    void save();  // what a person typed last, and how the page is laid out; the program is about to end

    const CaptionListModel& list() const { return m_list; }
    CaptionQueue& queue() { return m_queue; }

Q_SIGNALS:
    void insightWanted(const vitrine::EngineWorker::Prompt& prompt);

private:
    void connectPage();
    void connectQueue();
    void connectWorkers();

    void restoreList();
    void addBatch(const QList<FoundPicture>& batch, bool first);

    void showModel();
    void showProgress();
    void caption(const QStringList& paths, CaptionPolicy policy);
    void take(const CaptionResult& result);
    void takeFailure(const QString& path, const QString& reason);
    void edit(const QString& path, const QString& text);
    void change(const CaptionEntry& entry);
    void removeRows(const QStringList& paths);
    void exportRows(CaptionExport format, const QStringList& paths);
    void takeSettings(const CaptionSettings& settings);
    void offerSidecars(SidecarKind kind);
    void storeSettings();
    void tell(const QString& text);
    void warn(const QString& text);
    void complain(const QString& text);

    CaptionsPage& m_page;
    EngineWorker& m_engine;
    ActivityList& m_activities;
    Settings& m_settings;
    Dialogs& m_dialogs;

    CaptionLibrary m_library;
    Thumbnails m_thumbnails;
    PictureLoader m_pictures;
    CaptionListModel m_list;
    CaptionQueue m_queue;
    PictureIntake m_intake;
    CaptionExporter m_exporter;

    QList<CaptionPreset> m_presets;
    SidecarKind m_sidecar = SidecarKind::none;
    int m_adding = 0;         // answers of the library that are on their way
    QSet<QString> m_touched;  // rows changed meanwhile: those answers are older
    QStringList m_failed;     // of this run
    bool m_watched = false;
    QTimer m_lookTimer;  // a person who walks along the list is not followed at every step
    std::shared_ptr<Activity> m_captioning;
    std::shared_ptr<Activity> m_exporting;
};

}  // namespace vitrine
