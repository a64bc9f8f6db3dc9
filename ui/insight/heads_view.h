#pragma once

#include "ui/insight/head_grid.h"

#include <QWidget>

class QCheckBox;
class QComboBox;
class QLabel;

namespace vitrine {

// The grid of all heads with what it is sorted by, how it is scaled, and a line about the head under the pointer. Lives
// on the UI thread.
class HeadsView : public QWidget {
    Q_OBJECT

public:
    explicit HeadsView(QWidget* parent = nullptr);

    void setMaps(const HeadMaps& maps);
    void clear();
    const HeadMaps& maps() const { return m_grid->maps(); }
    // `what` names the measure, for people; empty scores: none known.
    void setScores(const QString& what, const std::vector<float>& scores);
    void setLook(const ColourTable& colours, ScaleTransform transform);
    void setCurrent(int layer, int head);

    HeadGrid* grid() const { return m_grid; }

Q_SIGNALS:
    void opened(int layer, int head);

private:
    void offer(HeadSort sort, bool offered);
    void applyLook();
    void tell(int layer, int head);

    HeadGrid* m_grid;
    QComboBox* m_sort;
    QCheckBox* m_oneScale;
    QLabel* m_status;
    ColourTable m_colours{};
    ScaleTransform m_transform = ScaleTransform::linear;
};

}  // namespace vitrine
