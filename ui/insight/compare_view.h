#pragma once

#include "ui/insight/overlay.h"
#include "ui/pictures/picture.h"

#include <QWidget>

#include <optional>

class QLabel;
class QPushButton;
class QStackedWidget;
class QToolButton;

namespace vitrine {

class ColourBar;
class MapView;

// A map with all that is needed to keep it beside another one.
struct MapShot {
    QString label;  // answer, word, method, layer and head, for people
    Picture picture;
    QImage seen;
    PatchGrid grid;
    MapMethod method = MapMethod::attention;
    double uniform = 0.0;  // 0: its values are no shares of a row
};

struct MapLook {
    ColourTable oneSided{};
    ColourTable twoSided{};
    ScaleTransform transform = ScaleTransform::linear;
    bool timesUniform = false;
    bool smooth = false;
    bool showSeen = false;
    bool operator==(const MapLook&) const = default;
};

// A pinned map beside the one of the moment, both on one scale, or the difference of the two. Lives on the UI thread.
class CompareView : public QWidget {
    Q_OBJECT

public:
    explicit CompareView(QWidget* parent = nullptr);

    void setLook(const MapLook& look);
    void setCurrent(const std::optional<MapShot>& shot);
    void pin();  // the current one
    void unpin();
    bool isPinned() const { return m_pinned.has_value(); }
    void showDifference(bool difference);

    MapView* pinnedMap() const { return m_left; }
    MapView* currentMap() const { return m_right; }
    MapView* differenceMap() const { return m_difference; }

Q_SIGNALS:
    void pinnedChanged(bool pinned);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void refresh();

    MapLook m_look;
    std::optional<MapShot> m_pinned;
    std::optional<MapShot> m_current;
    QStackedWidget* m_pages;
    QPushButton* m_pin;
    QPushButton* m_unpin;
    QToolButton* m_differ;
    QStackedWidget* m_maps;
    MapView* m_left;
    MapView* m_right;
    MapView* m_difference;
    QLabel* m_leftLabel;
    QLabel* m_rightLabel;
    ColourBar* m_bar;
    QLabel* m_note;
};

}  // namespace vitrine
