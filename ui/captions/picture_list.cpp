#include "ui/captions/picture_list.h"

#include "ui/captions/picture_delegate.h"
#include "ui/icons.h"
#include "ui/theme.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QEvent>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QScrollBar>
#include <QSet>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <QtMath>

#include <algorithm>
#include <utility>

namespace vitrine {
namespace {

constexpr int kSearchPause = 120;     // ms after the last key
constexpr int kKeptSelection = 2000;  // pictures; of a larger selection only the current one survives a rearrangement
constexpr int kGather = 16;           // ms

// What the program makes current is selected alone, also while somebody holds Ctrl down to walk through the list from
// the editor; Qt would take that for adding to the selection.
class Rows : public QListView {
public:
    using QListView::QListView;

protected:
    QItemSelectionModel::SelectionFlags selectionCommand(const QModelIndex& row, const QEvent* event) const override {
        return event == nullptr ? QItemSelectionModel::ClearAndSelect : QListView::selectionCommand(row, event);
    }
};

QToolButton* toolButton(const QString& iconName, const QString& name, QWidget* parent) {
    auto* button = new QToolButton(parent);
    button->setIcon(icon(iconName));
    button->setToolTip(name);
    button->setAccessibleName(name);
    button->setAutoRaise(true);
    theme::setButtonKind(*button, "quiet");
    return button;
}

QString counted(int count, const QString& one, const QString& many) {
    return count == 1 ? one : many.arg(count);
}

}  // namespace

PictureList::PictureList(QWidget* parent)
    : QWidget(parent), m_filter(new CaptionFilter(this)), m_delegate(new PictureDelegate(this)) {
    m_view = new Rows(this);
    setFocusProxy(m_view);
    m_view->setAccessibleName(tr("Pictures"));
    m_view->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_view->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_view->setUniformItemSizes(true);
    m_view->setResizeMode(QListView::Adjust);
    m_view->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_view->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_view->setContextMenuPolicy(Qt::CustomContextMenu);
    m_view->setMouseTracking(true);
    m_view->setItemDelegate(m_delegate);
    m_view->setModel(m_filter);
    m_view->installEventFilter(this);
    m_view->viewport()->installEventFilter(this);

    m_pages = new QStackedWidget(this);
    m_pages->addWidget(m_view);
    m_pages->addWidget(buildNothing());
    m_counts = new QLabel(this);
    m_counts->setFont(theme::smallFont(font()));
    m_counts->setWordWrap(true);
    theme::setMuted(*m_counts);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme::kSpace);
    layout->addWidget(buildActions());
    layout->addWidget(buildSearch());
    layout->addWidget(m_pages, 1);
    layout->addWidget(m_counts);

    for (QTimer* timer : {&m_searchTimer, &m_visibleTimer, &m_countsTimer}) {
        timer->setSingleShot(true);
        timer->setInterval(timer == &m_searchTimer ? kSearchPause : kGather);
    }
    connect(&m_searchTimer, &QTimer::timeout, this, [this] { m_filter->setSearch(m_search->text()); });
    connect(&m_visibleTimer, &QTimer::timeout, this, &PictureList::announceVisible);
    connect(&m_countsTimer, &QTimer::timeout, this, &PictureList::showCounts);
    setGrid(false);
    connectModel();
}

