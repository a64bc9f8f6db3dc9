#include "ui/chat/conversation_view.h"

#include "ui/chat/turn_widget.h"
#include "ui/icons.h"
#include "ui/text/markdown_view.h"
#include "ui/theme.h"

#include <QElapsedTimer>
#include <QHash>
#include <QKeyEvent>
#include <QScopedValueRollback>
#include <QScrollBar>
#include <QToolButton>

#include <algorithm>
#include <utility>

namespace vitrine {
namespace {

constexpr qint64 kBudgetMs = 10;        // for making turns, before the event loop gets its turn
constexpr int kThumbnailsKiB = 48'000;  // kept for turns that come back into view
constexpr int kColumnEms = 46;          // a line longer than this is hard to read

}  // namespace

ConversationView::ConversationView(QWidget* parent) : QAbstractScrollArea(parent), m_thumbnails(kThumbnailsKiB) {
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Conversation"));
    viewport()->setAutoFillBackground(false);
    // Once for all turns: a style sheet of their own would cost each of them.
    setStyleSheet(
        QStringLiteral("vitrine--ConversationView { border: none; background: transparent; }"
                       "vitrine--MarkdownView, vitrine--MarkdownView:focus"
                       "{ border: none; padding: 0; background: transparent; }"));
    m_layoutTimer.setSingleShot(true);
    m_layoutTimer.setInterval(0);
    connect(&m_layoutTimer, &QTimer::timeout, this, &ConversationView::layoutRows);
    m_toEnd = new QToolButton(this);
    m_toEnd->setIcon(icon(QStringLiteral("chevron-down")));
    m_toEnd->setToolTip(tr("To the end"));
    m_toEnd->setAccessibleName(tr("To the end of the conversation"));
    m_toEnd->hide();
    connect(m_toEnd, &QToolButton::clicked, this, &ConversationView::scrollToEnd);
}

ConversationView::~ConversationView() = default;

int ConversationView::columnWidth() const {
    const int room = viewport()->width() - 2 * theme::kGroup;
    return std::max(120, std::min(room, fontMetrics().height() * kColumnEms));
}

void ConversationView::setTurns(const QList<Turn>& turns, bool jumpToEnd) {
    m_changing = true;
    QHash<qint64, Row> before;
    for (Row& row : m_rows) before.insert(row.turn.id, row);
    m_rows.clear();
    for (const Turn& turn : turns) {
        Row row = before.take(turn.id);
        const bool changed = !(row.turn == turn);
        row.turn = turn;
        if (changed) row.measured = false;
        if (row.height == 0) row.height = estimate(turn);
        if (changed && row.widget != nullptr) row.widget->setTurn(turn, m_speaker);
        m_rows.push_back(row);
    }
    for (Row& gone : before) dropWidget(gone);
    m_changing = false;
    if (jumpToEnd) m_following = true;
    layoutRows();
}

void ConversationView::updateTurn(const Turn& turn) {
    const int index = indexOf(turn.id);
    if (index < 0) return;
    Row& row = m_rows[static_cast<std::size_t>(index)];
    if (row.turn == turn) return;
    row.turn = turn;
    row.measured = false;
    if (row.widget != nullptr) row.widget->setTurn(turn, m_speaker);
    layoutSoon();
}

void ConversationView::append(qint64 id, const QString& text, const QString& reasoning) {
    const int index = indexOf(id);
    if (index < 0) return;
    Row& row = m_rows[static_cast<std::size_t>(index)];
    row.turn.text += text;
    row.turn.reasoning += reasoning;
    row.turn.state = TurnState::streaming;
    row.measured = false;
    if (row.widget != nullptr)
        row.widget->append(text, reasoning);
    else
        row.height = estimate(row.turn);
    layoutSoon();
}

void ConversationView::setThumbnail(const QString& key, const QImage& image) {
    m_thumbnails.insert(key, new QImage(image), static_cast<int>(image.sizeInBytes() / 1024) + 1);
    for (const Row& row : m_rows) {
        if (row.widget != nullptr) row.widget->setThumbnail(key, image);
    }
}

void ConversationView::setSpeaker(const QString& name) {
    if (std::exchange(m_speaker, name) == name) return;
    for (const Row& row : m_rows) {
        if (row.widget != nullptr) row.widget->setTurn(row.turn, m_speaker);
    }
}

TurnWidget* ConversationView::widgetOf(qint64 id) const {
    const int index = indexOf(id);
    return index < 0 ? nullptr : m_rows[static_cast<std::size_t>(index)].widget;
}

int ConversationView::widgetCount() const {
    return static_cast<int>(
        std::count_if(m_rows.begin(), m_rows.end(), [](const Row& row) { return row.widget != nullptr; }));
}

int ConversationView::indexOf(qint64 id) const {
    const auto found = std::find_if(m_rows.rbegin(), m_rows.rend(), [id](const Row& row) { return row.turn.id == id; });
    return found == m_rows.rend() ? -1 : static_cast<int>(m_rows.rend() - found) - 1;
}

// Good enough that the scroll bar hardly moves when the real height replaces it.
int ConversationView::estimate(const Turn& turn) const {
    const int line = fontMetrics().lineSpacing() * 6 / 5;
    const int perLine = std::max(10, columnWidth() / std::max(1, fontMetrics().averageCharWidth()));
    const auto characters = static_cast<int>(std::min<qsizetype>(turn.text.size(), 100'000));
    const auto breaks = static_cast<int>(std::min<qsizetype>(turn.text.count(u'\n'), 2'000));
    const int pictures = turn.pictures.isEmpty() ? 0 : fontMetrics().height() * 8;
    return line * (characters / perLine + breaks + 4) + pictures + theme::kGroup;
}

TurnWidget* ConversationView::makeWidget(const Row& row) {
    auto* widget = new TurnWidget(viewport());
    widget->setTurn(row.turn, m_speaker);
    connect(widget, &TurnWidget::heightChanged, this, [this, widget] {
        for (Row& other : m_rows) {
            if (other.widget == widget) other.measured = false;
        }
        layoutNow();
    });
    connect(widget, &TurnWidget::focused, this, [this, widget] { showTurn(widget->turn().id); });
    connect(widget, &TurnWidget::thumbnailWanted, this, [this, widget](const QString& key) {
        if (const QImage* image = m_thumbnails.object(key))
            widget->setThumbnail(key, *image);
        else
            Q_EMIT thumbnailWanted(key);
    });
    for (const TurnPicture& picture : row.turn.pictures) {
        if (const QImage* image = m_thumbnails.object(picture.key))
            widget->setThumbnail(picture.key, *image);
        else if (picture.problem.isEmpty())
            Q_EMIT thumbnailWanted(picture.key);
    }
    connect(widget, &TurnWidget::pictureActivated, this, &ConversationView::pictureActivated);
    connect(widget, &TurnWidget::linkClicked, this, &ConversationView::linkClicked);
    connect(widget, &TurnWidget::copied, this, &ConversationView::copied);
    connect(widget, &TurnWidget::regenerateWanted, this, &ConversationView::regenerateWanted);
    connect(widget, &TurnWidget::insightWanted, this, &ConversationView::insightWanted);
    connect(widget, &TurnWidget::editWanted, this, &ConversationView::editWanted);
    connect(widget, &TurnWidget::branchWanted, this, &ConversationView::branchWanted);
    return widget;
}

void ConversationView::dropWidget(Row& row) {
    if (row.widget == nullptr) return;
    row.widget->hide();
    row.widget->disconnect(this);
    row.widget->deleteLater();
    row.widget = nullptr;
}

std::vector<int> ConversationView::tops() const {
    std::vector<int> tops{theme::kGroup};
    tops.reserve(m_rows.size() + 1);
    for (const Row& row : m_rows) tops.push_back(tops.back() + row.height + theme::kSpace);
    tops.back() += theme::kSpace;
    return tops;
}

int ConversationView::rowAt(const std::vector<int>& tops, int y) const {
    const auto above = std::upper_bound(tops.begin(), tops.end() - 1, y);
    return std::max(0, static_cast<int>(above - tops.begin()) - 1);
}

void ConversationView::measure(Row& row) {
    row.height = row.widget->heightFor(m_width);
    row.measured = true;
}

void ConversationView::layoutNow() {
    if (m_changing)
        layoutSoon();
    else
        layoutRows();
}

void ConversationView::layoutSoon() {
    if (!m_layoutTimer.isActive()) m_layoutTimer.start();
}

void ConversationView::setScroll(int value, int contentHeight) {
    const QScopedValueRollback<bool> ours(m_placing, true);
    verticalScrollBar()->setRange(0, std::max(0, contentHeight - viewport()->height()));
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(fontMetrics().lineSpacing() * 2);
    verticalScrollBar()->setValue(value);
}

// Makes and measures what is in view, nearest first, until the budget is spent; then places everything. What the reader
// looks at stays where it is: the first row in view when something above it turns out taller or shorter, the end when
// the reader is there.
void ConversationView::layoutRows() {
    m_layoutTimer.stop();
    const QScopedValueRollback<bool> once(m_changing, true);
    const int height = viewport()->height();
    if (std::exchange(m_width, columnWidth()) != m_width) {
        for (Row& row : m_rows) row.measured = false;
    }
    std::vector<int> top = tops();
    const int anchor = m_rows.empty() ? 0 : rowAt(top, verticalScrollBar()->value());
    const int offset = verticalScrollBar()->value() - top[static_cast<std::size_t>(anchor)];
    int scroll = 0;
    bool unfinished = false;
    QElapsedTimer clock;
    clock.start();
    for (bool changed = true; changed && !m_rows.empty();) {
        changed = false;
        scroll = m_following ? std::max(0, top.back() - height) : top[static_cast<std::size_t>(anchor)] + offset;
        const int first = rowAt(top, scroll - height / 2);
        const int last = rowAt(top, scroll + height + height / 2);
        for (int step = 0; step <= last - first; ++step) {
            Row& row = m_rows[static_cast<std::size_t>(m_following ? last - step : first + step)];
            if (row.widget != nullptr && row.measured) continue;
            if (clock.elapsed() > kBudgetMs) {
                unfinished = true;
                break;
            }
            if (row.widget == nullptr) row.widget = makeWidget(row);
            measure(row);
            top = tops();
            changed = true;
            break;
        }
    }
    setScroll(scroll, top.back());
    scroll = verticalScrollBar()->value();

    const int left = (viewport()->width() - m_width) / 2;
    bool chained = true;
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        Row& row = m_rows[i];
        if (row.widget == nullptr) continue;
        const bool near = top[i] + row.height > scroll - 2 * height && top[i] < scroll + 3 * height;
        const bool inUse =
            row.widget->isAncestorOf(focusWidget()) || row.widget->holdsSelection() || row.widget->isEditing();
        if (!near && !inUse) {
            dropWidget(row);
            continue;
        }
        row.widget->setGeometry(left, top[i] - scroll, m_width, row.height);
        if (row.widget->isHidden()) {
            row.widget->show();
            chained = false;
        }
    }
    if (!chained) chainTabs();
    m_toEnd->setVisible(!m_following && verticalScrollBar()->maximum() > verticalScrollBar()->value() + height / 2);
    const int side = fontMetrics().height() * 2;
    m_toEnd->setGeometry(viewport()->width() / 2 - side / 2, height - side - theme::kSpace, side, side);
    m_toEnd->raise();
    if (unfinished) layoutSoon();
}

void ConversationView::chainTabs() {
    QWidget* last = this;
    for (const Row& row : m_rows) {
        if (row.widget == nullptr) continue;
        for (QWidget* control : row.widget->controls()) {
            setTabOrder(last, control);
            last = control;
        }
    }
}

void ConversationView::showTurn(qint64 id) {
    const int index = indexOf(id);
    if (index < 0) return;
    const std::vector<int> top = tops();
    const Row& row = m_rows[static_cast<std::size_t>(index)];
    const int begin = top[static_cast<std::size_t>(index)];
    const int value = verticalScrollBar()->value();
    const int height = viewport()->height();
    const bool visible = begin >= value && begin + row.height <= value + height;
    if (!visible && !(row.height > height && begin <= value && begin + row.height >= value + height)) {
        m_following = false;
        setScroll(std::max(0, begin - theme::kGroup), top.back());
        m_following = verticalScrollBar()->value() >= verticalScrollBar()->maximum() - 4;
    }
    layoutRows();
}

void ConversationView::scrollToEnd() {
    m_following = true;
    layoutRows();
}

void ConversationView::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    layoutRows();
}

void ConversationView::scrollContentsBy(int /*dx*/, int /*dy*/) {
    if (m_placing) return;
    m_following = verticalScrollBar()->value() >= verticalScrollBar()->maximum() - 4;
    layoutRows();
}

bool ConversationView::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::LayoutRequest) layoutSoon();
    return QAbstractScrollArea::viewportEvent(event);
}

void ConversationView::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() != QEvent::FontChange && event->type() != QEvent::StyleChange) return;
    for (Row& row : m_rows) row.measured = false;
    layoutSoon();
}

