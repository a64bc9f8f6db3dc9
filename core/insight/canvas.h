#pragma once

#include "core/insight/colour_map.h"
#include "core/types.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What a drawing of maps is put on: pixels, or the elements of an SVG file. Lengths are pixels, y runs down.
namespace vitrine {

class Canvas {
public:
    struct Point {
        double x = 0.0, y = 0.0;
    };
    struct Rect {
        double x = 0.0, y = 0.0, width = 0.0, height = 0.0;
    };
    struct Pixels {
        int width = 0;
        int height = 0;
        std::vector<std::uint8_t> rgba;  // [height, width, 4], row by row
    };
    enum class Anchor : std::uint8_t { start, middle, end };
    using Words = std::vector<std::pair<std::string, std::string>>;  // key and text, kept inside the file

    Canvas(int width, int height) : width_(width), height_(height) {}
    virtual ~Canvas() = default;

    int width() const { return width_; }
    int height() const { return height_; }

    // Rectangles that share an edge touch: no pixel is left out or painted twice.
    virtual void fill(const Rect& rect, const Rgb& colour, double opacity = 1.0) = 0;
    virtual void frame(const Rect& rect, const Rgb& colour, int thickness) = 0;  // inside the rectangle
    virtual void line(Point from, Point to, const Rgb& colour, int thickness) = 0;
    // Enlarged as blocks, not smoothed.
    virtual void picture(const Rect& rect, const Pixels& pixels) = 0;
    virtual void text(Point baseline, std::string_view text, const Rgb& colour, Anchor anchor = Anchor::start) = 0;

    static constexpr int kTextHeight = 13;  // of the font; the capitals are 9 pixels high
    static double text_width(std::string_view text);

private:
    int width_;
    int height_;
};

// White at first. Text is drawn with the strokes of OpenCV's own font, which knows ASCII only: other characters show as
// "?" here, and in full in the words inside the file and in the SVG form.
class RasterCanvas final : public Canvas {
public:
    RasterCanvas(int width, int height);

    void fill(const Rect& rect, const Rgb& colour, double opacity) override;
    void frame(const Rect& rect, const Rgb& colour, int thickness) override;
    void line(Point from, Point to, const Rgb& colour, int thickness) override;
    void picture(const Rect& rect, const Pixels& pixels) override;
    void text(Point baseline, std::string_view text, const Rgb& colour, Anchor anchor) override;

    const Image& image() const { return image_; }
    std::string png(const Words& words) const;  // the words in iTXt chunks, uncompressed

private:
    Image image_;
};

class SvgCanvas final : public Canvas {
public:
    using Canvas::Canvas;

    void fill(const Rect& rect, const Rgb& colour, double opacity) override;
    void frame(const Rect& rect, const Rgb& colour, int thickness) override;
    void line(Point from, Point to, const Rgb& colour, int thickness) override;
    void picture(const Rect& rect, const Pixels& pixels) override;  // as a PNG file in base64
    void text(Point baseline, std::string_view text, const Rgb& colour, Anchor anchor) override;

    std::string svg(const Words& words) const;  // the words in <metadata>: <entry key="...">

private:
    std::string body_;
};

}  // namespace vitrine
