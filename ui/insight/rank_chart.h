#pragma once

#include "core/insight/values.h"

#include <QWidget>

namespace vitrine {

// How a word stood after each layer: its rank on a logarithmic axis, its probability as the size of the dot, and the
// word that was likeliest there. Lives on the UI thread.
//
// Keys: Left and Right walk the layers, which is told as layerPointed.
class RankChart : public QWidget {
    Q_OBJECT

public:
    explicit RankChart(QWidget* parent = nullptr);

    void setRanks(const WordRanks& ranks, std::int32_t spoken);
    void clear();
    int pointed() const { return m_pointed; }
    QString describe(int layer) const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void layerPointed(int layer);  // -1: none

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QRectF plot() const;
    int wordsHeight() const;
    int layers() const { return static_cast<int>(m_ranks.rank.size()); }
    void point(int layer);

    WordRanks m_ranks;
    std::int32_t m_spoken = -1;
    double m_decades = 1.0;
    int m_pointed = -1;
};

}  // namespace vitrine
