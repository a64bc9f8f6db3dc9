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

Heartbeat::Heartbeat() {
    m_timer.setTimerType(Qt::PreciseTimer);
    m_timer.setInterval(1);
    QObject::connect(&m_timer, &QTimer::timeout, [this] { beat(); });
    restart();
}

void Heartbeat::restart() {
    m_longest = 0;
    m_sinceBeat.start();
    m_timer.start();
}

void Heartbeat::beat() {
    m_longest = std::max(m_longest, m_sinceBeat.nsecsElapsed());
    m_sinceBeat.start();
}

double Heartbeat::longestGapMs() const {
    return static_cast<double>(std::max(m_longest, m_sinceBeat.nsecsElapsed())) / 1e6;
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
