#include "ui/captions/captions_page.h"

#include "ui/captions/caption_editor.h"
#include "ui/captions/picture_list.h"
#include "ui/captions/prompt_panel.h"
#include "ui/empty_state.h"
#include "ui/icons.h"
#include "ui/message_bar.h"
#include "ui/pictures/picture_view.h"
#include "ui/theme.h"

#include <QApplication>
#include <QDataStream>
#include <QIODevice>
#include <QKeyEvent>
#include <QLabel>
#include <QListView>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <utility>

namespace vitrine {
namespace {

constexpr quint32 kStateVersion = 1;

QWidget* padded(QWidget* content, QWidget* parent) {
    auto* box = new QWidget(parent);
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(theme::kSpace, theme::kSpace, theme::kSpace, theme::kSpace);
    layout->addWidget(content);
    return box;
}

}  // namespace

CaptionsPage::CaptionsPage(QWidget* parent) : QWidget(parent) {
    m_list = new PictureList(this);
    m_editor = new CaptionEditor(this);
    m_prompt = new PromptPanel(this);
    m_messages = new MessageBar(this);

    m_right = new QSplitter(Qt::Vertical, this);
    m_right->addWidget(padded(m_editor, this));
    m_right->addWidget(padded(m_prompt, this));
    m_right->setSizes({300, 420});
    m_columns = new QSplitter(Qt::Horizontal, this);
    m_columns->addWidget(padded(m_list, this));
    m_columns->addWidget(buildMiddle());
    m_columns->addWidget(m_right);
    m_columns->setStretchFactor(1, 1);
    m_columns->setSizes({300, 560, 330});
    for (QSplitter* splitter : {m_columns, m_right}) splitter->setChildrenCollapsible(false);

    auto* empty =
        new EmptyState(QStringLiteral("captions"), tr("Drop pictures or folders here"),
                       tr("They stay where they are, and what you write by hand is never overwritten."), this);
    empty->addAction(tr("Open pictures…"), QStringLiteral("picture"), QStringLiteral("files"));
    empty->addAction(tr("Open a folder…"), QStringLiteral("folder"), QStringLiteral("folder"));
    empty->addAction(tr("Paste a picture"), QStringLiteral("paste"), QStringLiteral("paste"));
    connect(empty, &EmptyState::triggered, this, [this](const QString& wish) {
        if (wish == QLatin1String("files")) Q_EMIT openFilesWanted();
        if (wish == QLatin1String("folder")) Q_EMIT openFolderWanted();
        if (wish == QLatin1String("paste")) Q_EMIT pasteWanted();
    });
    m_pages = new QStackedWidget(this);
    m_pages->addWidget(empty);
    m_pages->addWidget(m_columns);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_pages, 1);
    layout->addWidget(m_messages);
    setFocusProxy(m_list);

    connect(m_list, &PictureList::currentChanged, this, &CaptionsPage::showRow);
    connect(m_list, &PictureList::currentTouched, this, &CaptionsPage::refreshRow);
    connect(m_list, &PictureList::countsChanged, this, &CaptionsPage::updateActions);
    connect(m_list, &PictureList::thumbnailsWanted, this, &CaptionsPage::thumbnailsWanted);
    connect(m_list, &PictureList::editWanted, this, [this] { m_editor->text()->setFocus(Qt::OtherFocusReason); });
    connect(m_list, &PictureList::captionWanted, this,
            [this] { caption(m_list->selectedCount() > 1 ? Scope::selection : Scope::current); });
    connect(m_list, &PictureList::retryWanted, this, &CaptionsPage::retryWanted);
    connect(m_list, &PictureList::removeWanted, this, &CaptionsPage::removeWanted);
    connect(m_list, &PictureList::revealWanted, this, &CaptionsPage::revealWanted);
    connect(m_list, &PictureList::openFilesWanted, this, &CaptionsPage::openFilesWanted);
    connect(m_list, &PictureList::openFolderWanted, this, &CaptionsPage::openFolderWanted);
    connect(m_list, &PictureList::pasteWanted, this, &CaptionsPage::pasteWanted);
    connect(m_list, &PictureList::exportWanted, this, [this](CaptionExport format, const QStringList& paths) {
        flushEdits();
        Q_EMIT exportWanted(format, paths);
    });

    connect(m_editor, &CaptionEditor::edited, this, &CaptionsPage::captionEdited);
    connect(m_editor, &CaptionEditor::retryWanted, this, [this](const QString& path) { Q_EMIT retryWanted({path}); });
    connect(m_editor, &CaptionEditor::replaceConfirmed, this, &CaptionsPage::captionConfirmed);
    connect(m_editor, &CaptionEditor::goToWanted, this, &CaptionsPage::select);
    connect(m_editor->text(), &CaptionText::stepWanted, m_list, &PictureList::step);
    connect(m_editor->text(), &CaptionText::leaveWanted, m_list, &PictureList::focusView);

