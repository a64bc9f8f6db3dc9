#pragma once

#include <QHash>
#include <QIcon>
#include <QStyledItemDelegate>

namespace vitrine {

// Draws a picture of the list: in a line with its caption, or as a card of the grid. Everything comes from the roles; a
// thumbnail that is not there yet leaves an empty frame of the same size, so that nothing moves when it arrives.
class PictureDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    explicit PictureDelegate(QObject* parent = nullptr) : QStyledItemDelegate(parent) {}

    void setGrid(bool grid) { m_grid = grid; }
    int thumbnailEdge() const { return m_grid ? 112 : 56; }  // the box it is drawn in
    QSize cellSize(const QFont& font) const;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& row) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& row) const override;

private:
    void paintThumbnail(QPainter& painter, const QRect& box, const QStyleOptionViewItem& option,
                        const QModelIndex& row) const;
    void paintState(QPainter& painter, const QRect& line, const QStyleOptionViewItem& option,
                    const QModelIndex& row) const;
    QPixmap drawing(const QString& name, int side, const QPainter& painter) const;

    bool m_grid = false;
    mutable QHash<QString, QIcon> m_icons;
};

}  // namespace vitrine
