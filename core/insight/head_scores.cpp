#include "core/insight/head_scores.h"

#include "core/error.h"
#include "core/weights/file.h"
#include "core/weights/json_file.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

namespace vitrine {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "vitrine head scores";
constexpr int kVersion = 1;
constexpr int kMostHeads = 1'000'000;  // layers x heads, so that a broken file asks for no memory

constexpr std::array kParts{std::pair{"pointing", &HeadScore::pointing}, std::pair{"energy", &HeadScore::energy},
                            std::pair{"auc", &HeadScore::auc},           std::pair{"wrong", &HeadScore::wrong},
                            std::pair{"mass", &HeadScore::mass},         std::pair{"entropy", &HeadScore::entropy}};
constexpr std::array kHalves{"calibration", "held_out"};

HeadScore score_of(const PatchGrid& grid, const Box& box, std::span<const Box> others) {
    const Grounding grounding = ground(grid, box, others);
    HeadScore score;
    score.pointing.add(grounding.pointing ? 1.0 : 0.0);
    score.energy.add(grounding.energy);
    score.auc.add(grounding.auc);
    score.wrong.add(grounding.wrong);
    score.entropy.add(grounding.entropy);
    return score;
}

double value_of(const HeadScore& score, Measure measure) {
    switch (measure) {
        case Measure::pointing: return score.pointing.value();
        case Measure::energy: return score.energy.value();
        case Measure::auc: return score.auc.value();
    }
    return 0.0;
}

std::string shape(int layers, int heads) {
    return std::to_string(layers) + " layers of " + std::to_string(heads) + " heads";
}

// Walks down a file that anyone may have written. The path to each value stands in the messages.
class Reader {
public:
    Reader(const json& value, std::string path, const std::string& where)
        : value_(value), path_(std::move(path)), where_(where) {}

    Reader operator[](const char* key) const {
        if (!value_.is_object()) fail("an object");
        const auto found = value_.find(key);
        const std::string path = path_.empty() ? key : path_ + "." + key;
        if (found == value_.end()) throw error(path, "this key", "nothing");
        return {*found, path, where_};
    }
    std::string text() const {
        if (!value_.is_string()) fail("a text");
        return value_.get<std::string>();
    }
    std::int64_t integer(std::int64_t low, std::int64_t high) const {
        if (!value_.is_number_integer() || value_.get<std::int64_t>() < low || value_.get<std::int64_t>() > high) {
            fail("a whole number from " + std::to_string(low) + " to " + std::to_string(high));
        }
        return value_.get<std::int64_t>();
    }
    std::uint64_t seed() const {
        if (!value_.is_number_unsigned()) fail("a whole number, 0 or above");
        return value_.get<std::uint64_t>();
    }
    double number() const {
        if (!value_.is_number() || !std::isfinite(value_.get<double>())) fail("a number");
        return value_.get<double>();
    }
    std::vector<Reader> list(std::size_t size) const {
        if (!value_.is_array() || value_.size() != size) fail("a list of " + std::to_string(size));
        std::vector<Reader> items;
        for (std::size_t i = 0; i < size; ++i)
            items.push_back({value_[i], path_ + "[" + std::to_string(i) + "]", where_});
        return items;
    }
    [[noreturn]] void fail(const std::string& expected) const { throw error(path_, expected, shown(value_)); }

private:
    ConfigError error(const std::string& path, const std::string& expected, const std::string& found) const {
        return ConfigError({.name = path,
                            .where = where_,
                            .expected = expected,
                            .found = found,
                            .advice = "These are no head scores that this version can read: score the model again."});
    }

    const json& value_;
    std::string path_;
    const std::string& where_;
};

constexpr std::int64_t kMostSamples = std::int64_t{1} << 53;

json mean_json(const Mean& mean) {
    return {{"sum", mean.sum}, {"count", mean.count}};
}
Mean mean_from(const Reader& reader) {
    return {.sum = reader["sum"].number(), .count = reader["count"].integer(0, kMostSamples)};
}

}  // namespace

