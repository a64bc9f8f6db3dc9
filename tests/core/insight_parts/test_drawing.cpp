#include "core/error.h"
#include "core/insight/colour_map.h"
#include "core/insight/map_scale.h"
#include "core/insight/picture_map.h"
#include "core/scenes/scene.h"
#include "insight_support.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace vitrine {
namespace {

using test::constant;
using test::grid_of;
using test::kNan;
using test::planted;

Image picture_of(int width, int height) {
    return scenes::draw(scenes::make_scene(3, 2), width, height);
}

// CIELAB's L of an sRGB colour, 0 to 100.
double lightness(const Rgb& rgb) {
    const auto linear = [](std::uint8_t value) {
        const double c = value / 255.0;
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    const double y = 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
    return y > 0.008856 ? 116.0 * std::cbrt(y) - 16.0 : 903.3 * y;
}

// The pixels in which two drawings differ, and the smallest rectangle around them.
struct Difference {
    int left = 1 << 20, top = 1 << 20, right = 0, bottom = 0;
    int count = 0;
    bool is_rectangle() const { return count > 0 && count == (right - left) * (bottom - top); }
    void add(int x, int y) {
        left = std::min(left, x);
        top = std::min(top, y);
        right = std::max(right, x + 1);
        bottom = std::max(bottom, y + 1);
        ++count;
    }
};
Difference difference(const Image& a, const Image& b) {
    Difference result;
    if (a.width != b.width || a.height != b.height) return result;
    for (int y = 0; y < a.height; ++y) {
        for (int x = 0; x < a.width; ++x) {
            const auto at = static_cast<std::ptrdiff_t>(3 * (y * a.width + x));
            if (!std::equal(a.rgb.begin() + at, a.rgb.begin() + at + 3, b.rgb.begin() + at)) result.add(x, y);
        }
    }
    return result;
}

HeadMaps sheet(int layers, int heads, int rows, int columns) {
    HeadMaps maps{.layers = layers, .heads = heads, .rows = rows, .columns = columns};
    maps.values.resize(static_cast<std::size_t>(layers * heads * rows * columns));
    return maps;
}

void keep(const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories(VITRINE_SCREENSHOTS);
    std::ofstream(std::filesystem::path(VITRINE_SCREENSHOTS) / name, std::ios::binary) << bytes;
}

}  // namespace

class TestDrawing : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // ---- Scales -------------------------------------------------------------------------------------------------

    void zeroStandsOnEveryScale() {
        const std::vector<float> values{0.4F, 0.1F, kNan, 0.2F};
        const ValueScale scale = scale_of(ScaleKind::per_map, ScaleTransform::linear, values);
        QCOMPARE(scale.low, 0.0);
        QCOMPARE(scale.high, static_cast<double>(0.4F));
        QCOMPARE(shade_of(scale, 0.0F).index, 0);
        QCOMPARE(shade_of(scale, 0.4F).index, 255);
        QCOMPARE(shade_of(scale, 0.2F).index, 128);
        QCOMPARE(shade_of(scale, 0.2F).strength, 0.5);
        QCOMPARE(shade_of(scale, kNan).index, -1);
        QVERIFY(shade_of(scale, 0.5F).above && shade_of(scale, 0.5F).index == 255);
        QVERIFY(shade_of(scale, -0.1F).below && shade_of(scale, -0.1F).index == 0);
        QVERIFY(!shade_of(scale, 0.4F).above && !shade_of(scale, 0.0F).below);
        QVERIFY(shade_of(scale, std::numeric_limits<float>::infinity()).above);
        QCOMPARE(scale_of(ScaleKind::per_map, ScaleTransform::linear, std::vector{-2.0F, -1.0F}).low, -2.0);
    }

    void nothingAndConstantsHaveAScale() {
        for (const ScaleTransform transform : {ScaleTransform::linear, ScaleTransform::log, ScaleTransform::clip99}) {
            for (const bool two_sided : {false, true}) {
                for (const std::vector<float>& values :
                     {std::vector<float>{}, std::vector{kNan}, std::vector{0.0F, 0.0F}}) {
                    const ValueScale scale = scale_of(ScaleKind::per_map, transform, values, two_sided);
                    QCOMPARE(shade_of(scale, 0.0F).strength, 0.0);
                    QVERIFY(std::isfinite(value_at(scale, 0.7)));
                }
            }
            const ValueScale scale = scale_of(ScaleKind::per_map, transform, std::vector{0.3F, 0.3F});
            QCOMPARE(shade_of(scale, 0.3F).index, 255);
        }
    }

