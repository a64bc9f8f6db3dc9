#pragma once

#include "core/insight/grounding.h"
#include "core/insight/values.h"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Which heads look at what is spoken of: scores of every layer and head over scenes whose boxes are known. A fixed few
// heads chosen so beat any choice made per picture (arXiv 2503.06287).
namespace vitrine {

struct Mean {
    double sum = 0.0;
    std::int64_t count = 0;
    void add(double value) {
        sum += value;
        ++count;
    }
    void add(const std::optional<double>& value) {
        if (value) add(*value);
    }
    void add(const Mean& other) {
        sum += other.sum;
        count += other.count;
    }
    double value() const;  // NaN of nothing
};

// Means over samples; what a sample had no value for does not count (see Grounding).
struct HeadScore {
    Mean pointing;  // the share of hits
    Mean energy;
    Mean auc;
    Mean wrong;    // the share of other objects of the picture pointed at
    Mean mass;     // of attention on the picture
    Mean entropy;  // spatial
    void add(const HeadScore& other);
};
enum class Measure : std::uint8_t { pointing, energy, auc };  // larger is better

// Whose scores they are. Scores of different origins are not added up.
struct ScoreOrigin {
    std::string model;
    Tower tower = Tower::language;
    MapMethod method = MapMethod::attention;
    std::uint64_t scenes_seed = 0;
    int scenes_generation = scenes::kGeneration;
    bool operator==(const ScoreOrigin&) const = default;
};

// The best head is chosen on one half of the samples and judged on the other, which had no say in the choice.
enum class Half : std::uint8_t { calibration, held_out };

// Collects scores of all heads beside their baselines. Not for use by several threads at once: each has its own, and
// merge() joins them.
class HeadScores {
public:
    HeadScores(int layers, int heads, ScoreOrigin origin);

    int layers() const { return layers_; }
    int heads() const { return heads_; }
    const ScoreOrigin& origin() const { return origin_; }
    std::int64_t samples(Half half) const { return table(half).chance.count; }

    // One token that names the object in `box`; others: the boxes of the rest of the picture. Throws InputError when
    // the maps have other layers and heads.
    void add(Half half, const HeadMaps& maps, const Box& box, std::span<const Box> others = {});
    void merge(const HeadScores& other);  // InputError unless origin, layers and heads are the same

    const HeadScore& at(Half half, int layer, int head) const;
    HeadScore any_head(Half half) const;  // over all of them: what a head drawn at random is expected to score
    const HeadScore& centre(Half half) const { return table(half).centre; }  // of centre_map
    double chance(Half half) const { return table(half).chance.value(); }    // of pointing; energy 1, auc 0.5

    struct Best {
        int layer = 0;
        int head = 0;
        HeadScore calibration;
        HeadScore held_out;
    };
    // Largest mean on the calibration half; of equals the one with the larger energy, then the first. None without
    // samples.
    std::optional<Best> best(Measure measure) const;

    // Exact: what is read equals what was written. Throws ConfigError that names the key; `where` stands in messages.
    nlohmann::json to_json() const;
    static HeadScores from_json(const nlohmann::json& json, const std::string& where);
    void save(const std::filesystem::path& path) const;  // FileError
    static HeadScores load(const std::filesystem::path& path);

private:
    struct Table {
        std::vector<HeadScore> heads;  // [layers, heads]
        HeadScore centre;
        Mean chance;
    };
    const Table& table(Half half) const { return tables_[static_cast<std::size_t>(half)]; }
    std::size_t place(int layer, int head) const;

    int layers_;
    int heads_;
    ScoreOrigin origin_;
    std::array<Table, 2> tables_;
};

}  // namespace vitrine