    connect(m_prompt, &PromptPanel::settingsChanged, this, &CaptionsPage::settingsChanged);
    connect(m_prompt, &PromptPanel::captionThis, this, [this] { caption(Scope::current); });
    connect(m_prompt, &PromptPanel::captionSelection, this, [this] { caption(Scope::selection); });
    connect(m_prompt, &PromptPanel::captionAll, this, [this] { caption(Scope::shown); });
    connect(m_prompt, &PromptPanel::stopWanted, this, &CaptionsPage::stopWanted);
    connect(m_prompt, &PromptPanel::resumeWanted, this, &CaptionsPage::resumeWanted);
    buildShortcuts();
    updateActions();
}

QWidget* CaptionsPage::buildMiddle() {
    auto* box = new QWidget(this);
    m_view = new PictureView(box);
    m_about = new QLabel(box);
    m_about->setFont(theme::smallFont(font()));
    m_about->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_about->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    theme::setMuted(*m_about);

    auto* foot = new QHBoxLayout;
    foot->setContentsMargins(theme::kSpace, 0, theme::kSpace, theme::kSpace);
    foot->setSpacing(theme::kTight);
    foot->addWidget(m_about, 1);
    const auto button = [&](const QString& iconName, const QString& name, void (PictureView::*act)()) {
        auto* tool = new QToolButton(box);
        tool->setIcon(icon(iconName));
        tool->setToolTip(name);
        tool->setAccessibleName(name);
        theme::setButtonKind(*tool, "quiet");
        connect(tool, &QToolButton::clicked, m_view, act);
        foot->addWidget(tool);
    };
    button(QStringLiteral("zoom-out"), tr("Smaller (-)"), &PictureView::zoomOut);
    button(QStringLiteral("zoom-in"), tr("Larger (+)"), &PictureView::zoomIn);
    button(QStringLiteral("actual-size"), tr("Actual pixels (1)"), &PictureView::zoomToPixels);
    button(QStringLiteral("fit"), tr("Fit (F)"), &PictureView::fit);

    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, theme::kSpace, 0, 0);
    layout->addWidget(m_view, 1);
    layout->addLayout(foot);
    connect(m_view, &PictureView::zoomChanged, this, [this](qreal zoom) {
        const Picture& picture = m_view->picture();
        if (picture.isNull()) return;
        QStringList parts{tr("%1 × %2").arg(picture.image.width()).arg(picture.image.height()),
                          tr("%L1 %").arg(qRound(zoom * 100))};
        m_about->setText((parts + picture.notes).join(QStringLiteral(" · ")));
    });
    return box;
}

void CaptionsPage::buildShortcuts() {
    const auto shortcut = [this](const QKeySequence& keys, auto act) {
        auto* made = new QShortcut(keys, this);
        made->setContext(Qt::WidgetWithChildrenShortcut);
        connect(made, &QShortcut::activated, this, act);
    };
    shortcut(QKeySequence::Find, [this] { focusSearch(); });
    shortcut(Qt::CTRL | Qt::Key_Return, [this] { caption(Scope::current); });
    shortcut(Qt::CTRL | Qt::Key_Enter, [this] { caption(Scope::current); });
}

void CaptionsPage::setModel(QAbstractItemModel* model) {
    m_list->setModel(model);
}
void CaptionsPage::select(const QString& path) {
    m_list->select(path);
}
QString CaptionsPage::currentPath() const {
    return m_row.data(CaptionRoles::path).toString();
}
QStringList CaptionsPage::selectedPaths() const {
    return m_list->selectedPaths();
}
QStringList CaptionsPage::shownPaths() const {
    return m_list->shownPaths();
}

void CaptionsPage::showRow(const QModelIndex& row) {
    m_editor->show(row);  // announces what was typed for the picture before
    m_row = row;
    m_about->clear();
    if (row.isValid()) {
        m_view->setLoading(row.data(CaptionRoles::thumbnail).value<QImage>());
    } else {
        m_view->clear();
    }
    updateActions();
    Q_EMIT pictureWanted(currentPath(), m_list->nextPaths());
}

void CaptionsPage::refreshRow() {
    m_row = m_list->current();
    m_editor->refresh(m_row);
}

void CaptionsPage::setPicture(const QString& path, const Picture& picture) {
    if (path == currentPath()) m_view->setPicture(picture);
}

