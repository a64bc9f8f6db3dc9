#include "ui/pictures/picture_view.h"

#include "ui/icons.h"
#include "ui/theme.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>

#include <cmath>
#include <utility>

namespace vitrine {
namespace {

constexpr qreal kStep = 1.25;          // of one key press or one notch of the wheel
constexpr qreal kLargest = 64.0;       // device pixels per picture pixel
constexpr qreal kSmallest = 1.0 / 64;  // unless fitting needs less
constexpr qreal kLargestFit = 8.0;     // a tiny picture is not blown up to a wall of blocks
constexpr qreal kShowPixels = 3.0;     // from here on pixels are drawn as squares
constexpr int kMoveStep = 64;
constexpr int kPatience = 200;  // ms before "Loading" is said: most pictures are there sooner

void paintCheckerboard(QPainter& painter, const QRectF& area, const theme::Colors& colors) {
    constexpr int side = 8;
    QPixmap tile(2 * side, 2 * side);
    tile.fill(colors.surface);
    QPainter squares(&tile);
    squares.fillRect(0, 0, side, side, colors.raised);
    squares.fillRect(side, side, side, side, colors.raised);
    squares.end();
    painter.drawTiledPixmap(area, tile);
}

}  // namespace

PictureView::PictureView(QWidget* parent) : QWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setMinimumSize(120, 120);
    setAccessibleName(tr("Picture"));
}

QSize PictureView::sizeHint() const {
    return {480, 480};
}

void PictureView::setPicture(const Picture& picture) {
    m_picture = picture;
    m_reason.clear();
    become(picture.isNull() ? State::empty : State::shown);
    setAccessibleDescription(tr("%1 by %2 pixels").arg(m_picture.image.width()).arg(m_picture.image.height()));
    fit();
}

void PictureView::setLoading(const QImage& standIn) {
    m_picture = {};
    m_standIn = standIn;
    m_slow = false;
    m_patience.start(kPatience, this);
    become(State::loading);
    setAccessibleDescription(tr("Loading"));
}

void PictureView::setFailed(const QString& reason) {
    m_picture = {};
    m_reason = reason;
    become(State::failed);
    setAccessibleDescription(tr("Cannot be shown: %1").arg(reason));
}

void PictureView::clear() {
    m_picture = {};
    become(State::empty);
    setAccessibleDescription({});
}

void PictureView::become(State state) {
    m_state = state;
    if (state != State::loading) {
        m_patience.stop();
        m_standIn = {};
    }
    m_dragging = false;
    m_drag = Drag::none;
    m_scaled = {};
    unsetCursor();
    update();
}

void PictureView::setOverlay(Overlay overlay) {
    m_overlay = std::move(overlay);
    update();
}

void PictureView::setBackground(Background background) {
    m_background = background;
    update();
}

void PictureView::setGrey(bool grey) {
    if (m_grey == grey) return;
    m_grey = grey;
    m_scaled = {};
    update();
}

qreal PictureView::scale() const {
    return m_zoom / devicePixelRatioF();
}

QSizeF PictureView::extent() const {
    return QSizeF(m_picture.image.size()) * scale();
}

// On whole device pixels, so that a picture at 1:1 is not smeared over two of them.
QPointF PictureView::origin() const {
    const QPointF exact = QPointF(width(), height()) / 2 - m_center * scale();
    const qreal ratio = devicePixelRatioF();
    return {std::round(exact.x() * ratio) / ratio, std::round(exact.y() * ratio) / ratio};
}

QTransform PictureView::pictureToWidget() const {
    const QPointF corner = origin();
    return {scale(), 0, 0, scale(), corner.x(), corner.y()};
}

qreal PictureView::fittingZoom() const {
    const QSize picture = m_picture.image.size();
    if (picture.isEmpty() || width() == 0 || height() == 0) return 1.0;
    const qreal whole = qMin(qreal(width()) / picture.width(), qreal(height()) / picture.height());
    return qMin(whole * devicePixelRatioF(), kLargestFit);
}

