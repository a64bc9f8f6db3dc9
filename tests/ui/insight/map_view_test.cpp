#include "ui/insight/map_view.h"
#include "sample.h"
#include "support/test_main.h"
#include "ui/pictures/picture_view.h"

#include <QLabel>
#include <QSignalSpy>

#include <algorithm>
#include <limits>
#include <memory>

namespace vitrine {

class MapViewTest : public QObject {
    Q_OBJECT

    std::unique_ptr<MapView> m_map;

    PictureView& view() const { return *m_map->pictureView(); }

    void show(const QSize& picture, const QSize& window, int side = 8) {
        m_map = std::make_unique<MapView>(QStringLiteral("Map"));
        m_map->resize(window);
        m_map->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_map.get()));
        m_map->setPicture(Picture::of(test::scene(picture.width(), picture.height())), {});
        plant(side, -1);
        view().clearFocus();  // its frame lies over the edge of a picture that fills the view
    }

    void plant(int side, int patch, float value = 1.0F) {
        PatchGrid grid{side, side, std::vector<float>(static_cast<std::size_t>(side * side), 0.0F)};
        if (patch >= 0) grid.values[static_cast<std::size_t>(patch)] = value;
        ValueScale scale;
        scale.high = 1.0;
        m_map->setMap(grid, scale, test::tables().value(QStringLiteral("magma")), 1.0 / 200);
    }

    QImage shot(const QRectF& area) const {
        const QImage all = view().grab().toImage();
        const double ratio = all.devicePixelRatio();
        return all.copy(QRectF(area.topLeft() * ratio, area.size() * ratio).toRect());
    }

    QPointF middleOf(int patch, int side = 8) const {
        return view().toWidget(patchRect(patch, side, side, view().picture().image.size()).center());
    }

    void drag(const QPointF& from, const QPointF& to, Qt::MouseButton button = Qt::LeftButton,
              Qt::KeyboardModifiers keys = {}) {
        QTest::mousePress(&view(), button, keys, from.toPoint());
        test::movePointer(view(), (from + to) / 2, button, keys);
        test::movePointer(view(), to, button, keys);
        QTest::mouseRelease(&view(), button, keys, to.toPoint());
    }

