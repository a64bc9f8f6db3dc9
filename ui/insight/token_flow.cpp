#include "ui/insight/token_flow.h"

#include "ui/insight/words.h"
#include "ui/theme.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QtMath>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace vitrine {
namespace {

constexpr qreal kPad = 4;  // beside the text of a chip
constexpr qreal kJoinedPad = 1;
constexpr qreal kGap = 4;  // between words
constexpr qreal kBar = 3;  // height of the bar at the foot

bool isSpecial(const InsightToken& token) {
    return token.text.starts_with("<|") && token.text.ends_with("|>");
}

QColor blended(const QColor& ground, const QColor& ink, double share) {
    return QColor::fromRgbF(static_cast<float>(ground.redF() + (ink.redF() - ground.redF()) * share),
                            static_cast<float>(ground.greenF() + (ink.greenF() - ground.greenF()) * share),
                            static_cast<float>(ground.blueF() + (ink.blueF() - ground.blueF()) * share));
}

}  // namespace

TokenFlow::TokenFlow(QWidget* parent) : QAbstractScrollArea(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setAccessibleName(tr("Words of the answer"));
    viewport()->setMouseTracking(true);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
}

qreal TokenFlow::lineHeight() const {
    return fontMetrics().height() + kBar + 5;
}

QSize TokenFlow::sizeHint() const {
    return {320, qRound(3 * lineHeight()) + 2 * theme::kTight};
}
QSize TokenFlow::minimumSizeHint() const {
    return {160, qRound(2 * lineHeight()) + theme::kTight};  // nothing peeks in below
}

void TokenFlow::setTokens(const std::vector<InsightToken>& tokens) {
    m_tokens = tokens;
    m_weights.clear();
    m_strongest = 0.0F;
    m_current = m_hovered = -1;
    const auto answer = [](const InsightToken& token) { return token.place == TokenPlace::answer; };
    m_answerBegin = static_cast<std::size_t>(std::find_if(m_tokens.begin(), m_tokens.end(), answer) - m_tokens.begin());
    verticalScrollBar()->setValue(0);
    rebuild();
}

void TokenFlow::appendTokens(const std::vector<InsightToken>& tokens) {
    const std::size_t known = m_tokens.size();
    m_tokens.insert(m_tokens.end(), tokens.begin(), tokens.end());
    const std::size_t chips = m_chips.size();
    addChips(known);
    layoutFrom(chips);
}

const InsightToken* TokenFlow::token(qint64 position) const {
    const auto found = std::lower_bound(m_tokens.begin(), m_tokens.end(), position,
                                        [](const InsightToken& token, qint64 at) { return token.position < at; });
    return found != m_tokens.end() && found->position == position ? &*found : nullptr;
}

void TokenFlow::setWeights(const std::vector<float>& weights, const QString& meaning) {
    m_weights = weights;
    m_meaning = meaning;
    m_strongest = 0.0F;
    for (const float weight : weights)
        if (std::isfinite(weight)) m_strongest = std::max(m_strongest, weight);
    viewport()->update();
}

void TokenFlow::setPromptShown(bool shown) {
    if (std::exchange(m_promptShown, shown) == shown) return;
    rebuild();
    if (const Chip* chip = chipOf(m_current)) ensureVisible(chip->place);
}

void TokenFlow::rebuild() {
    m_chips.clear();
    m_selectable.clear();
    addChips(m_promptShown ? 0 : m_answerBegin);
    layoutFrom(0);
}

void TokenFlow::addChips(std::size_t firstToken) {
    const QFontMetricsF metrics(font());
    for (std::size_t i = firstToken; i < m_tokens.size(); ++i) {
        const InsightToken& token = m_tokens[i];
        Chip chip;
        chip.token = static_cast<int>(i);
        if (token.place == TokenPlace::picture) {
            if (!m_chips.empty() && m_tokens[static_cast<std::size_t>(m_chips.back().token)].picture == token.picture)
                continue;
            chip.label = tr("picture %1").arg(token.picture + 1);
            chip.selectable = false;
            chip.muted = true;
        } else {
            const QString text = QString::fromStdString(token.text);
            chip.label = insight::tokenLabel(text);
            chip.selectable = token.position > 0;
            chip.muted = isSpecial(token) || !chip.selectable;
            chip.endsLine = text.contains(u'\n');
            chip.joined = !text.isEmpty() && !text.front().isSpace() && !isSpecial(token) && !m_chips.empty() &&
                          !m_chips.back().muted;
            if (chip.selectable) m_selectable.push_back(token.position);
        }
        chip.textWidth = metrics.horizontalAdvance(chip.label);
        m_chips.push_back(std::move(chip));
    }
}