QWidget* PictureList::buildActions() {
    auto* row = new QWidget(this);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme::kTight);

    const auto menuButton = [&](const QString& iconName, const QString& name) {
        auto* button = new QPushButton(icon(iconName), name, row);
        button->setMenu(new QMenu(button));
        layout->addWidget(button);
        return button->menu();
    };
    QMenu* add = menuButton(QStringLiteral("add"), tr("Add"));
    add->addAction(icon(QStringLiteral("picture")), tr("Pictures…"), this, &PictureList::openFilesWanted);
    add->addAction(icon(QStringLiteral("folder")), tr("Folder…"), this, &PictureList::openFolderWanted);
    add->addAction(icon(QStringLiteral("paste")), tr("Paste"), this, &PictureList::pasteWanted);
    QMenu* save = menuButton(QStringLiteral("export"), tr("Export"));
    save->setToolTipsVisible(true);
    const std::pair<CaptionExport, QString> formats[] = {{CaptionExport::jsonl, tr("JSON Lines, with provenance…")},
                                                         {CaptionExport::csv, tr("CSV table…")},
                                                         {CaptionExport::kohya, tr("kohya metadata JSON…")},
                                                         {CaptionExport::llava, tr("LLaVA JSON, for training…")}};
    for (const auto& [format, name] : formats) {
        QAction* action = save->addAction(name);
        action->setToolTip(tr("Writes the captions of the pictures that the list shows"));
        connect(action, &QAction::triggered, this,
                [this, format = format] { Q_EMIT exportWanted(format, shownPaths()); });
    }
    layout->addStretch(1);

    m_listMode = toolButton(QStringLiteral("list"), tr("Show as a list"), row);
    m_gridMode = toolButton(QStringLiteral("grid"), tr("Show as a grid"), row);
    for (QToolButton* button : {m_listMode, m_gridMode}) {
        button->setCheckable(true);
        button->setAutoExclusive(true);
        layout->addWidget(button);
        connect(button, &QToolButton::clicked, this, [this, button] { setGrid(button == m_gridMode); });
    }
    return row;
}

QWidget* PictureList::buildSearch() {
    auto* box = new QWidget(this);
    m_search = new QLineEdit(box);
    m_search->setPlaceholderText(tr("Search names and captions"));
    m_search->setAccessibleName(tr("Search"));
    m_search->setToolTip(
        tr("All words must occur. A minus before a word leaves out what has it; \"quotes\" keep words together."));
    m_search->setClearButtonEnabled(true);
    m_search->addAction(icon(QStringLiteral("search")), QLineEdit::LeadingPosition);
    m_search->installEventFilter(this);
    connect(m_search, &QLineEdit::textChanged, &m_searchTimer, qOverload<>(&QTimer::start));

    m_show = new QComboBox(box);
    m_show->setAccessibleName(tr("Which pictures to show"));
    for (const auto& [show, name] :
         {std::pair(CaptionShow::all, tr("All")), std::pair(CaptionShow::missing, tr("No caption")),
          std::pair(CaptionShow::machine, tr("Machine-made")), std::pair(CaptionShow::edited, tr("Edited by hand")),
          std::pair(CaptionShow::failed, tr("Failed")), std::pair(CaptionShow::waiting, tr("Waiting"))}) {
        m_show->addItem(name, int(show));
    }
    connect(m_show, &QComboBox::activated, this,
            [this](int item) { m_filter->setShow(CaptionShow(m_show->itemData(item).toInt())); });

    m_order = new QComboBox(box);
    m_order->setAccessibleName(tr("Sort"));
    for (const auto& [order, name] :
         {std::pair(CaptionOrder::added, tr("As added")), std::pair(CaptionOrder::name, tr("By name")),
          std::pair(CaptionOrder::folder, tr("By folder")), std::pair(CaptionOrder::state, tr("By state")),
          std::pair(CaptionOrder::length, tr("By caption length"))}) {
        m_order->addItem(name, int(order));
    }
    connect(m_order, &QComboBox::activated, this,
            [this](int item) { m_filter->setOrder(CaptionOrder(m_order->itemData(item).toInt())); });

    auto* layout = new QGridLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme::kTight);
    layout->addWidget(m_search, 0, 0, 1, 2);
    layout->addWidget(m_show, 1, 0);
    layout->addWidget(m_order, 1, 1);
    for (QComboBox* combo : {m_show, m_order})
        combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    return box;
}

QWidget* PictureList::buildNothing() {
    auto* page = new QWidget(this);
    auto* text = new QLabel(tr("No picture matches."), page);
    text->setAlignment(Qt::AlignCenter);
    auto* all = new QPushButton(tr("Show all"), page);
    connect(all, &QPushButton::clicked, this, &PictureList::showAll);
    auto* layout = new QVBoxLayout(page);
    layout->addStretch(1);
    layout->addWidget(text);
    layout->addWidget(all, 0, Qt::AlignHCenter);
    layout->addStretch(2);
    return page;
}

