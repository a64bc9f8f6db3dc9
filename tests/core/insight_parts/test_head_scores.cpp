#include "core/error.h"
#include "core/insight/head_scores.h"
#include "core/scenes/random.h"
#include "insight_support.h"
#include "support/test_main.h"

#include <cmath>

namespace vitrine {
namespace {

constexpr int kLayers = 2;
constexpr int kHeads = 3;
constexpr int kSide = 8;
constexpr Box kBoxes[]{{0.0, 0.0, 0.25, 0.25}, {0.7, 0.7, 1.0, 1.0}, {0.0, 0.7, 0.3, 1.0}, {0.7, 0.0, 1.0, 0.3}};
const ScoreOrigin kOrigin{
    .model = "demo \"model\"", .method = MapMethod::value_norm, .scenes_seed = 18446744073709551615U};

// Maps of noise, but for layer 1 head 2, which finds the box, and layer 0 head 1, which finds it in even samples only.
HeadMaps maps_of(scenes::Random& random, int sample) {
    HeadMaps maps{.request = {}, .layers = kLayers, .heads = kHeads, .rows = kSide, .columns = kSide};
    const Box& box = kBoxes[sample % 4];
    for (int at = 0; at < kLayers * kHeads; ++at) {
        const bool finds = at == kHeads + 2 || (at == 1 && sample % 2 == 0);
        for (int patch = 0; patch < kSide * kSide; ++patch) {
            const bool lit = finds && patch_hits(kSide, kSide, patch, box);
            maps.values.push_back(static_cast<float>(random.uniform() + (lit ? 5.0 : 0.0)));
        }
        maps.masses.push_back({.picture = 0.1 * at});
        maps.entropy.push_back(1.0F);
    }
    return maps;
}

HeadScores filled(int from, int to) {
    HeadScores scores(kLayers, kHeads, kOrigin);
    for (int sample = from; sample < to; ++sample) {
        scenes::Random random(7, static_cast<std::uint64_t>(sample));
        const Half half = sample / 4 % 2 == 0 ? Half::calibration : Half::held_out;
        const Box others[]{kBoxes[(sample + 1) % 4]};
        scores.add(half, maps_of(random, sample), kBoxes[sample % 4], others);
    }
    return scores;
}

}  // namespace

class TestHeadScores : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theBestHeadIsJudgedOnTheOtherHalf() {
        const HeadScores scores = filled(0, 40);
        QCOMPARE(scores.samples(Half::calibration), 20);
        QCOMPARE(scores.samples(Half::held_out), 20);
        for (const Measure measure : {Measure::pointing, Measure::energy, Measure::auc}) {
            const auto best = scores.best(measure);
            QVERIFY(best.has_value());
            QCOMPARE(best->layer, 1);
            QCOMPARE(best->head, 2);
            QCOMPARE(best->held_out.pointing.value(), 1.0);
            QCOMPARE(best->held_out.wrong.value(), 0.0);
            QVERIFY(best->held_out.energy.value() > 2.0);
            QVERIFY(best->held_out.auc.value() > 0.9);
        }
        QVERIFY(std::abs(scores.best(Measure::pointing)->held_out.mass.value() - 0.5) < 1e-12);
        // Half of the samples, and by chance now and then.
        QVERIFY(scores.at(Half::held_out, 0, 1).pointing.value() >= 0.5);
        QVERIFY(scores.at(Half::held_out, 0, 1).pointing.value() < 0.9);
        QCOMPARE(scores.centre(Half::held_out).pointing.value(), 0.0);
        QVERIFY(scores.chance(Half::held_out) > 0.1 && scores.chance(Half::held_out) < 0.3);
        QVERIFY(scores.any_head(Half::held_out).pointing.value() < 0.6);
        QCOMPARE(scores.any_head(Half::held_out).pointing.count, 20 * kLayers * kHeads);
    }

    void theOtherHalfHasNoSayInTheChoice() {
        HeadScores scores(1, 2, kOrigin);
        const auto add = [&](Half half, int finder) {  // the other head looks away
            HeadMaps maps{.layers = 1, .heads = 2, .rows = kSide, .columns = kSide};
            maps.values.resize(2 * kSide * kSide);
            const std::size_t away = kSide * kSide - 1;
            maps.values[static_cast<std::size_t>(finder) * kSide * kSide] = 1.0F;
            maps.values[static_cast<std::size_t>(1 - finder) * kSide * kSide + away] = 1.0F;
            scores.add(half, maps, kBoxes[0]);
        };
        add(Half::calibration, 1);
        for (int i = 0; i < 3; ++i) add(Half::held_out, 0);
        for (const Measure measure : {Measure::pointing, Measure::energy, Measure::auc}) {
            const auto best = scores.best(measure);
            QCOMPARE(best->head, 1);
            QCOMPARE(best->calibration.pointing.value(), 1.0);
            QCOMPARE(best->held_out.pointing.value(), 0.0);
        }
    }

