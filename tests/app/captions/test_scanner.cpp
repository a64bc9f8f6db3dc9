#include "captions_support.h"
#include "support/test_main.h"

#include <QSignalSpy>

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace vitrine;
using test::PictureFolder;

namespace {

QStringList namesBelow(const PictureFolder& folder, const QList<FoundPicture>& found) {
    QStringList names;
    for (const FoundPicture& picture : found) names << picture.path.mid(folder.path().size() + 1);
    return names;
}

}  // namespace

class TestScanner : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void natural_order() {
        QStringList names{"b10.jpg",           "B2.jpg", "a.jpg", "b2 copy.jpg", "b02.jpg", "b.jpg",
                          "\u5199\u771f1.jpg", "b2.jpg"};
        std::sort(names.begin(), names.end(), naturallyBefore);
        QCOMPARE(names, (QStringList{"a.jpg", "b.jpg", "b2 copy.jpg", "B2.jpg", "b02.jpg", "b2.jpg", "b10.jpg",
                                     "\u5199\u771f1.jpg"}));
        QVERIFY(!naturallyBefore(u"a", u"a"));
        QVERIFY(naturallyBefore(u"99999999999999999998", u"99999999999999999999"));
    }

    void a_folder_as_people_have_them() {
        const PictureFolder folder;
        for (const char* name : {"2.jpg", "10.jpg", "\u5199\u771f #1 %20.png", "wide\u3000space.webp",
                                 "dots.v1.final.JPEG", "sub/inner.png", "sub/deeper/last.gif", "._2.jpg",
                                 "__MACOSX/2.jpg", ".hidden/a.jpg", "Thumbs.db", "notes.md"})
            folder.picture(QString::fromUtf8(name));
        std::filesystem::create_directory_symlink(folder.path().toStdString(), folder.path("sub/loop").toStdString());
        ScanSummary summary;
        const QStringList names = namesBelow(folder, test::scanned({folder.path()}, &summary));
        QCOMPARE(names,
                 (QStringList{"2.jpg", "10.jpg", "dots.v1.final.JPEG", QString::fromUtf8("wide\u3000space.webp"),
                              QString::fromUtf8("\u5199\u771f #1 %20.png"), "sub/inner.png", "sub/deeper/last.gif"}));
        QCOMPARE(summary.pictures, 7);
        QCOMPARE(summary.others, 1);
        QVERIFY2(summary.problems.isEmpty(), qPrintable(summary.problems.join(';')));
    }

    void a_file_named_by_itself_is_always_taken() {
        const PictureFolder folder;
        const QString odd = folder.picture(".odd");
        const auto found = test::scanned({odd, folder.path("gone.jpg")});
        QCOMPARE(namesBelow(folder, found), (QStringList{".odd", "gone.jpg"}));
        QVERIFY(found[0].stamp.size > 0);
        QCOMPARE(found[1].stamp.size, qint64{-1});
    }

    void captions_beside_come_along() {
        const PictureFolder folder;
        folder.picture("a.jpg");
        folder.picture("b.jpg");
        folder.picture("c.jpg");
        folder.write("a.txt", QByteArray("\xFF\xFE"
                                         "a\0b\0\r\0\n\0",
                                         10));
        folder.write("b.caption", "two\nlines\n");
        folder.write("c.txt", QByteArray(2 << 20, 'x'));
        const auto found = test::scanned({folder.path()});
        QCOMPARE(found[0].sidecar.value(), QStringLiteral("ab"));
        QCOMPARE(found[1].sidecar.value(), QStringLiteral("two\nlines"));
        QVERIFY(!found[2].sidecar && found[2].fault.contains("c.txt"));
    }

    void a_name_that_is_no_text_is_told() {
        const PictureFolder folder;
        const std::string path = folder.path().toStdString() + "/latin\xE9.jpg";
        std::ofstream(path) << "x";
        ScanSummary summary;
        QVERIFY(test::scanned({folder.path()}, &summary).isEmpty());
        std::filesystem::remove(path);  // Qt cannot
        QCOMPARE(summary.problems.size(), 1);
        QVERIFY(summary.problems.first().contains("UTF-8"));
    }

    void batches_begin_small_and_stop_is_prompt() {
        const PictureFolder folder;
        for (int i = 0; i < 3000; ++i) folder.picture(QStringLiteral("%1.jpg").arg(i));
        QList<qsizetype> sizes;
        FolderScanner::scan({folder.path()}, [&](const QList<FoundPicture>& batch) { sizes << batch.size(); }, {});
        QVERIFY(sizes.first() <= 64);
        QVERIFY(*std::max_element(sizes.begin(), sizes.end()) <= 1000);

        FolderScanner scanner;
        int pictures = 0;
        connect(&scanner, &FolderScanner::found, this, [&](const QList<FoundPicture>& batch) {
            if (pictures == 0) scanner.stop();
            pictures += static_cast<int>(batch.size());
        });
        QSignalSpy finished(&scanner, &FolderScanner::finished);
        scanner.start({folder.path()});
        QVERIFY(finished.wait(20'000));
        QVERIFY(pictures > 0);

        // a stop that comes before the scan begins holds as well, and the next scan knows nothing of it
        pictures = 1;
        scanner.start({folder.path()});
        scanner.stop();
        scanner.start({folder.path("7.jpg")});
        QTRY_COMPARE_WITH_TIMEOUT(finished.size(), 3, 20'000);
        QCOMPARE(finished[2].at(0).value<ScanSummary>().pictures, 1);
    }
};

VITRINE_TEST(TestScanner)
#include "test_scanner.moc"
