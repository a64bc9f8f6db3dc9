#include "support/test_main.h"
#include "support/widgets.h"

namespace vitrine {

// The measure that other tests rely on.
class HeartbeatTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sees_a_blocked_thread() {
        test::Heartbeat heartbeat;
        QTest::qWait(50);
        QTimer::singleShot(0, [] { QThread::msleep(80); });
        QTest::qWait(20);
        QVERIFY(heartbeat.longestGapMs() >= 75);
    }

    void sees_a_busy_thread() {
        test::Heartbeat heartbeat;
        QTimer::singleShot(0, [] {
            QElapsedTimer clock;
            clock.start();
            while (clock.elapsed() < 400) {  // long, as some of it may go to other programs
            }
        });
        QTest::qWait(20);
        QVERIFY(heartbeat.longestGapMs() >= 75);
    }

    void an_idle_thread_is_awake() {
        test::Heartbeat heartbeat;
        QTest::qWait(300);
        QVERIFY(heartbeat.longestGapMs() < 50);
    }
};

VITRINE_TEST(HeartbeatTest)

}  // namespace vitrine

#include "heartbeat_test.moc"