private Q_SLOTS:
    void cleanup() { m_map.reset(); }

    void one_planted_patch_lights_one_rectangle_data() {
        QTest::addColumn<QSize>("picture");
        QTest::addColumn<double>("zoom");  // 0: fitted
        QTest::addColumn<int>("side");
        for (const QSize& picture : {QSize(801, 303), QSize(301, 797), QSize(500, 500)}) {
            for (const double zoom : {0.0, 0.37, 1.0, 3.3}) {
                for (const int side : {8, 14}) {
                    QTest::addRow("%dx%d at %g, %d", picture.width(), picture.height(), zoom, side)
                        << picture << zoom << side;
                }
            }
        }
    }

    void one_planted_patch_lights_one_rectangle() {
        QFETCH(QSize, picture);
        QFETCH(double, zoom);
        QFETCH(int, side);
        show(picture, {360, 330}, side);
        if (zoom > 0) view().setZoom(zoom, {140, 90});
        const QImage dark = view().grab().toImage().convertToFormat(QImage::Format_RGB32);
        const double ratio = dark.devicePixelRatio();
        int seen = 0;
        for (int patch = 0; patch < side * side; patch += side == 8 ? 1 : 5) {
            plant(side, patch);
            const QImage lit = view().grab().toImage().convertToFormat(QImage::Format_RGB32);
            const QRectF exact =
                view().pictureToWidget().mapRect(patchRect(patch, side, side, view().picture().image.size()));
            const auto pixel = [&](double at) { return qRound(at * ratio + 1e-6); };
            const QRect expected = QRect(QPoint(pixel(exact.left()), pixel(exact.top())),
                                         QPoint(pixel(exact.right()) - 1, pixel(exact.bottom()) - 1)) &
                                   dark.rect();
            for (int y = 0; y < dark.height(); ++y) {
                const auto* before = reinterpret_cast<const QRgb*>(dark.constScanLine(y));
                const auto* after = reinterpret_cast<const QRgb*>(lit.constScanLine(y));
                for (int x = 0; x < dark.width(); ++x) {
                    if ((before[x] != after[x]) != expected.contains(x, y))
                        QFAIL(qPrintable(QStringLiteral("patch %1 at %2, %3").arg(patch).arg(x).arg(y)));
                }
            }
            seen += expected.isEmpty() ? 0 : 1;
        }
        QVERIFY(seen > 0);
    }

    void the_picture_is_grey_only_under_a_map() {
        show({500, 500}, {360, 330});
        const auto saturation = [&](const QPointF& at) {
            return QColor(view().grab().toImage().pixel((at * view().devicePixelRatioF()).toPoint())).saturation();
        };
        const QPointF ball = view().toWidget({150, 190});
        PatchGrid blank{8, 8, std::vector<float>(64, std::numeric_limits<float>::quiet_NaN())};
        m_map->setMap(blank, {}, test::tables().first(), 0.0);
        QCOMPARE(saturation(ball), 0);  // masked patches have no colour of their own
        m_map->clearMap();
        QVERIFY(saturation(ball) > 100);
    }

    void smooth_mixes_neighbours_and_blocks_do_not() {
        show({500, 500}, {360, 330});
        plant(8, 27);
        const QPointF inside = middleOf(27) + QPointF(8, 0);
        const auto at = [&](const QPointF& point) {
            return view().grab().toImage().pixel((point * view().devicePixelRatioF()).toPoint());
        };
        const QRgb block = at(inside);
        m_map->setSmooth(true);
        QVERIFY(at(inside) != block);
    }

    void what_the_model_saw_is_square_with_the_same_patches() {
        show({801, 303}, {360, 330});
        m_map->setPicture(m_map->picture(), test::scene(224, 224));
        const QRectF wide = view().pictureToWidget().mapRect(QRectF(QPointF(), m_map->pictureSize()));
        m_map->setShowSeen(true);
        QCOMPARE(m_map->pictureSize(), QSize(224, 224));
        const QRectF square = view().pictureToWidget().mapRect(QRectF(QPointF(), m_map->pictureSize()));
        QVERIFY(wide.width() > 2 * wide.height());
        QVERIFY(std::abs(square.width() - square.height()) < 1.5);
        const QSignalSpy locked(m_map.get(), &MapView::patchLocked);
        QTest::mouseClick(&view(), Qt::LeftButton, {}, middleOf(43).toPoint());
        QCOMPARE(m_map->lockedPatch(), 43);
    }

    void pointing_tells_the_value_and_a_click_keeps_it() {
        show({500, 400}, {360, 330});
        plant(8, 19, 0.25F);
        QSignalSpy hovered(m_map.get(), &MapView::patchHovered);
        QSignalSpy locked(m_map.get(), &MapView::patchLocked);
        test::movePointer(view(), middleOf(19));
        QCOMPARE(hovered.takeFirst().first().toInt(), 19);
        const QString read = m_map->readout()->text();
        QVERIFY2(read.contains(QStringLiteral("row 2, column 3: 0.25")), qPrintable(read));
        QVERIFY2(read.contains(QStringLiteral("50 × uniform")), qPrintable(read));
        QTest::mouseClick(&view(), Qt::LeftButton, {}, middleOf(19).toPoint());
        QCOMPARE(locked.takeFirst().first().toInt(), 19);
        QEvent leave(QEvent::Leave);
        QCoreApplication::sendEvent(&view(), &leave);
        QCOMPARE(hovered.takeLast().first().toInt(), -1);
        QVERIFY(m_map->readout()->text().contains(QStringLiteral("row 2, column 3")));  // the kept one
        QTest::mouseClick(&view(), Qt::LeftButton, {}, middleOf(19).toPoint());
        QCOMPARE(locked.takeFirst().first().toInt(), -1);
    }

    void a_drag_marks_the_patches_it_goes_over() {
        show({500, 400}, {360, 330});
        QSignalSpy chosen(m_map.get(), &MapView::regionChosen);
        drag(middleOf(9), middleOf(27));
        QCOMPARE(chosen.count(), 1);
        const std::vector<int> expected{9, 10, 11, 17, 18, 19, 25, 26, 27};
        QCOMPARE(chosen.takeFirst().first().value<std::vector<int>>(), expected);
        drag(middleOf(27), middleOf(9));  // the other way round
        QCOMPARE(chosen.takeFirst().first().value<std::vector<int>>(), expected);
        drag(middleOf(16), middleOf(18));  // level
        QCOMPARE(chosen.takeFirst().first().value<std::vector<int>>(), (std::vector<int>{16, 17, 18}));
        drag(middleOf(63), middleOf(63) + QPointF(300, 300));  // beyond the edge
        QCOMPARE(chosen.takeFirst().first().value<std::vector<int>>(), std::vector<int>{63});
        QTest::mouseClick(&view(), Qt::LeftButton, {}, middleOf(3).toPoint());
        QVERIFY(chosen.takeFirst().first().value<std::vector<int>>().empty());
        QCOMPARE(m_map->lockedPatch(), 3);
    }

    void with_shift_or_the_middle_button_a_drag_moves() {
        show({500, 400}, {360, 330});
        view().setZoom(3.0, {180, 150});
        const QSignalSpy chosen(m_map.get(), &MapView::regionChosen);
        const QPointF before = view().toWidget({250, 200});
        drag({180, 150}, {150, 130}, Qt::LeftButton, Qt::ShiftModifier);
        QVERIFY((view().toWidget({250, 200}) - before - QPointF(-30, -20)).manhattanLength() < 2);
        drag({150, 130}, {180, 150}, Qt::MiddleButton);
        QVERIFY((view().toWidget({250, 200}) - before).manhattanLength() < 2);
        QCOMPARE(chosen.count(), 0);
        drag(middleOf(27) - QPointF(20, 20), middleOf(27) + QPointF(20, 20));
        QCOMPARE(chosen.count(), 1);
        QCOMPARE(m_map->region(), std::vector<int>{27});
    }

    void keys_choose_patches_too() {
        show({500, 400}, {360, 330});
        QSignalSpy chosen(m_map.get(), &MapView::regionChosen);
        QTest::keyClick(&view(), Qt::Key_Left, Qt::ShiftModifier);
        QCOMPARE(m_map->lockedPatch(), 36);  // the middle first
        QTest::keyClick(&view(), Qt::Key_Left, Qt::ShiftModifier);
        QTest::keyClick(&view(), Qt::Key_Up, Qt::ShiftModifier);
        QCOMPARE(m_map->lockedPatch(), 27);
        QTest::keyClick(&view(), Qt::Key_Right, Qt::ShiftModifier | Qt::ControlModifier);
        QTest::keyClick(&view(), Qt::Key_Down, Qt::ShiftModifier | Qt::ControlModifier);
        QCOMPARE(m_map->region(), (std::vector<int>{27, 28, 35, 36}));
        QTest::keyClick(&view(), Qt::Key_Escape);
        QCOMPARE(m_map->lockedPatch(), -1);
        QVERIFY(m_map->region().empty());
        QVERIFY(chosen.last().first().value<std::vector<int>>().empty());
    }

    void outlines_are_seen_on_light_and_dark() {
        show({500, 400}, {360, 330});
        for (const QColor& ground : {QColor(Qt::white), QColor(Qt::black)}) {
            QImage plain(500, 400, QImage::Format_RGB32);
            plain.fill(ground);
            m_map->setPicture(Picture::of(plain), {});
            m_map->letGo();
            const QRectF cell = view().pictureToWidget().mapRect(patchRect(20, 8, 8, QSizeF(500, 400)));
            const QImage before = shot(cell);
            QTest::mouseClick(&view(), Qt::LeftButton, {}, middleOf(20).toPoint());
            const QImage after = shot(cell);
            int strong = 0;
            for (int x = 0; x < after.width(); ++x) {
                for (int y = 0; y < after.height(); ++y)
                    strong += std::abs(qGray(after.pixel(x, y)) - qGray(before.pixel(x, y))) > 60 ? 1 : 0;
            }
            QVERIFY2(strong > 100, qPrintable(QString::number(strong)));
        }
    }

    void sinks_are_hatched_or_hidden_and_it_is_said() {
        show({500, 400}, {360, 330});
        const auto cell = [&](int patch) {
            const QRectF area = view().pictureToWidget().mapRect(patchRect(patch, 8, 8, QSizeF(500, 400)));
            return shot(area.adjusted(3, 3, -3, -3));
        };
        const QImage before = cell(13);
        const QImage corner = cell(56);
        m_map->setSinks({13, 900}, SinkMode::hatch);
        QVERIFY(cell(13) != before);
        QVERIFY(cell(56) != corner);  // "Sinks hatched: 1"
        test::movePointer(view(), middleOf(13));
        QVERIFY(m_map->readout()->text().contains(QStringLiteral("sink")));
        m_map->setSinks({}, SinkMode::hatch);
        QCOMPARE(cell(56), corner);
    }

    void repainting_a_map_is_quick() {
        show({3000, 2200}, {1200, 900});
        const test::PaintCounter paints(view());
        std::vector<double> times;
        for (int i = 0; i < 15; ++i) {
            plant(14, i, 0.5F + 0.03F * float(i));
            const double begin = test::threadMs();
            view().repaint();
            times.push_back(test::threadMs() - begin);
        }
        QCOMPARE(paints.count, 15);
        std::nth_element(times.begin(), times.begin() + 7, times.end());
        qInfo("a map of 1200 x 900: %.1f ms", times[7]);
        QVERIFY2(times[7] < 30, qPrintable(QString::number(times[7])));
    }
};

VITRINE_TEST(MapViewTest)

}  // namespace vitrine

#include "map_view_test.moc"
