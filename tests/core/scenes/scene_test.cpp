#include "core/scenes/scene.h"
#include "core/scenes/random.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace vitrine::scenes {
namespace {

constexpr std::uint64_t kSeed = 20;
constexpr int kSide = 128;

// How much of each pixel an object covers, 0 to 255, seen by drawing it white on black with nothing else.
std::vector<int> coverage(const SceneObject& object, int side = kSide) {
    Scene alone;
    alone.objects = {object};
    alone.objects[0].rgb = {255, 255, 255};
    const Image image = draw(alone, side, side);
    std::vector<int> cover;
    for (std::size_t i = 0; i < image.rgb.size(); i += 3) cover.push_back(image.rgb[i]);
    return cover;
}

Rgb median(std::vector<Rgb> pixels) {
    Rgb result{};
    for (std::size_t c = 0; c < 3; ++c) {
        std::ranges::nth_element(pixels, pixels.begin() + static_cast<std::ptrdiff_t>(pixels.size() / 2), {},
                                 [c](const Rgb& rgb) { return rgb[c]; });
        result[c] = pixels[pixels.size() / 2][c];
    }
    return result;
}

template <class Name>
Name nearest(const Rgb& rgb, std::size_t names) {
    std::pair<double, Name> best{1e9, {}};
    for (std::size_t i = 0; i < names; ++i) {
        for (const Rgb& shade : shades(static_cast<Name>(i))) {
            const double distance = std::hypot(rgb[0] - shade[0], rgb[1] - shade[1], rgb[2] - shade[2]);
            best = std::min(best, {distance, static_cast<Name>(i)});
        }
    }
    return best.second;
}

std::size_t index_of(auto value) {
    return static_cast<std::size_t>(value);
}

}  // namespace