double Mean::value() const {
    return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

void HeadScore::add(const HeadScore& other) {
    for (const auto& [name, part] : kParts) (this->*part).add(other.*part);
}

HeadScores::HeadScores(int layers, int heads, ScoreOrigin origin)
    : layers_(layers), heads_(heads), origin_(std::move(origin)) {
    if (layers < 1 || heads < 1 || layers > kMostHeads / heads) {
        throw InputError({.name = "head scores",
                          .expected = "1 to " + std::to_string(kMostHeads) + " heads in all",
                          .found = shape(layers, heads)});
    }
    for (Table& table : tables_) table.heads.resize(static_cast<std::size_t>(layers) * static_cast<std::size_t>(heads));
}

std::size_t HeadScores::place(int layer, int head) const {
    return static_cast<std::size_t>(layer * heads_ + head);
}

void HeadScores::add(Half half, const HeadMaps& maps, const Box& box, std::span<const Box> others) {
    if (maps.layers != layers_ || maps.heads != heads_) {
        throw InputError(
            {.name = "maps of all heads", .expected = shape(layers_, heads_), .found = shape(maps.layers, maps.heads)});
    }
    Table& table = tables_[static_cast<std::size_t>(half)];
    PatchGrid grid{.rows = maps.rows, .columns = maps.columns, .values = {}};
    for (int layer = 0; layer < layers_; ++layer) {
        for (int head = 0; head < heads_; ++head) {
            const float* values = maps.map(layer, head);
            grid.values.assign(values, values + maps.rows * maps.columns);
            HeadScore score = score_of(grid, box, others);
            if (!maps.masses.empty()) score.mass.add(maps.masses[place(layer, head)].picture);
            table.heads[place(layer, head)].add(score);
        }
    }
    const PatchGrid centre = centre_map(maps.rows, maps.columns);
    table.centre.add(score_of(centre, box, others));
    table.chance.add(chance_of_pointing(centre, box));
}

void HeadScores::merge(const HeadScores& other) {
    if (other.layers_ != layers_ || other.heads_ != heads_ || other.origin_ != origin_) {
        throw InputError({.name = "head scores",
                          .expected = "the same model, method, scenes and heads: \"" + origin_.model + "\", " +
                                      shape(layers_, heads_),
                          .found = "\"" + other.origin_.model + "\", " + shape(other.layers_, other.heads_)});
    }
    for (std::size_t half = 0; half < tables_.size(); ++half) {
        Table& mine = tables_[half];
        const Table& theirs = other.tables_[half];
        for (std::size_t i = 0; i < mine.heads.size(); ++i) mine.heads[i].add(theirs.heads[i]);
        mine.centre.add(theirs.centre);
        mine.chance.add(theirs.chance);
    }
}

const HeadScore& HeadScores::at(Half half, int layer, int head) const {
    return table(half).heads.at(place(layer, head));
}

HeadScore HeadScores::any_head(Half half) const {
    HeadScore all;
    for (const HeadScore& score : table(half).heads) all.add(score);
    return all;
}

std::optional<HeadScores::Best> HeadScores::best(Measure measure) const {
    const auto& heads = table(Half::calibration).heads;
    const auto key = [&](const HeadScore& score) { return std::pair(value_of(score, measure), score.energy.value()); };
    const HeadScore* winner = nullptr;
    for (const HeadScore& score : heads) {
        if (std::isnan(value_of(score, measure))) continue;
        if (winner == nullptr || key(score) > key(*winner)) winner = &score;
    }
    if (winner == nullptr) return std::nullopt;
    const auto at = static_cast<int>(winner - heads.data());
    return Best{.layer = at / heads_,
                .head = at % heads_,
                .calibration = *winner,
                .held_out = table(Half::held_out).heads[static_cast<std::size_t>(at)]};
}

json HeadScores::to_json() const {
    json result{{"format", kFormat},
                {"version", kVersion},
                {"model", origin_.model},
                {"tower", name_of(origin_.tower)},
                {"method", name_of(origin_.method)},
                {"scenes", {{"seed", origin_.scenes_seed}, {"generation", origin_.scenes_generation}}},
                {"layers", layers_},
                {"heads", heads_}};
    for (std::size_t half = 0; half < tables_.size(); ++half) {
        const Table& table = tables_[half];
        json centre;
        json heads;
        for (const auto& [name, part] : kParts) {
            centre[name] = mean_json(table.centre.*part);
            for (const HeadScore& score : table.heads) {
                heads[name]["sum"].push_back((score.*part).sum);
                heads[name]["count"].push_back((score.*part).count);
            }
        }
        result[kHalves[half]] = {{"chance", mean_json(table.chance)}, {"centre", centre}, {"heads", heads}};
    }
    return result;
}

HeadScores HeadScores::from_json(const json& value, const std::string& where) {
    const Reader file(value, "", where);
    if (file["format"].text() != kFormat) file["format"].fail("\"" + std::string(kFormat) + "\"");
    file["version"].integer(kVersion, kVersion);

    ScoreOrigin origin{.model = file["model"].text(), .scenes_seed = file["scenes"]["seed"].seed()};
    origin.scenes_generation = static_cast<int>(file["scenes"]["generation"].integer(0, kMostHeads));
    const std::string tower = file["tower"].text();
    if (tower != name_of(Tower::language) && tower != name_of(Tower::vision)) file["tower"].fail("language or vision");
    origin.tower = tower == name_of(Tower::vision) ? Tower::vision : Tower::language;
    const std::optional<MapMethod> method = map_method_from_name(file["method"].text());
    if (!method) file["method"].fail("a method of making maps");
    origin.method = *method;

    const auto layers = static_cast<int>(file["layers"].integer(1, kMostHeads));
    const auto heads = static_cast<int>(file["heads"].integer(1, kMostHeads / layers));
    HeadScores result(layers, heads, std::move(origin));
    for (std::size_t half = 0; half < result.tables_.size(); ++half) {
        const Reader from = file[kHalves[half]];
        Table& table = result.tables_[half];
        table.chance = mean_from(from["chance"]);
        for (const auto& [name, part] : kParts) {
            table.centre.*part = mean_from(from["centre"][name]);
            const auto sums = from["heads"][name]["sum"].list(table.heads.size());
            const auto counts = from["heads"][name]["count"].list(table.heads.size());
            for (std::size_t i = 0; i < table.heads.size(); ++i)
                table.heads[i].*part = {.sum = sums[i].number(), .count = counts[i].integer(0, kMostSamples)};
        }
    }
    return result;
}

void HeadScores::save(const std::filesystem::path& path) const {
    write_file(path, to_json().dump(-1, ' ', false, json::error_handler_t::replace) + '\n');
}

HeadScores HeadScores::load(const std::filesystem::path& path) {
    return from_json(read_json_file(path), path.string());
}

}  // namespace vitrine
