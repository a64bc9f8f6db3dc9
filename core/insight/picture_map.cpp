#include "core/insight/picture_map.h"

#include "core/error.h"

#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

namespace vitrine {
namespace {

using Point = Canvas::Point;
using Rect = Canvas::Rect;
using Anchor = Canvas::Anchor;

constexpr Rgb kInk{32, 32, 32};
constexpr Rgb kQuiet{96, 96, 96};
constexpr Rgb kBlack{0, 0, 0};
constexpr Rgb kWhite{255, 255, 255};
constexpr Rgb kGround{128, 128, 128};  // where there is no picture

constexpr int kMargin = 16;
constexpr int kGap = 12;
constexpr int kLine = Canvas::kTextHeight + 5;
constexpr int kBarWidth = 420;
constexpr int kBarHeight = 12;
constexpr int kLeastPatch = 4;

// ---- What stands below the maps -------------------------------------------------------------------------------------

struct Clipped {
    int below = 0;
    int above = 0;
};

void count_clipped(const ValueScale& scale, std::span<const float> values, Clipped& clipped) {
    for (const float value : values) {
        const Shade shade = shade_of(scale, value);
        clipped.below += shade.below ? 1 : 0;
        clipped.above += shade.above ? 1 : 0;
    }
}

std::string words_for(const ValueScale& scale, const Clipped& clipped) {
    std::string words = "scale: " + std::string(name_of(scale.kind)) + ", " + std::string(name_of(scale.transform));
    const auto mention = [&](int count, const char* side) {
        if (count > 0)
            words += "; " + std::to_string(count) + (count == 1 ? " value lies " : " values lie ") + side + " it";
    };
    mention(clipped.above, "above");
    mention(clipped.below, "below");
    return words;
}

std::vector<std::string> broken_into_lines(const std::string& text, double width) {
    std::vector<std::string> lines;
    std::string line;
    std::string word;
    const auto finish_word = [&] {
        if (!line.empty() && Canvas::text_width(line + ' ' + word) > width) lines.push_back(std::exchange(line, {}));
        if (!word.empty()) line += (line.empty() ? "" : " ") + word;
        word.clear();
    };
    for (const char c : text) {
        if (c != ' ' && c != '\n') {
            word += c;
            continue;
        }
        finish_word();
        if (c == '\n') lines.push_back(std::exchange(line, {}));
    }
    finish_word();
    if (!line.empty()) lines.push_back(line);
    return lines;
}

std::string shortened(std::string text, double width) {
    if (Canvas::text_width(text) <= width) return text;
    while (!text.empty() && Canvas::text_width(text + "...") > width) {
        const auto is_rest = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };  // of a character
        while (text.size() > 1 && is_rest(text.back())) text.pop_back();
        text.pop_back();
    }
    return text + "...";
}

// The colour bar, the scale in words and the caption.
class Legend {
public:
    Legend(const MapStyle& style, const Clipped& clipped, const std::string& note, int width)
        : style_(style), clipped_(clipped) {
        lines_ = broken_into_lines(style.caption, width);
        if (style.colour_bar) lines_.insert(lines_.begin(), words_for(style.scale, clipped));
        if (!note.empty()) lines_.push_back(note);
    }

    int height() const {
        return kGap + (style_.colour_bar ? kBarHeight + kLine + 4 : 0) + kLine * static_cast<int>(lines_.size());
    }