void TokenFlow::layoutFrom(std::size_t first) {
    const qreal height = lineHeight();
    const qreal room = viewport()->width() - 2 * theme::kTight;
    qreal x = theme::kTight;
    qreal y = theme::kTight;
    bool newLine = true;
    if (first > 0 && first <= m_chips.size()) {
        const Chip& last = m_chips[first - 1];
        x = last.place.right();
        y = last.place.top();
        newLine = last.endsLine;
        if (newLine) x = theme::kTight, y += height;
    }
    for (std::size_t i = first; i < m_chips.size(); ++i) {
        Chip& chip = m_chips[i];
        const qreal width = std::min(chip.textWidth + 2 * (chip.joined ? kJoinedPad : kPad), room);
        const qreal gap = newLine ? 0 : chip.joined ? 1 : kGap;
        if (!newLine && x + gap + width > theme::kTight + room) {
            x = theme::kTight;
            y += height;
        } else {
            x += gap;
        }
        chip.place = QRectF(x, y, width, height - 3);
        x += width;
        newLine = chip.endsLine;
        if (newLine) x = theme::kTight, y += height;
    }
    const qreal bottom = m_chips.empty() ? 0 : m_chips.back().place.bottom() + theme::kTight;
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(qRound(height));
    verticalScrollBar()->setRange(0, std::max(0, qCeil(bottom) - viewport()->height()));
    viewport()->update();
}

void TokenFlow::resizeEvent(QResizeEvent*) {
    layoutFrom(0);
}

const TokenFlow::Chip* TokenFlow::chipAt(const QPoint& viewportPoint) const {
    const QPointF point(viewportPoint.x(), viewportPoint.y() + verticalScrollBar()->value());
    auto chip = std::partition_point(m_chips.begin(), m_chips.end(),
                                     [&](const Chip& other) { return other.place.bottom() < point.y(); });
    for (; chip != m_chips.end() && chip->place.top() <= point.y(); ++chip)
        if (chip->place.contains(point)) return &*chip;
    return nullptr;
}

const TokenFlow::Chip* TokenFlow::chipOf(qint64 position) const {
    const auto before = [this](const Chip& chip, qint64 at) {
        return m_tokens[static_cast<std::size_t>(chip.token)].position < at;
    };
    const auto chip = std::lower_bound(m_chips.begin(), m_chips.end(), position, before);
    if (chip == m_chips.end() || m_tokens[static_cast<std::size_t>(chip->token)].position != position) return nullptr;
    return &*chip;
}

QRect TokenFlow::chipRect(qint64 position) const {
    const Chip* chip = chipOf(position);
    if (chip == nullptr) return {};
    return chip->place.translated(0, -verticalScrollBar()->value()).toAlignedRect();
}

void TokenFlow::setCurrent(qint64 position) {
    m_current = position;
    if (const Chip* chip = chipOf(position)) {
        ensureVisible(chip->place);
        setAccessibleDescription(describe(*chip));
    }
    viewport()->update();
}

void TokenFlow::ensureVisible(const QRectF& place) {
    QScrollBar* bar = verticalScrollBar();
    if (place.top() < bar->value()) bar->setValue(qFloor(place.top()) - theme::kTight);
    if (place.bottom() > bar->value() + viewport()->height())
        bar->setValue(qCeil(place.bottom()) + theme::kTight - viewport()->height());
}

void TokenFlow::setHovered(qint64 position) {
    if (std::exchange(m_hovered, position) == position) return;
    viewport()->update();
    Q_EMIT hovered(position);
}

void TokenFlow::activate(qint64 position) {
    setCurrent(position);
    Q_EMIT activated(position);
}

void TokenFlow::mouseMoveEvent(QMouseEvent* event) {
    const Chip* chip = chipAt(event->position().toPoint());
    const bool on = chip != nullptr && chip->selectable;
    viewport()->setCursor(on ? Qt::PointingHandCursor : Qt::ArrowCursor);
    setHovered(on ? m_tokens[static_cast<std::size_t>(chip->token)].position : -1);
}

void TokenFlow::mousePressEvent(QMouseEvent* event) {
    const Chip* chip = chipAt(event->position().toPoint());
    if (event->button() != Qt::LeftButton || chip == nullptr || !chip->selectable) return;
    activate(m_tokens[static_cast<std::size_t>(chip->token)].position);
}

void TokenFlow::step(int by) {
    if (m_selectable.empty()) return;
    const auto here = std::lower_bound(m_selectable.begin(), m_selectable.end(), m_current);
    const auto at = static_cast<std::ptrdiff_t>(here - m_selectable.begin());
    const auto last = static_cast<std::ptrdiff_t>(m_selectable.size()) - 1;
    activate(m_selectable[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(m_current < 0 ? 0 : at + by, 0, last))]);
}

