#pragma once

#include <QHash>
#include <QMainWindow>
#include <QString>

class QActionGroup;
class QDockWidget;
class QButtonGroup;
class QMimeData;
class QStackedWidget;
class QToolButton;
class QVBoxLayout;

namespace vitrine {

class MessageBar;
class StatusBar;

// The window: a rail with the places at the left, the place that is open, a line for messages, the status bar. It knows
// nothing of what the places show; docks are added by whoever has one. Lives on the UI thread.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    explicit MainWindow(QWidget* parent = nullptr);

    // Places appear in the rail in the order they come, with Ctrl+1, Ctrl+2, ...
    void addPlace(const QString& id, const QString& title, const QString& iconName, QWidget* page);
    void showPlace(const QString& id);
    // A dock beside every place, hidden at first, with a button at the foot of the rail and an entry in the menu View.
    void addDock(QDockWidget* dock, const QString& iconName, const QKeySequence& shortcut);
    QString place() const;

    StatusBar& status() { return *m_status; }
    MessageBar& messages() { return *m_messages; }

    void setTheme(const QString& name);  // which entry of the menu is ticked: system, light, dark
    void setAboutText(const QString& text);

Q_SIGNALS:
    void placeChanged(const QString& id);
    void openFilesRequested();
    void openFolderRequested();
    void pasteRequested();
    void themeChosen(const QString& name);
    void helpRequested();
    void closing();  // the window is about to go; its geometry is still there

protected:
    void closeEvent(QCloseEvent* event) override;

private:
    QToolButton* makeRailButton(const QString& title, const QString& iconName, const QKeySequence& shortcut);
    void buildMenus();

    QWidget* m_rail;
    QVBoxLayout* m_railLayout;
    QButtonGroup* m_railButtons;
    QStackedWidget* m_pages;
    MessageBar* m_messages;
    StatusBar* m_status;
    QMenu* m_goMenu = nullptr;
    QMenu* m_viewMenu = nullptr;
    QActionGroup* m_themes = nullptr;
    QHash<QString, int> m_places;  // id -> index of the page
    QString m_about;
};

}  // namespace vitrine
