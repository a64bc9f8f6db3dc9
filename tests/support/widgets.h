#pragma once

#include <QElapsedTimer>
#include <QString>
#include <QTimer>

class QWidget;

// What tests of windows share.
namespace vitrine::test {

// Beats every millisecond on the UI thread and remembers the longest silence: how long that thread was blocked.
class Heartbeat {
public:
    Heartbeat();
    void restart();
    double longestGapMs() const;

private:
    void beat();

    QTimer m_timer;
    QElapsedTimer m_sinceBeat;
    qint64 m_longest = 0;
};

// Renders the widget into VITRINE_SCREENSHOTS/NAME-light.png and NAME-dark.png, for people to look at. The theme is
// light again afterwards.
void screenshots(QWidget& widget, const QString& name);

}  // namespace vitrine::test
