#include "captions_support.h"
#include "support/test_main.h"

#include <QSignalSpy>

using namespace vitrine;
using test::PictureFolder;
using test::StubEngine;

namespace {

CaptionSettings asking(const QString& prompt) {
    CaptionSettings settings;
    settings.prompt = prompt;
    settings.generation.sampling.seed = 7;
    return settings;
}

// What the queue told, as one line: "begun a, captioned a".
class Log {
public:
    explicit Log(CaptionQueue& queue) {
        const auto note = [this](const char* what) {
            return [this, what](const QString& path) {
                lines << QStringLiteral("%1 %2").arg(QLatin1String(what), QFileInfo(path).baseName());
            };
        };
        QObject::connect(&queue, &CaptionQueue::begun, note("begun"));
        QObject::connect(&queue, &CaptionQueue::returned, note("returned"));
        QObject::connect(&queue, &CaptionQueue::skipped, note("skipped"));
        QObject::connect(&queue, &CaptionQueue::halted, [this] { lines << "halted"; });
        QObject::connect(&queue, &CaptionQueue::failed, [this, note](const QString& path, const QString& why) {
            note("failed")(path);
            reasons << why;
        });
        QObject::connect(&queue, &CaptionQueue::captioned, [this, note](const CaptionResult& result) {
            note("captioned")(result.path);
            results << result;
        });
    }
    QString text() const { return lines.join(", "); }

    QStringList lines;
    QStringList reasons;
    QList<CaptionResult> results;
};

bool isIdle(const CaptionQueue& queue) {
    const CaptionRun run = queue.progress().run;
    return run == CaptionRun::idle || run == CaptionRun::stopped;
}

}  // namespace