void PictureView::fit() {
    m_center = QPointF(m_picture.image.width(), m_picture.image.height()) / 2;
    applyZoom(fittingZoom(), true);
}

void PictureView::setZoom(qreal zoom, const QPointF& anchor) {
    if (m_state != State::shown) return;
    const QPointF kept = toPicture(anchor);
    const qreal bounded = qBound(qMin(kSmallest, fittingZoom()), zoom, kLargest);
    m_center = kept - (anchor - QPointF(width(), height()) / 2) * (devicePixelRatioF() / bounded);
    applyZoom(bounded, false);
}

void PictureView::zoomIn() {
    setZoom(m_zoom * kStep, rect().toRectF().center());
}
void PictureView::zoomOut() {
    setZoom(m_zoom / kStep, rect().toRectF().center());
}
void PictureView::zoomToPixels() {
    setZoom(1.0, rect().toRectF().center());
}

void PictureView::applyZoom(qreal zoom, bool fitted) {
    m_zoom = zoom;
    m_fitted = fitted;
    keepInView();
    update();
    Q_EMIT zoomChanged(m_zoom, m_fitted);
}

// A side that is smaller than the widget stands in the middle of it; a longer one leaves no gap at either end.
void PictureView::keepInView() {
    const auto bounded = [this](qreal center, qreal length, qreal room) {
        const qreal visible = room / scale();
        return visible >= length ? length / 2 : qBound(visible / 2, center, length - visible / 2);
    };
    m_center = {bounded(m_center.x(), m_picture.image.width(), width()),
                bounded(m_center.y(), m_picture.image.height(), height())};
}

bool PictureView::canMove() const {
    constexpr qreal rounding = 0.5;
    return m_state == State::shown &&
           (extent().width() > width() + rounding || extent().height() > height() + rounding);
}

void PictureView::moveBy(const QPointF& delta) {
    m_center -= delta / scale();
    keepInView();
    update();
}

void PictureView::resizeEvent(QResizeEvent*) {
    if (m_state != State::shown) return;
    if (m_fitted) {
        fit();
    } else {
        keepInView();
    }
}

void PictureView::wheelEvent(QWheelEvent* event) {
    const QPoint turned = event->angleDelta();
    if (m_state != State::shown || turned.y() == 0) {
        event->ignore();
        return;
    }
    setZoom(m_zoom * std::pow(kStep, turned.y() / 120.0), event->position());
}

void PictureView::mousePressEvent(QMouseEvent* event) {
    const bool moves = event->button() == Qt::MiddleButton || (event->modifiers() & Qt::ShiftModifier);
    if (event->button() != Qt::LeftButton && !(m_dragSelects && event->button() == Qt::MiddleButton)) {
        event->ignore();
        return;
    }
    m_pressed = m_dragged = event->position();
    m_drag = m_dragSelects && !moves ? Drag::select : Drag::move;
    if (m_drag == Drag::move && canMove()) setCursor(Qt::ClosedHandCursor);
}

void PictureView::mouseMoveEvent(QMouseEvent* event) {
    if (m_drag != Drag::none && (event->buttons() & (Qt::LeftButton | Qt::MiddleButton))) {
        const QPointF now = event->position();
        if ((now - m_pressed).manhattanLength() >= QApplication::startDragDistance()) m_dragging = true;
        if (!m_dragging) return;
        if (m_drag == Drag::select) {
            tellRegion(now, false);
        } else if (canMove()) {
            moveBy(now - m_dragged);
            m_dragged = now;
        }
        return;
    }
    if (m_state != State::shown) return;
    const QPointF position = toPicture(event->position());
    const bool inside = QRectF(m_picture.image.rect()).contains(position);
    Q_EMIT hovered(inside ? position : QPointF(), inside);
}

