#include "app/engine_worker.h"
#include "core/device.h"
#include "core/model/random_model.h"
#include "support/test_main.h"
#include "support/widgets.h"

#include <QSignalSpy>
#include <QTemporaryDir>

#include <thread>

namespace vitrine {

// The worker on a small model with random weights: it never ends by itself, so every answer runs to its limit.
class EngineWorkerTest : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    QString m_model;

    static GenerationOptions tokens(int count) {
        GenerationOptions options;
        options.max_tokens = count;
        options.detect_loops = false;
        return options;
    }

    static std::vector<Message> question() { return {{.role = Role::user, .text = "What is this?"}}; }

    static bool load(EngineWorker& worker, const QString& folder) {
        worker.load(folder, {.context = 512});
        return QTest::qWaitFor([&] { return worker.state() != EngineWorker::State::loading; }, 30000) &&
               worker.state() == EngineWorker::State::ready;
    }

    struct Outcome {
        std::vector<TokenEvent> events;
        GenerationResult result;
        QString fault;
        int ends = 0;
    };

    static void watch(const std::shared_ptr<EngineJob>& job, Outcome& outcome) {
        connect(job.get(), &EngineJob::streamed, [&outcome](const std::vector<TokenEvent>& events) {
            QCOMPARE(outcome.ends, 0);
            outcome.events.insert(outcome.events.end(), events.begin(), events.end());
        });
        connect(job.get(), &EngineJob::finished, [&outcome](const GenerationResult& result) {
            outcome.result = result;
            ++outcome.ends;
        });
        connect(job.get(), &EngineJob::failed, [&outcome](const QString& message) {
            outcome.fault = message;
            ++outcome.ends;
        });
    }

private Q_SLOTS:
    void initTestCase() {
        m_model = m_folder.filePath(QStringLiteral("model"));
        write_random_model(shape_by_name("demo"), DType::float32, 1, m_model.toStdString());
    }

    void streams_every_token_and_ends_once() {
        EngineWorker worker;
        QVERIFY(load(worker, m_model));
        Outcome outcome;
        watch(worker.generate(question, tokens(40)), outcome);
        QTRY_COMPARE_WITH_TIMEOUT(outcome.ends, 1, 30000);
        std::string text;
        std::vector<std::int32_t> ids(outcome.result.ids.size());
        for (const TokenEvent& event : outcome.events) {
            text += event.text;
            if (event.id < 0) continue;  // only text that was held back
            ids.at(static_cast<std::size_t>(event.index)) = event.id;
        }
        QCOMPARE(ids, outcome.result.ids);
        QCOMPARE(text, outcome.result.text);
    }

    void a_job_waits_for_the_model_that_loads() {
        EngineWorker worker;
        worker.load(m_model, {.context = 512});
        Outcome outcome;
        watch(worker.generate(question, tokens(3)), outcome);
        QTRY_COMPARE_WITH_TIMEOUT(outcome.ends, 1, 30000);
        QVERIFY2(outcome.fault.isEmpty(), qPrintable(outcome.fault));
    }

    void faults_come_as_messages() {
        EngineWorker worker;
        Outcome nothing_loaded;
        watch(worker.generate(question, tokens(3)), nothing_loaded);
        QTRY_COMPARE(nothing_loaded.ends, 1);
        QVERIFY(!nothing_loaded.fault.isEmpty());

        QSignalSpy failed(&worker, &EngineWorker::loadFailed);
        QVERIFY(!load(worker, m_folder.filePath(QStringLiteral("absent"))));
        QCOMPARE(failed.count(), 1);
        QVERIFY(worker.fault().contains(QStringLiteral("absent")));

        QVERIFY(load(worker, m_model));
        QVERIFY(worker.fault().isEmpty());
        Outcome broken;
        watch(worker.generate([]() -> std::vector<Message> { throw std::runtime_error("no picture here"); }, tokens(3)),
              broken);
        QTRY_COMPARE(broken.ends, 1);
        QCOMPARE(broken.fault, QStringLiteral("no picture here"));
    }

    void a_stop_before_the_start_is_not_lost() {
        EngineWorker worker;
        QVERIFY(load(worker, m_model));
        Outcome first;
        Outcome second;
        const auto running = worker.generate(question, tokens(300));
        const auto waiting = worker.generate(question, tokens(300));
        watch(running, first);
        watch(waiting, second);
        waiting->stop();
        QTRY_VERIFY_WITH_TIMEOUT(!first.events.empty(), 30000);
        running->stop();
        const std::size_t seen = first.events.size();
        QTRY_COMPARE_WITH_TIMEOUT(second.ends, 1, 30000);
        QCOMPARE(first.result.finish, FinishReason::stopped);
        QCOMPARE(second.result.finish, FinishReason::stopped);
        QVERIFY(second.events.empty());
        QVERIFY2(first.events.size() < 300, qPrintable(QString::number(seen)));
    }

    void the_last_load_wins_and_a_cancelled_one_leaves_nothing() {
        EngineWorker worker;
        worker.load(m_folder.filePath(QStringLiteral("absent")), {});
        worker.load(m_model, {.context = 512});
        QTRY_COMPARE_WITH_TIMEOUT(worker.state(), EngineWorker::State::ready, 30000);
        QVERIFY(worker.fault().isEmpty());
        worker.load(m_model, {.context = 512});
        worker.cancelLoad();
        QTRY_COMPARE_WITH_TIMEOUT(worker.state(), EngineWorker::State::empty, 30000);
        QVERIFY(!worker.model());
        worker.unload();
        QCOMPARE(worker.state(), EngineWorker::State::empty);
    }

    void loading_and_unloading_does_not_grow() {
        EngineWorker worker;
        quint64 after_two = 0;
        for (int i = 0; i < 10; ++i) {
            QVERIFY(load(worker, m_model));
            Outcome outcome;
            watch(worker.generate(question, tokens(5)), outcome);
            QTRY_COMPARE_WITH_TIMEOUT(outcome.ends, 1, 30000);
            worker.unload();
            worker.load(m_folder.filePath(QStringLiteral("absent")), {});  // its end shows that the unload is over
            QTRY_COMPARE_WITH_TIMEOUT(worker.state(), EngineWorker::State::empty, 30000);
            if (i == 1) after_two = resident_bytes();
        }
        const quint64 grown = resident_bytes() > after_two ? resident_bytes() - after_two : 0;
        QVERIFY2(grown < 4'000'000, qPrintable(QString::number(grown)));
    }

    void the_ui_thread_stays_awake() {
        EngineWorker worker;
        test::Heartbeat heartbeat;
        QVERIFY(load(worker, m_model));
        Outcome outcome;
        watch(worker.generate(question, tokens(200)), outcome);
        QTRY_COMPARE_WITH_TIMEOUT(outcome.ends, 1, 60000);
        const double gap = heartbeat.longestGapMs();
        QVERIFY2(gap < 50, qPrintable(QString::number(gap)));
    }

    void leaving_in_the_middle_is_clean() {
        Outcome outcome;
        auto worker = std::make_unique<EngineWorker>();
        QVERIFY(load(*worker, m_model));
        watch(worker->generate(question, tokens(300)), outcome);
        QTRY_VERIFY_WITH_TIMEOUT(!outcome.events.empty(), 30000);
        worker.reset();
        QTRY_COMPARE(outcome.ends, 1);
        QCOMPARE(outcome.result.finish, FinishReason::stopped);
    }
};

VITRINE_TEST(EngineWorkerTest)

}  // namespace vitrine

#include "engine_worker_test.moc"
