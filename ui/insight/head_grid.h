#pragma once

#include "ui/insight/overlay.h"

#include <QAbstractScrollArea>
#include <QImage>

#include <vector>

namespace vitrine {

enum class HeadSort : std::uint8_t { layer, mass, entropy, score };

// Small maps of all layers and heads: by layer as a table, else the foremost first. All maps lie in one image of one
// pixel a patch, so that painting is only stretching. Lives on the UI thread.
//
// Keys: arrows, Home and End move the current head, which opens it.
class HeadGrid : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit HeadGrid(QWidget* parent = nullptr);

    void setMaps(const HeadMaps& maps);
    void clear();
    const HeadMaps& maps() const { return m_maps; }
    void setScores(const std::vector<float>& scores);  // [layers, heads]; empty: none
    void setLook(const ColourTable& colours, ScaleTransform transform, bool oneScale);
    void setSort(HeadSort sort);
    const ValueScale& scale() const { return m_scale; }  // of all, where one scale is shared

    void setCurrent(int layer, int head);  // emits nothing; kAll: none
    QPoint current() const { return {m_layer, m_head}; }
    std::vector<int> order() const { return m_order; }  // layer * heads + head, in the order shown
    QRect cellRect(int layer, int head) const;          // in viewport coordinates
    QString describe(int layer, int head) const;

    QSize sizeHint() const override;

Q_SIGNALS:
    void opened(int layer, int head);
    void pointed(int layer, int head);  // kAll: nowhere

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    void drawMaps();
    void sort();
    void arrange();
    QRect placeAt(int index) const;                  // of the map, in content coordinates
    int indexAt(const QPoint& viewportPoint) const;  // into m_order, -1: none
    int indexOf(int layer, int head) const;
    void open(int index);
    double measure(int cell) const;  // what is sorted by

    HeadMaps m_maps;
    std::vector<float> m_scores;
    ColourTable m_colours{};
    ScaleTransform m_transform = ScaleTransform::linear;
    bool m_oneScale = true;
    ValueScale m_scale;
    HeadSort m_sort = HeadSort::layer;
    QImage m_image;  // all maps, [layers * rows, heads * columns]
    std::vector<int> m_order;
    int m_layer = kAll;
    int m_head = kAll;
    int m_pointed = -1;
    // In content coordinates
    int m_perRow = 1;
    QPoint m_origin;
    QSize m_pitch;
    QSize m_cell;
};

}  // namespace vitrine