void TokenFlow::keyPressEvent(QKeyEvent* event) {
    if (event->modifiers() & ~Qt::KeypadModifier) {
        event->ignore();
        return;
    }
    switch (event->key()) {
        case Qt::Key_Left: step(-1); break;
        case Qt::Key_Right: step(1); break;
        case Qt::Key_Home:
            if (!m_selectable.empty()) activate(m_selectable.front());
            break;
        case Qt::Key_End:
            if (!m_selectable.empty()) activate(m_selectable.back());
            break;
        case Qt::Key_Space: Q_EMIT playToggled(); break;
        case Qt::Key_PageUp:
        case Qt::Key_PageDown: QAbstractScrollArea::keyPressEvent(event); break;
        default: event->ignore();  // Up and Down are layers
    }
}

bool TokenFlow::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) {
        setHovered(-1);
    } else if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const Chip* chip = chipAt(help->pos());
        if (chip == nullptr) {
            QToolTip::hideText();
        } else {
            QToolTip::showText(help->globalPos(), describe(*chip), viewport());
        }
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void TokenFlow::changeEvent(QEvent* event) {
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) rebuild();
    QAbstractScrollArea::changeEvent(event);
}

void TokenFlow::focusInEvent(QFocusEvent* event) {
    viewport()->update();
    QAbstractScrollArea::focusInEvent(event);
}
void TokenFlow::focusOutEvent(QFocusEvent* event) {
    viewport()->update();
    QAbstractScrollArea::focusOutEvent(event);
}

double TokenFlow::weightOf(const Chip& chip) const {
    const auto index = static_cast<std::size_t>(chip.token);
    if (index < m_answerBegin || index - m_answerBegin >= m_weights.size())
        return std::numeric_limits<double>::quiet_NaN();
    return m_weights[index - m_answerBegin];
}

QString TokenFlow::describe(const Chip& chip) const {
    const InsightToken& token = m_tokens[static_cast<std::size_t>(chip.token)];
    if (token.place == TokenPlace::picture) return tr("The patches of %1").arg(chip.label);
    QStringList parts{insight::quoted(chip.label), tr("position %1").arg(token.position)};
    if (token.place == TokenPlace::answer)
        parts.append(tr("probability %1").arg(insight::percent(std::exp(token.log_prob))));
    if (const double weight = weightOf(chip); !std::isnan(weight))
        parts.append(m_meaning.arg(insight::percent(weight)));
    if (!chip.selectable) parts.append(tr("nothing predicted it"));
    return parts.join(QStringLiteral(", "));
}

void TokenFlow::paintEvent(QPaintEvent* event) {
    QPainter painter(viewport());
    const theme::Colors& colors = theme::colors(*this);
    painter.fillRect(event->rect(), colors.surface);
    painter.setFont(font());
    painter.setRenderHint(QPainter::Antialiasing);
    const int offset = verticalScrollBar()->value();
    painter.save();
    painter.translate(0, -offset);
    const qreal top = event->rect().top() + offset;
    const qreal bottom = event->rect().bottom() + offset;
    auto chip = std::partition_point(m_chips.begin(), m_chips.end(),
                                     [&](const Chip& other) { return other.place.bottom() < top; });
    for (; chip != m_chips.end() && chip->place.top() <= bottom; ++chip) paintChip(painter, *chip);
    painter.restore();
    if (hasFocus()) {
        painter.setPen(QPen(colors.accent, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(QRectF(viewport()->rect()).adjusted(1, 1, -1, -1), theme::kTight, theme::kTight);
    }
}

void TokenFlow::paintChip(QPainter& painter, const Chip& chip) const {
    const theme::Colors& colors = theme::colors(*this);
    const qint64 position = m_tokens[static_cast<std::size_t>(chip.token)].position;
    const double weight = weightOf(chip);
    const double share = std::isnan(weight) || !(m_strongest > 0.0F) ? 0.0 : weight / m_strongest;
    const bool current = position == m_current;
    const QColor ground = chip.selectable ? blended(colors.surface, colors.accent, 0.42 * share) : colors.raised;
    painter.setPen(current ? QPen(colors.text, 2) : position == m_hovered ? QPen(colors.accent, 1) : Qt::NoPen);
    painter.setBrush(ground);
    const qreal inset = current ? 1.0 : 0.5;
    painter.drawRoundedRect(chip.place.adjusted(inset, inset, -inset, -inset), 3, 3);
    if (share > 0.0) {
        const qreal length = std::max(1.0, (chip.place.width() - 4) * share);
        painter.fillRect(QRectF(chip.place.left() + 2, chip.place.bottom() - kBar - 1.5, length, kBar), colors.accent);
    }
    painter.setPen(chip.muted ? colors.muted : colors.text);
    const QRectF text = chip.place.adjusted(0, 0, 0, -kBar);
    const bool whole = chip.textWidth <= text.width();
    painter.drawText(text, Qt::AlignCenter | Qt::TextSingleLine,
                     whole ? chip.label : fontMetrics().elidedText(chip.label, Qt::ElideRight, qFloor(text.width())));
}

}  // namespace vitrine