class TestScene : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void random_is_splitmix() {  // computed by another implementation
        Random random(1, 2, Stream::words);
        QCOMPARE(random.next(), std::uint64_t{0x5FB9362E771EFC84});
        QCOMPARE(random.next(), std::uint64_t{0xEEE6EDE5AAF25BF6});
        QCOMPARE(random.next(), std::uint64_t{0x7896956A357117DD});
        for (int i = 0; i < 1000; ++i) {
            const double value = random.uniform();
            QVERIFY(value >= 0 && value < 1);
            QVERIFY(random.below(7) < 7);
        }
    }

    void a_seed_and_an_index_make_one_scene() {
        std::set<std::vector<std::uint8_t>> pictures;
        for (std::uint64_t i = 0; i < 60; ++i) {
            const Image picture = draw(make_scene(kSeed, i), kSide, kSide);
            QCOMPARE(picture.rgb.size(), std::size_t{3} * kSide * kSide);
            QVERIFY(picture.rgb == draw(make_scene(kSeed, i), kSide, kSide).rgb);
            pictures.insert(picture.rgb);
            pictures.insert(draw(make_scene(kSeed + 1, i), kSide, kSide).rgb);
        }
        QCOMPARE(pictures.size(), std::size_t{120});
    }

    void objects_keep_their_distance() {
        for (std::uint64_t i = 0; i < 600; ++i) {
            const Scene scene = make_scene(kSeed, i);
            std::vector<int> times(kSide * kSide);
            for (const SceneObject& object : scene.objects) {
                QVERIFY(object.box.x0 >= 0 && object.box.y0 >= 0 && object.box.x1 <= 1 && object.box.y1 <= 1);
                const std::vector<int> cover = coverage(object);
                for (std::size_t pixel = 0; pixel < cover.size(); ++pixel) times[pixel] += cover[pixel] > 0;
            }
            QVERIFY2(*std::ranges::max_element(times) == 1, qPrintable(QString::number(i)));
        }
    }

    void words_are_those_of_the_geometry() {
        for (std::uint64_t i = 0; i < 4000; ++i) {
            const Scene scene = make_scene(kSeed, i);
            QVERIFY(!scene.objects.empty() && scene.objects.size() <= kMaxObjects);
            std::set<std::pair<Shape, Colour>> pairs;
            for (const SceneObject& object : scene.objects) {
                pairs.insert({object.shape, object.colour});
                const bool large = object.size == Size::large;
                QVERIFY(object.radius >= (large ? 0.19 : scene.plain ? 0.065 : 0.11));
                QVERIFY(object.radius <= (!large ? 0.135 : scene.plain ? 0.27 : 0.24));
                if (object.shape == Shape::rectangle) QVERIFY(object.aspect >= (scene.plain ? 1.2 : 1.5));
            }
            QCOMPARE(pairs.size(), scene.objects.size());
            if (scene.plain) QCOMPARE(scene.objects.size(), std::size_t{1});
            if (scene.objects.size() == 2) {
                const Relation first = relation(scene.objects[0], scene.objects[1]);
                QVERIFY(first == Relation::left || first == Relation::above);
            }
            if (scene.objects.size() == 3) {
                QVERIFY(scene.objects[1].centre.x - scene.objects[0].centre.x >= 0.15);
                QVERIFY(scene.objects[2].centre.x - scene.objects[1].centre.x >= 0.15);
            }
        }
    }

    void boxes_are_those_of_the_pixels() {
        std::map<Shape, int> measured;
        for (std::uint64_t i = 0; i < 600; ++i) {
            for (const SceneObject& object : make_scene(kSeed, i).objects) {
                const std::vector<int> cover = coverage(object);
                int x0 = kSide, y0 = kSide, x1 = -1, y1 = -1;
                for (int at = 0; at < kSide * kSide; ++at) {
                    if (cover[static_cast<std::size_t>(at)] < 16) continue;
                    x0 = std::min(x0, at % kSide);
                    x1 = std::max(x1, at % kSide);
                    y0 = std::min(y0, at / kSide);
                    y1 = std::max(y1, at / kSide);
                }
                const PixelBox box = pixel_box(object, kSide, kSide);
                const auto near = [](int a, int b) { return std::abs(a - b) <= 1; };
                QVERIFY2(near(box.x, x0) && near(box.y, y0) && near(box.x + box.width, x1 + 1) &&
                             near(box.y + box.height, y1 + 1),
                         name_of(object.shape).data());
                ++measured[object.shape];
            }
        }
        QCOMPARE(measured.size(), kShapes);
    }

    // The area of each shape of radius r, from elementary geometry.
    void shapes_have_their_areas() {
        const double pi = std::acos(-1);
        const std::map<Shape, double> areas{{Shape::circle, pi},
                                            {Shape::square, 1.7 * 1.7},
                                            {Shape::rectangle, 4 / 1.6},
                                            {Shape::triangle, 0.95 * 1.62},
                                            {Shape::star, 5 * 0.42 * std::sin(pi / 5)},
                                            {Shape::diamond, 2 * 0.66},
                                            {Shape::cross, 4 * (2 * 0.96 * 0.31) - 4 * 0.31 * 0.31},
                                            {Shape::ring, pi * (1 - 0.56 * 0.56)},
                                            {Shape::hexagon, 1.5 * std::sqrt(3)},
                                            {Shape::arrow, 1.08 * 0.48 + 0.92 * 0.74}};
        for (const auto& [shape, area] : areas) {
            const SceneObject object{.shape = shape,
                                     .centre = {0.5, 0.5},
                                     .radius = 0.3,
                                     .aspect = shape == Shape::rectangle ? 1.6 : 1,
                                     .turn = 0.4,
                                     .box = {0, 0, 1, 1}};
            double sum = 0;
            for (const int cover : coverage(object, 256)) sum += cover / 255.0;
            const double found = sum / (256 * 256 * 0.3 * 0.3);
            QVERIFY2(std::abs(found - area) < 0.04 * area,
                     qPrintable(QString::fromStdString(std::string(name_of(shape))) +
                                QString(" %1 for %2").arg(found).arg(area)));
        }
    }

    void colours_can_be_told_apart() {
        for (std::uint64_t i = 0; i < 1500; ++i) {
            const Scene scene = make_scene(kSeed, i);
            const Image picture = draw(scene, kSide, kSide);
            std::vector<Rgb> behind;
            std::vector<std::vector<int>> covers;
            for (const SceneObject& object : scene.objects) covers.push_back(coverage(object));
            std::vector<std::vector<Rgb>> inside(scene.objects.size());
            for (std::size_t pixel = 0; pixel < kSide * kSide; ++pixel) {
                const Rgb rgb{picture.rgb[3 * pixel], picture.rgb[3 * pixel + 1], picture.rgb[3 * pixel + 2]};
                bool free = true;
                for (std::size_t o = 0; o < covers.size(); ++o) {
                    free = free && covers[o][pixel] == 0;
                    if (covers[o][pixel] == 255) inside[o].push_back(rgb);
                }
                if (free) behind.push_back(rgb);
            }
            const Rgb ground = median(behind);
            QCOMPARE(name_of(nearest<Background>(ground, kBackgrounds)), name_of(scene.background));
            for (std::size_t o = 0; o < covers.size(); ++o) {
                const Rgb rgb = median(inside[o]);
                QCOMPARE(name_of(nearest<Colour>(rgb, kColours)), name_of(scene.objects[o].colour));
                QVERIFY(std::hypot(rgb[0] - ground[0], rgb[1] - ground[1], rgb[2] - ground[2]) > 80);
                QVERIFY(name_of(scene.objects[o].colour) != name_of(scene.background));
            }
        }
    }

    void everything_occurs() {
        std::map<Shape, int> shapes;
        std::map<Colour, int> colours;
        std::map<Background, int> backgrounds;
        std::map<Size, int> sizes;
        std::map<std::size_t, int> counts;
        int plain = 0, coarse = 0, same_shape = 0, same_colour = 0;
        constexpr int kScenes = 6000;
        for (std::uint64_t i = 0; i < kScenes; ++i) {
            const Scene scene = make_scene(kSeed, i);
            ++counts[scene.objects.size()];
            ++backgrounds[scene.background];
            plain += scene.plain;
            coarse += scene.coarse;
            std::set<Shape> own_shapes;
            std::set<Colour> own_colours;
            for (const SceneObject& object : scene.objects) {
                ++shapes[object.shape];
                ++colours[object.colour];
                ++sizes[object.size];
                own_shapes.insert(object.shape);
                own_colours.insert(object.colour);
            }
            same_shape += own_shapes.size() < scene.objects.size();
            same_colour += own_colours.size() < scene.objects.size();
        }
        QCOMPARE(shapes.size(), kShapes);
        QCOMPARE(colours.size(), kColours);
        QCOMPARE(backgrounds.size(), kBackgrounds);
        const auto rarest = [](const auto& found) {
            return std::ranges::min_element(found, {}, [](const auto& entry) { return entry.second; })->second;
        };
        QVERIFY(rarest(shapes) > kScenes / 15);
        QVERIFY(rarest(colours) > kScenes / 25);
        QVERIFY(rarest(backgrounds) > kScenes / 20);
        QVERIFY(rarest(sizes) > kScenes / 2);
        QVERIFY(rarest(counts) > kScenes / 4);
        QVERIFY(plain > kScenes / 6 && plain < kScenes / 4);
        QVERIFY(coarse > kScenes / 20 && coarse < plain);
        QVERIFY(same_shape > kScenes / 10 && same_colour > kScenes / 20);
    }

    void patch_labels_are_those_of_the_pixels_data() {
        QTest::addColumn<int>("grid");
        QTest::newRow("8") << 8;
        QTest::newRow("16") << 16;
    }
    void patch_labels_are_those_of_the_pixels() {
        QFETCH(int, grid);
        const int patch = kSide / grid;
        int labelled = 0;
        for (std::uint64_t i = 0; i < 300; ++i) {
            const Scene scene = make_scene(kSeed, i);
            const std::vector<int> labels = patch_labels(scene, grid);
            QCOMPARE(labels.size(), static_cast<std::size_t>(grid) * static_cast<std::size_t>(grid));
            std::vector<std::vector<double>> shares;
            for (const SceneObject& object : scene.objects) {
                const std::vector<int> cover = coverage(object);
                std::vector<double>& share = shares.emplace_back(labels.size());
                for (int at = 0; at < kSide * kSide; ++at) {
                    const int cell = at / kSide / patch * grid + at % kSide / patch;
                    share[static_cast<std::size_t>(cell)] +=
                        cover[static_cast<std::size_t>(at)] / 255.0 / (patch * patch);
                }
            }
            for (std::size_t cell = 0; cell < labels.size(); ++cell) {
                double most = 0;
                for (const auto& share : shares) most = std::max(most, share[cell]);
                constexpr double kTolerance = 0.07;
                if (labels[cell] < 0) {
                    QVERIFY(most < 1.0 / 3 + kTolerance);
                } else {
                    const double share = shares.at(static_cast<std::size_t>(labels[cell]))[cell];
                    QVERIFY(share > 1.0 / 3 - kTolerance && share > most - kTolerance);
                    ++labelled;
                }
            }
        }
        QVERIFY(labelled > 300 * grid * grid / 30);
    }

    void relations_are_said_only_where_they_are_clear() {
        const auto at = [](double x, double y) { return SceneObject{.centre = {x, y}}; };
        const SceneObject middle = at(0.5, 0.5);
        QCOMPARE(relation(at(0.2, 0.5), middle), Relation::left);
        QCOMPARE(relation(at(0.9, 0.6), middle), Relation::right);
        QCOMPARE(relation(at(0.45, 0.1), middle), Relation::above);
        QCOMPARE(relation(at(0.55, 0.9), middle), Relation::below);
        QCOMPARE(relation(at(0.2, 0.25), middle), Relation::unclear);
    }

    void noise_is_as_strong_as_the_scene_says() {
        Scene scene{.seed = 3, .rgb = {120, 130, 140}, .noise = 6, .objects = {}};
        const Image picture = draw(scene, kSide, kSide);
        std::map<int, int> changes;
        for (std::size_t i = 0; i < picture.rgb.size(); ++i) ++changes[picture.rgb[i] - scene.rgb[i % 3]];
        QCOMPARE(changes.begin()->first, -6);
        QCOMPARE(changes.rbegin()->first, 6);
        QCOMPARE(changes.size(), std::size_t{13});
        double sum = 0;
        for (const auto& [change, times] : changes) sum += change * times;
        QVERIFY(std::abs(sum / static_cast<double>(picture.rgb.size())) < 0.2);
    }

    void a_wide_picture_has_the_scene_in_its_middle() {
        Scene scene{.rgb = {10, 20, 30},
                    .objects = {{.shape = Shape::circle,
                                 .centre = {0.5, 0.5},
                                 .radius = 0.2,
                                 .rgb = {200, 0, 0},
                                 .box = {0.3, 0.3, 0.7, 0.7}}}};
        const Image wide = draw(scene, 300, 100);
        const auto red = [&](int x, int y) { return wide.rgb[static_cast<std::size_t>(3 * (300 * y + x))]; };
        QCOMPARE(red(150, 50), std::uint8_t{200});
        QCOMPARE(red(133, 50), std::uint8_t{200});
        QCOMPARE(red(127, 50), std::uint8_t{10});
        const PixelBox box = pixel_box(scene.objects[0], 300, 100);
        QVERIFY(std::abs(box.x - 130) <= 1 && std::abs(box.y - 30) <= 1 && std::abs(box.width - 40) <= 1);
    }
};

}  // namespace vitrine::scenes

using vitrine::scenes::TestScene;
VITRINE_TEST(TestScene)
#include "scene_test.moc"
