#pragma once

#include "ui/insight/overlay.h"
#include "ui/pictures/picture.h"

#include <QImage>
#include <QWidget>

#include <optional>
#include <vector>

class QLabel;

namespace vitrine {

class PictureView;

// A picture in grey under a map of its patches, to be read with pointer or keys: pointing at a patch tells its value,
// a click keeps it, a drag marks a region. Lives on the UI thread; without a map the picture is shown as it is.
//
// Keys: Shift+arrows move the kept patch, Ctrl+Shift+arrows stretch the region from it, Esc lets go of both.
class MapView : public QWidget {
    Q_OBJECT

public:
    explicit MapView(const QString& name, QWidget* parent = nullptr);  // for screen readers

    void setPicture(const Picture& picture, const QImage& seenByModel);
    void setShowSeen(bool seen);
    const Picture& picture() const { return m_picture; }
    const QImage& seen() const { return m_seen; }

    // The picture stays in colour until there is a map. `uniform`: what attention spread evenly would give,
    // to tell values as a multiple of it; 0 where that means nothing.
    void setMap(const PatchGrid& grid, const ValueScale& scale, const ColourTable& colours, double uniform);
    void clearMap();
    const PatchGrid& grid() const { return m_grid; }
    const ValueScale& scale() const { return m_scale; }
    void setSmooth(bool smooth);
    void setSinks(const std::vector<int>& patches, SinkMode mode);
    void setSelectable(bool selectable);  // whether clicks and drags choose anything

    int hoveredPatch() const { return m_marks.hovered; }  // -1: none
    int lockedPatch() const { return m_marks.locked; }
    const std::vector<int>& region() const { return m_marks.region; }
    void point(int patch);                    // as the pointer would, but emits nothing
    void letGo();                             // of the kept patch and the region; emits nothing
    std::optional<double> valueRead() const;  // of the hovered or the kept patch

    PictureView* pictureView() const { return m_view; }
    QLabel* readout() const { return m_readout; }

    QSize pictureSize() const;

Q_SIGNALS:
    void patchHovered(int patch);  // -1: none
    void patchLocked(int patch);
    void regionChosen(const std::vector<int>& patches);
    void valueChanged();

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    void showPicture();
    void hover(int patch);
    void lock(int patch);
    void choose(const std::vector<int>& patches, bool finished);
    void moveLock(int dx, int dy);
    void stretch(int dx, int dy);
    void tell();
    int patchUnder(const QPointF& picturePoint) const;
    void paintNotes(QPainter& painter, const QRectF& picture) const;

    PictureView* m_view;
    QLabel* m_readout;
    Picture m_picture;
    QImage m_seen;
    bool m_showSeen = false;
    PatchGrid m_grid;
    ValueScale m_scale;
    QImage m_cells;
    PatchMarks m_marks;
    double m_uniform = 0.0;
    bool m_smooth = false;
    bool m_selectable = true;
    int m_corner = -1;  // the patch that the region is stretched to, by keys
};

}  // namespace vitrine