void ConversationView::focusTurn(int step) {
    int index = step > 0 ? 0 : static_cast<int>(m_rows.size()) - 1;
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        if (m_rows[i].widget != nullptr && m_rows[i].widget->isAncestorOf(focusWidget()))
            index = static_cast<int>(i) + step;
    }
    if (index < 0 || index >= static_cast<int>(m_rows.size())) return;
    const qint64 id = m_rows[static_cast<std::size_t>(index)].turn.id;
    showTurn(id);
    if (TurnWidget* widget = widgetOf(id)) widget->body()->setFocus(Qt::ShortcutFocusReason);
}

void ConversationView::keyPressEvent(QKeyEvent* event) {
    QScrollBar* bar = verticalScrollBar();
    const bool control = event->modifiers() == Qt::ControlModifier;
    switch (event->key()) {
        case Qt::Key_Up: return control ? focusTurn(-1) : bar->triggerAction(QScrollBar::SliderSingleStepSub);
        case Qt::Key_Down: return control ? focusTurn(1) : bar->triggerAction(QScrollBar::SliderSingleStepAdd);
        case Qt::Key_PageUp: return bar->triggerAction(QScrollBar::SliderPageStepSub);
        case Qt::Key_PageDown: return bar->triggerAction(QScrollBar::SliderPageStepAdd);
        case Qt::Key_Home: return bar->triggerAction(QScrollBar::SliderToMinimum);
        case Qt::Key_End: return scrollToEnd();
        default: QAbstractScrollArea::keyPressEvent(event);
    }
}

}  // namespace vitrine