    void nothingHasNoBest() {
        const HeadScores scores(kLayers, kHeads, kOrigin);
        QVERIFY(!scores.best(Measure::auc));
        QVERIFY(std::isnan(scores.at(Half::calibration, 1, 2).energy.value()));
        QVERIFY(std::isnan(scores.chance(Half::held_out)));
    }

    void partsMakeTheWhole() {
        HeadScores parts = filled(0, 13);
        parts.merge(filled(13, 40));
        const HeadScores whole = filled(0, 40);
        for (const Half half : {Half::calibration, Half::held_out}) {
            for (int layer = 0; layer < kLayers; ++layer) {
                for (int head = 0; head < kHeads; ++head) {
                    const HeadScore& a = parts.at(half, layer, head);
                    const HeadScore& b = whole.at(half, layer, head);
                    QCOMPARE(a.pointing.sum, b.pointing.sum);
                    QCOMPARE(a.auc.count, b.auc.count);
                    QVERIFY(std::abs(a.energy.sum - b.energy.sum) < 1e-9);
                    QVERIFY(std::abs(a.entropy.sum - b.entropy.sum) < 1e-9);
                }
            }
            QCOMPARE(parts.chance(half), whole.chance(half));
        }
        QVERIFY_THROWS_EXCEPTION(InputError, parts.merge(HeadScores(kLayers, kHeads + 1, kOrigin)));
        QVERIFY_THROWS_EXCEPTION(InputError, parts.merge(HeadScores(kLayers, kHeads, {.model = "another"})));
        QVERIFY_THROWS_EXCEPTION(InputError, HeadScores(1, 2, kOrigin).add(Half::calibration, HeadMaps{}, kBoxes[0]));
        QVERIFY_THROWS_EXCEPTION(InputError, HeadScores(0, 2, kOrigin));
    }

    void aFileBringsBackTheSame() {
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath("scores.json").toStdString();
        const HeadScores scores = filled(0, 16);
        scores.save(path);
        const HeadScores read = HeadScores::load(path);
        QVERIFY(read.to_json() == scores.to_json());
        QVERIFY(read.origin() == kOrigin);
        QCOMPARE(read.best(Measure::energy)->held_out.energy.value(),
                 scores.best(Measure::energy)->held_out.energy.value());
    }

    void brokenFilesAreNamed_data() {
        QTest::addColumn<QString>("pointer");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* pointer, const char* value, const char* message) {
            QTest::newRow((std::string(pointer) + " " + value).c_str()) << pointer << value << message;
        };
        row("/format", "\"other\"", "format: expected \"vitrine head scores\", found \"other\"");
        row("/version", "2", "version: expected a whole number from 1 to 1");
        row("/model", "", "model: expected this key, found nothing");
        row("/model", "7", "model: expected a text, found 7");
        row("/tower", "\"both\"", "tower: expected language or vision");
        row("/method", "\"guess\"", "method: expected a method");
        row("/scenes/seed", "-1", "scenes.seed: expected a whole number, 0 or above, found -1");
        row("/layers", "0", "layers: expected a whole number from 1");
        row("/heads", "99999999", "heads: expected a whole number from 1 to 500000");
        row("/heads", "2", "expected a list of 4");
        row("/held_out", "[]", "held_out: expected an object");
        row("/calibration/chance/count", "-4", "calibration.chance.count: expected");
        row("/held_out/heads/auc/sum/3", "\"x\"", "held_out.heads.auc.sum[3]: expected a number, found \"x\"");
        row("/held_out/heads/auc/count/3", "0.5", "held_out.heads.auc.count[3]: expected a whole number");
        row("/held_out/centre/wrong", "null", "held_out.centre.wrong: expected an object");
    }
    void brokenFilesAreNamed() {
        QFETCH(QString, pointer);
        QFETCH(QString, value);
        QFETCH(QString, message);
        nlohmann::json json = filled(0, 8).to_json();
        const nlohmann::json::json_pointer at(pointer.toStdString());
        if (value.isEmpty()) {
            json.at(at.parent_pointer()).erase(at.back());
        } else {
            json.at(at) = nlohmann::json::parse(value.toStdString());
        }
        const auto found = test::message_of<ConfigError>([&] { HeadScores::from_json(json, "scores.json"); });
        QVERIFY2(found.find(message.toStdString()) != std::string::npos, found.c_str());
        QVERIFY2(found.starts_with("scores.json: "), found.c_str());
    }

    void whatIsNoJsonIsNamed() {
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath("scores.json").toStdString();
        std::ofstream(path) << "{\"format\": ";
        QVERIFY_THROWS_EXCEPTION(ConfigError, HeadScores::load(path));
        QVERIFY_THROWS_EXCEPTION(FileError, HeadScores::load(path.string() + ".absent"));
    }
};

VITRINE_TEST(TestHeadScores)

}  // namespace vitrine

#include "test_head_scores.moc"
