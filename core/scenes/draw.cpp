#include "core/scenes/random.h"
#include "core/scenes/scene.h"

#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vitrine::scenes {
namespace {

constexpr double kPi = std::numbers::pi;

Contour arc(Point centre, double radius, double from, double to, int steps) {
    Contour points;
    for (int i = 0; i <= steps; ++i) {
        const double angle = from + (to - from) * i / steps;
        points.push_back({centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)});
    }
    return points;
}

Contour spokes(int count, double inner) {  // a regular polygon (inner 1) or star whose first point is at the top
    Contour points;
    const int corners = inner < 1 ? 2 * count : count;
    for (int i = 0; i < corners; ++i) {
        const double angle = 2 * kPi * i / corners - kPi / 2;
        const double radius = i % 2 == 1 ? inner : 1;
        points.push_back({radius * std::cos(angle), radius * std::sin(angle)});
    }
    return points;
}

Contour heart() {  // the well-known curve of sines; 34 units high and 32 wide
    Contour points;
    for (int i = 0; i < 48; ++i) {
        const double t = 2 * kPi * i / 48;
        const double y = 13 * std::cos(t) - 5 * std::cos(2 * t) - 2 * std::cos(3 * t) - std::cos(4 * t);
        points.push_back({std::pow(std::sin(t), 3), -(y + 2.5) / 16});
    }
    return points;
}

Contour crescent() {  // a disc without the part that a smaller one covers, opening to the right
    constexpr double radius = 0.84;
    constexpr double offset = 0.52;
    const double x = (1 - radius * radius + offset * offset) / (2 * offset);  // where the two circles meet
    const double y = std::sqrt(1 - x * x);
    const double outer = std::atan2(y, x);
    const double inner = std::atan2(y, x - offset);
    Contour points = arc({}, 1, outer, 2 * kPi - outer, 48);
    const Contour back = arc({offset, 0}, radius, 2 * kPi - inner, inner, 32);
    points.insert(points.end(), back.begin(), back.end());
    for (Point& point : points) point.x += (1 - x) / 2;  // its box around the origin
    return points;
}

std::vector<Contour> unit_outline(Shape shape, double aspect) {  // about the origin, the farthest point about 1 away
    switch (shape) {
        case Shape::circle: return {arc({}, 1, 0, 2 * kPi, 64)};
        case Shape::square: {
            constexpr double a = 0.85;
            return {{{-a, -a}, {a, -a}, {a, a}, {-a, a}}};
        }
        case Shape::rectangle: {
            const double b = 1 / aspect;
            return {{{-1, -b}, {1, -b}, {1, b}, {-1, b}}};
        }
        case Shape::triangle: return {{{0, -0.92}, {0.95 * aspect, 0.7}, {-0.95 * aspect, 0.7}}};
        case Shape::star: return {spokes(5, 0.42)};
        case Shape::heart: return {heart()};
        case Shape::diamond: return {{{0, -1}, {0.66, 0}, {0, 1}, {-0.66, 0}}};
        case Shape::cross: {
            constexpr double a = 0.96;
            constexpr double b = 0.31;
            return {{{-b, -a},
                     {b, -a},
                     {b, -b},
                     {a, -b},
                     {a, b},
                     {b, b},
                     {b, a},
                     {-b, a},
                     {-b, b},
                     {-a, b},
                     {-a, -b},
                     {-b, -b}}};
        }
        case Shape::ring: return {arc({}, 1, 0, 2 * kPi, 64), arc({}, 0.56, 0, 2 * kPi, 48)};
        case Shape::hexagon: return {spokes(6, 1)};
        case Shape::crescent: return {crescent()};
        case Shape::arrow:
            return {{{-1, -0.24}, {0.08, -0.24}, {0.08, -0.74}, {1, 0}, {0.08, 0.74}, {0.08, 0.24}, {-1, 0.24}}};
    }
    return {};
}

// From fractions of a scene to the pixels of a picture that has it in its middle.
struct Frame {
    Frame(int width, int height)
        : scale(std::min(width, height)), left((width - scale) / 2), top((height - scale) / 2) {}
    Point operator()(const Point& point) const { return {left + scale * point.x, top + scale * point.y}; }

    double scale, left, top;
};

void fill(cv::Mat& mask, const std::vector<Contour>& contours, const Frame& frame, cv::Point origin, int zoom,
          int value) {
    constexpr int kShift = 6;  // bits behind the point in OpenCV's coordinates, whose whole numbers are pixel centres
    std::vector<std::vector<cv::Point>> polygons;
    for (const Contour& contour : contours) {
        std::vector<cv::Point>& polygon = polygons.emplace_back();
        for (const Point& point : contour) {
            const Point at = frame(point);
            polygon.emplace_back(cvRound(((at.x - origin.x) * zoom - 0.5) * (1 << kShift)),
                                 cvRound(((at.y - origin.y) * zoom - 0.5) * (1 << kShift)));
        }
    }
    cv::fillPoly(mask, polygons, cv::Scalar(value), cv::LINE_8, kShift);
}

