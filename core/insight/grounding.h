#pragma once

#include "core/insight/values.h"
#include "core/scenes/scene.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

// How right a map is, where the box of the named object is known. Patches count row by row from the top left; boxes are
// fractions of the picture. Values that are not finite are masked: they take no part, neither as hits nor in chance.
// Throws InputError when a grid's size does not fit its values.
namespace vitrine {

using scenes::Box;

// The one patch with the largest value; none where several share it, or all are masked.
std::optional<int> strongest_patch(const PatchGrid& grid);

// The pointing game's rule with one patch of tolerance: the centre of the patch lies in the box, or outside it by at
// most one patch's width across and one patch's height down. Every measure and baseline of pointing stands on it.
bool patch_hits(int rows, int columns, int patch, const Box& box);
// The strongest patch hits. A tie is a miss.
bool points_at(const PatchGrid& grid, const Box& box);

// The share of the map's positive part that lies in the box, divided by the share of the patches that does; patches on
// the edge count by the part of them that is inside. 1 is chance. None where nothing is positive or inside.
std::optional<double> energy_pointing(const PatchGrid& grid, const Box& box);

// How probable it is that a patch of the object has a larger value than another one (the area under the ROC curve,
// Mann-Whitney's U by mid-ranks, so a tie counts half). A patch is the object's when its centre is in the box or half
// of it is covered. None where either kind is missing.
std::optional<double> roc_auc(const PatchGrid& grid, const Box& box);

// How scattered the bright parts are (arXiv 2503.06287): patches above the mean, joined to components where they touch
// at an edge or a corner; the entropy, in nats, of the components' shares of their summed values. 0 is one spot; none
// where nothing stands above the mean.
std::optional<double> spatial_entropy(const PatchGrid& grid);

// ---- Baselines ------------------------------------------------------------------------------------------------------

// A map that knows nothing and looks at the middle: it falls off with the distance from the middle patch, which is the
// one right below the middle where their number is even.
PatchGrid centre_map(int rows, int columns);
// The probability that a patch drawn evenly hits.
double chance_of_pointing(const PatchGrid& grid, const Box& box);

// All of it for one map.
struct Grounding {
    bool pointing = false;
    std::optional<double> energy;
    std::optional<double> auc;
    std::optional<double> wrong;    // share of the other objects of the picture that are pointed at; none without any
    std::optional<double> entropy;  // spatial
};
Grounding ground(const PatchGrid& grid, const Box& box, std::span<const Box> others = {});

// ---- Insertion and deletion -----------------------------------------------------------------------------------------

// The patches that are not masked, largest value first; equal ones in a random order of the seed.
std::vector<int> order_of_patches(const PatchGrid& grid, std::uint64_t seed = 0);
// The same patches in a random order: the baseline.
std::vector<int> random_order(const PatchGrid& grid, std::uint64_t seed);

// The probability of the explained token while these patches are hidden from the model.
using HiddenProbability = std::function<double(std::span<const int> hidden_patches)>;

struct CausalCurve {
    std::vector<double> share;        // of the patches moved so far, from 0 to 1
    std::vector<double> probability;  // then
    double area = 0.0;                // under it, by trapezoids
};
// Deletion hides the patches of the order one after the other: a right map makes the area small. Insertion starts with
// all of them hidden and shows them again: a right map makes it large. In `steps` even steps, at most one for each
// patch, so that probability is asked steps + 1 times.
CausalCurve deletion_curve(std::span<const int> order, int steps, const HiddenProbability& probability);
CausalCurve insertion_curve(std::span<const int> order, int steps, const HiddenProbability& probability);

}  // namespace vitrine
