#pragma once

#include "core/types.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What can be asked about the inside of the model, and the answers, as plain values: no torch type, no Qt type.
//
// Positions count through the whole conversation as the model reads it: prompt, pictures, answer. The row of attention
// that explains the token at position p is the row of the query at p - 1, the one that predicted it.
namespace vitrine {

enum class Tower : std::uint8_t { language, vision };
std::string_view name_of(Tower tower);  // "language", "vision"

// How a map over the patches of one picture is made.
enum class MapMethod : std::uint8_t {
    attention,   // the weights as they are
    value_norm,  // weights times the length of what they carry (arXiv 2004.10102)
    relative,    // weights divided by those under a neutral prompt (arXiv 2502.17422)
    relevance,   // attention times its gradient, through all layers (arXiv 2103.15679); language model only
    lens,        // probability of the explained word at each patch, layer by layer (arXiv 2410.07149); language only
    rollout,     // attention followed through all layers (arXiv 2005.00928); vision tower only
};
std::string_view name_of(MapMethod method);  // "attention", "value-norm", "relative", "relevance", "lens", "rollout"
std::optional<MapMethod> map_method_from_name(std::string_view name);

inline constexpr int kAll = -1;  // as a layer, head or patch: the mean over all of them

struct MapRequest {
    Tower tower = Tower::language;
    MapMethod method = MapMethod::attention;
    int layer = kAll;           // ignored by relevance and rollout
    int head = kAll;            // ignored by relevance, rollout and lens; value_norm: the norm of the summed vectors
    int picture = 0;            // of the conversation, in order
    std::int64_t position = 0;  // language: of the token to explain, at least 1
    int patch = kAll;           // vision: the patch that looks
    bool operator==(const MapRequest&) const = default;
};

// One value for each patch, row by row from the top left. NaN: masked, to be left blank.
struct PatchGrid {
    int rows = 0;
    int columns = 0;
    std::vector<float> values;
    float at(int row, int column) const { return values[static_cast<std::size_t>(row * columns + column)]; }
};

// Where one row of attention goes; the parts sum to 1. Only attention of the language model has them.
struct Masses {
    double picture = 0.0;         // the picture asked for
    double other_pictures = 0.0;  // all others
    double first = 0.0;           // the first position, which collects what has nowhere to go
    double prompt = 0.0;          // the rest of the prompt
    double answer = 0.0;          // the answer so far
};

struct AttentionMap {
    MapRequest request;
    PatchGrid grid;
    std::optional<Masses> masses;
    double entropy = 0.0;   // of the whole row, in nats; of its mean where several were asked for
    std::int64_t keys = 0;  // length of the row; uniform attention is 1 / keys
};

// Small maps of every layer and head for one token (or one patch of the vision tower).
struct HeadMaps {
    MapRequest request;  // its layer and head mean nothing
    int layers = 0;
    int heads = 0;
    int rows = 0;
    int columns = 0;
    std::vector<float> values;   // [layers, heads, rows, columns]
    std::vector<Masses> masses;  // [layers, heads]; empty for the vision tower
    std::vector<float> entropy;  // [layers, heads]
    const float* map(int layer, int head) const {
        return values.data() + static_cast<std::size_t>((layer * heads + head) * rows * columns);
    }
};

enum class TokenPlace : std::uint8_t { prompt, picture, answer };

struct InsightToken {
    std::int64_t position = 0;
    std::int32_t id = 0;
    std::string text;  // the token's own bytes, made valid UTF-8
    TokenPlace place = TokenPlace::prompt;
    int picture = -1;                            // place picture: which one
    float log_prob = 0.0F;                       // answer: of this token
    std::vector<TokenAlternative> alternatives;  // answer: most likely first
};

// What a recording is about.
struct InsightLayout {
    int layers = 0, heads = 0;                // of the language model
    int vision_layers = 0, vision_heads = 0;  // of the vision tower
    int rows = 0, columns = 0;                // of patches
    int pictures = 0;
    std::int64_t answer_begin = 0;  // position of the answer's first token, the length of the prompt
    std::int64_t length = 0;        // positions recorded up to now
};

// The logit lens at the patches of a picture: the likeliest words of one layer, for each patch, row by row.
struct PatchWords {
    int layer = 0;
    std::vector<std::vector<TokenAlternative>> words;
};

// The logit lens along the layers at the position that predicted a token: how the token stood after each of them.
struct WordRanks {
    std::int64_t position = 0;
    std::vector<std::int64_t> rank;        // [layers], 0 is the likeliest
    std::vector<float> log_prob;           // [layers]
    std::vector<TokenAlternative> winner;  // [layers], the likeliest there
};

// Positions that collect attention without meaning anything.
struct Sinks {
    std::vector<std::int64_t> channels;   // language model: the extreme channels of the first position
    std::vector<std::int64_t> positions;  // language model: where one of them exceeds 20 x RMS (arXiv 2503.03321)
    std::vector<int> patches;             // of the picture asked for, in either tower
    std::vector<float> values;            // [patches of the picture]: the measure itself
    double threshold = 0.0;
};

// What happens to the log-probability of a token when patches are hidden from the language model.
struct CausalCheck {
    enum class Means : std::uint8_t { cut, mean };  // no attention to them, or all embedded as the picture's mean
    std::int64_t position = 0;
    std::vector<int> patches;
    double before = 0.0;  // log-probability
    double after = 0.0;
    double random = 0.0;                    // the same number of other patches hidden instead, mean of several draws
    std::vector<TokenAlternative> instead;  // what would be said now, likeliest first
};

}  // namespace vitrine