void PictureView::mouseReleaseEvent(QMouseEvent* event) {
    const Drag drag = std::exchange(m_drag, Drag::none);
    if (event->button() != Qt::LeftButton && drag == Drag::none) return;
    unsetCursor();
    if (std::exchange(m_dragging, false)) {
        if (drag == Drag::select) tellRegion(event->position(), true);
        return;
    }
    if (m_state != State::shown || event->button() != Qt::LeftButton) return;
    const QPointF position = toPicture(event->position());
    if (QRectF(m_picture.image.rect()).contains(position)) Q_EMIT clicked(position);
}

void PictureView::tellRegion(const QPointF& to, bool finished) {
    if (m_state != State::shown) return;
    const qreal hair = 0.01 / scale();  // a level drag is a line, and a line too goes through something
    const QRectF dragged = QRectF(toPicture(m_pressed), toPicture(to)).normalized().adjusted(-hair, -hair, hair, hair);
    const QRectF area = dragged & QRectF(m_picture.image.rect());
    if (finished || !area.isEmpty()) Q_EMIT regionDragged(area, finished);
}

void PictureView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (m_dragSelects) {
        mousePressEvent(event);  // two quick clicks are two clicks: each chooses something
    } else if (m_fitted) {
        setZoom(1.0, event->position());
    } else {
        fit();
    }
}

void PictureView::leaveEvent(QEvent*) {
    if (m_state == State::shown) Q_EMIT hovered({}, false);
}

void PictureView::keyPressEvent(QKeyEvent* event) {
    const auto moved = [&](QPointF delta) {
        return canMove() && event->modifiers() == Qt::NoModifier && (moveBy(delta), true);
    };
    const bool command = event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier);
    bool taken = !command && m_state == State::shown;
    switch (event->key()) {
        case Qt::Key_Left: taken = moved({kMoveStep, 0}); break;
        case Qt::Key_Right: taken = moved({-kMoveStep, 0}); break;
        case Qt::Key_Up: taken = moved({0, kMoveStep}); break;
        case Qt::Key_Down: taken = moved({0, -kMoveStep}); break;
        case Qt::Key_Plus:
        case Qt::Key_Equal:
            if (taken) zoomIn();
            break;
        case Qt::Key_Minus:
            if (taken) zoomOut();
            break;
        case Qt::Key_1:
            if (taken) zoomToPixels();
            break;
        case Qt::Key_F:
            if (taken) fit();
            break;
        default: taken = false;
    }
    event->setAccepted(taken);
}

void PictureView::timerEvent(QTimerEvent* event) {
    if (event->timerId() != m_patience.timerId()) return;
    m_patience.stop();
    m_slow = true;
    update();
}

void PictureView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const theme::Colors& colors = theme::colors(*this);
    painter.fillRect(rect(), colors.window);
    if (m_background == Background::checkerboard) paintCheckerboard(painter, rect(), colors);
    switch (m_state) {
        case State::empty: break;
        case State::shown: paintPicture(painter); break;
        case State::loading:
            if (!m_standIn.isNull()) {
                paintStandIn(painter);
            } else if (m_slow) {
                paintMessage(painter, QStringLiteral("picture"), tr("Loading…"), {});
            }
            break;
        case State::failed:
            paintMessage(painter, QStringLiteral("warning"), tr("This picture cannot be shown"), m_reason);
            break;
    }
    if (hasFocus()) paintFocus(painter);
}

void PictureView::paintPicture(QPainter& painter) {
    if (m_overlay || m_grey) {
        const QImage& scaled = scaledOnce();
        painter.drawImage(QPointF(m_scaledPart.topLeft()) / devicePixelRatioF(), scaled);
    } else {
        paintScaled(painter);
    }
    if (!m_overlay) return;
    painter.save();
    painter.setTransform(pictureToWidget(), true);
    painter.setClipRect(m_picture.image.rect());
    m_overlay(painter, m_picture.image.size());
    painter.restore();
}