void PictureList::connectModel() {
    const auto look = [this] {
        m_visibleTimer.start();
        m_countsTimer.start();
    };
    connect(m_filter, &QAbstractItemModel::modelAboutToBeReset, this, &PictureList::remember);
    connect(m_filter, &QAbstractItemModel::modelReset, this, &PictureList::restore);
    connect(m_filter, &CaptionFilter::arranged, this, &PictureList::restore);
    connect(m_filter, &QAbstractItemModel::rowsRemoved, this, look);
    connect(m_filter, &QAbstractItemModel::rowsInserted, this, [this, look] {
        if (!current().isValid()) restore();
        look();
    });
    connect(m_filter, &CaptionFilter::countsChanged, &m_countsTimer, qOverload<>(&QTimer::start));
    connect(m_filter, &QAbstractItemModel::dataChanged, this,
            [this](const QModelIndex& first, const QModelIndex& last, const QList<int>& roles) {
                const int row = current().row();
                const bool onlyPicture = roles.size() == 1 && roles.first() == CaptionRoles::thumbnail;
                if (!onlyPicture && first.row() <= row && row <= last.row()) Q_EMIT currentTouched();
            });
    connect(m_view->selectionModel(), &QItemSelectionModel::currentChanged, this, &PictureList::announceCurrent);
    connect(m_view->selectionModel(), &QItemSelectionModel::selectionChanged, &m_countsTimer,
            qOverload<>(&QTimer::start));
    connect(m_view->verticalScrollBar(), &QScrollBar::valueChanged, &m_visibleTimer, qOverload<>(&QTimer::start));
    connect(m_view, &QListView::customContextMenuRequested, this, &PictureList::openMenu);
    connect(m_view, &QListView::doubleClicked, this, &PictureList::editWanted);
}

void PictureList::setModel(QAbstractItemModel* model) {
    m_filter->setSourceModel(model);
}

QString PictureList::pathAt(int row) const {
    return m_filter->index(row, 0).data(CaptionRoles::path).toString();
}

int PictureList::rowOf(const QString& path) const {
    for (int row = 0; row < m_filter->rowCount(); ++row) {
        if (pathAt(row) == path) return row;
    }
    return -1;
}

QModelIndex PictureList::current() const {
    return m_view->currentIndex();
}

void PictureList::select(const QString& path) {
    const int row = rowOf(path);
    if (row >= 0) {
        m_view->setCurrentIndex(m_filter->index(row, 0));
        return;
    }
    m_wanted = path;
    m_wantedSelection = {path};
    if (!m_filter->isArranging()) showAll();
    m_view->selectionModel()->clear();  // found again when the rows have been gone through
}

void PictureList::showAll() {
    m_search->clear();
    m_searchTimer.stop();
    m_show->setCurrentIndex(m_show->findData(int(CaptionShow::all)));
    m_filter->setShow(CaptionShow::all);
    m_filter->setSearch({});
}

void PictureList::step(int rows) {
    const int last = m_filter->rowCount() - 1;
    if (last < 0) return;
    const int row = current().isValid() ? std::clamp(current().row() + rows, 0, last) : 0;
    m_view->setCurrentIndex(m_filter->index(row, 0));
}

void PictureList::drive(QKeyEvent& arrow) {
    if (m_driving) return;  // the view has left the key to its parents: there is nothing in that direction
    m_driving = true;
    QCoreApplication::sendEvent(m_view, &arrow);
    m_driving = false;
}

int PictureList::selectedCount() const {
    int count = 0;
    for (const QItemSelectionRange& range : m_view->selectionModel()->selection()) count += range.height();
    return count;
}

QStringList PictureList::selectedPaths() const {
    std::vector<int> rows;
    for (const QItemSelectionRange& range : m_view->selectionModel()->selection()) {
        for (int row = range.top(); row <= range.bottom(); ++row) rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end());
    QStringList paths;
    paths.reserve(qsizetype(rows.size()));
    for (const int row : rows) paths.append(pathAt(row));
    return paths;
}

