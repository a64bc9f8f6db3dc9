#include "core/insight/grounding.h"

#include "core/error.h"
#include "core/scenes/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace vitrine {
namespace {

constexpr double kRounding = 1e-9;  // of positions, as fractions of the picture

void check(const PatchGrid& grid) {
    if (grid.rows >= 0 && grid.columns >= 0 &&
        grid.values.size() == static_cast<std::size_t>(grid.rows) * static_cast<std::size_t>(grid.columns))
        return;
    throw InputError({.name = "map",
                      .expected = std::to_string(grid.rows) + " x " + std::to_string(grid.columns) + " values",
                      .found = std::to_string(grid.values.size())});
}

// The patches that take part, with their values.
std::vector<std::pair<int, double>> present(const PatchGrid& grid) {
    check(grid);
    std::vector<std::pair<int, double>> patches;
    for (std::size_t i = 0; i < grid.values.size(); ++i) {
        if (std::isfinite(grid.values[i])) patches.emplace_back(static_cast<int>(i), grid.values[i]);
    }
    return patches;
}

scenes::Point centre_of(int rows, int columns, int patch) {
    return {.x = (patch % columns + 0.5) / columns, .y = (patch / columns + 0.5) / rows};
}

bool inside(const scenes::Point& point, const Box& box) {
    return point.x >= box.x0 - kRounding && point.x <= box.x1 + kRounding && point.y >= box.y0 - kRounding &&
           point.y <= box.y1 + kRounding;
}

// The part of a patch that the box covers, 0 to 1.
double covered(int rows, int columns, int patch, const Box& box) {
    const auto along = [](int place, int count, double from, double to) {
        return std::clamp(std::min(to * count, place + 1.0) - std::max(from * count, place + 0.0), 0.0, 1.0);
    };
    return along(patch % columns, columns, box.x0, box.x1) * along(patch / columns, rows, box.y0, box.y1);
}

}  // namespace

std::optional<int> strongest_patch(const PatchGrid& grid) {
    std::optional<int> best;
    double most = 0.0;
    bool seen = false;
    for (const auto& [patch, value] : present(grid)) {
        if (seen && value < most) continue;
        best = seen && value == most ? std::nullopt : std::optional(patch);
        most = value;
        seen = true;
    }
    return best;
}

bool patch_hits(int rows, int columns, int patch, const Box& box) {
    const double width = 1.0 / columns;
    const double height = 1.0 / rows;
    return inside(centre_of(rows, columns, patch),
                  {.x0 = box.x0 - width, .y0 = box.y0 - height, .x1 = box.x1 + width, .y1 = box.y1 + height});
}

bool points_at(const PatchGrid& grid, const Box& box) {
    const std::optional<int> patch = strongest_patch(grid);
    return patch && patch_hits(grid.rows, grid.columns, *patch, box);
}

std::optional<double> energy_pointing(const PatchGrid& grid, const Box& box) {
    double all = 0.0;
    double in_box = 0.0;
    double area = 0.0;
    const auto patches = present(grid);
    for (const auto& [patch, value] : patches) {
        const double share = covered(grid.rows, grid.columns, patch, box);
        const double energy = std::max(value, 0.0);
        all += energy;
        in_box += energy * share;
        area += share;
    }
    if (all <= 0.0 || area <= 0.0) return std::nullopt;
    return in_box / all / (area / static_cast<double>(patches.size()));
}

std::optional<double> roc_auc(const PatchGrid& grid, const Box& box) {
    auto patches = present(grid);
    std::ranges::sort(patches, {}, &std::pair<int, double>::second);
    double rank_sum = 0.0;  // of the object's patches
    double objects = 0.0;
    for (std::size_t first = 0, end = 0; first < patches.size(); first = end) {
        while (end < patches.size() && patches[end].second == patches[first].second) ++end;
        const double rank = static_cast<double>(first + 1 + end) / 2.0;  // the mean of first + 1 to end
        for (std::size_t i = first; i < end; ++i) {
            const int patch = patches[i].first;
            if (!inside(centre_of(grid.rows, grid.columns, patch), box) &&
                covered(grid.rows, grid.columns, patch, box) < 0.5 - kRounding)
                continue;
            rank_sum += rank;
            ++objects;
        }
    }
    const double others = static_cast<double>(patches.size()) - objects;
    if (objects == 0.0 || others == 0.0) return std::nullopt;
    return (rank_sum - objects * (objects + 1.0) / 2.0) / (objects * others);
}

