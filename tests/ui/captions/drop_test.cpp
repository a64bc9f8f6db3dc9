#include "support/test_main.h"
#include "support/widgets.h"
#include "ui/captions/drop_data.h"
#include "ui/captions/drop_overlay.h"

#include <QBuffer>
#include <QDragEnterEvent>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QUrl>
#include <QVBoxLayout>

namespace vitrine {
namespace {

std::unique_ptr<QMimeData> urls(const QStringList& texts) {
    QList<QUrl> list;
    for (const QString& text : texts)
        list.append(text.startsWith(QLatin1Char('/')) ? QUrl::fromLocalFile(text) : QUrl(text));
    auto mime = std::make_unique<QMimeData>();
    mime->setUrls(list);
    return mime;
}

bool isFolder(const QString& path) {
    return path.startsWith(QLatin1String("/folder"));
}

DropData sorted(const QStringList& texts) {
    return DropData::of(*urls(texts), isFolder);
}

QByteArray png() {
    QImage image(4, 4, QImage::Format_RGB32);
    image.fill(Qt::red);
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    return bytes;
}

bool enter(QWidget& widget, const QMimeData& mime) {
    QDragEnterEvent event({10, 10}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
    event.ignore();
    QCoreApplication::sendEvent(&widget, &event);
    return event.isAccepted();
}

void leave(QWidget& widget) {
    QDragLeaveEvent event;
    QCoreApplication::sendEvent(&widget, &event);
}

bool drop(QWidget& widget, const QMimeData& mime) {
    QDropEvent event(QPointF(10, 10), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
    event.ignore();
    QCoreApplication::sendEvent(&widget, &event);
    return event.isAccepted();
}

}  // namespace

class DropTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sorts_files_and_folders() {
        const DropData data =
            sorted({QStringLiteral("/a/1 #x%20y.jpg"), QStringLiteral("/a/2.PNG"), QStringLiteral("/a/noending"),
                    QStringLiteral("/folder one"), QStringLiteral("/a/2.PNG"), QStringLiteral("/else/")});
        QCOMPARE(data.files.join(QLatin1Char('|')), QStringLiteral("/a/1 #x%20y.jpg|/a/2.PNG|/a/noending"));
        QCOMPARE(data.folders.join(QLatin1Char('|')), QStringLiteral("/folder one|/else"));
        QVERIFY(data.refusals.isEmpty());
        QCOMPARE(data.summary(), QStringLiteral("3 pictures and 2 folders"));
        QCOMPARE(sorted({QStringLiteral("/a.jpg")}).summary(), QStringLiteral("1 picture"));
        QCOMPARE(sorted({QStringLiteral("/folder")}).summary(), QStringLiteral("1 folder"));
    }

    void says_what_cannot_be_used_and_why() {
        const DropData data =
            sorted({QStringLiteral("/a/film.mp4"), QStringLiteral("/a/b.jpg"), QStringLiteral("/a/x.zip"),
                    QStringLiteral("/a/y.ZIP"), QStringLiteral("/a/raw.CR2"), QStringLiteral("/a/b.txt"),
                    QStringLiteral("/a/Thumbs.db"), QStringLiteral("/a/._b.jpg")});
        QCOMPARE(data.files, QStringList(QStringLiteral("/a/b.jpg")));
        QCOMPARE(data.refusals.size(), 3);  // sidecars come with their picture, junk is not worth a word
        QVERIFY(data.refusals[0].contains(QStringLiteral("film.mp4")));
        QVERIFY(data.refusals[1].startsWith(QStringLiteral("2 files like x.zip")));
        QVERIFY(data.refusals[2].contains(QStringLiteral("RAW")));
        const DropData lone = sorted({QStringLiteral("/a/b.txt")});
        QVERIFY(!lone.isUsable());
        QVERIFY(lone.isOurs());
    }

    void takes_the_pixels_of_a_browser() {
        auto mime = urls({QStringLiteral("https://example.org/cat.jpg")});
        QCOMPARE(DropData::of(*mime, isFolder).refusals.size(), 1);
        QVERIFY(!DropData::of(*mime, isFolder).isUsable());
        mime->setData(QStringLiteral("image/png"), png());
        const DropData data = DropData::of(*mime, isFolder);
        QVERIFY(data.refusals.isEmpty());
        QCOMPARE(data.imageBytes, png());
        QCOMPARE(data.imageSuffix, QStringLiteral("png"));
        QCOMPARE(data.summary(), QStringLiteral("1 picture"));

        const DropData inAddress =
            sorted({QStringLiteral("data:image/png;base64,") + QString::fromLatin1(png().toBase64())});
        QCOMPARE(inAddress.imageBytes, png());

        QMimeData pixels;
        pixels.setImageData(QImage::fromData(png()));
        QCOMPARE(DropData::of(pixels).image.size(), QSize(4, 4));
        // Beside files a picture is only their icon.
        auto files = urls({QStringLiteral("/a.jpg")});
        files->setData(QStringLiteral("image/png"), png());
        QVERIFY(!DropData::of(*files, isFolder).hasImage());
    }

    void text_is_left_to_editors() {
        QMimeData mime;
        mime.setText(QStringLiteral("words"));
        QVERIFY(!DropData::of(mime).isOurs());
    }

    void many_entries_are_not_all_looked_at() {
        QStringList texts;
        for (int i = 0; i < 5000; ++i) texts.append(QStringLiteral("/a/%1.jpg").arg(i));
        int asked = 0;
        const DropData data = DropData::of(*urls(texts), [&](const QString&) { return ++asked < 0; });
        QCOMPARE(data.files.size(), 5000);
        QVERIFY(asked <= 256);
    }

    void the_overlay_takes_over_without_flicker() {
        QWidget window;
        auto* editor = new QPlainTextEdit(&window);
        auto* layout = new QVBoxLayout(&window);
        layout->addWidget(editor);
        DropOverlay overlay(&window);
        window.resize(500, 400);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        QVERIFY(!overlay.isVisible());

        // Enters over an editor that would take the address as text.
        const auto mime = urls({QStringLiteral("/a/b.jpg"), QStringLiteral("/a/c.mp4")});
        QVERIFY(enter(*editor->viewport(), *mime));
        QVERIFY(overlay.isVisible());
        QCOMPARE(overlay.geometry(), window.rect());
        QCOMPARE(overlay.accessibleDescription(), QStringLiteral("Drop to add 1 picture"));
        leave(*editor->viewport());  // because the overlay is on top now
        QVERIFY(overlay.isVisible());
        QVERIFY(enter(overlay, *mime));
        window.resize(600, 300);
        QTRY_COMPARE(overlay.size(), QSize(600, 300));

        const QSignalSpy dropped(&overlay, &DropOverlay::dropped);
        leave(overlay);
        QVERIFY(!overlay.isVisible());
        QVERIFY(enter(window, *mime));
        QVERIFY(enter(overlay, *mime));
        QVERIFY(drop(overlay, *mime));
        QVERIFY(!overlay.isVisible());
        QCOMPARE(dropped.count(), 1);

        // So quick that the pointer never moved over the overlay.
        QVERIFY(enter(*editor->viewport(), *mime));
        QVERIFY(drop(*editor->viewport(), *mime));
        QVERIFY(!overlay.isVisible());
        QCOMPARE(dropped.count(), 2);
        QVERIFY(enter(*editor->viewport(), *mime));
        leave(*editor->viewport());
        QTRY_VERIFY(!overlay.isVisible());
        QCOMPARE(editor->toPlainText(), QString());

        // Text goes where it is meant to go.
        QMimeData text;
        text.setText(QStringLiteral("words"));
        enter(*editor->viewport(), text);
        QVERIFY(!overlay.isVisible());
        QVERIFY(drop(*editor->viewport(), text));
        QCOMPARE(editor->toPlainText(), QStringLiteral("words"));

        // What cannot be used is named while it hovers, and refused.
        const auto film = urls({QStringLiteral("/a/c.mp4")});
        QVERIFY(enter(window, *film));
        QVERIFY(overlay.accessibleDescription().contains(QStringLiteral("c.mp4")));
        QVERIFY(!drop(window, *film));
        QVERIFY(!overlay.isVisible());
        QCOMPARE(dropped.count(), 2);
    }

    void other_windows_are_left_alone() {
        QWidget window;
        DropOverlay overlay(&window);
        QWidget other;
        other.setAcceptDrops(true);
        window.show();
        other.show();
        enter(other, *urls({QStringLiteral("/a/b.jpg")}));
        QVERIFY(!overlay.isVisible());
    }

    void looks() {
        QWidget window;
        DropOverlay overlay(&window);
        window.resize(1280, 800);
        window.show();
        const auto mime = urls({QStringLiteral("/a/b.jpg"), QStringLiteral("/a/d.jpg"), QStringLiteral("/folder/"),
                                QStringLiteral("/a/c.mp4"), QStringLiteral("/a/raw.CR2")});
        enter(window, *mime);
        test::screenshots(window, QStringLiteral("drop-overlay"));
    }
};

VITRINE_TEST(DropTest)

}  // namespace vitrine

#include "drop_test.moc"