QStringList PictureList::shownPaths() const {
    QStringList paths;
    paths.reserve(m_filter->rowCount());
    for (int row = 0; row < m_filter->rowCount(); ++row) paths.append(pathAt(row));
    return paths;
}

QStringList PictureList::nextPaths() const {
    QStringList paths;
    const int row = current().row();
    for (const int offset : {1, -1, 2}) {
        if (row >= 0 && row + offset >= 0 && row + offset < m_filter->rowCount()) paths.append(pathAt(row + offset));
    }
    return paths;
}

void PictureList::focusSearch() {
    m_search->setFocus(Qt::ShortcutFocusReason);
    m_search->selectAll();
}

bool PictureList::isGrid() const {
    return m_gridMode->isChecked();
}

void PictureList::setGrid(bool grid) {
    (grid ? m_gridMode : m_listMode)->setChecked(true);
    m_delegate->setGrid(grid);
    // Icon mode places every item by itself; wrapped lines of equal cells cost nothing however many there are.
    m_view->setFlow(grid ? QListView::LeftToRight : QListView::TopToBottom);
    m_view->setWrapping(grid);
    m_view->setGridSize(grid ? m_delegate->cellSize(m_view->font()) : QSize());
    if (current().isValid()) m_view->scrollTo(current(), QAbstractItemView::PositionAtCenter);
    m_visibleTimer.start();
}

void PictureList::setOrder(CaptionOrder order) {
    m_order->setCurrentIndex(m_order->findData(int(order)));
    m_filter->setOrder(order);
}

void PictureList::remember() {
    if (!current().isValid()) return;  // between two resets: what was remembered still counts
    m_wanted = pathAt(current().row());
    m_wantedRow = current().row();
    m_wantedSelection = selectedCount() <= kKeptSelection ? selectedPaths() : QStringList(m_wanted);
}

void PictureList::restore() {
    const int count = m_filter->rowCount();
    if (count > 0 && !current().isValid()) {
        const QSet<QString> wanted(m_wantedSelection.begin(), m_wantedSelection.end());
        QItemSelection selection;
        int found = -1;
        qsizetype missing = wanted.size() + (wanted.contains(m_wanted) ? 0 : 1);
        for (int row = 0; row < count && missing > 0 && !(wanted.isEmpty() && m_wanted.isEmpty()); ++row) {
            const QString path = pathAt(row);
            const bool selected = wanted.contains(path);
            if (path == m_wanted) found = row;
            if (selected || path == m_wanted) --missing;
            if (!selected) continue;
            if (!selection.isEmpty() && selection.last().bottom() == row - 1) {
                selection.last() = QItemSelectionRange(selection.last().topLeft(), m_filter->index(row, 0));
            } else {
                selection.append(QItemSelectionRange(m_filter->index(row, 0)));
            }
        }
        // Not there yet while rows are still gone through: something else would only flash by.
        if (found < 0 && m_filter->isArranging() && !m_wanted.isEmpty()) return;
        const QModelIndex row = m_filter->index(found >= 0 ? found : std::min(m_wantedRow, count - 1), 0);
        QItemSelectionModel* chosen = m_view->selectionModel();
        if (found < 0) selection.select(row, row);
        chosen->setCurrentIndex(row, QItemSelectionModel::NoUpdate);
        chosen->select(selection, QItemSelectionModel::ClearAndSelect);
        m_view->scrollTo(row);
    }
    if (count > 0 || !m_filter->isArranging()) announceCurrent();
    m_visibleTimer.start();
    m_countsTimer.start();
}

void PictureList::announceCurrent() {
    const QModelIndex row = current();
    const QString path = row.isValid() ? pathAt(row.row()) : QString();
    if (path.isEmpty() && m_filter->isArranging()) return;
    if (std::exchange(m_announced, path) == path) {
        if (row.isValid()) Q_EMIT currentTouched();
        return;
    }
    Q_EMIT currentChanged(row);
}