    void draw(Canvas& canvas, int top) const {
        double y = top + kGap;
        if (style_.colour_bar) {
            draw_bar(canvas, {kMargin, y, kBarWidth, kBarHeight});
            y += kBarHeight + kLine + 4;
        }
        for (std::size_t i = 0; i < lines_.size(); ++i, y += kLine)
            canvas.text({kMargin, y + Canvas::kTextHeight}, lines_[i], style_.colour_bar && i == 0 ? kQuiet : kInk);
    }

private:
    void draw_bar(Canvas& canvas, const Rect& bar) const {
        Canvas::Pixels colours{.width = 256, .height = 1, .rgba = {}};
        for (const Rgb& colour : colour_table(style_.colours))
            colours.rgba.insert(colours.rgba.end(), {colour[0], colour[1], colour[2], 255});
        canvas.picture(bar, colours);
        canvas.frame({bar.x - 1, bar.y - 1, bar.width + 2, bar.height + 2}, kQuiet, 1);

        constexpr int kTicks = 4;
        for (int i = 0; i <= kTicks; ++i) {
            const double share = static_cast<double>(i) / kTicks;
            const double x = bar.x + bar.width * share;
            std::string label = short_number(value_at(style_.scale, share) / style_.scale.unit);
            if (style_.scale.kind == ScaleKind::uniform) label += 'x';
            if (i == 0 && clipped_.below > 0) label.insert(0, "< ");
            if (i == kTicks && clipped_.above > 0) label.insert(0, "> ");
            canvas.line({x, bar.y + bar.height}, {x, bar.y + bar.height + 4}, kQuiet, 1);
            canvas.text({x, bar.y + bar.height + 4 + Canvas::kTextHeight}, label, kInk,
                        i == 0        ? Anchor::start
                        : i == kTicks ? Anchor::end
                                      : Anchor::middle);
        }
    }

    const MapStyle& style_;
    Clipped clipped_;
    std::vector<std::string> lines_;
};

// ---- Maps over pictures ---------------------------------------------------------------------------------------------

void check(const MapPanel& panel) {
    if (panel.grid == nullptr) throw InputError({.name = "map", .expected = "values", .found = "none"});
    const PatchGrid& grid = *panel.grid;
    if (grid.rows < 0 || grid.columns < 0 ||
        grid.values.size() != static_cast<std::size_t>(grid.rows) * static_cast<std::size_t>(grid.columns)) {
        throw InputError({.name = "map",
                          .expected = std::to_string(grid.rows) + " x " + std::to_string(grid.columns) + " values",
                          .found = std::to_string(grid.values.size())});
    }
    const auto check_patch = [&](int patch) {
        if (patch >= 0 && static_cast<std::size_t>(patch) < grid.values.size()) return;
        throw OptionError({.name = "patch",
                           .expected = "one of " + std::to_string(grid.values.size()),
                           .found = std::to_string(patch)});
    };
    if (panel.chosen) check_patch(*panel.chosen);
    for (const int patch : panel.sinks) check_patch(patch);
}

Canvas::Pixels grey(const Image* picture, int width, int height) {
    Canvas::Pixels pixels{.width = width, .height = height, .rgba = {}};
    cv::Mat resized(height, width, CV_8UC1, cv::Scalar(kGround[0]));
    if (picture != nullptr && picture->width > 0 && picture->height > 0) {
        const cv::Mat rgb(picture->height, picture->width, CV_8UC3, const_cast<std::uint8_t*>(picture->rgb.data()));
        cv::Mat luma;
        cv::cvtColor(rgb, luma, cv::COLOR_RGB2GRAY);
        const bool shrinks = width < picture->width || height < picture->height;
        cv::resize(luma, resized, resized.size(), 0, 0, shrinks ? cv::INTER_AREA : cv::INTER_LINEAR);
        // Neither as dark nor as light as the ends of a table of colours, so that these stand out on every picture.
        resized.convertTo(resized, -1, 0.6, 24.0);
    }
    pixels.rgba.reserve(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 4);
    for (int row = 0; row < height; ++row) {
        for (int column = 0; column < width; ++column) {
            const std::uint8_t value = resized.at<std::uint8_t>(row, column);
            pixels.rgba.insert(pixels.rgba.end(), {value, value, value, 255});
        }
    }
    return pixels;
}

// The value at a place of the map, in patches from its top left corner: bilinear between the middles of the patches
// that have one. A place in a patch without a value has none.
float smooth_value(const PatchGrid& grid, double x, double y) {
    const auto clamped = [](double place, int count) {
        return std::clamp(static_cast<int>(std::floor(place)), 0, count - 1);
    };
    if (std::isnan(grid.at(clamped(y, grid.rows), clamped(x, grid.columns)))) return std::nanf("");
    const double left = std::floor(x - 0.5);
    const double top = std::floor(y - 0.5);
    double sum = 0.0;
    double weights = 0.0;
    for (int corner = 0; corner < 4; ++corner) {
        const double column = left + corner % 2;
        const double row = top + corner / 2;
        const float value = grid.at(clamped(row, grid.rows), clamped(column, grid.columns));
        const double weight = (1.0 - std::abs(x - 0.5 - column)) * (1.0 - std::abs(y - 0.5 - row));
        if (std::isnan(value) || weight <= 0.0) continue;
        sum += weight * value;
        weights += weight;
    }
    return weights > 0.0 ? static_cast<float>(sum / weights) : std::nanf("");
}

class MapDrawing {
public:
    MapDrawing(std::span<const MapPanel> panels, const MapStyle& style) : panels_(panels), style_(style) {
        if (panels.empty()) throw InputError({.name = "drawing", .expected = "at least one map", .found = "none"});
        Clipped clipped;
        bool titled = false;
        for (const MapPanel& panel : panels) {
            check(panel);
            count_clipped(style.scale, panel.grid->values, clipped);
            titled = titled || !panel.title.empty();
            const auto [width, height] = size_of(panel);
            widest_ = std::max(widest_, width);
            highest_ = std::max(highest_, height);
        }
        title_height_ = titled ? kLine : 0;
        columns_ = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(panels.size()))));
        rows_ = (static_cast<int>(panels.size()) + columns_ - 1) / columns_;
        const int content = std::max(columns_ * (widest_ + kGap) - kGap, kBarWidth);
        legend_.emplace(style, clipped, "", content);
        width_ = content + 2 * kMargin;
        maps_height_ = rows_ * (title_height_ + highest_ + kGap) - kGap;
        height_ = kMargin + maps_height_ + legend_->height() + kMargin;
    }

    int width() const { return width_; }
    int height() const { return height_; }

    void draw(Canvas& canvas) const {
        for (std::size_t i = 0; i < panels_.size(); ++i) {
            const int column = static_cast<int>(i) % columns_;
            const int row = static_cast<int>(i) / columns_;
            const double x = kMargin + column * (widest_ + kGap);
            const double y = kMargin + row * (title_height_ + highest_ + kGap);
            canvas.text({x, y + Canvas::kTextHeight - 2}, shortened(panels_[i].title, widest_), kInk);
            const auto [width, height] = size_of(panels_[i]);
            draw_panel(canvas, panels_[i],
                       {x, y + title_height_, static_cast<double>(width), static_cast<double>(height)});
        }
        legend_->draw(canvas, kMargin + maps_height_);
    }

