#include "core/scenes/scene.h"

#include "core/scenes/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vitrine::scenes {
namespace {

constexpr std::array<std::string_view, kShapes> kShapeNames{"circle", "square",  "rectangle", "triangle",
                                                            "star",   "heart",   "diamond",   "cross",
                                                            "ring",   "hexagon", "crescent",  "arrow"};
constexpr std::array<std::string_view, kColours> kColourNames{"red",  "green", "blue",  "yellow", "black",  "gray",
                                                              "teal", "brown", "white", "orange", "purple", "pink"};
constexpr std::array<std::string_view, kBackgrounds> kBackgroundNames{"white",    "black", "gray",   "beige", "mint",
                                                                      "lavender", "navy",  "maroon", "olive"};

using Shades = std::array<Rgb, 3>;
constexpr std::array<Shades, kColours> kColourShades{{
    {{{255, 0, 0}, {225, 25, 30}, {240, 50, 45}}},          // red
    {{{0, 255, 0}, {0, 128, 0}, {45, 175, 70}}},            // green
    {{{0, 0, 255}, {30, 80, 225}, {25, 45, 180}}},          // blue
    {{{255, 255, 0}, {250, 220, 40}, {235, 225, 60}}},      // yellow
    {{{0, 0, 0}, {35, 35, 35}, {20, 20, 25}}},              // black
    {{{128, 128, 128}, {145, 145, 145}, {112, 112, 115}}},  // gray
    {{{0, 128, 128}, {15, 150, 150}, {0, 115, 120}}},       // teal
    {{{165, 42, 42}, {139, 69, 19}, {120, 75, 45}}},        // brown
    {{{255, 255, 255}, {245, 245, 245}, {250, 250, 245}}},  // white
    {{{255, 165, 0}, {255, 140, 0}, {240, 125, 25}}},       // orange
    {{{128, 0, 128}, {145, 50, 190}, {110, 40, 150}}},      // purple
    {{{255, 192, 203}, {255, 105, 180}, {245, 150, 185}}},  // pink
}};
constexpr std::array<Shades, kBackgrounds> kBackgroundShades{{
    {{{255, 255, 255}, {248, 248, 248}, {250, 250, 245}}},  // white
    {{{0, 0, 0}, {20, 20, 20}, {12, 12, 16}}},              // black
    {{{160, 160, 160}, {175, 175, 175}, {150, 152, 155}}},  // gray
    {{{240, 220, 175}, {232, 212, 165}, {245, 225, 185}}},  // beige
    {{{160, 235, 190}, {150, 225, 185}, {170, 240, 200}}},  // mint
    {{{195, 175, 240}, {185, 170, 230}, {205, 185, 245}}},  // lavender
    {{{20, 25, 85}, {15, 20, 100}, {30, 35, 80}}},          // navy
    {{{95, 15, 40}, {85, 10, 30}, {105, 25, 50}}},          // maroon
    {{{105, 105, 35}, {95, 100, 30}, {115, 115, 50}}},      // olive
}};

constexpr double kContrast = 170;    // least distance of an object's colour from its background
constexpr double kGap = 0.03;        // between the circles around two objects
constexpr double kBorder = 0.02;     // between an object and the edge of the picture
constexpr double kColumnGap = 0.15;  // between the centres of three objects, horizontally
constexpr double kDominance = 1.6;   // how much longer the one direction of a clear relation is than the other
constexpr double kPlainShare = 0.22;

Rgb vary(const Shades& from, int jitter, Random& random) {
    const Rgb& a = random.pick(from);
    const Rgb& b = random.pick(from);
    const double t = random.uniform();
    Rgb rgb{};
    for (std::size_t c = 0; c < 3; ++c) {
        const double value = a[c] + t * (b[c] - a[c]) + random.uniform(-jitter, jitter);
        rgb[c] = static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
    }
    return rgb;
}

// The eye weighs green most; 765 is black from white.
double colour_distance(const Rgb& a, const Rgb& b) {
    constexpr std::array<double, 3> weights{2, 4, 3};
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) sum += weights[c] * (a[c] - b[c]) * (a[c] - b[c]);
    return std::sqrt(sum);
}

