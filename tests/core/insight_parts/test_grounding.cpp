#include "core/error.h"
#include "core/insight/grounding.h"
#include "core/scenes/random.h"
#include "insight_support.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace vitrine {
namespace {

using test::constant;
using test::grid_of;
using test::kNan;
using test::planted;

bool near(double a, double b) {
    return std::abs(a - b) < 1e-12;
}

// Values of few kinds, so that there are ties, some of them masked.
PatchGrid random_grid(scenes::Random& random, int rows, int columns) {
    PatchGrid grid = constant(rows, columns, 0.0F);
    for (float& value : grid.values) {
        value = random.chance(0.1) ? kNan : static_cast<float>(random.below(12)) / 8.0F - 0.25F;
    }
    return grid;
}

}  // namespace

class TestGrounding : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theStrongestPatch() {
        QCOMPARE(strongest_patch(grid_of(2, 2, {0.1F, 0.4F, 0.3F, 0.2F})), std::optional(1));
        QCOMPARE(strongest_patch(grid_of(2, 2, {0.1F, 0.4F, 0.4F, 0.2F})), std::nullopt);
        QCOMPARE(strongest_patch(grid_of(2, 2, {0.4F, 0.4F, 0.5F, 0.2F})), std::optional(2));
        QCOMPARE(strongest_patch(grid_of(2, 2, {kNan, -3.0F, kNan, -2.0F})), std::optional(3));
        QCOMPARE(strongest_patch(grid_of(1, 1, {0.0F})), std::optional(0));
        QCOMPARE(strongest_patch(constant(3, 3, 0.2F)), std::nullopt);
        QCOMPARE(strongest_patch(constant(2, 2, kNan)), std::nullopt);
        QCOMPARE(strongest_patch({}), std::nullopt);
        QVERIFY_THROWS_EXCEPTION(InputError, strongest_patch(grid_of(2, 2, {1.0F})));
    }

    void pointingToleratesOnePatch() {
        const Box box{0.3, 0.3, 0.5, 0.5};  // of 10 x 10 patches: centres from 0.2 to 0.6 hit
        for (int patch = 0; patch < 100; ++patch) {
            const auto within = [](int place) { return place >= 2 && place <= 5; };
            QCOMPARE(points_at(planted(10, 10, patch), box), within(patch / 10) && within(patch % 10));
        }
        QCOMPARE(chance_of_pointing(constant(10, 10, 0.0F), box), 0.16);
        // A centre exactly one patch beside the box counts: 0.15 of a box from 0.25.
        QVERIFY(patch_hits(10, 10, 11, {0.25, 0.15, 0.5, 0.5}));
        QVERIFY(!patch_hits(10, 10, 11, {0.2501, 0.15, 0.5, 0.5}));
        // The tolerance is one patch each way, also where patches are not square: 2 rows of 8.
        QVERIFY(patch_hits(2, 8, 0, {0.15, 0.6, 0.3, 1.0}));
        QVERIFY(!patch_hits(2, 8, 0, {0.2, 0.6, 0.3, 1.0}));
        QVERIFY(!points_at(constant(10, 10, 1.0F), box));  // a tie
    }

    void energyAgainstTheAreaOfTheBox() {
        const Box quarter{0.0, 0.0, 0.5, 0.5};
        QVERIFY(near(*energy_pointing(constant(4, 4, 0.3F), quarter), 1.0));
        QVERIFY(near(*energy_pointing(planted(4, 4, 5), quarter), 4.0));
        QVERIFY(near(*energy_pointing(planted(4, 4, 10), quarter), 0.0));
        // A patch that is half inside gives half of its value: 0.5 of all, over 0.25 + ... of the area.
        const Box half{0.0, 0.0, 0.25, 1.0};
        QVERIFY(near(*energy_pointing(planted(2, 2, 0), half), 0.5 / 0.25));
        QVERIFY(near(*energy_pointing(grid_of(1, 2, {1.0F, -7.0F}), {0.0, 0.0, 0.5, 1.0}), 2.0));
        // Masked patches are no part of the area either.
        QVERIFY(near(*energy_pointing(grid_of(1, 4, {1.0F, 1.0F, kNan, kNan}), {0.0, 0.0, 0.25, 1.0}), 1.0));
        QVERIFY(!energy_pointing(constant(2, 2, 0.0F), quarter));
        QVERIFY(!energy_pointing(constant(2, 2, 1.0F), {0.2, 0.2, 0.2, 0.9}));
        QVERIFY(!energy_pointing({}, quarter));
    }

    void areaUnderTheCurve() {
        const Box left{0.0, 0.0, 0.5, 1.0};
        QCOMPARE(roc_auc(grid_of(1, 4, {0.9F, 0.8F, 0.2F, 0.1F}), left), std::optional(1.0));
        QCOMPARE(roc_auc(grid_of(1, 4, {0.1F, 0.2F, 0.8F, 0.9F}), left), std::optional(0.0));
        QCOMPARE(roc_auc(constant(1, 4, 0.5F), left), std::optional(0.5));
        QCOMPARE(roc_auc(grid_of(1, 4, {0.9F, 0.3F, 0.3F, 0.1F}), left), std::optional(0.875));
        QCOMPARE(roc_auc(grid_of(1, 4, {0.9F, kNan, 0.3F, 0.1F}), left), std::optional(1.0));
        QVERIFY(!roc_auc(constant(2, 2, 1.0F), {0.0, 0.0, 1.0, 1.0}));  // nothing outside
        QVERIFY(!roc_auc(constant(2, 2, 1.0F), {0.3, 0.3, 0.4, 0.4}));  // no centre inside, little covered
        QVERIFY(!roc_auc(constant(1, 1, 1.0F), left));
        // Half covered counts without the centre: a ring around it is a thin box at the edge.
        QCOMPARE(roc_auc(grid_of(1, 2, {1.0F, 0.0F}), {0.0, 0.0, 0.25, 1.0}), std::optional(1.0));
    }

    void scatteredMapsHaveSpatialEntropy() {
        QCOMPARE(spatial_entropy(planted(5, 5, 12)), std::optional(0.0));
        PatchGrid two = planted(5, 5, 0);
        two.values[6] = 1.0F;  // touches at a corner: still one spot
        QCOMPARE(spatial_entropy(two), std::optional(0.0));
        two.values[6] = 0.0F;
        two.values[24] = 1.0F;
        QVERIFY(near(*spatial_entropy(two), std::log(2.0)));
        two.values[24] = 3.0F;  // by the sums, not by the sizes
        QVERIFY(near(*spatial_entropy(two), -0.25 * std::log(0.25) - 0.75 * std::log(0.75)));
        QVERIFY(!spatial_entropy(constant(14, 14, 0.1F)));
        QVERIFY(!spatial_entropy(constant(2, 2, kNan)));
        QVERIFY(!spatial_entropy({}));
    }

    void equalToTheDefinitions() {
        scenes::Random random(6);
        const test::CheckedFolder folder;
        struct Case {
            PatchGrid grid;
            Box box;
        };
        std::vector<Case> cases;
        nlohmann::json json = nlohmann::json::array();
        for (int i = 0; i < 60; ++i) {
            const int rows = 1 + static_cast<int>(random.below(9));
            const int columns = 2 + static_cast<int>(random.below(9));
            const double x = random.uniform(-0.1, 0.7);
            const double y = random.uniform(-0.1, 0.7);
            Case one{random_grid(random, rows, columns),
                     {x, y, x + random.uniform(0.05, 0.5), y + random.uniform(0.05, 0.5)}};
            if (std::ranges::all_of(one.grid.values, [](float value) { return std::isnan(value); })) continue;
            json.push_back({{"rows", rows},
                            {"columns", columns},
                            {"values", one.grid.values},
                            {"box", {one.box.x0, one.box.y0, one.box.x1, one.box.y1}}});
            cases.push_back(std::move(one));
        }
        std::ofstream(folder.path() / "cases.json") << json;  // NaN becomes null

        const nlohmann::json found_by_others = folder.read();
        QVERIFY(found_by_others.contains("measures"));
        const nlohmann::json& measures = found_by_others["measures"];
        QCOMPARE(measures.size(), cases.size());
        std::set<std::string> seen;
        for (std::size_t i = 0; i < cases.size(); ++i) {
            const auto& [grid, box] = cases[i];
            const Grounding found = ground(grid, box);
            const auto same = [&](const char* name, const std::optional<double>& value) {
                const auto& expected = measures[i][name];
                if (!expected.is_null()) seen.insert(name);
                return expected.is_null() ? !value : value && std::abs(*value - expected.get<double>()) < 1e-9;
            };
            const std::string where = "case " + std::to_string(i);
            QVERIFY2(same("auc", found.auc), where.c_str());
            QVERIFY2(same("energy", found.energy), where.c_str());
            QVERIFY2(same("entropy", found.entropy), where.c_str());
            QVERIFY2(same("chance", chance_of_pointing(grid, box)), where.c_str());
            QCOMPARE(found.pointing, measures[i]["pointing"].get<bool>());
        }
        QCOMPARE(seen.size(), std::size_t{4});
    }

    void theCentreIsOnePatch() {
        QCOMPARE(strongest_patch(centre_map(14, 14)), std::optional(7 * 14 + 7));
        QCOMPARE(strongest_patch(centre_map(3, 5)), std::optional(5 + 2));
        QVERIFY(points_at(centre_map(14, 14), {0.4, 0.4, 0.6, 0.6}));
        QVERIFY(!points_at(centre_map(14, 14), {0.0, 0.0, 0.4, 0.4}));
    }

    void pointingAtOtherObjects() {
        const std::vector<Box> others{{0.7, 0.7, 1.0, 1.0}, {0.7, 0.0, 1.0, 0.3}};
        const Box box{0.0, 0.0, 0.3, 0.3};
        QCOMPARE(ground(planted(10, 10, 11), box, others).wrong, std::optional(0.0));
        QCOMPARE(ground(planted(10, 10, 88), box, others).wrong, std::optional(0.5));
        QVERIFY(!ground(planted(10, 10, 88), box).wrong);
        QVERIFY(!ground(planted(10, 10, 88), box, others).pointing);
    }

    void curvesByHand() {
        const PatchGrid grid = grid_of(1, 4, {0.1F, 0.4F, 0.2F, 0.3F});
        const std::vector<int> order = order_of_patches(grid);
        QCOMPARE(order, (std::vector<int>{1, 3, 2, 0}));
        std::vector<std::vector<int>> asked;
        const auto probability = [&](std::span<const int> hidden) {
            asked.emplace_back(hidden.begin(), hidden.end());
            return std::ranges::find(hidden, 1) == hidden.end() ? 0.8 : 0.0;  // patch 1 is all that matters
        };
        const CausalCurve deletion = deletion_curve(order, 4, probability);
        QCOMPARE(asked, (std::vector<std::vector<int>>{{}, {1}, {1, 3}, {1, 3, 2}, {1, 3, 2, 0}}));
        QCOMPARE(deletion.share, (std::vector<double>{0.0, 0.25, 0.5, 0.75, 1.0}));
        QVERIFY(near(deletion.area, 0.1));
        asked.clear();
        const CausalCurve insertion = insertion_curve(order, 2, probability);
        QCOMPARE(asked, (std::vector<std::vector<int>>{{1, 3, 2, 0}, {2, 0}, {}}));
        QVERIFY(near(insertion.area, 0.25 * 0.8 + 0.5 * 0.8));

        // Steps that do not divide the patches still end with all of them; there are never more than patches.
        QCOMPARE(deletion_curve(order, 3, probability).share.size(), std::size_t{4});
        QCOMPARE(deletion_curve(order, 3, probability).share.back(), 1.0);
        QCOMPARE(deletion_curve(order, 100, probability).share.size(), std::size_t{5});
        QVERIFY(near(deletion_curve({}, 5, probability).area, 0.8));
        QVERIFY_THROWS_EXCEPTION(OptionError, deletion_curve(order, 0, probability));
    }

    void rightMapsBeatARandomOrder() {
        const Box box{0.2, 0.2, 0.5, 0.5};
        PatchGrid right = constant(10, 10, 0.0F);
        for (int patch = 0; patch < 100; ++patch) {
            if (patch_hits(10, 10, patch, box)) right.values[static_cast<std::size_t>(patch)] = 1.0F;
        }
        const auto probability = [&](std::span<const int> hidden) {
            const auto lost = std::ranges::count_if(
                hidden, [&](int patch) { return right.values[static_cast<std::size_t>(patch)] > 0; });
            return std::exp(-static_cast<double>(lost));
        };
        const auto random = random_order(right, 3);
        QCOMPARE(random, random_order(right, 3));
        QVERIFY(random != random_order(right, 4));
        QCOMPARE(std::set<int>(random.begin(), random.end()).size(), std::size_t{100});
        QVERIFY(deletion_curve(order_of_patches(right), 50, probability).area * 3 <
                deletion_curve(random, 50, probability).area);
        QVERIFY(insertion_curve(order_of_patches(right), 50, probability).area >
                5 * insertion_curve(random, 50, probability).area);
        // Equal values come in no order of their own, and masked patches not at all.
        const std::vector<int> even = order_of_patches(constant(5, 5, 0.1F));
        QVERIFY(!std::ranges::is_sorted(even));
        QCOMPARE(order_of_patches(grid_of(1, 3, {kNan, 0.1F, kNan})), std::vector<int>{1});
    }
};

VITRINE_TEST(TestGrounding)

}  // namespace vitrine

#include "test_grounding.moc"