    void logShowsThreePowersOfTen() {
        const ValueScale scale{.transform = ScaleTransform::log, .high = 1.0};
        QCOMPARE(shade_of(scale, 0.0F).index, 0);
        QCOMPARE(shade_of(scale, 1.0F).index, 255);
        QVERIFY(std::abs(shade_of(scale, 0.1F).strength - std::log(100.9) / std::log(1000.0)) < 1e-6);
        QVERIFY(std::abs(shade_of(scale, 0.001F).strength - std::log(1.999) / std::log(1000.0)) < 1e-6);
    }

    void clippingTakesTheTopHundredth() {
        std::vector<float> values;
        for (int i = 1; i <= 200; ++i) values.push_back(static_cast<float>(i));
        const ValueScale scale = scale_of(ScaleKind::per_map, ScaleTransform::clip99, values);
        QCOMPARE(scale.high, 198.0);
        QVERIFY(shade_of(scale, 199.0F).above);
        QVERIFY(!shade_of(scale, 198.0F).above);
        // One lit patch among nothing must not be clipped to nothing.
        QCOMPARE(scale_of(ScaleKind::per_map, ScaleTransform::clip99, planted(14, 14, 9).values).high, 1.0);
    }

    void differencesHaveZeroInTheMiddle() {
        const ValueScale scale =
            scale_of(ScaleKind::per_map, ScaleTransform::linear, std::vector{-0.1F, 0.4F, 0.0F}, true);
        QCOMPARE(scale.low, -scale.high);
        QCOMPARE(shade_of(scale, 0.0F).strength, 0.0);
        QVERIFY(std::abs(shade_of(scale, 0.0F).index - 127.5) < 1.0);
        QCOMPARE(shade_of(scale, 0.4F).index, 255);
        QCOMPARE(shade_of(scale, -0.4F).index, 0);
        QCOMPARE(shade_of(scale, -0.2F).strength, 0.5);
    }

    void numbersOfTheBarAreTheInverse() {
        for (const ScaleTransform transform : {ScaleTransform::linear, ScaleTransform::log, ScaleTransform::clip99}) {
            for (const bool two_sided : {false, true}) {
                const ValueScale scale{
                    .transform = transform, .low = two_sided ? -0.3 : 0.0, .high = 0.3, .two_sided = two_sided};
                for (int i = 0; i <= 255; ++i)
                    QCOMPARE(shade_of(scale, static_cast<float>(value_at(scale, i / 255.0))).index, i);
            }
        }
        const ValueScale scale = uniform_scale(0.005);
        QCOMPARE(value_at(scale, 0.5) / scale.unit, 5.0);
    }

    // ---- Colours ------------------------------------------------------------------------------------------------

    void coloursAreTheKnownOnes() {
        const auto same = [](const Rgb& a, const Rgb& b) {  // the tables were rounded in two ways
            return std::abs(a[0] - b[0]) < 2 && std::abs(a[1] - b[1]) < 2 && std::abs(a[2] - b[2]) < 2;
        };
        QVERIFY(same(colour_table(ColourMap::viridis)[0], {68, 1, 84}));
        QVERIFY(same(colour_table(ColourMap::viridis)[255], {253, 231, 37}));
        QVERIFY(same(colour_table(ColourMap::magma)[128], {183, 55, 121}));
        QVERIFY(same(colour_table(ColourMap::magma)[255], {252, 253, 191}));
        QVERIFY(same(colour_table(ColourMap::cividis)[0], {0, 34, 77}));
        QCOMPARE(colour_map_from_name("cividis"), std::optional(ColourMap::cividis));
        QCOMPARE(name_of(ColourMap::difference), std::string_view("difference"));
        QVERIFY(!colour_map_from_name("jet"));
    }

    void lightnessRisesEvenly() {
        for (const ColourMap map : {ColourMap::magma, ColourMap::viridis, ColourMap::cividis}) {
            const RgbTable& table = colour_table(map);
            for (std::size_t i = 16; i < table.size(); ++i) QVERIFY(lightness(table[i]) > lightness(table[i - 16]));
        }
    }

