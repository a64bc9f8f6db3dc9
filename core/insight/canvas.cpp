#include "core/insight/canvas.h"

#include "core/error.h"
#include "core/text/utf8.h"

#include <zlib.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace vitrine {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
constexpr double kFontScale = 0.43;  // capitals of 9 pixels

std::string ascii_of(std::string_view text) {
    std::string result;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xC0U) == 0x80U) continue;  // the rest of a character
        result += byte < 0x80U ? (byte < 0x20U || byte == 0x7FU ? ' ' : c) : '?';
    }
    return result;
}

double offset_of(Canvas::Anchor anchor, double width) {
    switch (anchor) {
        case Canvas::Anchor::start: return 0.0;
        case Canvas::Anchor::middle: return -width / 2.0;
        case Canvas::Anchor::end: return -width;
    }
    return 0.0;
}

std::string encoded_png(const cv::Mat& bgr) {
    std::vector<unsigned char> bytes;
    if (!cv::imencode(".png", bgr, bytes))
        throw InputError({.name = "PNG", .expected = "a picture that can be encoded"});
    return {bytes.begin(), bytes.end()};
}

std::string valid_utf8(std::string_view text) {
    std::string buffer;
    return std::string(utf8::repaired(text, buffer));
}

// ---- PNG ------------------------------------------------------------------------------------------------------------

void append_big_endian(std::string& bytes, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
}

std::string text_chunk(std::string_view key, std::string_view text) {
    std::string content("iTXt");
    content += key.substr(0, 79);                  // as long as the format has it
    content += std::string_view("\0\0\0\0\0", 5);  // end of the key, not compressed, no language, no translated key
    std::string words = valid_utf8(text);
    std::erase(words, '\0');
    content += words;
    std::string chunk;
    append_big_endian(chunk, static_cast<std::uint32_t>(content.size() - 4));
    chunk += content;
    append_big_endian(
        chunk, static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size())));
    return chunk;
}

// ---- SVG ------------------------------------------------------------------------------------------------------------

std::string number(double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general, 7);
    return {digits.data(), end.ptr};
}

std::string colour_of(const Rgb& rgb) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string text = "#";
    for (const std::uint8_t channel : rgb) {
        text += kHex[channel >> 4U];
        text += kHex[channel & 15U];
    }
    return text;
}

std::string attribute(std::string_view name, std::string_view value) {
    return ' ' + std::string(name) + "=\"" + std::string(value) + '"';
}

std::string place(const Canvas::Rect& rect) {
    return attribute("x", number(rect.x)) + attribute("y", number(rect.y)) + attribute("width", number(rect.width)) +
           attribute("height", number(rect.height));
}

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : valid_utf8(text)) {
        switch (c) {
            case '&': result += "&amp;"; break;
            case '<': result += "&lt;"; break;
            case '>': result += "&gt;"; break;
            case '"': result += "&quot;"; break;
            case '\n': result += c; break;
            default: result += static_cast<unsigned char>(c) < 0x20U ? ' ' : c;  // XML 1.0 has none of the others
        }
    }
    return result;
}

std::string base64(std::string_view bytes) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k)
            group = group << 8U | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
    }
    return text;
}

}  // namespace

double Canvas::text_width(std::string_view text) {
    int baseline = 0;
    return cv::getTextSize(ascii_of(text), kFont, kFontScale, 1, &baseline).width;
}

// ---- RasterCanvas ---------------------------------------------------------------------------------------------------

namespace {

struct Span {
    int begin, end;
};
// The pixels of an edge-to-edge interval, within a side of the canvas: both ends rounded, so that neighbours share
// them. An edge in the middle of a pixel, give or take the rounding of its arithmetic, always goes the same way.
Span pixels_of(double from, double length, int side) {
    const auto edge = [side](double at) { return std::clamp(static_cast<int>(std::floor(at + 0.5 + 1e-6)), 0, side); };
    return {.begin = edge(from), .end = edge(from + length)};
}

cv::Mat view_of(Image& image) {
    return {image.height, image.width, CV_8UC3, image.rgb.data()};
}

void blend(std::uint8_t* pixel, const std::uint8_t* colour, double opacity) {
    for (int c = 0; c < 3; ++c)
        pixel[c] = static_cast<std::uint8_t>(std::lround(pixel[c] + (colour[c] - pixel[c]) * opacity));
}

}  // namespace