void PictureView::paintScaled(QPainter& painter) const {
    const QImage& copy = m_picture.atLeast(m_zoom);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, m_fitted || m_zoom < kShowPixels);
    painter.drawImage(QRectF(origin(), extent()), copy, QRectF(copy.rect()));
}

QRect PictureView::visibleDevicePixels() const {
    const qreal ratio = devicePixelRatioF();
    const QRectF seen = QRectF(origin(), extent()) & QRectF(rect());
    return QRectF(seen.topLeft() * ratio, seen.size() * ratio).toAlignedRect();
}

const QImage& PictureView::scaledOnce() {
    const QTransform at = pictureToWidget();
    const QRect part = visibleDevicePixels();
    const qint64 from = m_picture.atLeast(m_zoom).cacheKey();
    if (!m_scaled.isNull() && at == m_scaledAt && part == m_scaledPart && from == m_scaledFrom) return m_scaled;
    if (part.isEmpty()) return m_scaled = {};
    const qreal ratio = devicePixelRatioF();
    m_scaled = QImage(part.size(), QImage::Format_ARGB32_Premultiplied);
    m_scaled.setDevicePixelRatio(ratio);
    m_scaled.fill(Qt::transparent);
    QPainter painter(&m_scaled);
    painter.translate(-QPointF(part.topLeft()) / ratio);
    paintScaled(painter);
    painter.end();
    for (int y = 0; m_grey && y < m_scaled.height(); ++y) {
        auto* line = reinterpret_cast<QRgb*>(m_scaled.scanLine(y));
        for (int x = 0; x < m_scaled.width(); ++x) {
            const int grey = qGray(line[x]);
            line[x] = qRgba(grey, grey, grey, qAlpha(line[x]));
        }
    }
    m_scaledAt = at;
    m_scaledPart = part;
    m_scaledFrom = from;
    return m_scaled;
}

void PictureView::paintStandIn(QPainter& painter) const {
    const QSizeF size = QSizeF(m_standIn.size()).scaled(QSizeF(this->size()), Qt::KeepAspectRatio);
    QRectF area(QPointF(), size);
    area.moveCenter(rect().toRectF().center());
    painter.setRenderHint(QPainter::SmoothPixmapTransform);
    painter.drawImage(area, m_standIn);
}

void PictureView::paintMessage(QPainter& painter, const QString& iconName, const QString& title,
                               const QString& text) const {
    const theme::Colors& colors = theme::colors(*this);
    const int side = 2 * fontMetrics().height();
    const int room = qMin(width() - 2 * theme::kGroup, 40 * fontMetrics().averageCharWidth());
    const int wrapped = Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap | Qt::TextWrapAnywhere;
    const QFont heading = theme::headingFont(font());
    const QRect titleRoom = QFontMetrics(heading).boundingRect(QRect(0, 0, room, height()), wrapped, title);
    const QRect textRoom =
        text.isEmpty() ? QRect() : fontMetrics().boundingRect(QRect(0, 0, room, height()), wrapped, text);

    const int total = side + theme::kSpace + titleRoom.height() + theme::kTight + textRoom.height();
    int y = qMax(0, (height() - total) / 2);
    const int x = (width() - room) / 2;
    icon(iconName).paint(&painter, QRect((width() - side) / 2, y, side, side));
    y += side + theme::kSpace;
    painter.setFont(heading);
    painter.setPen(colors.text);
    painter.drawText(QRect(x, y, room, titleRoom.height()), wrapped, title);
    y += titleRoom.height() + theme::kTight;
    painter.setFont(font());
    painter.setPen(colors.muted);
    painter.drawText(QRect(x, y, room, textRoom.height()), wrapped, text);
}

void PictureView::paintFocus(QPainter& painter) const {
    painter.setPen(QPen(theme::colors(*this).accent, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(rect()).adjusted(1, 1, -1, -1));
}

}  // namespace vitrine
