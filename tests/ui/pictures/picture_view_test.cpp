#include "ui/pictures/picture_view.h"
#include "support/test_main.h"
#include "support/widgets.h"
#include "ui/theme.h"

#include <QPainter>
#include <QSignalSpy>
#include <QVBoxLayout>
#include <QWheelEvent>

#include <cmath>

namespace vitrine {
namespace {

// Four quarters of one colour each, so that a point of the screen tells where in the picture it lies.
const QColor kQuarters[] = {Qt::red, Qt::green, Qt::blue, Qt::yellow};

QImage quarters(int width, int height) {
    QImage image(width, height, QImage::Format_RGB32);
    QPainter painter(&image);
    for (int i = 0; i < 4; ++i) {
        painter.fillRect(QRect((i % 2) * width / 2, (i / 2) * height / 2, width / 2, height / 2), kQuarters[i]);
    }
    return image;
}

void turnWheel(QWidget& widget, const QPointF& at, int notches) {
    QWheelEvent event(at, widget.mapToGlobal(at), {}, {0, 120 * notches}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&widget, &event);
}

// Counts the arrow keys its child leaves to it.
class Parent : public QWidget {
public:
    int arrows = 0;

protected:
    void keyPressEvent(QKeyEvent* event) override {
        if (event->key() == Qt::Key_Down || event->key() == Qt::Key_Right) ++arrows;
    }
};

}  // namespace

class PictureViewTest : public QObject {
    Q_OBJECT

    static void compare(const QPointF& found, const QPointF& expected, double tolerance = 0.6) {
        QVERIFY2(std::hypot(found.x() - expected.x(), found.y() - expected.y()) <= tolerance,
                 qPrintable(QStringLiteral("found %1, %2; expected %3, %4")
                                .arg(found.x())
                                .arg(found.y())
                                .arg(expected.x())
                                .arg(expected.y())));
    }

    static void show(PictureView& view, int width, int height) {
        view.resize(width, height);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
    }

private Q_SLOTS:
    void halves_are_means() {
        QImage image(2048, 1024, QImage::Format_RGB888);
        for (int y = 0; y < image.height(); ++y) {
            for (int x = 0; x < image.width(); ++x)
                image.setPixel(x, y, (x + y) % 2 ? qRgb(0, 100, 255) : qRgb(4, 200, 2));
        }
        const Picture picture = Picture::of(image, {QStringLiteral("a note")});
        QCOMPARE(picture.halves.size(), 3);
        QCOMPARE(picture.halves.last().size(), QSize(256, 128));
        for (const QImage& half : picture.halves) {
            const QColor mean = half.pixelColor(half.width() / 3, half.height() / 3);
            QCOMPARE(mean, QColor(2, 150, 129));
        }
        QCOMPARE(picture.notes, QStringList(QStringLiteral("a note")));
        QVERIFY(picture.bytes() > qint64(2048) * 1024 * 4);
        QCOMPARE(picture.atLeast(1.0).width(), 2048);
        QCOMPARE(picture.atLeast(0.51).width(), 2048);
        QCOMPARE(picture.atLeast(0.5).width(), 1024);
        QCOMPARE(picture.atLeast(0.2).width(), 512);
        QCOMPARE(picture.atLeast(0.001).width(), 256);
    }

    void odd_and_thin_pictures_have_halves() {
        QCOMPARE(Picture::of(QImage(1001, 3, QImage::Format_RGB32)).halves.last().size(), QSize(500, 1));
        QCOMPARE(Picture::of(QImage(1, 10000, QImage::Format_RGB32)).halves.last().width(), 1);
        QVERIFY(Picture::of(QImage()).isNull());
    }

    void fits_and_stays_fitted() {
        PictureView view;
        show(view, 400, 300);
        view.setPicture(Picture::of(quarters(800, 400)));
        QVERIFY(view.isFitted());
        compare(view.toWidget({0, 0}), {0, 50});
        compare(view.toWidget({800, 400}), {400, 250});
        view.resize(200, 300);
        QTRY_VERIFY(view.isFitted());
        compare(view.toWidget({0, 0}), {0, 100});
        compare(view.toWidget({800, 400}), {200, 200});
        compare(view.toPicture(view.toWidget({123, 45})), {123, 45}, 1e-6);
    }