RasterCanvas::RasterCanvas(int width, int height) : Canvas(width, height) {
    image_ = {
        .width = width,
        .height = height,
        .rgb = std::vector<std::uint8_t>(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3, 255),
        .format = "PNG",
        .notes = {}};
}

void RasterCanvas::fill(const Rect& rect, const Rgb& colour, double opacity) {
    const Span x = pixels_of(rect.x, rect.width, width());
    const Span y = pixels_of(rect.y, rect.height, height());
    for (int row = y.begin; row < y.end; ++row) {
        std::uint8_t* pixel = image_.rgb.data() + 3 * (static_cast<std::size_t>(row) * width() + x.begin);
        for (int column = x.begin; column < x.end; ++column, pixel += 3) blend(pixel, colour.data(), opacity);
    }
}

void RasterCanvas::frame(const Rect& rect, const Rgb& colour, int thickness) {
    const double side = std::min({static_cast<double>(thickness), rect.width, rect.height});
    fill({rect.x, rect.y, rect.width, side}, colour, 1.0);
    fill({rect.x, rect.y + rect.height - side, rect.width, side}, colour, 1.0);
    fill({rect.x, rect.y, side, rect.height}, colour, 1.0);
    fill({rect.x + rect.width - side, rect.y, side, rect.height}, colour, 1.0);
}

void RasterCanvas::line(Point from, Point to, const Rgb& colour, int thickness) {
    cv::Mat view = view_of(image_);
    constexpr int kShift = 4;  // sixteenths of a pixel
    const auto fixed = [](Point point) {
        return cv::Point(static_cast<int>(std::lround((point.x - 0.5) * (1 << kShift))),
                         static_cast<int>(std::lround((point.y - 0.5) * (1 << kShift))));
    };
    cv::line(view, fixed(from), fixed(to), cv::Scalar(colour[0], colour[1], colour[2]), thickness, cv::LINE_AA, kShift);
}

void RasterCanvas::picture(const Rect& rect, const Pixels& pixels) {
    if (pixels.width == 0 || pixels.height == 0) return;
    const Span x = pixels_of(rect.x, rect.width, width());
    const Span y = pixels_of(rect.y, rect.height, height());
    for (int row = y.begin; row < y.end; ++row) {
        const auto from_row = static_cast<std::int64_t>(row - y.begin) * pixels.height / (y.end - y.begin);
        for (int column = x.begin; column < x.end; ++column) {
            const auto from_column = static_cast<std::int64_t>(column - x.begin) * pixels.width / (x.end - x.begin);
            const std::uint8_t* from = pixels.rgba.data() + 4 * (from_row * pixels.width + from_column);
            std::uint8_t* to = image_.rgb.data() + 3 * (static_cast<std::size_t>(row) * width() + column);
            blend(to, from, from[3] / 255.0);
        }
    }
}

void RasterCanvas::text(Point baseline, std::string_view text, const Rgb& colour, Anchor anchor) {
    cv::Mat view = view_of(image_);
    const cv::Point at(static_cast<int>(std::lround(baseline.x + offset_of(anchor, text_width(text)))),
                       static_cast<int>(std::lround(baseline.y)));
    cv::putText(view, ascii_of(text), at, kFont, kFontScale, cv::Scalar(colour[0], colour[1], colour[2]), 1,
                cv::LINE_AA);
}

