#pragma once

#include "core/types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

// Pictures that Vitrine draws itself: one to three coloured shapes on a plain background, with everything about them
// known. The demo model learns from them and is scored on them. Scene `index` of a seed is the same on every machine;
// kGeneration counts the times the same seed began to give other scenes, pictures or words.
namespace vitrine::scenes {

inline constexpr int kGeneration = 1;

enum class Shape : std::uint8_t {
    circle,
    square,
    rectangle,
    triangle,
    star,
    heart,
    diamond,
    cross,
    ring,
    hexagon,
    crescent,
    arrow
};
enum class Colour : std::uint8_t { red, green, blue, yellow, black, gray, teal, brown, white, orange, purple, pink };
enum class Background : std::uint8_t { white, black, gray, beige, mint, lavender, navy, maroon, olive };
enum class Size : std::uint8_t { small, large };

inline constexpr std::size_t kShapes = 12;
inline constexpr std::size_t kColours = 12;
inline constexpr std::size_t kBackgrounds = 9;
inline constexpr std::size_t kMaxObjects = 3;

std::string_view name_of(Shape shape);
std::string_view name_of(Colour colour);
std::string_view name_of(Background background);
std::string_view name_of(Size size);

using Rgb = std::array<std::uint8_t, 3>;
// What a name may look like: the CSS colour of that name first, then other shades of it. Objects and backgrounds take
// mixtures of two shades, slightly varied.
std::span<const Rgb> shades(Colour colour);
std::span<const Rgb> shades(Background background);

// Coordinates are fractions of the picture: x to the right and y down, from 0 to 1.
struct Point {
    double x = 0;
    double y = 0;
};
struct Box {
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};
struct PixelBox {  // as COCO has it
    int x = 0, y = 0, width = 0, height = 0;
};

struct SceneObject {
    Shape shape = Shape::circle;
    Colour colour = Colour::red;
    Size size = Size::small;
    Point centre;
    double radius = 0;  // half of the longest side, about: 0.11 to 0.135 small, 0.19 to 0.24 large
    double aspect = 1;  // rectangle: long side by short side; triangle: its width against a usual one
    double turn =
        0;  // radians, clockwise as seen; 0 is a triangle on its base, a lying rectangle, an arrow to the right
    Rgb rgb{};
    Box box;  // of the outline
};

// Objects do not touch. They stand in the order in which they are mentioned: three from left to right; of two, the left
// one first when they lie side by side, else the upper one. No two have the same shape and colour.
struct Scene {
    std::uint64_t seed = 0;
    std::uint64_t index = 0;
    Background background = Background::white;
    Rgb rgb{};
    int noise = 0;        // each channel of each pixel varies by up to this much
    bool plain = false;   // one object on a nearly white background, of any size and anywhere
    bool coarse = false;  // drawn at half the resolution without smoothing, then enlarged
    std::vector<SceneObject> objects;
};

Scene make_scene(std::uint64_t seed, std::uint64_t index);

// How a lies from b, where one word says it: the one direction clearly outweighs the other.
enum class Relation : std::uint8_t { unclear, left, right, above, below };
Relation relation(const SceneObject& a, const SceneObject& b);

// A picture that is not square has the scene in its middle and background around it. Smoothed; format "scene".
Image draw(const Scene& scene, int width, int height);
PixelBox pixel_box(const SceneObject& object, int width, int height);

// For each cell of a grid x grid raster of a square picture, row by row: the object that covers most of it, or -1 where
// none covers a third.
std::vector<int> patch_labels(const Scene& scene, int grid);

using Contour = std::vector<Point>;
std::vector<Contour> outline(const SceneObject& object);  // filled by the even-odd rule: a ring has two contours

}  // namespace vitrine::scenes
