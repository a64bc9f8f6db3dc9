#include "ui/icons.h"

#include "ui/theme.h"

#include <QApplication>
#include <QFile>
#include <QHash>
#include <QIconEngine>
#include <QPainter>
#include <QPixmap>
#include <QSvgRenderer>

namespace vitrine {
namespace {

// Draws with the palette of the moment, so that icons made before the theme changed change too.
class LineIcon : public QIconEngine {
public:
    LineIcon(QByteArray drawing, bool onAccent) : m_drawing(std::move(drawing)), m_onAccent(onAccent) {}

    QIconEngine* clone() const override { return new LineIcon(*this); }

    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        const auto key = qMakePair(size, color(mode).rgba());
        const auto known = m_pixmaps.constFind(key);
        if (known != m_pixmaps.constEnd()) return *known;
        QPixmap pixmap(size);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        draw(painter, QRectF(QPointF(), QSizeF(size)), mode, state);
        return *m_pixmaps.insert(key, pixmap);
    }

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
        draw(*painter, QRectF(rect), mode, state);
    }

private:
    QColor color(QIcon::Mode mode) const {
        const QPalette palette = QApplication::palette();
        const theme::Colors& colors = theme::colors(palette);
        if (mode == QIcon::Disabled) return colors.muted;
        if (m_onAccent || mode == QIcon::Selected) return colors.accentText;
        return colors.text;
    }

    void draw(QPainter& painter, const QRectF& rect, QIcon::Mode mode, QIcon::State) const {
        QByteArray drawing = m_drawing;
        drawing.replace("#000", color(mode).name().toLatin1());
        QSvgRenderer renderer(drawing);
        const qreal side = qMin(rect.width(), rect.height());
        QRectF square(0, 0, side, side);
        square.moveCenter(rect.center());
        painter.setRenderHint(QPainter::Antialiasing);
        renderer.render(&painter, square);
    }

    QByteArray m_drawing;
    bool m_onAccent;
    QHash<QPair<QSize, QRgb>, QPixmap> m_pixmaps;
};

QIcon make(const QString& name, bool onAccent) {
    QFile file(QStringLiteral(":/vitrine/icons/%1.svg").arg(name));
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QIcon(new LineIcon(file.readAll(), onAccent));
}

}  // namespace

QIcon icon(const QString& name) {
    return make(name, false);
}
QIcon iconOnAccent(const QString& name) {
    return make(name, true);
}

}  // namespace vitrine