    void what_is_painted_lies_where_the_mapping_says() {
        PictureView view;
        show(view, 400, 300);
        view.setPicture(Picture::of(quarters(1600, 800)));
        for (const bool zoomed : {false, true}) {
            if (zoomed) view.setZoom(0.7, {250, 160});
            const QImage grabbed = view.grab().toImage();
            const double ratio = grabbed.devicePixelRatio();
            int seen = 0;
            for (int i = 0; i < 4; ++i) {
                for (const QPointF& in : {QPointF(800, 400) + QPointF(i % 2 ? 40 : -40, i / 2 ? 40 : -40)}) {
                    const QPointF at = view.toWidget(in);
                    if (!view.rect().contains(at.toPoint())) continue;
                    QCOMPARE(grabbed.pixelColor((at * ratio).toPoint()), QColor(kQuarters[i]));
                    ++seen;
                }
            }
            QVERIFY(seen > 0);
        }
    }

    void the_wheel_zooms_where_the_pointer_is() {
        PictureView view;
        show(view, 400, 300);
        view.setPicture(Picture::of(quarters(800, 600)));
        const QPointF pointer(130, 80);
        const QPointF before = view.toPicture(pointer);
        const double zoom = view.zoom();
        turnWheel(view, pointer, 3);
        QVERIFY(view.zoom() > zoom * 1.9);
        QVERIFY(!view.isFitted());
        compare(view.toPicture(pointer), before, 1.0);
        for (int i = 0; i < 60; ++i) turnWheel(view, pointer, 1);
        QCOMPARE(view.zoom(), 64.0);
        for (int i = 0; i < 90; ++i) turnWheel(view, pointer, -1);
        QVERIFY(view.zoom() > 0);
        compare(view.toWidget({400, 300}), {200, 150}, 1.0);  // smaller than the view: in its middle
    }

    void keys_zoom_and_fit() {
        PictureView view;
        show(view, 400, 300);
        view.setPicture(Picture::of(quarters(800, 600)));
        const double fitted = view.zoom();
        const QSignalSpy changed(&view, &PictureView::zoomChanged);
        QTest::keyClick(&view, Qt::Key_Plus);
        QVERIFY(view.zoom() > fitted);
        QTest::keyClick(&view, Qt::Key_Minus);
        QVERIFY(std::abs(view.zoom() - fitted) < 1e-9);
        QVERIFY(!view.isFitted());
        QTest::keyClick(&view, Qt::Key_1);
        QCOMPARE(view.zoom(), 1.0);
        const QPointF corner = view.toWidget({0, 0}) * view.devicePixelRatioF();
        compare(corner, corner.toPoint().toPointF(), 1e-6);  // pixel on pixel
        QTest::keyClick(&view, Qt::Key_F);
        QVERIFY(view.isFitted());
        QCOMPARE(view.zoom(), fitted);
        QCOMPARE(changed.count(), 4);
        QTest::mouseDClick(&view, Qt::LeftButton, {}, {100, 100});
        QCOMPARE(view.zoom(), 1.0);
    }

    void a_tiny_picture_is_enlarged_with_measure() {
        PictureView view;
        show(view, 800, 800);
        view.setPicture(Picture::of(quarters(8, 8)));
        QCOMPARE(view.zoom(), 8.0);
        compare(view.toWidget({4, 4}), {400, 400}, 1.0);
    }

