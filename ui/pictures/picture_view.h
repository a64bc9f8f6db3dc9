#pragma once

#include "ui/pictures/picture.h"

#include <QBasicTimer>
#include <QPointF>
#include <QTransform>
#include <QWidget>

#include <functional>

namespace vitrine {

// One picture, to be looked at closely: fitted to the widget or at any zoom, moved by dragging. What lies over it (a
// map of attention) is painted by an overlay in the picture's own coordinates, and points can be asked for both ways.
// Lives on the UI thread and never decodes; a picture that could not be decoded is shown as the reason why.
//
// Keys: + - zoom, 1 one picture pixel per screen pixel, F fit, arrows move (while there is something to move, otherwise
// they are left to the parent).
class PictureView : public QWidget {
    Q_OBJECT

public:
    enum class Background { plain, checkerboard };  // seen around the picture and through its transparent parts

    // `painter` is in picture coordinates: (0, 0) is the outer corner of the first pixel. It is clipped to the picture.
    using Overlay = std::function<void(QPainter& painter, const QSize& picture)>;

    explicit PictureView(QWidget* parent = nullptr);

    void setPicture(const Picture& picture);
    // A small copy, stretched to where the picture will be, stands in; after a moment the view says that it is loading.
    void setLoading(const QImage& standIn = {});
    void setFailed(const QString& reason);
    void clear();
    const Picture& picture() const { return m_picture; }

    void setOverlay(Overlay overlay);  // empty: none; call update() when what it paints has changed
    void setBackground(Background background);
    void setGrey(bool grey);  // the picture without its colours, so that those of an overlay stand out
    // A drag chooses a part of the picture; with Shift, or with the middle button, it still moves.
    void setDragSelects(bool selects) { m_dragSelects = selects; }

    // Device pixels per picture pixel.
    qreal zoom() const { return m_zoom; }
    bool isFitted() const { return m_fitted; }
    // Keeps what lies under `anchor` (widget coordinates) where it is.
    void setZoom(qreal zoom, const QPointF& anchor);
    void zoomIn();
    void zoomOut();
    void zoomToPixels();
    void fit();

    QTransform pictureToWidget() const;
    QPointF toWidget(const QPointF& picture) const { return pictureToWidget().map(picture); }
    QPointF toPicture(const QPointF& widget) const { return pictureToWidget().inverted().map(widget); }

    QSize sizeHint() const override;

Q_SIGNALS:
    void zoomChanged(qreal zoom, bool fitted);
    // Picture coordinates; hovered with a null position and `inside` false when the pointer leaves the picture.
    void hovered(const QPointF& position, bool inside);
    void clicked(const QPointF& position);
    // Picture coordinates, cut to the picture, again and again while it is dragged out; only with setDragSelects().
    void regionDragged(const QRectF& area, bool finished);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void timerEvent(QTimerEvent* event) override;

private:
    enum class State { empty, loading, shown, failed };
    enum class Drag { none, move, select };  // what the pressed button will do

    void become(State state);
    qreal scale() const;  // widget units per picture pixel
    QSizeF extent() const;
    QPointF origin() const;  // of the picture, on a device pixel
    qreal fittingZoom() const;
    bool canMove() const;
    void moveBy(const QPointF& delta);
    void tellRegion(const QPointF& to, bool finished);
    void keepInView();
    void applyZoom(qreal zoom, bool fitted);
    void paintPicture(QPainter& painter);
    void paintScaled(QPainter& painter) const;
    const QImage& scaledOnce();  // the visible part, ready to be painted over and over under a changing overlay
    QRect visibleDevicePixels() const;
    void paintStandIn(QPainter& painter) const;
    void paintMessage(QPainter& painter, const QString& iconName, const QString& title, const QString& text) const;
    void paintFocus(QPainter& painter) const;

    State m_state = State::empty;
    Picture m_picture;
    QImage m_standIn;
    QString m_reason;
    Overlay m_overlay;
    Background m_background = Background::plain;
    qreal m_zoom = 1.0;
    bool m_fitted = true;
    QPointF m_center;  // picture coordinates of what is in the middle of the widget
    QPointF m_pressed;
    QPointF m_dragged;
    Drag m_drag = Drag::none;
    bool m_dragging = false;  // and it has moved far enough to be more than a click
    bool m_dragSelects = false;
    bool m_grey = false;
    QImage m_scaled;        // what scaledOnce() made
    QTransform m_scaledAt;  // and of what
    QRect m_scaledPart;
    qint64 m_scaledFrom = 0;
    bool m_slow = false;  // loading has taken long enough to say so
    QBasicTimer m_patience;
};

}  // namespace vitrine
