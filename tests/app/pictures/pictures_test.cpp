#include "app/pictures/picture_loader.h"
#include "app/pictures/thumbnails.h"
#include "support/test_main.h"
#include "support/widgets.h"

#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <QSignalSpy>
#include <QTemporaryDir>

namespace vitrine {

class PicturesTest : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    QString file(const QString& name) const { return m_folder.filePath(name); }

    QString picture(const QString& name, const QColor& color, QSize size = {64, 48}) const {
        QImage image(size, color.alpha() < 255 ? QImage::Format_ARGB32 : QImage::Format_RGB32);
        image.fill(color);
        const QString path = file(name);
        if (!image.save(path, "PNG")) qFatal("cannot write %s", qPrintable(path));
        return path;
    }

    static void write(const QString& path, const QByteArray& bytes) {
        QFile target(path);
        QVERIFY(target.open(QIODevice::WriteOnly));
        target.write(bytes);
    }

    static QStringList told(const QSignalSpy& spy) {
        QStringList paths;
        for (const auto& call : spy) paths.append(call.first().toString());
        return paths;
    }

    static int filesIn(const QString& folder) {
        int count = 0;
        for (QDirIterator it(folder, QDir::Files, QDirIterator::Subdirectories); it.hasNext(); it.next()) ++count;
        return count;
    }

private Q_SLOTS:
    void shows_what_the_model_sees() {
        PictureLoader loader;
        QSignalSpy ready(&loader, &PictureLoader::ready);
        const QString path = picture(QStringLiteral("half transparent.dat"), QColor(255, 0, 0, 0));
        loader.want(path);
        QVERIFY(ready.wait());
        const auto shown = ready.first().at(1).value<Picture>();
        QCOMPARE(shown.image.size(), QSize(64, 48));
        QCOMPARE(shown.image.pixelColor(5, 5), QColor(Qt::white));  // found by content, alpha on white
    }

    void says_why_a_picture_cannot_be_shown() {
        PictureLoader loader;
        QSignalSpy failed(&loader, &PictureLoader::failed);
        const QString broken = file(QStringLiteral("broken.jpg"));
        write(broken, QByteArrayLiteral("\xff\xd8\xff\xe0nothing"));
        loader.want(broken);
        QVERIFY(failed.wait());
        const QString reason = failed.first().at(1).toString();
        QVERIFY2(reason.startsWith(QStringLiteral("JPEG")), qPrintable(reason));
        QVERIFY2(!reason.contains(broken), qPrintable(reason));
        loader.want(file(QStringLiteral("absent.png")));
        QVERIFY(failed.wait());
        QVERIFY(failed.last().at(1).toString().contains(QStringLiteral("no such file")));
    }

    void the_newest_wish_counts() {
        PictureLoader loader;
        QSignalSpy ready(&loader, &PictureLoader::ready);
        QStringList paths;
        for (int i = 0; i < 40; ++i) paths.append(picture(QStringLiteral("row %1.png").arg(i), Qt::blue, {400, 400}));
        for (const QString& path : std::as_const(paths)) loader.want(path);  // as when an arrow key is held
        QVERIFY(ready.wait());
        QCOMPARE(told(ready), QStringList(paths.last()));
        QTest::qWait(100);
        QCOMPARE(ready.count(), 1);
        // Those passed by were forgotten, but for the ones that had begun.
        QVERIFY(loader.cachedBytes() <= 4 * 400 * 400 * 4);
    }

    void what_comes_next_is_ready_at_once() {
        PictureLoader loader;
        QSignalSpy ready(&loader, &PictureLoader::ready);
        const QString now = picture(QStringLiteral("now.png"), Qt::red);
        const QString next = picture(QStringLiteral("next.png"), Qt::green);
        loader.want(now, {next});
        QVERIFY(ready.wait());
        QTRY_COMPARE(loader.cachedBytes(), 2 * 64 * 48 * 4);
        QCOMPARE(told(ready), QStringList(now));
        loader.want(next);
        QCOMPARE(ready.count(), 2);  // without waiting
        QCOMPARE(ready.last().at(1).value<Picture>().image.pixelColor(1, 1), QColor(Qt::green));
    }

    void a_replaced_file_is_seen() {
        PictureLoader loader;
        QSignalSpy ready(&loader, &PictureLoader::ready);
        const QString path = picture(QStringLiteral("replaced.png"), Qt::red);
        loader.want(path);
        QVERIFY(ready.wait());
        picture(QStringLiteral("replaced.png"), Qt::green, {30, 30});
        loader.want(path);
        QCOMPARE(ready.count(), 2);  // the old one, at once
        QTRY_COMPARE(ready.count(), 3);
        QCOMPARE(ready.last().at(1).value<Picture>().image.pixelColor(1, 1), QColor(Qt::green));
        loader.want(path);
        QTest::qWait(100);
        QCOMPARE(ready.count(), 4);  // nothing has changed: told once
    }

    void the_cache_is_bounded_in_bytes() {
        constexpr qint64 one = 64 * 48 * 4;
        PictureLoader loader(3 * one);
        QSignalSpy ready(&loader, &PictureLoader::ready);
        for (int i = 0; i < 6; ++i) {
            loader.want(picture(QStringLiteral("bounded %1.png").arg(i), Qt::blue));
            QVERIFY(ready.wait());
            QVERIFY(loader.cachedBytes() <= 3 * one);
        }
        QCOMPARE(loader.cachedBytes(), 3 * one);
        loader.want(file(QStringLiteral("bounded 0.png")));
        QCOMPARE(ready.count(), 6);  // gone from the cache
        QVERIFY(ready.wait());
        loader.want(picture(QStringLiteral("larger than all.png"), Qt::blue, {400, 400}));
        QVERIFY(ready.wait());  // shown, though it fits nowhere
        QVERIFY(loader.cachedBytes() <= 3 * one);
    }