    void differencesDarkenEvenlyToBothSides() {
        const RgbTable& table = colour_table(ColourMap::difference);
        for (std::size_t i = 0; i < 128; ++i) {
            const double expected = 42.0 + 52.0 * static_cast<double>(i) / 127.5;
            QVERIFY2(std::abs(lightness(table[i]) - expected) < 1.5, std::to_string(i).c_str());
            QVERIFY2(std::abs(lightness(table[255 - i]) - expected) < 1.5, std::to_string(255 - i).c_str());
        }
        QVERIFY(table[0][2] > table[0][0] + 80);      // blue
        QVERIFY(table[255][0] > table[255][2] + 80);  // orange
        for (const std::size_t middle : {127U, 128U}) {
            const auto [low, high] = std::ranges::minmax(table[middle]);
            QVERIFY(high - low <= 2);
        }
    }

    // ---- Maps over pictures -------------------------------------------------------------------------------------

    void onePlantedPatchLightsOneRectangle_data() {
        QTest::addColumn<int>("width");
        QTest::addColumn<int>("height");
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("columns");
        QTest::newRow("square") << 300 << 300 << 14 << 14;
        QTest::newRow("wide") << 500 << 200 << 14 << 14;
        QTest::newRow("tall") << 150 << 431 << 14 << 14;
        QTest::newRow("a line") << 1000 << 3 << 14 << 14;
        QTest::newRow("other patches") << 200 << 300 << 5 << 9;
        QTest::newRow("one patch") << 40 << 30 << 1 << 1;
    }
    void onePlantedPatchLightsOneRectangle() {
        QFETCH(int, width);
        QFETCH(int, height);
        QFETCH(int, rows);
        QFETCH(int, columns);
        const Image picture = picture_of(width, height);
        const MapStyle style{.scale = {.high = 1.0}, .longest_side = 171, .caption = ""};
        const auto draw = [&](const PatchGrid& grid) {
            return map_image(std::vector{MapPanel{.picture = &picture, .grid = &grid}}, style);
        };
        const Image dark = draw(constant(rows, columns, 0.0F));
        const Difference all = difference(dark, draw(constant(rows, columns, 1.0F)));
        QVERIFY(all.is_rectangle());
        // Exactly over the picture: where a white one differs from a black one.
        Image black = picture;
        std::ranges::fill(black.rgb, std::uint8_t{0});
        Image white = picture;
        std::ranges::fill(white.rgb, std::uint8_t{255});
        const PatchGrid nothing = constant(rows, columns, 0.0F);
        const Difference place =
            difference(map_image(std::vector{MapPanel{.picture = &black, .grid = &nothing}}, style),
                       map_image(std::vector{MapPanel{.picture = &white, .grid = &nothing}}, style));
        QVERIFY(place.left == all.left && place.top == all.top && place.right == all.right &&
                place.bottom == all.bottom);
        const int patch_width = (all.right - all.left) / columns;
        const int patch_height = (all.bottom - all.top) / rows;
        QCOMPARE(all.count, rows * patch_height * columns * patch_width);
        const double zoom = 171.0 / std::max(width, height);
        QVERIFY(std::abs(patch_width - std::max(4.0, width * zoom / columns)) <= 0.5);
        QVERIFY(std::abs(patch_height - std::max(4.0, height * zoom / rows)) <= 0.5);
        for (int patch = 0; patch < rows * columns; ++patch) {
            const Difference lit = difference(dark, draw(planted(rows, columns, patch)));
            QVERIFY2(lit.is_rectangle(), std::to_string(patch).c_str());
            QCOMPARE(lit.left, all.left + patch % columns * patch_width);
            QCOMPARE(lit.top, all.top + patch / columns * patch_height);
            QCOMPARE(lit.count, patch_width * patch_height);
        }
    }

    void maskedPatchesLeaveThePictureAsItIs() {
        const Image picture = picture_of(100, 100);
        for (const bool smooth : {false, true}) {
            const MapStyle style{.scale = {.high = 1.0}, .smooth = smooth, .longest_side = 100};
            const auto draw = [&](const PatchGrid& grid) {
                return map_image(std::vector{MapPanel{.picture = &picture, .grid = &grid}}, style);
            };
            PatchGrid masked = constant(5, 5, 1.0F);
            masked.values[7] = kNan;
            const Difference hole = difference(draw(constant(5, 5, 1.0F)), draw(masked));
            QVERIFY(hole.is_rectangle());
            QCOMPARE(hole.count, 400);
            QCOMPARE(difference(draw(constant(5, 5, kNan)), draw(constant(5, 5, 0.0F))).count, 0);
        }
    }

