#pragma once

#include "app/activity.h"
#include "app/database.h"
#include "app/desktop_appearance.h"
#include "app/engine_worker.h"
#include "app/profile.h"
#include "app/settings.h"
#include "ui/main_window.h"

#include <QObject>
#include <QStringList>
#include <QTimer>

namespace vitrine {

// The composition root: owns the stores, the engine thread, the window and the controllers that join them, and nothing
// else does. Lives on the UI thread; destroying it stops what runs and saves what is waiting.
class Application : public QObject {
    Q_OBJECT

public:
    explicit Application(Profile profile, QObject* parent = nullptr);
    ~Application() override;

    void start();                              // shows the window and loads the model of last time, or the demo model
    void openPaths(const QStringList& paths);  // pictures and folders, as if dropped on Captions
    void comeToFront();

    const Profile& profile() const { return m_profile; }
    Settings& settings() { return m_settings; }
    Database& database() { return m_database; }
    EngineWorker& engine() { return m_engine; }
    ActivityList& activities() { return m_activities; }
    MainWindow& window() { return m_window; }

    static QString demoModelFolder();

private:
    void buildPlaces();
    void applyTheme();
    void restoreWindow();
    void saveWindow();
    void loadModel();
    void showModel();
    void showMemory();
    void showJob();

    const Profile m_profile;
    Settings m_settings;
    Database m_database;
    EngineWorker m_engine;
    ActivityList m_activities;
    DesktopAppearance m_appearance;
    MainWindow m_window;
    std::shared_ptr<Activity> m_loading;
    QTimer m_memoryTimer;
};

}  // namespace vitrine