std::string RasterCanvas::png(const Words& words) const {
    cv::Mat bgr;
    cv::cvtColor(cv::Mat(height(), width(), CV_8UC3, const_cast<std::uint8_t*>(image_.rgb.data())), bgr,
                 cv::COLOR_RGB2BGR);
    std::string bytes = encoded_png(bgr);
    constexpr std::size_t kBehindHeader = 8 + 25;  // signature and IHDR, which must come first
    std::string chunks;
    for (const auto& [key, text] : words) chunks += text_chunk(key, text);
    return bytes.insert(kBehindHeader, chunks);
}

// ---- SvgCanvas ------------------------------------------------------------------------------------------------------

void SvgCanvas::fill(const Rect& rect, const Rgb& colour, double opacity) {
    body_ += "<rect" + place(rect) + attribute("fill", colour_of(colour));
    if (opacity < 1.0) body_ += attribute("fill-opacity", number(opacity));
    body_ += "/>\n";
}

void SvgCanvas::frame(const Rect& rect, const Rgb& colour, int thickness) {
    const Rect middle{rect.x + thickness / 2.0, rect.y + thickness / 2.0, std::max(rect.width - thickness, 0.0),
                      std::max(rect.height - thickness, 0.0)};
    body_ += "<rect" + place(middle) + attribute("fill", "none") + attribute("stroke", colour_of(colour)) +
             attribute("stroke-width", number(thickness)) + "/>\n";
}

void SvgCanvas::line(Point from, Point to, const Rgb& colour, int thickness) {
    body_ += "<line" + attribute("x1", number(from.x)) + attribute("y1", number(from.y)) +
             attribute("x2", number(to.x)) + attribute("y2", number(to.y)) + attribute("stroke", colour_of(colour)) +
             attribute("stroke-width", number(thickness)) + attribute("shape-rendering", "auto") + "/>\n";
}

void SvgCanvas::picture(const Rect& rect, const Pixels& pixels) {
    if (pixels.width == 0 || pixels.height == 0) return;
    cv::Mat bgra;
    cv::cvtColor(cv::Mat(pixels.height, pixels.width, CV_8UC4, const_cast<std::uint8_t*>(pixels.rgba.data())), bgra,
                 cv::COLOR_RGBA2BGRA);
    // Enlarged here, too, as far as that keeps whole pixels: not every program minds image-rendering.
    const auto times = [](double length, int count) { return std::max(1, static_cast<int>(length) / count); };
    cv::resize(bgra, bgra, {}, times(rect.width, pixels.width), times(rect.height, pixels.height), cv::INTER_NEAREST);
    body_ += "<image" + place(rect) + attribute("preserveAspectRatio", "none") +
             attribute("style", "image-rendering:pixelated") +
             attribute("xlink:href", "data:image/png;base64," + base64(encoded_png(bgra))) + "/>\n";
}

void SvgCanvas::text(Point baseline, std::string_view text, const Rgb& colour, Anchor anchor) {
    constexpr std::string_view kAnchors[]{"start", "middle", "end"};
    body_ += "<text" + attribute("x", number(baseline.x)) + attribute("y", number(baseline.y)) +
             attribute("fill", colour_of(colour)) + attribute("text-anchor", kAnchors[static_cast<int>(anchor)]) +
             attribute("xml:space", "preserve") + '>' + escaped(text) + "</text>\n";
}

std::string SvgCanvas::svg(const Words& words) const {
    const std::string wide = number(width());
    const std::string high = number(height());
    std::string result =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\""
        " xmlns:xlink=\"http://www.w3.org/1999/xlink\"" +
        attribute("width", wide) + attribute("height", high) + attribute("viewBox", "0 0 " + wide + ' ' + high) +
        attribute("font-family", "sans-serif") + attribute("font-size", number(kTextHeight)) +
        attribute("shape-rendering", "crispEdges") + ">\n<metadata>\n";
    for (const auto& [key, text] : words)
        result += "<entry xmlns=\"\"" + attribute("key", escaped(key)) + '>' + escaped(text) + "</entry>\n";
    result += "</metadata>\n<rect" + attribute("width", "100%") + attribute("height", "100%") +
              attribute("fill", "#ffffff") + "/>\n";
    return result + body_ + "</svg>\n";
}

}  // namespace vitrine