    void smoothPassesThroughTheMiddles() {
        const MapStyle blocks{.scale = {.high = 1.0}, .longest_side = 90};
        MapStyle smooth = blocks;
        smooth.smooth = true;
        const PatchGrid even = constant(3, 3, 0.5F);
        const std::vector panel{MapPanel{.grid = &even}};
        const Image a = map_image(panel, blocks);
        const Image b = map_image(panel, smooth);
        for (std::size_t i = 0; i < a.rgb.size(); ++i) QVERIFY(std::abs(a.rgb[i] - b.rgb[i]) <= 1);

        const PatchGrid spot = planted(3, 3, 4);
        const Image c = map_image(std::vector{MapPanel{.grid = &spot}}, smooth);
        const auto strength = [&](int x, int y) {  // magma over grey: darkest where the map is weakly lit, else light
            return c.rgb[static_cast<std::size_t>(3 * ((16 + y) * c.width + 16 + x)) + 1];
        };
        QCOMPARE(strength(45, 45) > 200, true);  // the middle, in full colour
        QCOMPARE(strength(14, 45), 128);         // the middle of the next patch: nothing
        QVERIFY(strength(30, 45) != 128);        // between them: something
    }

    void whatIsMarkedIsSeen() {
        const Image picture = picture_of(200, 200);
        const PatchGrid grid = constant(4, 4, 0.0F);
        const MapStyle style{.longest_side = 200};
        const auto draw = [&](MapPanel panel) {
            panel.picture = &picture;
            panel.grid = &grid;
            return map_image(std::vector{panel}, style);
        };
        const Image bare = draw({});
        const Difference chosen = difference(bare, draw({.chosen = 5}));
        QVERIFY(chosen.count > 300 && chosen.count < 50 * 50);  // an outline
        QCOMPARE(chosen.right - chosen.left, 52);
        const Difference sink = difference(bare, draw({.sinks = {10}}));
        QVERIFY(sink.count > 300);
        QVERIFY(sink.right - sink.left <= 52 && sink.bottom - sink.top <= 52);
        const Difference box = difference(bare, draw({.boxes = {{0.25, 0.5, 0.75, 1.0}}}));
        QCOMPARE(box.right - box.left, 102);
        QVERIFY_THROWS_EXCEPTION(OptionError, draw({.chosen = 16}));
        QVERIFY_THROWS_EXCEPTION(OptionError, draw({.sinks = {-1}}));
    }

    void faultsAreErrors() {
        const MapStyle style;
        QVERIFY_THROWS_EXCEPTION(InputError, map_image({}, style));
        QVERIFY_THROWS_EXCEPTION(InputError, map_image(std::vector{MapPanel{}}, style));
        const PatchGrid wrong = grid_of(2, 2, {1.0F});
        QVERIFY_THROWS_EXCEPTION(InputError, map_image(std::vector{MapPanel{.grid = &wrong}}, style));
        QVERIFY_THROWS_EXCEPTION(InputError, heads_image(HeadMaps{}, style));
        const PatchGrid empty;
        QVERIFY(map_image(std::vector{MapPanel{.grid = &empty}}, style).width > 0);
    }

    void panelsStandSideBySide() {
        const Image wide = picture_of(200, 100);
        const Image tall = picture_of(100, 200);
        const PatchGrid grid = constant(2, 2, 0.0F);
        const PatchGrid lit = constant(2, 2, 1.0F);
        const MapStyle style{.scale = {.high = 1.0}, .longest_side = 200};
        const auto draw = [&](const PatchGrid& first, const PatchGrid& second) {
            return map_image(std::vector{MapPanel{.picture = &wide, .grid = &first, .title = "a"},
                                         MapPanel{.picture = &tall, .grid = &second, .title = "b"}},
                             style);
        };
        const Difference left = difference(draw(grid, grid), draw(lit, grid));
        const Difference right = difference(draw(grid, grid), draw(grid, lit));
        QVERIFY(left.is_rectangle() && right.is_rectangle());
        QCOMPARE(left.count, 200 * 100);
        QCOMPARE(right.count, 100 * 200);
        QVERIFY(left.right < right.left);

        // A title too long for its panel does not run into the next one.
        const auto titled = [&](const std::string& title) {
            const std::vector panels{MapPanel{.picture = &wide, .grid = &grid, .title = title},
                                     MapPanel{.picture = &wide, .grid = &grid, .title = "b"}};
            return map_image(panels, style);
        };
        std::string umlauts;
        for (int i = 0; i < 200; ++i) umlauts += "\xC3\xA4";
        const Difference title = difference(titled(" "), titled(umlauts));
        QVERIFY(title.count > 100);
        QVERIFY(title.right <= left.right + 2);
    }