bool stands_out(Colour colour, const Rgb& rgb, const Scene& scene) {
    return name_of(colour) != name_of(scene.background) && colour_distance(rgb, scene.rgb) >= kContrast;
}

// The usual shades in usual scenes. Plain ones take every second time the colour of the name itself.
bool choose_colour(SceneObject& object, const Scene& scene, Random& random) {
    for (int attempt = 0; attempt < 6; ++attempt) {
        object.rgb = scene.plain && random.chance(0.5)
                         ? shades(object.colour)[0]
                         : vary(kColourShades[static_cast<std::size_t>(object.colour)], 6, random);
        if (stands_out(object.colour, object.rgb, scene)) return true;
    }
    return false;
}

double degrees(double angle) {
    return angle * std::numbers::pi / 180;
}

bool is_simple(Shape shape) {  // known at a glance even when tiny
    return shape <= Shape::triangle;
}

void choose_geometry(SceneObject& object, const Scene& scene, Random& random) {
    const bool plain = scene.plain;
    object.size = random.chance(0.5) ? Size::small : Size::large;
    const double least = object.size == Size::large ? 0.19 : plain && is_simple(object.shape) ? 0.065 : 0.11;
    const double most = object.size == Size::small ? 0.135 : plain ? 0.27 : 0.24;
    object.radius = random.uniform(least, most);
    const double quarter = degrees(90) * static_cast<double>(random.below(4));
    const double tilt = scene.coarse || (plain && random.chance(0.4)) ? 0 : random.uniform(-1, 1);
    object.aspect = 1;
    object.turn = degrees(8) * tilt;
    switch (object.shape) {
        case Shape::rectangle:
            object.aspect =
                plain ? random.uniform(1.2, std::clamp(object.radius / 0.06, 1.4, 3.2)) : random.uniform(1.5, 2.4);
            object.turn += quarter;
            break;
        case Shape::triangle:
            object.aspect = random.uniform(0.85, 1.05);
            object.turn = degrees(12) * tilt;
            break;
        case Shape::star: object.turn = degrees(14) * tilt; break;
        case Shape::hexagon:
        case Shape::arrow: object.turn += quarter; break;
        case Shape::crescent: object.turn = degrees(20) * tilt + (quarter < degrees(120) ? 0 : degrees(180)); break;
        default: break;
    }
}

double reach(const SceneObject& object) {
    double far = 0;
    for (const Contour& contour : outline(object)) {
        for (const Point& point : contour)
            far = std::max(far, std::hypot(point.x - object.centre.x, point.y - object.centre.y));
    }
    return far;
}

Box bounds(const SceneObject& object) {
    Box box{1e9, 1e9, -1e9, -1e9};
    for (const Contour& contour : outline(object)) {
        for (const Point& point : contour) {
            box = {std::min(box.x0, point.x), std::min(box.y0, point.y), std::max(box.x1, point.x),
                   std::max(box.y1, point.y)};
        }
    }
    return box;
}

// Moves the object to a place where its outline is all in the picture.
void place(SceneObject& object, double border, Random& random) {
    const Box box = object.box;
    const double dx = random.uniform(border - box.x0, 1 - border - box.x1);
    const double dy = random.uniform(border - box.y0, 1 - border - box.y1);
    object.centre = {object.centre.x + dx, object.centre.y + dy};
    object.box = {box.x0 + dx, box.y0 + dy, box.x1 + dx, box.y1 + dy};
}

bool fit_together(std::span<const SceneObject> objects, std::span<const double> reaches) {
    for (std::size_t i = 0; i < objects.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const SceneObject& a = objects[i];
            const SceneObject& b = objects[j];
            if (std::hypot(a.centre.x - b.centre.x, a.centre.y - b.centre.y) < reaches[i] + reaches[j] + kGap)
                return false;
        }
    }
    if (objects.size() == 2) return relation(objects[0], objects[1]) != Relation::unclear;
    std::vector<double> columns;
    for (const SceneObject& object : objects) columns.push_back(object.centre.x);
    std::ranges::sort(columns);
    return std::ranges::adjacent_find(columns, [](double a, double b) { return b - a < kColumnGap; }) == columns.end();
}

