#pragma once

#include <QElapsedTimer>
#include <QFile>
#include <QString>
#include <QTimer>

class QWidget;

// What tests of windows share.
namespace vitrine::test {

// Beats every millisecond on the UI thread and remembers the longest silence: how long that thread was blocked. Time in
// which the thread was ready but other programs had the processor is taken off (where the system tells it), so that a
// busy machine fails no test.
class Heartbeat {
public:
    Heartbeat();
    void restart();
    double longestGapMs();

private:
    qint64 silence();  // ns since the last beat, without waiting for a processor
    void beat();

    QTimer m_timer;
    QFile m_schedule;
    QElapsedTimer m_sinceBeat;
    qint64 m_waitedBefore = 0;
    qint64 m_longest = 0;
};

// Renders the widget into VITRINE_SCREENSHOTS/NAME-light.png and NAME-dark.png, for people to look at. The theme is
// light again afterwards.
void screenshots(QWidget& widget, const QString& name);

}  // namespace vitrine::test