    // ---- Sheets of all heads ------------------------------------------------------------------------------------

    void aPatchOfAHeadIsOneBlockOfTheSheet() {
        const MapStyle style{.scale = {.high = 1.0}};
        const Image dark = heads_image(sheet(3, 4, 5, 7), style);
        std::set<std::pair<int, int>> places;
        HeadMaps maps = sheet(3, 4, 5, 7);
        for (std::size_t at = 0; at < maps.values.size(); ++at) {
            maps.values[at] = 1.0F;
            const Difference lit = difference(dark, heads_image(maps, style));
            maps.values[at] = 0.0F;
            QVERIFY(lit.is_rectangle());
            QCOMPARE(lit.count, 8 * 8);
            places.emplace(lit.top, lit.left);
        }
        QCOMPARE(places.size(), maps.values.size());
        // Row by row: layers down, heads to the right.
        maps.values[0] = maps.values[5 * 7] = 1.0F;
        const Difference heads = difference(dark, heads_image(maps, style));
        QVERIFY(heads.right - heads.left > heads.bottom - heads.top);
        QVERIFY(std::next(places.begin())->first == places.begin()->first);
    }

    void numbersAreShort() {
        QCOMPARE(short_number(0.0), std::string("0"));
        QCOMPARE(short_number(0.0123456), std::string("0.0123"));
        QCOMPARE(short_number(10.0), std::string("10"));
        QCOMPARE(short_number(1.0 / 3.0), std::string("0.333"));
        QCOMPARE(short_number(-2.5e-7), std::string("-2.5e-07"));
    }

    void examplesToLookAt() {
        const scenes::Scene scene = scenes::make_scene(3, 2);
        const Image picture = scenes::draw(scene, 320, 240);
        PatchGrid grid = constant(14, 14, 0.0F);
        for (int patch = 0; patch < 196; ++patch) {
            const double x = patch % 14 - 8.0;
            const double y = patch / 14 - 5.0;
            grid.values[static_cast<std::size_t>(patch)] = static_cast<float>(0.08 * std::exp(-(x * x + y * y) / 8.0));
        }
        grid.values[20] = kNan;
        MapStyle style{
            .scale = scale_of(ScaleKind::per_map, ScaleTransform::clip99, grid.values),
            .caption = "attention of the language model, layer 5, head 3, token \"circle\", demo, caf\xC3\xA9"};
        const std::vector panels{MapPanel{.picture = &picture,
                                          .grid = &grid,
                                          .title = "circle, layer 5, head 3",
                                          .boxes = {scene.objects[0].box},
                                          .chosen = 100,
                                          .sinks = {0, 14}}};
        keep("insight-map.png", map_png(panels, style, {}));
        keep("insight-map.svg", map_svg(panels, style, {}));
        PatchGrid change = grid;
        for (int patch = 0; patch < 196; ++patch)
            change.values[static_cast<std::size_t>(patch)] -= patch % 14 < 6 ? 0.03F : 0.0F;
        style.smooth = true;
        style.colours = ColourMap::difference;
        style.scale = scale_of(ScaleKind::global, ScaleTransform::linear, change.values, true);
        style.longest_side = 320;
        keep("insight-pair.png",
             map_png(std::vector{MapPanel{.picture = &picture, .grid = &change, .title = "smooth"},
                                 MapPanel{.picture = &picture, .grid = &grid, .title = "the other"}},
                     style, {}));
        HeadMaps maps = sheet(6, 16, 14, 14);
        for (std::size_t i = 0; i < maps.values.size(); ++i) {
            const std::size_t head = i / 196;
            maps.values[i] = grid.values[(i + 5 * head) % 196] * static_cast<float>(head % 7) / 6.0F;
        }
        for (int head = 0; head < 96; ++head) maps.masses.push_back({.picture = head / 96.0});
        MapStyle heads{.scale = uniform_scale(0.005, ScaleTransform::log, 16.0),
                       .caption = "attention, token \"circle\""};
        keep("insight-heads.png", heads_png(maps, heads, {}));
        keep("insight-heads.svg", heads_svg(maps, heads, {}));
    }
};

VITRINE_TEST(TestDrawing)

}  // namespace vitrine

#include "test_drawing.moc"