class TestCaptionQueue : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void one_by_one_with_everything_about_it() {
        const PictureFolder folder;
        StubEngine engine;
        CaptionQueue queue(engine.engine());
        Log log(queue);
        QString streamed;
        connect(&queue, &CaptionQueue::streamed, this,
                [&](const QString&, const QString& piece) { streamed += piece + '|'; });
        const QStringList paths{folder.picture("a.jpg"), folder.picture("b.jpg")};
        queue.add(paths, asking("{name} {x}"));
        QTRY_VERIFY(isIdle(queue));
        QCOMPARE(log.text(), QStringLiteral("begun a, captioned a, begun b, captioned b"));
        QCOMPARE(streamed, QStringLiteral("a {x}|, |said|b {x}|, |said|"));
        const CaptionResult& first = log.results[0];
        QCOMPARE(first.text, QStringLiteral("a {x}, said"));
        QVERIFY(first.stamp == stampOf(paths[0]));
        QCOMPARE(first.from.prompt, std::string("a {x}"));
        QCOMPARE(first.from.model, std::string("stub"));
        QCOMPARE(first.from.seed, std::uint64_t{7});
        QVERIFY(!first.from.edited && first.from.time.ends_with('Z') &&
                first.from.finish == name_of(FinishReason::stop_token));
        QCOMPARE(queue.progress().done, 2);
    }

    void broken_files_fail_by_name_and_the_rest_go_on() {
        const PictureFolder folder;
        StubEngine engine;
        CaptionQueue queue(engine.engine());
        Log log(queue);
        const QStringList paths{
            folder.picture("good1.jpg"),
            folder.write("empty.jpg", ""),
            folder.write("page.jpg", "<!DOCTYPE html><html></html>"),
            folder.write("pointer.png", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
            folder.write("cut.png", QByteArray("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16)),
            folder.write("bomb.png", QByteArray::fromHex(
                                         "89504e470d0a1a0a0000000d49484452ffffff7fffffff7f08020000001234567800000000")),
            folder.path("gone.jpg"),
            folder.picture("good2.jpg")};
        queue.add(paths, asking("{name}"));
        QTRY_VERIFY(isIdle(queue));
        QCOMPARE(log.results.size(), 2);
        QCOMPARE(log.reasons.size(), 6);
        for (const QString& reason : log.reasons) QVERIFY(!reason.isEmpty());
        QVERIFY2(log.reasons[2].contains("LFS"), qPrintable(log.reasons[2]));
        QCOMPARE(queue.progress().failed, 6);
        QCOMPARE(queue.progress().done, 8);
        QCOMPARE(log.lines.last(), QStringLiteral("captioned good2"));
    }

    void a_stop_keeps_nothing_half_and_resumes_where_it_was() {
        const PictureFolder folder;
        StubEngine engine;
        engine.paused = true;
        CaptionQueue queue(engine.engine());
        Log log(queue);
        QSignalSpy streamed(&queue, &CaptionQueue::streamed);
        const QStringList paths{folder.picture("a.jpg"), folder.picture("b.jpg"), folder.picture("c.jpg")};
        queue.add(paths, asking("{name}"));
        QTRY_COMPARE(streamed.size(), 1);
        queue.stop();
        QVERIFY(queue.progress().run == CaptionRun::stopping);
        QCOMPARE(queue.progress().total, 3);
        engine.go();
        QTRY_VERIFY(queue.progress().run == CaptionRun::stopped);
        QCOMPARE(log.text(), QStringLiteral("begun a, returned a"));
        QCOMPARE(queue.waiting(), paths);
        QCOMPARE(queue.progress().total, 3);

        // one more picture meanwhile leaves those alone
        queue.add({folder.picture("extra.jpg")}, asking("{name}"));
        QTRY_VERIFY(queue.progress().run == CaptionRun::stopped && log.results.size() == 1);
        QCOMPARE(queue.waiting(), paths);

        queue.resume();
        QTRY_VERIFY(queue.progress().run == CaptionRun::idle);
        QCOMPARE(log.text(), QStringLiteral("begun a, returned a, begun extra, captioned extra, begun a, captioned a, "
                                            "begun b, captioned b, begun c, captioned c"));
        QVERIFY(queue.waiting().isEmpty());
    }

    void a_stop_before_the_engine_begins_is_not_lost() {
        const PictureFolder folder;
        StubEngine engine;
        CaptionQueue queue(engine.engine());
        Log log(queue);
        queue.add({folder.picture("a.jpg"), folder.picture("b.jpg")}, asking("{name}"));
        queue.stop();
        QTest::qWait(50);
        QVERIFY(queue.progress().run == CaptionRun::stopped);
        QVERIFY(log.lines.isEmpty());

        // given to the engine, which has not looked at it yet
        connect(&queue, &CaptionQueue::begun, &queue, &CaptionQueue::stop);
        queue.resume();
        QTRY_COMPARE(log.text(), QStringLiteral("begun a, returned a"));
        QTRY_VERIFY(queue.progress().run == CaptionRun::stopped);
        QVERIFY(engine.asked.isEmpty());
        QVERIFY(log.results.isEmpty());
    }

    void an_engine_that_fails_halts_the_queue() {
        const PictureFolder folder;
        StubEngine engine;
        engine.faulty = true;
        CaptionQueue queue(engine.engine());
        Log log(queue);
        QStringList paths;
        for (int i = 0; i < 6; ++i) paths << folder.picture(QStringLiteral("%1.jpg").arg(i));
        queue.add(paths, asking("?"));
        QTRY_VERIFY(queue.progress().run == CaptionRun::stopped);
        QCOMPARE(log.lines.last(), QStringLiteral("halted"));
        QCOMPARE(queue.progress().failed, 3);
        QCOMPARE(queue.waiting(), paths.mid(3));
    }

    void without_a_model_nothing_fails() {
        const PictureFolder folder;
        StubEngine engine;
        CaptionQueue queue(engine.engine());
        Log log(queue);
        const QStringList paths{folder.picture("a.jpg"), folder.picture("b.jpg"), folder.picture("c.jpg")};
        engine.faulty = true;
        queue.add(paths, asking("?"));
        connect(&queue, &CaptionQueue::begun, this, [&] { engine.loaded = false; });  // unloaded under the first
        QTRY_VERIFY(queue.progress().run == CaptionRun::stopped);
        QCOMPARE(log.text(), QStringLiteral("begun a, returned a, halted"));
        QCOMPARE(queue.waiting(), paths);
        queue.resume();
        QTRY_COMPARE(log.lines.size(), 4);
        QCOMPARE(log.lines.last(), QStringLiteral("halted"));
        QCOMPARE(queue.waiting(), paths);
    }

    void asked_twice_once_done_single_first_unwanted_never() {
        const PictureFolder folder;
        StubEngine engine;
        engine.paused = true;
        CaptionQueue queue(engine.engine());
        Log log(queue);
        QStringList paths;
        for (const char* name : {"a.jpg", "b.jpg", "c.jpg", "d.jpg"}) paths << folder.picture(name);
        QString unwanted;
        queue.setFilter([&](const QString& path, CaptionPolicy) { return path != unwanted; });
        queue.add(paths, asking("{name}"));
        QTRY_COMPARE(log.lines.size(), 1);
        queue.add({paths[3]}, asking("again {name}"));
        queue.remove({paths[1]});
        unwanted = paths[2];
        engine.go();
        QTRY_VERIFY(isIdle(queue));
        QCOMPARE(log.text(), QStringLiteral("begun a, captioned a, begun d, captioned d, skipped c"));
        QCOMPARE(engine.asked, (QStringList{"a", "again d"}));
    }

    void a_picture_taken_off_the_list_is_let_go() {
        const PictureFolder folder;
        StubEngine engine;
        engine.paused = true;
        CaptionQueue queue(engine.engine());
        Log log(queue);
        const QStringList paths{folder.picture("a.jpg"), folder.picture("b.jpg")};
        queue.add(paths, asking("{name}"));
        QTRY_COMPARE(log.lines.size(), 1);
        QTest::qWait(20);
        queue.remove({paths[0]});
        engine.go();
        QTRY_VERIFY(queue.progress().run == CaptionRun::idle);
        QCOMPARE(log.text(), QStringLiteral("begun a, returned a, begun b, captioned b"));
    }

    void a_reply_of_nothing_is_a_failure() {
        const PictureFolder folder;
        StubEngine engine;
        CaptionQueue queue(engine.engine());
        Log log(queue);
        engine.silent = true;
        queue.add({folder.picture("a.jpg")}, asking("{name}"));
        QTRY_VERIFY(isIdle(queue));
        QVERIFY(log.results.isEmpty() && log.reasons.size() == 1);
    }
};

VITRINE_TEST(TestCaptionQueue)
#include "test_caption_queue.moc"