std::optional<double> spatial_entropy(const PatchGrid& grid) {
    const auto patches = present(grid);
    double sum = 0.0;
    for (const auto& [patch, value] : patches) sum += value;
    const double mean = sum / static_cast<double>(patches.size());  // of none: no loop below runs
    std::vector<bool> bright(grid.values.size(), false);
    for (const auto& [patch, value] : patches) bright[static_cast<std::size_t>(patch)] = value > mean;

    std::vector<double> masses;
    std::vector<int> waiting;
    for (const auto& [start, start_value] : patches) {
        if (!bright[static_cast<std::size_t>(start)]) continue;
        double mass = 0.0;
        bright[static_cast<std::size_t>(start)] = false;
        waiting.push_back(start);
        while (!waiting.empty()) {
            const int patch = waiting.back();
            waiting.pop_back();
            mass += grid.values[static_cast<std::size_t>(patch)];
            const int row = patch / grid.columns;
            const int column = patch % grid.columns;
            for (int y = std::max(row - 1, 0); y <= std::min(row + 1, grid.rows - 1); ++y) {
                for (int x = std::max(column - 1, 0); x <= std::min(column + 1, grid.columns - 1); ++x) {
                    const int next = y * grid.columns + x;
                    if (!bright[static_cast<std::size_t>(next)]) continue;
                    bright[static_cast<std::size_t>(next)] = false;
                    waiting.push_back(next);
                }
            }
        }
        masses.push_back(mass);
    }
    const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
    if (masses.empty() || total <= 0.0) return std::nullopt;
    double entropy = 0.0;
    for (const double mass : masses) {
        if (mass > 0.0) entropy -= mass / total * std::log(mass / total);
    }
    return entropy;
}

PatchGrid centre_map(int rows, int columns) {
    PatchGrid grid{.rows = rows, .columns = columns, .values = {}};
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
            const double x = static_cast<double>(column - columns / 2) / columns;
            const double y = static_cast<double>(row - rows / 2) / rows;
            constexpr double kSpread = 0.25;  // of the picture's sides
            grid.values.push_back(static_cast<float>(std::exp(-(x * x + y * y) / (2.0 * kSpread * kSpread))));
        }
    }
    return grid;
}

double chance_of_pointing(const PatchGrid& grid, const Box& box) {
    const auto patches = present(grid);
    if (patches.empty()) return 0.0;
    const auto hits = std::ranges::count_if(
        patches, [&](const auto& entry) { return patch_hits(grid.rows, grid.columns, entry.first, box); });
    return static_cast<double>(hits) / static_cast<double>(patches.size());
}

Grounding ground(const PatchGrid& grid, const Box& box, std::span<const Box> others) {
    Grounding result{.pointing = points_at(grid, box),
                     .energy = energy_pointing(grid, box),
                     .auc = roc_auc(grid, box),
                     .wrong = std::nullopt,
                     .entropy = spatial_entropy(grid)};
    if (!others.empty()) {
        const auto hits = std::ranges::count_if(others, [&](const Box& other) { return points_at(grid, other); });
        result.wrong = static_cast<double>(hits) / static_cast<double>(others.size());
    }
    return result;
}

// ---- Insertion and deletion -----------------------------------------------------------------------------------------

std::vector<int> random_order(const PatchGrid& grid, std::uint64_t seed) {
    std::vector<int> order;
    for (const auto& [patch, value] : present(grid)) order.push_back(patch);
    scenes::Random random(seed);
    random.shuffle(order);
    return order;
}

std::vector<int> order_of_patches(const PatchGrid& grid, std::uint64_t seed) {
    std::vector<int> order = random_order(grid, seed);
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](int patch) { return grid.values[static_cast<std::size_t>(patch)]; });
    return order;
}

namespace {

// hidden(n): what is hidden once n patches of the order have been moved.
template <class Hidden>
CausalCurve curve(std::span<const int> order, int steps, const HiddenProbability& probability, const Hidden& hidden) {
    if (steps < 1) throw OptionError({.name = "steps", .expected = "at least 1", .found = std::to_string(steps)});
    const std::size_t count = std::min(static_cast<std::size_t>(steps), order.size());
    CausalCurve result;
    for (std::size_t step = 0; step <= count; ++step) {
        const std::size_t moved = count == 0 ? 0 : (2 * step * order.size() + count) / (2 * count);  // rounded
        result.share.push_back(order.empty() ? 0.0 : static_cast<double>(moved) / static_cast<double>(order.size()));
        result.probability.push_back(probability(hidden(moved)));
        if (step == 0) continue;
        result.area += (result.share[step] - result.share[step - 1]) *
                       (result.probability[step] + result.probability[step - 1]) / 2.0;
    }
    if (count == 0) result.area = result.probability.front();
    return result;
}

}  // namespace

CausalCurve deletion_curve(std::span<const int> order, int steps, const HiddenProbability& probability) {
    return curve(order, steps, probability, [&](std::size_t moved) { return order.first(moved); });
}

CausalCurve insertion_curve(std::span<const int> order, int steps, const HiddenProbability& probability) {
    return curve(order, steps, probability, [&](std::size_t moved) { return order.subspan(moved); });
}

}  // namespace vitrine