private:
    std::pair<int, int> size_of(const MapPanel& panel) const {
        const double wide = panel.picture != nullptr ? panel.picture->width : panel.grid->columns;
        const double high = panel.picture != nullptr ? panel.picture->height : panel.grid->rows;
        const double scale = style_.longest_side / std::max({wide, high, 1.0});
        const auto side = [scale](double length, int patches) {
            if (patches == 0) return std::max(static_cast<int>(std::lround(length * scale)), 1);
            return patches * std::max(static_cast<int>(std::lround(length * scale / patches)), kLeastPatch);
        };
        return {side(wide, panel.grid->columns), side(high, panel.grid->rows)};
    }

    static Rect patch_rect(const PatchGrid& grid, const Rect& area, int patch) {
        const double width = area.width / grid.columns;
        const double height = area.height / grid.rows;
        return {area.x + patch % grid.columns * width, area.y + patch / grid.columns * height, width, height};
    }

    void draw_panel(Canvas& canvas, const MapPanel& panel, const Rect& area) const {
        canvas.picture(area, grey(panel.picture, static_cast<int>(area.width), static_cast<int>(area.height)));
        const PatchGrid& grid = *panel.grid;
        if (style_.smooth && !grid.values.empty()) {
            draw_smooth(canvas, grid, area);
        } else {
            draw_blocks(canvas, grid, area);
        }
        for (const int sink : panel.sinks) hatch(canvas, patch_rect(grid, area, sink));
        for (const scenes::Box& box : panel.boxes) {
            outline(canvas, {area.x + box.x0 * area.width, area.y + box.y0 * area.height,
                             (box.x1 - box.x0) * area.width, (box.y1 - box.y0) * area.height});
        }
        if (panel.chosen) outline(canvas, patch_rect(grid, area, *panel.chosen));
    }

    void draw_blocks(Canvas& canvas, const PatchGrid& grid, const Rect& area) const {
        const RgbTable& table = colour_table(style_.colours);
        for (std::size_t i = 0; i < grid.values.size(); ++i) {
            const Shade shade = shade_of(style_.scale, grid.values[i]);
            if (shade.strength <= 0.0) continue;
            canvas.fill(patch_rect(grid, area, static_cast<int>(i)), table[static_cast<std::size_t>(shade.index)],
                        style_.opacity * shade.strength);
        }
    }

    void draw_smooth(Canvas& canvas, const PatchGrid& grid, const Rect& area) const {
        const RgbTable& table = colour_table(style_.colours);
        Canvas::Pixels layer{
            .width = static_cast<int>(area.width), .height = static_cast<int>(area.height), .rgba = {}};
        for (int row = 0; row < layer.height; ++row) {
            for (int column = 0; column < layer.width; ++column) {
                const Shade shade =
                    shade_of(style_.scale, smooth_value(grid, (column + 0.5) * grid.columns / layer.width,
                                                        (row + 0.5) * grid.rows / layer.height));
                const Rgb colour = shade.index < 0 ? kBlack : table[static_cast<std::size_t>(shade.index)];
                const auto alpha = static_cast<std::uint8_t>(std::lround(255.0 * style_.opacity * shade.strength));
                layer.rgba.insert(layer.rgba.end(), {colour[0], colour[1], colour[2], alpha});
            }
        }
        canvas.picture(area, layer);
    }

    static void outline(Canvas& canvas, const Rect& rect) {  // seen on light and on dark
        canvas.frame({rect.x - 1, rect.y - 1, rect.width + 2, rect.height + 2}, kBlack, 4);
        canvas.frame(rect, kWhite, 2);
    }

    static void hatch(Canvas& canvas, const Rect& patch) {  // strokes from the lower left to the upper right
        constexpr double kStep = 8.0;
        constexpr double kInset = 1.5;  // so that their ends stay within the patch
        const Rect rect{patch.x + kInset, patch.y + kInset, patch.width - 2 * kInset, patch.height - 2 * kInset};
        for (double sum = kStep / 2; sum < rect.width + rect.height; sum += kStep) {  // where x + y is the same
            const double right = std::min(sum, rect.width);
            const double left = std::max(sum - rect.height, 0.0);
            const Point from{rect.x + left, rect.y + sum - left};
            const Point to{rect.x + right, rect.y + sum - right};
            canvas.line(from, to, kBlack, 2);
            canvas.line({from.x + 1, from.y + 1}, {to.x + 1, to.y + 1}, kWhite, 1);
        }
    }

    std::span<const MapPanel> panels_;
    const MapStyle& style_;
    std::optional<Legend> legend_;
    int widest_ = 0;
    int highest_ = 0;
    int title_height_ = 0;
    int columns_ = 1;
    int rows_ = 1;
    int maps_height_ = 0;
    int width_ = 0;
    int height_ = 0;
};