    void drags_and_arrows_move_within_the_picture() {
        Parent parent;
        PictureView* view = new PictureView(&parent);
        auto* layout = new QVBoxLayout(&parent);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->addWidget(view);
        parent.resize(400, 300);
        parent.show();
        QVERIFY(QTest::qWaitForWindowExposed(&parent));
        view->setPicture(Picture::of(quarters(800, 600)));
        QTest::keyClick(view, Qt::Key_Down);
        QCOMPARE(parent.arrows, 1);  // nothing to move: the parent may have it
        view->zoomToPixels();
        const QPointF before = view->toWidget({400, 300});
        QTest::mousePress(view, Qt::LeftButton, {}, {200, 150});
        QTest::mouseMove(view, {180, 140});
        QMouseEvent move(QEvent::MouseMove, QPointF(150, 130), view->mapToGlobal(QPointF(150, 130)), Qt::NoButton,
                         Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(view, &move);
        QTest::mouseRelease(view, Qt::LeftButton, {}, {150, 130});
        compare(view->toWidget({400, 300}), before - QPointF(50, 20), 1.0);
        QTest::keyClick(view, Qt::Key_Right);
        QVERIFY(view->toWidget({400, 300}).x() < before.x() - 60);
        for (int i = 0; i < 30; ++i) QTest::keyClick(view, Qt::Key_Right);
        compare(view->toWidget({800, 300}), {400, view->toWidget({800, 300}).y()}, 1.0);  // no gap behind the edge
        QCOMPARE(parent.arrows, 1);
    }

    void clicks_and_hovers_are_told_in_picture_coordinates() {
        PictureView view;
        show(view, 400, 300);
        view.setPicture(Picture::of(quarters(800, 400)));
        QSignalSpy clicked(&view, &PictureView::clicked);
        QSignalSpy hovered(&view, &PictureView::hovered);
        QTest::mouseClick(&view, Qt::LeftButton, {}, {100, 100});
        QCOMPARE(clicked.count(), 1);
        compare(clicked.first().first().toPointF(), {200, 100}, 1.5);
        QTest::mouseClick(&view, Qt::LeftButton, {}, {100, 20});  // beside the picture
        QCOMPARE(clicked.count(), 1);
        QMouseEvent move(QEvent::MouseMove, QPointF(300, 200), view.mapToGlobal(QPointF(300, 200)), Qt::NoButton,
                         Qt::NoButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&view, &move);
        QVERIFY(hovered.last().last().toBool());
        compare(hovered.last().first().toPointF(), {600, 300}, 1.5);
    }

    void an_overlay_paints_on_the_picture_and_not_beside_it() {
        PictureView view;
        show(view, 400, 300);
        view.setPicture(Picture::of(quarters(800, 400)));
        QSize told;
        view.setOverlay([&](QPainter& painter, const QSize& size) {
            told = size;
            painter.fillRect(QRectF(-500, -500, 900, 700),
                             Qt::magenta);  // its lower right corner is the picture's middle
        });
        const QImage grabbed = view.grab().toImage();
        const auto at = [&](const QPointF& in) {
            return grabbed.pixelColor((view.toWidget(in) * grabbed.devicePixelRatio()).toPoint());
        };
        QCOMPARE(told, QSize(800, 400));
        QCOMPARE(at({20, 20}), QColor(Qt::magenta));
        QCOMPARE(at({380, 180}), QColor(Qt::magenta));
        QCOMPARE(at({420, 180}), QColor(Qt::green));
        QCOMPARE(at({20, -20}), theme::colors(view).window);
    }

    void says_what_it_is_doing() {
        PictureView view;
        show(view, 400, 300);
        view.setLoading(quarters(40, 20));
        QCOMPARE(view.grab().toImage().pixelColor(20, 140), QColor(Qt::red));  // the stand-in
        view.setLoading();
        const QImage quiet = view.grab().toImage();
        QTRY_VERIFY(view.grab().toImage() != quiet);  // "Loading", after a while
        view.setFailed(QStringLiteral("A truncated file."));
        QVERIFY(view.accessibleDescription().contains(QStringLiteral("A truncated file.")));
        QTest::keyClick(&view, Qt::Key_Plus);
        turnWheel(view, {10, 10}, 1);
        QVERIFY(view.picture().isNull());
        view.setPicture(Picture::of(quarters(80, 40)));
        QVERIFY(view.accessibleDescription().contains(QStringLiteral("80")));
    }

    void a_large_picture_is_drawn_without_holding_up() {
        PictureView view;
        show(view, 800, 600);
        const Picture picture = Picture::of(quarters(6000, 4000));
        test::Heartbeat heartbeat;
        view.setPicture(picture);
        for (int i = 0; i < 20; ++i) {
            turnWheel(view, {300, 200}, 1);
            QTest::qWait(5);
        }
        QVERIFY2(heartbeat.longestGapMs() < 50, qPrintable(QString::number(heartbeat.longestGapMs())));
    }

    void looks() {
        PictureView failed;
        failed.resize(560, 420);
        failed.setFailed(
            QStringLiteral("JPEG: expected a whole picture, found a truncated file of 1,204 bytes. Copy or download "
                           "it again."));
        test::screenshots(failed, QStringLiteral("picture-failed"));
        PictureView view;
        view.resize(560, 420);
        view.setBackground(PictureView::Background::checkerboard);
        view.setPicture(Picture::of(quarters(600, 600)));
        test::screenshots(view, QStringLiteral("picture-view"));
    }
};

VITRINE_TEST(PictureViewTest)

}  // namespace vitrine

#include "picture_view_test.moc"
