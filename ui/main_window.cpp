#include "ui/main_window.h"

#include "ui/icons.h"
#include "ui/message_bar.h"
#include "ui/status_bar.h"
#include "ui/theme.h"

#include <QActionGroup>
#include <QApplication>
#include <QButtonGroup>
#include <QCloseEvent>
#include <QDockWidget>
#include <QMenuBar>
#include <QMessageBox>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

namespace vitrine {
namespace {

constexpr int kRailIcon = 24;

}  // namespace

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent),
      m_rail(new QWidget(this)),
      m_railLayout(new QVBoxLayout(m_rail)),
      m_railButtons(new QButtonGroup(this)),
      m_pages(new QStackedWidget(this)),
      m_messages(new MessageBar(this)),
      m_status(new StatusBar(this)) {
    setWindowTitle(tr("Vitrine"));
    setMinimumSize(760, 520);
    resize(1280, 800);
    m_rail->setObjectName(QStringLiteral("rail"));
    m_rail->setAttribute(Qt::WA_StyledBackground);
    m_rail->setAccessibleName(tr("Places"));
    m_railLayout->setContentsMargins(theme::kTight, theme::kSpace, theme::kTight, theme::kSpace);
    m_railLayout->setSpacing(theme::kTight);
    m_railLayout->addStretch();
    m_railButtons->setExclusive(true);

    auto* right = new QVBoxLayout;
    right->setContentsMargins(0, 0, 0, 0);
    right->setSpacing(0);
    right->addWidget(m_pages, 1);
    right->addWidget(m_messages);
    auto* central = new QWidget(this);
    auto* layout = new QHBoxLayout(central);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_rail);
    layout->addLayout(right, 1);
    setCentralWidget(central);
    setStatusBar(m_status);
    buildMenus();

    connect(m_railButtons, &QButtonGroup::idClicked, this,
            [this](int index) { showPlace(m_pages->widget(index)->objectName()); });
}

QToolButton* MainWindow::makeRailButton(const QString& title, const QString& iconName, const QKeySequence& shortcut) {
    auto* button = new QToolButton(m_rail);
    button->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
    button->setIcon(icon(iconName));
    button->setIconSize(QSize(kRailIcon, kRailIcon));
    button->setText(title);
    button->setCheckable(true);
    button->setAccessibleName(title);
    button->setToolTip(tr("%1 (%2)").arg(title, shortcut.toString(QKeySequence::NativeText)));
    button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    theme::setButtonKind(*button, "quiet");
    return button;
}

void MainWindow::addPlace(const QString& id, const QString& title, const QString& iconName, QWidget* page) {
    page->setObjectName(id);
    const int index = m_pages->addWidget(page);
    m_places.insert(id, index);
    const QKeySequence shortcut(QStringLiteral("Ctrl+%1").arg(index + 1));
    QToolButton* const button = makeRailButton(title, iconName, shortcut);
    m_railButtons->addButton(button, index);
    m_railLayout->insertWidget(m_railLayout->count() - 1, button);
    if (index == 0) button->setChecked(true);

    QAction* action = m_goMenu->addAction(icon(iconName), title, this, [this, id] { showPlace(id); });
    action->setShortcut(shortcut);
}

void MainWindow::addDock(QDockWidget* dock, const QString& iconName, const QKeySequence& shortcut) {
    addDockWidget(Qt::RightDockWidgetArea, dock);
    dock->hide();
    QAction* const action = dock->toggleViewAction();
    action->setIcon(icon(iconName));
    action->setShortcut(shortcut);
    m_viewMenu->addAction(action);
    QToolButton* const button = makeRailButton(dock->windowTitle(), iconName, shortcut);
    connect(button, &QToolButton::clicked, action, &QAction::trigger);
    connect(action, &QAction::toggled, button, &QToolButton::setChecked);
    m_railLayout->addWidget(button);
}

void MainWindow::showPlace(const QString& id) {
    const auto index = m_places.constFind(id);
    if (index == m_places.constEnd()) return;
    m_railButtons->button(*index)->setChecked(true);
    const bool other = m_pages->currentIndex() != *index;
    m_pages->setCurrentIndex(*index);
    m_pages->currentWidget()->setFocus();
    if (other) Q_EMIT placeChanged(id);
}

QString MainWindow::place() const {
    return m_pages->currentWidget() != nullptr ? m_pages->currentWidget()->objectName() : QString();
}

void MainWindow::setTheme(const QString& name) {
    for (QAction* action : m_themes->actions()) action->setChecked(action->data().toString() == name);
}

void MainWindow::setAboutText(const QString& text) {
    m_about = text;
}

void MainWindow::buildMenus() {
    QMenu* file = menuBar()->addMenu(tr("&File"));
    file->addAction(icon(QStringLiteral("picture")), tr("&Open pictures…"), QKeySequence::Open, this,
                    &MainWindow::openFilesRequested);
    file->addAction(icon(QStringLiteral("folder")), tr("Open &folder…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O),
                    this, &MainWindow::openFolderRequested);
    file->addAction(icon(QStringLiteral("paste")), tr("&Paste picture"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_V),
                    this, &MainWindow::pasteRequested);
    file->addSeparator();
    file->addAction(tr("&Quit"), QKeySequence(Qt::CTRL | Qt::Key_Q), this, &QWidget::close);

    m_goMenu = menuBar()->addMenu(tr("&Go"));

    m_viewMenu = menuBar()->addMenu(tr("&View"));
    m_themes = new QActionGroup(this);
    const auto addTheme = [&](const QString& text, const QString& name, const QString& iconName) {
        QAction* action = m_viewMenu->addAction(text);
        if (!iconName.isEmpty()) action->setIcon(icon(iconName));
        action->setCheckable(true);
        action->setData(name);
        m_themes->addAction(action);
    };
    addTheme(tr("Colours of the &system"), QStringLiteral("system"), {});
    addTheme(tr("&Light"), QStringLiteral("light"), QStringLiteral("light"));
    addTheme(tr("&Dark"), QStringLiteral("dark"), QStringLiteral("dark"));
    connect(m_themes, &QActionGroup::triggered, this,
            [this](const QAction* action) { Q_EMIT themeChosen(action->data().toString()); });
    m_viewMenu->addSeparator();

    QMenu* help = menuBar()->addMenu(tr("&Help"));
    help->addAction(icon(QStringLiteral("help")), tr("&Keys and hints"), QKeySequence::HelpContents, this,
                    &MainWindow::helpRequested);
    help->addAction(tr("&About Vitrine"), this, [this] {
        auto* box = new QMessageBox(QMessageBox::NoIcon, tr("About Vitrine"), m_about, QMessageBox::Ok, this);
        box->setAttribute(Qt::WA_DeleteOnClose);
        box->open();
    });
}

void MainWindow::closeEvent(QCloseEvent* event) {
    Q_EMIT closing();
    QMainWindow::closeEvent(event);
}

}  // namespace vitrine