cv::Rect to_rect(const PixelBox& box) {
    return {box.x, box.y, box.width, box.height};
}

// The mask is filled at four times the resolution and reduced, so its edges are as soft as the area they cover.
void paint(cv::Mat& picture, const SceneObject& object, bool smooth) {
    const cv::Rect box = to_rect(pixel_box(object, picture.cols, picture.rows));
    if (box.empty()) return;
    const int zoom = smooth ? 4 : 1;
    cv::Mat mask(box.height * zoom, box.width * zoom, CV_8U, cv::Scalar(0));
    fill(mask, outline(object), Frame(picture.cols, picture.rows), box.tl(), zoom, 255);
    if (smooth) cv::resize(mask, mask, box.size(), 0, 0, cv::INTER_AREA);
    for (int y = 0; y < box.height; ++y) {
        const auto* cover = mask.ptr<std::uint8_t>(y);
        std::uint8_t* pixel = picture.ptr<std::uint8_t>(box.y + y) + 3 * static_cast<std::ptrdiff_t>(box.x);
        for (int x = 0; x < box.width; ++x, pixel += 3) {
            for (std::size_t c = 0; c < 3; ++c)
                pixel[c] =
                    static_cast<std::uint8_t>((pixel[c] * (255 - cover[x]) + object.rgb[c] * cover[x] + 127) / 255);
        }
    }
}

void add_noise(std::vector<std::uint8_t>& values, const Scene& scene) {
    Random random(scene.seed, scene.index, Stream::noise);
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < values.size(); ++i, bits >>= 8) {
        if (i % 8 == 0) bits = random.next();
        const int change = (static_cast<int>(bits & 0xFF) * (2 * scene.noise + 1)) / 256 - scene.noise;
        values[i] = static_cast<std::uint8_t>(std::clamp(values[i] + change, 0, 255));
    }
}

}  // namespace

std::vector<Contour> outline(const SceneObject& object) {
    std::vector<Contour> contours = unit_outline(object.shape, object.aspect);
    const double cosine = object.radius * std::cos(object.turn);
    const double sine = object.radius * std::sin(object.turn);
    for (Contour& contour : contours) {
        for (Point& point : contour) {
            point = {object.centre.x + cosine * point.x - sine * point.y,
                     object.centre.y + sine * point.x + cosine * point.y};
        }
    }
    return contours;
}

PixelBox pixel_box(const SceneObject& object, int width, int height) {
    const Frame frame(width, height);
    const Point low = frame({object.box.x0, object.box.y0});
    const Point high = frame({object.box.x1, object.box.y1});
    const int x0 = std::max(0, cvFloor(low.x));
    const int y0 = std::max(0, cvFloor(low.y));
    const int x1 = std::min(width, cvCeil(high.x));
    const int y1 = std::min(height, cvCeil(high.y));
    return {x0, y0, std::max(0, x1 - x0), std::max(0, y1 - y0)};
}

Image draw(const Scene& scene, int width, int height) {
    Image image{.width = width, .height = height, .format = "scene"};
    image.rgb.resize(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    const cv::Scalar background(scene.rgb[0], scene.rgb[1], scene.rgb[2]);
    cv::Mat picture(height, width, CV_8UC3, image.rgb.data());
    if (scene.coarse) {
        cv::Mat half((height + 1) / 2, (width + 1) / 2, CV_8UC3, background);
        for (const SceneObject& object : scene.objects) paint(half, object, false);
        cv::resize(half, picture, picture.size(), 0, 0, cv::INTER_CUBIC);
    } else {
        picture.setTo(background);
        for (const SceneObject& object : scene.objects) paint(picture, object, true);
    }
    if (scene.noise > 0) add_noise(image.rgb, scene);
    return image;
}

std::vector<int> patch_labels(const Scene& scene, int grid) {
    constexpr int kSide = 16;  // points of measurement along a patch
    const int side = grid * kSide;
    cv::Mat mask(side, side, CV_8U, cv::Scalar(0));  // 0, or the object's number from 1
    int number = 0;
    for (const SceneObject& object : scene.objects) fill(mask, outline(object), Frame(side, side), {}, 1, ++number);

    std::vector<int> labels;
    for (int row = 0; row < grid; ++row) {
        for (int column = 0; column < grid; ++column) {
            std::array<int, kMaxObjects + 1> points{};
            for (int y = row * kSide; y < (row + 1) * kSide; ++y) {
                for (int x = column * kSide; x < (column + 1) * kSide; ++x) ++points[mask.at<std::uint8_t>(y, x)];
            }
            const auto best = std::max_element(points.begin() + 1, points.end());
            labels.push_back(3 * *best >= kSide * kSide ? static_cast<int>(best - points.begin()) - 1 : -1);
        }
    }
    return labels;
}

}  // namespace vitrine::scenes