void into_order_of_mention(std::vector<SceneObject>& objects) {
    const bool stacked = objects.size() == 2 && std::abs(objects[0].centre.y - objects[1].centre.y) >
                                                    std::abs(objects[0].centre.x - objects[1].centre.x);
    std::ranges::sort(objects, {},
                      [&](const SceneObject& object) { return stacked ? object.centre.y : object.centre.x; });
}

// What is in the picture, in words: shapes and colours, now and then one of them twice.
void choose_words(Scene& scene, std::size_t count, Random& random) {
    while (scene.objects.size() < count) {
        SceneObject object;
        object.shape = static_cast<Shape>(random.below(scene.plain && random.chance(0.6) ? 4 : kShapes));
        object.colour = static_cast<Colour>(random.below(kColours));
        if (!scene.objects.empty()) {
            const SceneObject& other = random.pick(scene.objects);
            const double fate = random.uniform();
            if (fate < 0.25) {
                object.shape = other.shape;
            } else if (fate < 0.4) {
                object.colour = other.colour;
            }
        }
        const auto same = [&](const SceneObject& other) {
            return other.shape == object.shape && other.colour == object.colour;
        };
        if (std::ranges::none_of(scene.objects, same) && choose_colour(object, scene, random))
            scene.objects.push_back(object);
    }
}

}  // namespace

std::string_view name_of(Shape shape) {
    return kShapeNames[static_cast<std::size_t>(shape)];
}
std::string_view name_of(Colour colour) {
    return kColourNames[static_cast<std::size_t>(colour)];
}
std::string_view name_of(Background background) {
    return kBackgroundNames[static_cast<std::size_t>(background)];
}
std::string_view name_of(Size size) {
    return size == Size::small ? "small" : "large";
}
std::span<const Rgb> shades(Colour colour) {
    return kColourShades[static_cast<std::size_t>(colour)];
}
std::span<const Rgb> shades(Background background) {
    return kBackgroundShades[static_cast<std::size_t>(background)];
}

Relation relation(const SceneObject& a, const SceneObject& b) {
    const double dx = b.centre.x - a.centre.x;
    const double dy = b.centre.y - a.centre.y;
    if (std::abs(dx) >= kDominance * std::abs(dy)) return dx > 0 ? Relation::left : Relation::right;
    if (std::abs(dy) >= kDominance * std::abs(dx)) return dy > 0 ? Relation::above : Relation::below;
    return Relation::unclear;
}

Scene make_scene(std::uint64_t seed, std::uint64_t index) {
    Random random(seed, index, Stream::layout);
    Scene scene{.seed = seed, .index = index};
    std::size_t count = 1;
    scene.plain = random.chance(kPlainShare);
    if (scene.plain) {
        for (std::uint8_t& channel : scene.rgb) channel = static_cast<std::uint8_t>(228 + random.below(28));
        scene.noise = random.chance(0.6) ? 0 : static_cast<int>(random.below(6));
    } else {
        const double lot = random.uniform();
        count = lot < 0.25 ? 1 : lot < 0.62 ? 2 : 3;
        scene.background = static_cast<Background>(random.below(kBackgrounds));
        scene.rgb = vary(kBackgroundShades[static_cast<std::size_t>(scene.background)], 4, random);
        scene.noise = random.chance(0.3) ? 0 : static_cast<int>(random.below(15));
    }
    choose_words(scene, count, random);
    scene.coarse = scene.plain && is_simple(scene.objects[0].shape) && random.chance(0.7);
    // Large objects do not always find room beside each other: then other sizes are tried.
    for (bool placed = false; !placed;) {
        std::vector<double> reaches;
        for (SceneObject& object : scene.objects) {
            choose_geometry(object, scene, random);
            object.box = bounds(object);
            reaches.push_back(reach(object));
        }
        for (int attempt = 0; attempt < 40 && !placed; ++attempt) {
            for (SceneObject& object : scene.objects) place(object, scene.plain ? 0 : kBorder, random);
            placed = fit_together(scene.objects, reaches);
        }
    }
    into_order_of_mention(scene.objects);
    return scene;
}

}  // namespace vitrine::scenes
