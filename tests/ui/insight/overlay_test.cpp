#include "ui/insight/overlay.h"
#include "support/test_main.h"

#include <QPainter>

#include <cmath>
#include <limits>

namespace vitrine {
namespace {

const float kNaN = std::numeric_limits<float>::quiet_NaN();

ColourTable ramp() {
    ColourTable table;
    for (int i = 0; i < 256; ++i) table[static_cast<std::size_t>(i)] = qRgb(i, 255 - i, 0);
    return table;
}

ValueScale linear(const std::vector<float>& values) {
    return scale_of(ScaleKind::per_map, ScaleTransform::linear, values);
}

}  // namespace

class OverlayTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void values_beyond_the_ends_are_told() {
        const std::vector<float> values{0.0F, 0.5F, kNaN, 2.0F};
        QVERIFY(!cutOf(scale_of(ScaleKind::per_map, ScaleTransform::linear, values), values).above);
        const ScaleCut cut = cutOf(uniform_scale(0.1), values);
        QVERIFY(cut.above && !cut.below);
        QVERIFY(cutOf(uniform_scale(1.0), std::vector<float>{-1.0F}).below);
    }

    void opacity_follows_the_value_and_masked_patches_are_blank() {
        const PatchGrid grid{2, 2, {0.0F, 0.5F, 1.0F, kNaN}};
        const QImage image = overlayImage(grid, linear(grid.values), ramp());
        QCOMPARE(image.size(), QSize(2, 2));
        const int none = qAlpha(image.pixel(0, 0));
        const int half = qAlpha(image.pixel(1, 0));
        const int full = qAlpha(image.pixel(0, 1));
        QVERIFY(none > 0 && none < half && half < full && full < 255);
        QCOMPARE(qAlpha(image.pixel(1, 1)), 0);
        QCOMPARE(qUnpremultiply(image.pixel(0, 1)) & 0xFFFFFFU, qRgb(255, 0, 0) & 0xFFFFFFU);
        const QImage signs = overlayImage(
            {1, 3, {-1.0F, 0.0F, 1.0F}},
            scale_of(ScaleKind::per_map, ScaleTransform::linear, std::vector<float>{-1.0F, 1.0F}, true), ramp());
        QCOMPARE(qAlpha(signs.pixel(0, 0)), qAlpha(signs.pixel(2, 0)));
        QVERIFY(qAlpha(signs.pixel(1, 0)) < qAlpha(signs.pixel(0, 0)));
    }

    void patches_lie_where_the_square_is_stretched_back() {
        const QSizeF wide(800, 200);
        QCOMPARE(patchRect(0, 8, 8, wide), QRectF(0, 0, 100, 25));
        QCOMPARE(patchRect(63, 8, 8, wide), QRectF(700, 175, 100, 25));
        for (int patch = 0; patch < 64; ++patch)
            QCOMPARE(patchAt(patchRect(patch, 8, 8, wide).center(), 8, 8, wide), patch);
        QCOMPARE(patchAt({-1, 5}, 8, 8, wide), -1);
        QCOMPARE(patchAt({800, 5}, 8, 8, wide), -1);
        QCOMPARE(patchAt({5, 5}, 0, 0, wide), -1);
        QCOMPARE(patchesIn(QRectF(110, 30, 100, 10), 8, 8, wide), (std::vector<int>{9, 10}));
        QCOMPARE(patchesIn(QRectF(0, 0, 800, 200), 8, 8, wide).size(), std::size_t(64));
    }

    // Neighbouring cells neither overlap, which would be twice as opaque, nor leave a gap.
    void cells_tile_without_seams() {
        const PatchGrid grid{14, 14, std::vector<float>(196, 1.0F)};
        const QImage cells = overlayImage(grid, linear(grid.values), ramp());
        for (const double ratio : {1.0, 1.25, 1.5, 2.0}) {
            for (const double side : {101.0, 333.3, 250.0}) {
                QImage screen(QSize(400, 400) * ratio, QImage::Format_ARGB32_Premultiplied);
                screen.setDevicePixelRatio(ratio);
                screen.fill(Qt::white);
                QPainter painter(&screen);
                painter.translate(10, 10);
                painter.scale(side / 64, side / 64);
                paintCells(painter, QSizeF(64, 64), cells, false);
                painter.end();
                const QRgb inside = screen.pixel(QPoint(20, 20) * ratio);
                QVERIFY(inside != qRgb(255, 255, 255));
                const int end = static_cast<int>((9 + side) * ratio);
                for (int i = static_cast<int>(std::ceil(11 * ratio)); i < end; ++i) {
                    QCOMPARE(screen.pixel(i, int(20 * ratio)), inside);
                    QCOMPARE(screen.pixel(int(20 * ratio), i), inside);
                }
            }
        }
    }
};

VITRINE_TEST(OverlayTest)

}  // namespace vitrine

#include "overlay_test.moc"