void CaptionsPage::setPictureFailed(const QString& path, const QString& reason) {
    if (path != currentPath()) return;
    m_about->clear();
    m_view->setFailed(reason);
}

void CaptionsPage::setReady(bool ready, const QString& whyNot) {
    m_ready = ready;
    m_prompt->setReady(ready, whyNot);
}

void CaptionsPage::setProgress(const CaptionProgress& progress) {
    m_progress = progress;
    m_prompt->setProgress(progress);
}

void CaptionsPage::beginStream(const QString& path) {
    m_editor->beginStream(path, path.section(QLatin1Char('/'), -1));
}

void CaptionsPage::appendStream(const QString& path, const QString& piece) {
    m_editor->appendStream(path, piece);
}

void CaptionsPage::endStream(const QString& path) {
    m_editor->endStream(path);
    if (path == currentPath()) refreshRow();
}

void CaptionsPage::setPresets(const QList<CaptionPreset>& presets) {
    m_prompt->setPresets(presets);
}
void CaptionsPage::setSettings(const CaptionSettings& settings) {
    m_prompt->setSettings(settings);
}
CaptionSettings CaptionsPage::settings() const {
    return m_prompt->settings();
}

void CaptionsPage::flushEdits() {
    m_editor->flush();
}
void CaptionsPage::focusSearch() {
    m_list->focusSearch();
}

// The one picture is captioned whatever the policy says, since it was pointed at; but a hand-written caption only when
// that was confirmed. With several, the policy decides.
void CaptionsPage::caption(Scope scope) {
    if (!m_ready || m_progress.run == CaptionRun::stopping) return;
    flushEdits();
    if (scope != Scope::current) {
        const QStringList paths = scope == Scope::selection ? selectedPaths() : shownPaths();
        if (!paths.isEmpty()) Q_EMIT captionWanted(paths, settings().policy);
        return;
    }
    if (!m_row.isValid() || m_row.data(CaptionRoles::work).value<CaptionWork>() != CaptionWork::idle) return;
    if (m_row.data(CaptionRoles::state).value<CaptionState>() == CaptionState::edited) {
        m_editor->askReplace();
        return;
    }
    Q_EMIT captionWanted({currentPath()}, CaptionPolicy::allButEdited);
}

void CaptionsPage::captionConfirmed() {
    Q_EMIT captionWanted({currentPath()}, CaptionPolicy::everything);
}

void CaptionsPage::updateActions() {
    const int page = m_list->counts().total > 0 ? 1 : 0;
    if (m_pages->currentIndex() != page) {
        // The keys are the list's from the first picture on, unless another place has them.
        const bool take = page == 1 && isVisible() &&
                          (QApplication::focusWidget() == nullptr || isAncestorOf(QApplication::focusWidget()) ||
                           QApplication::focusWidget() == this);
        m_pages->setCurrentIndex(page);
        if (take) m_list->setFocus(Qt::OtherFocusReason);
    }
    m_prompt->setPictures(m_row.isValid(), m_list->selectedCount(), m_list->shownCount(), m_list->hidesSome());
}

QByteArray CaptionsPage::saveState() const {
    QByteArray state;
    QDataStream stream(&state, QIODevice::WriteOnly);
    stream << kStateVersion << m_columns->saveState() << m_right->saveState() << m_list->isGrid()
           << qint32(m_list->order()) << m_prompt->isUnfolded();
    return state;
}

bool CaptionsPage::restoreState(const QByteArray& state) {
    QDataStream stream(state);
    quint32 version = 0;
    QByteArray columns;
    QByteArray right;
    bool grid = false;
    qint32 order = 0;
    bool unfolded = false;
    stream >> version >> columns >> right >> grid >> order >> unfolded;
    if (stream.status() != QDataStream::Ok || version != kStateVersion || order < 0 ||
        order > qint32(CaptionOrder::length)) {
        return false;
    }
    m_columns->restoreState(columns);
    m_right->restoreState(right);
    m_list->setGrid(grid);
    m_list->setOrder(CaptionOrder(order));
    m_prompt->setUnfolded(unfolded);
    return true;
}

void CaptionsPage::hideEvent(QHideEvent*) {
    flushEdits();
}

// What no child has used: arrows drive the list from wherever the focus is.
void CaptionsPage::keyPressEvent(QKeyEvent* event) {
    const int key = event->key();
    if (event->matches(QKeySequence::Paste)) {
        Q_EMIT pasteWanted();
    } else if (key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_Left || key == Qt::Key_Right) {
        if (event->modifiers() & ~Qt::KeypadModifier) return event->ignore();
        m_list->drive(*event);
    } else {
        event->ignore();
    }
}

}  // namespace vitrine