// ---- Maps of all heads ----------------------------------------------------------------------------------------------

class SheetDrawing {
public:
    SheetDrawing(const HeadMaps& maps, const MapStyle& style) : maps_(maps), style_(style) {
        const auto count = [](int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); };
        if (maps.layers < 1 || maps.heads < 1 || maps.rows < 1 || maps.columns < 1 ||
            maps.values.size() != count(maps.layers, maps.heads) * count(maps.rows, maps.columns) ||
            (!maps.masses.empty() && maps.masses.size() != count(maps.layers, maps.heads))) {
            throw InputError({.name = "maps of all heads",
                              .expected = std::to_string(maps.layers) + " x " + std::to_string(maps.heads) +
                                          " maps of " + std::to_string(maps.rows) + " x " +
                                          std::to_string(maps.columns),
                              .found = std::to_string(maps.values.size()) + " values"});
        }
        constexpr int kSide = 56;
        const int zoom = std::max(1, kSide / std::max(maps.rows, maps.columns));
        cell_width_ = zoom * maps.columns;
        cell_height_ = zoom * maps.rows;
        row_height_ = cell_height_ + (maps.masses.empty() ? kBetween : kMassHeight + 2 + kBetween);
        Clipped clipped;
        count_clipped(style.scale, maps.values, clipped);
        const int content = std::max(kLabels + maps.heads * (cell_width_ + kBetween) - kBetween, kBarWidth);
        const char* note = maps.masses.empty() ? "" : "bar below a map: share of the attention that the picture gets";
        legend_.emplace(style, clipped, note, content);
        width_ = content + 2 * kMargin;
        maps_height_ = kLine + maps.layers * row_height_;
    }

    int width() const { return width_; }
    int height() const { return kMargin + maps_height_ + legend_->height() + kMargin; }

    void draw(Canvas& canvas) const {
        for (int head = 0; head < maps_.heads; ++head) {
            canvas.text({left_of(head) + cell_width_ / 2.0, kMargin + Canvas::kTextHeight - 2},
                        "H" + std::to_string(head), kQuiet, Anchor::middle);
        }
        for (int layer = 0; layer < maps_.layers; ++layer) {
            const double y = kMargin + kLine + layer * row_height_;
            canvas.text({kMargin + kLabels - 6, y + cell_height_ / 2.0 + 5}, "L" + std::to_string(layer), kQuiet,
                        Anchor::end);
            for (int head = 0; head < maps_.heads; ++head) {
                const double x = left_of(head);
                canvas.picture({x, y, static_cast<double>(cell_width_), static_cast<double>(cell_height_)},
                               cell(layer, head));
                if (maps_.masses.empty()) continue;
                const double mass = maps_.masses[static_cast<std::size_t>(layer * maps_.heads + head)].picture;
                const double length = cell_width_ * std::clamp(mass, 0.0, 1.0);
                canvas.fill({x, y + cell_height_ + 2, static_cast<double>(cell_width_), kMassHeight}, kTrack);
                canvas.fill({x, y + cell_height_ + 2, length, kMassHeight}, kInk);
            }
        }
        legend_->draw(canvas, kMargin + maps_height_);
    }

