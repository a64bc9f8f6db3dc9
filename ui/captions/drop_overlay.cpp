#include "ui/captions/drop_overlay.h"

#include "ui/icons.h"
#include "ui/theme.h"

#include <QApplication>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QMimeData>
#include <QPainter>

#include <utility>

namespace vitrine {

DropOverlay::DropOverlay(QWidget* window) : QWidget(window) {
    setAcceptDrops(true);
    setAccessibleName(tr("Drop here"));
    hide();
    m_leaving.setSingleShot(true);
    m_leaving.setInterval(0);
    connect(&m_leaving, &QTimer::timeout, this, &DropOverlay::end);
    m_headline = [](const DropData& content) { return tr("Drop to add %1").arg(content.summary()); };
    // Drag events go to the innermost widget that takes drops, so they are looked for everywhere in the window.
    window->setAcceptDrops(true);
    qApp->installEventFilter(this);
}

void DropOverlay::setHeadline(Headline headline) {
    m_headline = std::move(headline);
}

bool DropOverlay::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize && watched == parent()) resize(parentWidget()->size());
    const bool drag = event->type() == QEvent::DragEnter || event->type() == QEvent::DragMove ||
                      event->type() == QEvent::DragLeave || event->type() == QEvent::Drop;
    if (!drag || watched == this || !watched->isWidgetType()) return false;
    auto* widget = static_cast<QWidget*>(watched);
    if (widget != parentWidget() && !parentWidget()->isAncestorOf(widget)) return false;
    if (event->type() == QEvent::DragEnter) {
        auto* enter = static_cast<QDragEnterEvent*>(event);
        DropData content = DropData::of(*enter->mimeData());
        if (!content.isOurs()) return false;
        begin(std::move(content));
        accept(*enter);
        return true;
    }
    // What follows goes to the widget that was entered, until the pointer moves over the overlay.
    if (!isVisible()) return false;
    if (event->type() == QEvent::DragMove) accept(*static_cast<QDropEvent*>(event));
    if (event->type() == QEvent::DragLeave) m_leaving.start();
    if (event->type() == QEvent::Drop) finish(*static_cast<QDropEvent*>(event));
    return true;
}

// Also what cannot be used is accepted as long as it only hovers: otherwise the reason would vanish at once.
void DropOverlay::accept(QDropEvent& event) const {
    event.setDropAction(Qt::CopyAction);
    event.accept();
}

void DropOverlay::begin(DropData content) {
    m_leaving.stop();
    m_data = std::move(content);
    setAccessibleDescription(m_data.isUsable() ? m_headline(m_data) : m_data.refusals.join(QLatin1Char('\n')));
    setGeometry(parentWidget()->rect());
    raise();
    show();
    update();
}

void DropOverlay::end() {
    m_leaving.stop();
    hide();
    m_data = {};
}

void DropOverlay::finish(QDropEvent& event) {
    const DropData content = DropData::of(*event.mimeData());
    if (content.isUsable()) {
        accept(event);
    } else {
        event.ignore();
    }
    end();
    if (content.isUsable()) Q_EMIT dropped(content);
}

void DropOverlay::dragEnterEvent(QDragEnterEvent* event) {
    m_leaving.stop();
    accept(*event);
}

void DropOverlay::dragMoveEvent(QDragMoveEvent* event) {
    accept(*event);
}
void DropOverlay::dragLeaveEvent(QDragLeaveEvent*) {
    end();
}
void DropOverlay::dropEvent(QDropEvent* event) {
    finish(*event);
}

void DropOverlay::paintEvent(QPaintEvent*) {
    const theme::Colors& colors = theme::colors(*this);
    const bool usable = m_data.isUsable();
    const QColor edge = usable ? colors.accent : colors.bad;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QColor veil = colors.window;
    veil.setAlphaF(0.93F);
    painter.fillRect(rect(), veil);
    painter.setPen(QPen(edge, 2, Qt::DashLine));
    painter.drawRoundedRect(rect().toRectF().adjusted(13, 13, -13, -13), 2 * theme::kRadius, 2 * theme::kRadius);

    const QFont title = theme::titleFont(font());
    const QString headline = usable ? m_headline(m_data) : tr("This cannot be dropped here");
    QStringList lines = m_data.refusals;
    constexpr int shown = 6;
    if (lines.size() > shown) lines = lines.mid(0, shown) + QStringList(QStringLiteral("…"));
    if (usable && !lines.isEmpty()) lines.prepend(tr("Left out:"));

    const int room = width() - 4 * theme::kPage;
    const int wrapped = Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap;
    const QRect everywhere(0, 0, room, height());
    const int side = QFontMetrics(title).height() * 2;
    const int titleHeight = QFontMetrics(title).boundingRect(everywhere, wrapped, headline).height();
    const QString details = lines.join(QLatin1Char('\n'));
    const int detailsHeight = details.isEmpty() ? 0 : fontMetrics().boundingRect(everywhere, wrapped, details).height();
    int y = (height() - side - titleHeight - detailsHeight - theme::kGroup - theme::kSpace) / 2;
    const int x = (width() - room) / 2;

    icon(usable ? QStringLiteral("add") : QStringLiteral("warning"))
        .paint(&painter, QRect((width() - side) / 2, y, side, side));
    y += side + theme::kGroup;
    painter.setFont(title);
    painter.setPen(colors.text);
    painter.drawText(QRect(x, y, room, titleHeight), wrapped, headline);
    y += titleHeight + theme::kSpace;
    painter.setFont(font());
    painter.setPen(colors.muted);
    painter.drawText(QRect(x, y, room, detailsHeight), wrapped, details);
}

}  // namespace vitrine