    void thumbnails_are_small_and_never_enlarged() {
        Thumbnails thumbnails(file(QStringLiteral("cache a")));
        QSignalSpy ready(&thumbnails, &Thumbnails::ready);
        const QString wide = picture(QStringLiteral("wide.png"), Qt::red, {1200, 300});
        const QString tiny = picture(QStringLiteral("tiny.png"), Qt::green, {16, 16});
        const QString line = picture(QStringLiteral("line.png"), Qt::green, {4000, 1});
        QVERIFY(thumbnails.find(wide).isNull());
        thumbnails.want({wide, tiny, line}, 100);
        QTRY_COMPARE(ready.count(), 3);
        QCOMPARE(thumbnails.find(wide).size(), QSize(128, 32));
        QCOMPARE(thumbnails.find(tiny).size(), QSize(16, 16));
        QCOMPARE(thumbnails.find(line).size(), QSize(128, 1));
        thumbnails.want({wide}, 300);  // a finer screen
        QTRY_COMPARE(thumbnails.find(wide).width(), 512);
    }

    void only_what_is_in_view_is_made() {
        Thumbnails thumbnails(file(QStringLiteral("cache b")));
        QSignalSpy ready(&thumbnails, &Thumbnails::ready);
        QStringList paths;
        for (int i = 0; i < 60; ++i) paths.append(picture(QStringLiteral("many %1.png").arg(i), Qt::red, {300, 300}));
        for (int first = 0; first + 10 <= 60; ++first) thumbnails.want(paths.mid(first, 10), 128);  // scrolled through
        QTRY_VERIFY(ready.count() >= 10);
        QTest::qWait(150);
        QVERIFY2(ready.count() <= 14, qPrintable(QString::number(ready.count())));  // ten, and those that had begun
        for (const QString& path : paths.mid(50)) QVERIFY(!thumbnails.find(path).isNull());
    }

    void the_disk_keeps_them_until_the_file_changes() {
        const QString cache = file(QStringLiteral("cache c"));
        const QString path = picture(QStringLiteral("kept.png"), Qt::red);
        {
            Thumbnails thumbnails(cache);
            QSignalSpy ready(&thumbnails, &Thumbnails::ready);
            thumbnails.want({path}, 128);
            QVERIFY(ready.wait());
        }
        QCOMPARE(filesIn(cache), 1);
        // Rubbish of the same size and time: only the cache can still give the picture.
        const QFileInfo info(path);
        const QDateTime time = info.lastModified();
        write(path, QByteArray(int(info.size()), 'x'));
        QFile touched(path);
        QVERIFY(touched.open(QIODevice::ReadWrite));
        QVERIFY(touched.setFileTime(time, QFile::FileModificationTime));
        touched.close();
        Thumbnails again(cache);
        QSignalSpy ready(&again, &Thumbnails::ready);
        QSignalSpy failed(&again, &Thumbnails::failed);
        again.want({path}, 128);
        QVERIFY(ready.wait());
        const QColor color = again.find(path).pixelColor(10, 10);
        QVERIFY(color.red() > 250 && color.green() < 5);

        write(path, QByteArray("different"));
        Thumbnails third(cache);
        QSignalSpy thirdFailed(&third, &Thumbnails::failed);
        third.want({path}, 128);
        QVERIFY(thirdFailed.wait());
        third.want({path}, 128);  // still in view: not tried again
        QTest::qWait(100);
        QCOMPARE(thirdFailed.count(), 1);
    }

    void the_cache_folder_may_go_or_be_forbidden() {
        const QString cache = file(QStringLiteral("cache d"));
        write(cache, QByteArray("a file where the folder should be"));
        Thumbnails thumbnails(cache);
        QSignalSpy ready(&thumbnails, &Thumbnails::ready);
        thumbnails.want({picture(QStringLiteral("anyway.png"), Qt::red)}, 128);
        QVERIFY(ready.wait());
    }

    void memory_and_disk_are_bounded() {
        constexpr qint64 one = 128 * 128 * 4;
        const QString cache = file(QStringLiteral("cache e"));
        Thumbnails thumbnails(cache, 4 * one);
        QSignalSpy ready(&thumbnails, &Thumbnails::ready);
        for (int i = 0; i < 8; ++i) {
            thumbnails.want({picture(QStringLiteral("bound %1.png").arg(i), Qt::red, {200, 200})}, 128);
            QVERIFY(ready.wait());
        }
        QCOMPARE(thumbnails.cachedBytes(), 4 * one);
        QVERIFY(thumbnails.find(file(QStringLiteral("bound 0.png"))).isNull());
        QCOMPARE(filesIn(cache), 8);
        thumbnails.prune(1);
        QTRY_COMPARE(filesIn(cache), 0);
    }

    void the_ui_thread_is_not_held_up() {
        PictureLoader loader;
        Thumbnails thumbnails(file(QStringLiteral("cache f")));
        QSignalSpy ready(&loader, &PictureLoader::ready);
        QSignalSpy made(&thumbnails, &Thumbnails::ready);
        const QString large = picture(QStringLiteral("large.png"), Qt::red, {5000, 4000});
        test::Heartbeat heartbeat;
        loader.want(large);
        thumbnails.want({large}, 256);
        QTRY_VERIFY_WITH_TIMEOUT(ready.count() == 1 && made.count() == 1, 30000);
        QVERIFY2(heartbeat.longestGapMs() < 50, qPrintable(QString::number(heartbeat.longestGapMs())));
    }
};

VITRINE_TEST(PicturesTest)

}  // namespace vitrine

#include "pictures_test.moc"