private:
    static constexpr int kLabels = 36;
    static constexpr int kBetween = 4;
    static constexpr int kMassHeight = 3;
    static constexpr Rgb kTrack{216, 216, 216};

    double left_of(int head) const { return kMargin + kLabels + head * (cell_width_ + kBetween); }

    Canvas::Pixels cell(int layer, int head) const {
        const RgbTable& table = colour_table(style_.colours);
        Canvas::Pixels pixels{.width = maps_.columns, .height = maps_.rows, .rgba = {}};
        for (const float value :
             std::span(maps_.map(layer, head), static_cast<std::size_t>(maps_.rows * maps_.columns))) {
            const Shade shade = shade_of(style_.scale, value);
            const bool blank = shade.index < 0;
            const Rgb colour = blank ? kWhite : table[static_cast<std::size_t>(shade.index)];
            pixels.rgba.insert(pixels.rgba.end(),
                               {colour[0], colour[1], colour[2], static_cast<std::uint8_t>(blank ? 0 : 255)});
        }
        return pixels;
    }

    const HeadMaps& maps_;
    const MapStyle& style_;
    std::optional<Legend> legend_;
    int cell_width_ = 0;
    int cell_height_ = 0;
    int row_height_ = 0;
    int maps_height_ = 0;
    int width_ = 0;
};

template <class Output, class Drawing>
Output drawn(const Drawing& drawing) {
    Output canvas(drawing.width(), drawing.height());
    drawing.draw(canvas);
    return canvas;
}

}  // namespace

std::string short_number(double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general, 3);
    return {digits.data(), end.ptr};
}

Image map_image(std::span<const MapPanel> panels, const MapStyle& style) {
    return drawn<RasterCanvas>(MapDrawing(panels, style)).image();
}
std::string map_png(std::span<const MapPanel> panels, const MapStyle& style, const Canvas::Words& words) {
    return drawn<RasterCanvas>(MapDrawing(panels, style)).png(words);
}
std::string map_svg(std::span<const MapPanel> panels, const MapStyle& style, const Canvas::Words& words) {
    return drawn<SvgCanvas>(MapDrawing(panels, style)).svg(words);
}

Image heads_image(const HeadMaps& maps, const MapStyle& style) {
    return drawn<RasterCanvas>(SheetDrawing(maps, style)).image();
}
std::string heads_png(const HeadMaps& maps, const MapStyle& style, const Canvas::Words& words) {
    return drawn<RasterCanvas>(SheetDrawing(maps, style)).png(words);
}
std::string heads_svg(const HeadMaps& maps, const MapStyle& style, const Canvas::Words& words) {
    return drawn<SvgCanvas>(SheetDrawing(maps, style)).svg(words);
}

}  // namespace vitrine
