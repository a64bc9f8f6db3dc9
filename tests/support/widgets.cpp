#include "support/widgets.h"

#include "support/test_main.h"
#include "ui/theme.h"

#include <QApplication>
#include <QDir>
#include <QWidget>

#include <clocale>

namespace vitrine::test {

// Joined in before main(): the tests of this binary have windows.
[[maybe_unused]] static const bool with_windows = [] {
    make_application = [](int& argc, char** argv) -> std::unique_ptr<QCoreApplication> {
        auto application = std::make_unique<QApplication>(argc, argv);
        std::setlocale(LC_NUMERIC, "C");
        theme::apply(*application, theme::Choice::light, false);
        return application;
    };
    return true;
}();

namespace {

// The second number of schedstat: ns this thread has been ready and waiting for a processor; 0 where there is none.
qint64 waitedForProcessor(QFile& schedule) {
    if (!schedule.isOpen() || !schedule.seek(0)) return 0;
    return schedule.readAll().split(' ').value(1).toLongLong();
}

}  // namespace

Heartbeat::Heartbeat() : m_schedule(QStringLiteral("/proc/thread-self/schedstat")) {
    m_schedule.open(QIODevice::ReadOnly | QIODevice::Unbuffered);
    m_timer.setTimerType(Qt::PreciseTimer);
    m_timer.setInterval(1);
    QObject::connect(&m_timer, &QTimer::timeout, [this] { beat(); });
    restart();
}

void Heartbeat::restart() {
    m_longest = 0;
    m_waitedBefore = waitedForProcessor(m_schedule);
    m_sinceBeat.start();
    m_timer.start();
}

qint64 Heartbeat::silence() {
    return m_sinceBeat.nsecsElapsed() - (waitedForProcessor(m_schedule) - m_waitedBefore);
}

void Heartbeat::beat() {
    m_longest = std::max(m_longest, silence());
    m_waitedBefore = waitedForProcessor(m_schedule);
    m_sinceBeat.start();
}

double Heartbeat::longestGapMs() {
    return static_cast<double>(std::max(m_longest, silence())) / 1e6;
}

void screenshots(QWidget& widget, const QString& name) {
    const QString folder = QStringLiteral(VITRINE_SCREENSHOTS);
    QDir().mkpath(folder);
    for (const auto choice : {theme::Choice::dark, theme::Choice::light}) {
        theme::apply(*qApp, choice, false);
        QCoreApplication::processEvents();
        widget.grab().save(QStringLiteral("%1/%2-%3.png").arg(folder, name, theme::nameOf(choice)));
    }
}

}  // namespace vitrine::test
