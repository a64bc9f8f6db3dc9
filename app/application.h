#pragma once

#include "app/activity.h"
#include "app/database.h"
#include "app/desktop_appearance.h"
#include "app/dialogs.h"
#include "app/engine_worker.h"
#include "app/profile.h"
#include "app/settings.h"
#include "ui/main_window.h"

#include <QObject>
#include <QStringList>
#include <QTimer>

#include <memory>

class QDockWidget;
class QMimeData;

namespace vitrine {

class CaptionsController;
class CaptionsPage;
class ChatController;
class ChatPage;
class InsightController;
class InsightPanel;
class ModelsController;
class ModelsPage;
struct DropData;

// The composition root: owns the stores, the engine thread, the window and the controllers that join them, and nothing
// else does. Lives on the UI thread; destroying it stops what runs and saves what is waiting.
class Application : public QObject {
    Q_OBJECT

public:
    // `dialogs` answers for the desktop's own in tests.
    explicit Application(Profile profile, std::unique_ptr<Dialogs> dialogs = std::make_unique<Dialogs>());
    ~Application() override;

    void start();                              // shows the window and loads the model of last time, or the demo model
    void openPaths(const QStringList& paths);  // pictures and folders, as if dropped on Captions
    void comeToFront();
    void showInsight();  // the dock

    const Profile& profile() const { return m_profile; }
    Settings& settings() { return m_settings; }
    Database& database() { return m_database; }
    EngineWorker& engine() { return m_engine; }
    ActivityList& activities() { return m_activities; }
    MainWindow& window() { return m_window; }
    CaptionsController& captions() { return *m_captions; }
    ChatController& chat() { return *m_chat; }
    ModelsController& models() { return *m_models; }
    InsightController& insight() { return *m_insight; }

    static QString demoModelFolder();
    static QString examplesFolder();  // pictures to try the program with

private:
    void buildPlaces();
    void buildInsight();
    void connectWindow();
    void connectStores();
    void connectEngine();
    void take(const DropData& data);  // dropped or pasted: what it means depends on the place
    void showHint();
    void showKeys();
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
    std::unique_ptr<Dialogs> m_dialogs;
    MainWindow m_window;
    CaptionsPage* m_captionsPage;  // the pages belong to the window
    ChatPage* m_chatPage;
    ModelsPage* m_modelsPage;
    InsightPanel* m_insightPanel;
    QDockWidget* m_insightDock;
    std::unique_ptr<CaptionsController> m_captions;
    std::unique_ptr<ChatController> m_chat;
    std::unique_ptr<ModelsController> m_models;
    std::unique_ptr<InsightController> m_insight;
    std::shared_ptr<Activity> m_loading;
    QTimer m_memoryTimer;
};

}  // namespace vitrine
