#pragma once

#include "ui/captions/drop_data.h"

#include <QTimer>
#include <QWidget>

#include <functional>

class QDropEvent;

namespace vitrine {

// Lies over a whole window while something is dragged across it, and names what a drop will do. It catches the drag
// wherever it enters the window, also over editors that would take the file's name as text, and keeps it until it
// leaves the window or is dropped, so nothing flickers. Text on its way from one editor to another is left alone.
class DropOverlay : public QWidget {
    Q_OBJECT

public:
    // The headline for something usable; the default says "Drop to add 3 pictures".
    using Headline = std::function<QString(const DropData& content)>;

    explicit DropOverlay(QWidget* window);

    void setHeadline(Headline headline);

Q_SIGNALS:
    void dropped(const vitrine::DropData& content);  // usable, perhaps with some refusals

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragMoveEvent(QDragMoveEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void accept(QDropEvent& event) const;
    void begin(DropData content);
    void finish(QDropEvent& event);
    void end();

    DropData m_data;
    Headline m_headline;
    QTimer m_leaving;  // running: the drag has left what lies below, either to enter the overlay or for good
};

}  // namespace vitrine