void PictureList::announceVisible() {
    if (!m_view->isVisible()) return;
    const QRect port = m_view->viewport()->rect();
    const int inset = m_view->gridSize().isValid() ? m_view->gridSize().width() / 2 : port.width() / 2;
    const QModelIndex top = m_view->indexAt(QPoint(inset, 2));
    QStringList paths;
    for (int row = std::max(0, top.row()); row < m_filter->rowCount(); ++row) {
        if (m_view->visualRect(m_filter->index(row, 0)).top() > port.bottom()) break;
        paths.append(pathAt(row));
    }
    Q_EMIT thumbnailsWanted(paths, qCeil(m_delegate->thumbnailEdge() * devicePixelRatioF()));
}

void PictureList::showCounts() {
    const CaptionCounts& counts = m_filter->counts();
    QStringList parts{counted(counts.total, tr("1 picture"), tr("%L1 pictures"))};
    const int missing = counts.of(CaptionState::none);
    const int failed = counts.of(CaptionState::failed);
    if (missing > 0) parts.append(tr("%L1 without caption").arg(missing));
    if (failed > 0) parts.append(tr("%L1 failed").arg(failed));
    if (m_filter->hidesSome()) parts.append(tr("%L1 shown").arg(shownCount()));
    if (selectedCount() > 1) parts.append(tr("%L1 selected").arg(selectedCount()));
    m_counts->setText(parts.join(QStringLiteral(" · ")));
    const bool nothing = shownCount() == 0 && counts.total > 0 && !m_filter->isArranging();
    m_pages->setCurrentIndex(nothing ? 1 : 0);
    Q_EMIT countsChanged();
}

void PictureList::openMenu(const QPoint& position) {
    const QStringList paths = selectedPaths();
    if (paths.isEmpty()) return;
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addAction(icon(QStringLiteral("machine")), tr("Caption"), this, &PictureList::captionWanted);
    menu->addAction(icon(QStringLiteral("edit")), tr("Edit caption"), this, &PictureList::editWanted);
    menu->addAction(icon(QStringLiteral("retry")), tr("Try failed ones again"), this,
                    [this, paths] { Q_EMIT retryWanted(paths); });
    menu->addSeparator();
    if (current().isValid()) {
        menu->addAction(icon(QStringLiteral("folder")), tr("Show in folder"), this,
                        [this, path = pathAt(current().row())] { Q_EMIT revealWanted(path); });
    }
    menu->addAction(icon(QStringLiteral("delete")), tr("Remove from the list"), this,
                    [this, paths] { Q_EMIT removeWanted(paths); });
    menu->popup(m_view->viewport()->mapToGlobal(position));
}

bool PictureList::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_view->viewport() && (event->type() == QEvent::Resize || event->type() == QEvent::Show)) {
        m_visibleTimer.start();
    }
    if (event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
    auto* key = static_cast<QKeyEvent*>(event);
    if (watched == m_search) {  // the list is driven from here as well
        switch (key->key()) {
            case Qt::Key_Up: step(-1); return true;
            case Qt::Key_Down: step(1); return true;
            case Qt::Key_Return:
            case Qt::Key_Enter:
                if (key->modifiers() == Qt::NoModifier) {
                    focusView();
                    return true;
                }
                break;
            case Qt::Key_Escape:
                m_search->clear();
                focusView();
                return true;
            default: break;
        }
    }
    if (watched == m_view && key->modifiers() == Qt::NoModifier) {
        switch (key->key()) {
            case Qt::Key_Return:
            case Qt::Key_Enter:
            case Qt::Key_F2: Q_EMIT editWanted(); return true;
            case Qt::Key_Delete:
                if (selectedCount() > 0) Q_EMIT removeWanted(selectedPaths());
                return true;
            case Qt::Key_Left:
            case Qt::Key_Right:
                if (isGrid()) break;
                step(key->key() == Qt::Key_Left ? -1 : 1);
                return true;
            default: break;
        }
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace vitrine
