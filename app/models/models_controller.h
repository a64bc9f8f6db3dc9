#pragma once

#include "app/models/downloads.h"
#include "app/models/model_finder.h"
#include "core/types.h"
#include "ui/models/values.h"

#include <QHash>
#include <QObject>
#include <QSet>
#include <QString>
#include <QThreadPool>

#include <memory>
#include <optional>

namespace vitrine {

class Activity;
class ActivityList;
class Dialogs;
class EngineWorker;
class ModelsPage;
class Profile;
class Settings;

// Joins the Models place with the folders, the hub and the engine: what the page wishes is done off the UI thread, what
// comes back is shown. Lives on the UI thread; a failure becomes words on the page.
class ModelsController : public QObject {
    Q_OBJECT

public:
    struct Parts {  // all outlive the controller
        ModelsPage& page;
        EngineWorker& engine;
        ActivityList& activities;
        Settings& settings;
        Dialogs& dialogs;
        const Profile& profile;
    };
    ModelsController(Parts parts, const QString& demoFolder, HubEndpoint endpoint = HubEndpoint::fromEnvironment(),
                     DownloadOptions downloads = {}, QObject* parent = nullptr);
    ~ModelsController() override;

    void refresh();     // looks for models again
    void saveLayout();  // the window closes

private:
    void joinPage();
    void joinHub();

    void showEntries();
    void showSelected();
    void showLoad();
    void showChoices();
    void showEstimate();
    void readTables(const FoundModel& found);

    void load(const QString& id);
    void addFolders(const QStringList& folders);
    void forget(const QString& id);
    void reveal(const QString& id);
    void openPairing(const QString& id);
    void checkPairing(const QString& vision, const QString& language, const QString& projector);
    void createPairing(const QString& name, const QString& vision, const QString& language, const QString& projector);
    void startDownload(const QString& hubId, const QStringList& files);
    void onDownload(const QString& hubId);

    const FoundDevice* device(const QString& id) const;  // also for "auto"
    std::optional<DType> chosenDType() const;
    quint64 freedOn(const FoundDevice& device) const;  // by unloading what is loaded there

    Parts m_parts;
    ModelFinder m_finder;
    Downloads m_downloads;
    SearchPlaces m_places;
    QThreadPool m_pool;
    HubListing m_listing;                                 // the one the dialog shows
    QHash<QString, ModelDetails> m_read;                  // with tables
    QSet<QString> m_fresh;                                // of those, read since the last search
    QHash<QString, std::shared_ptr<Activity>> m_running;  // of running downloads
    QString m_wanted;                                     // to be selected once it is found
    bool m_greeted = false;
    quint64 m_pairing = 0;
    double m_loadProgress = -1.0;
};

}  // namespace vitrine
