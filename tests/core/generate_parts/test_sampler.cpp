#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/error.h"
#include "core/generate/sampler.h"
#include "support/test_main.h"

namespace vitrine {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr std::size_t kQwenVocabulary = 151936;

nlohmann::json reference(const char* name) {
    std::ifstream file(std::string(VITRINE_REFERENCE_DIR) + "/sampling/" + name);
    return nlohmann::json::parse(file);
}

SamplingOptions options_of(const nlohmann::json& json) {
    SamplingOptions options;
    options.temperature = json["temperature"];
    options.top_k = json["top_k"];
    options.top_p = json["top_p"];
    options.min_p = json["min_p"];
    options.repetition_penalty = json["repetition_penalty"];
    options.presence_penalty = json["presence_penalty"];
    options.penalty_window = json["penalty_window"];
    return options;
}

// Bell-shaped logits, the same on every machine.
std::vector<float> random_logits(std::size_t count, std::uint64_t seed, double spread = 2.0) {
    std::mt19937_64 random(seed);
    std::vector<float> logits(count);
    for (float& logit : logits) {
        double sum = -6.0;
        for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11U) * 0x1p-53;
        logit = static_cast<float>(spread * sum);
    }
    return logits;
}

std::vector<double> log_softmax(const std::vector<float>& logits) {
    const double max = *std::max_element(logits.begin(), logits.end());
    double total = 0.0;
    for (const float logit : logits) total += std::exp(logit - max);
    std::vector<double> result;
    for (const float logit : logits) result.push_back(logit - max - std::log(total));
    return result;
}

// Pearson's statistic of 12,000 draws against what distribution() promises, and its degrees of freedom.
std::pair<double, double> chi_square(const SamplingOptions& options, const std::vector<float>& logits) {
    Sampler sampler(options);
    const auto kept = sampler.distribution(logits, {});
    constexpr int kDraws = 12000;
    std::vector<int> counts(logits.size(), 0);
    for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(sampler.sample(logits, {}, 0).id)];
    double statistic = 0.0;
    double rare_expected = 0.0;
    int rare_seen = 0;
    int cells = 0;
    int seen = 0;
    for (const auto& [id, probability] : kept) {
        const double expected = probability * kDraws;
        const int count = counts[static_cast<std::size_t>(id)];
        seen += count;
        if (expected < 10.0) {  // too rare for a cell of their own
            rare_expected += expected;
            rare_seen += count;
        } else {
            statistic += (count - expected) * (count - expected) / expected;
            ++cells;
        }
    }
    if (seen != kDraws) return {std::numeric_limits<double>::infinity(), 1.0};  // something outside was drawn
    if (rare_expected > 10.0) {
        statistic += (rare_seen - rare_expected) * (rare_seen - rare_expected) / rare_expected;
        ++cells;
    }
    return {statistic, std::max(cells - 1, 1)};
}

}  // namespace

class TestSampler : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void keeps_what_transformers_keeps() {
        const auto cases = reference("filters.json");
        QVERIFY(cases.size() > 50);
        for (const auto& sample : cases) {
            std::vector<float> logits;
            for (const auto& logit : sample["logits"])
                logits.push_back(logit.is_null() ? kMinusInfinity : logit.get<float>());
            Sampler sampler(options_of(sample["options"]));
            const auto kept = sampler.distribution(logits, sample["generated"].get<std::vector<TokenId>>());
            const auto expected = sample["kept"].get<std::vector<TokenId>>();
            const auto what = sample["options"].dump() + " on " + std::to_string(logits.size()) + ": kept " +
                              std::to_string(kept.size()) + ", expected " + std::to_string(expected.size());
            QVERIFY2(kept.size() == expected.size(), what.c_str());
            for (std::size_t i = 0; i < kept.size(); ++i) {
                QVERIFY2(kept[i].first == expected[i], what.c_str());
                const double probability = sample["probabilities"][i];
                QVERIFY2(std::abs(kept[i].second - probability) <= 1e-9 + 1e-5 * probability, what.c_str());
            }
        }
    }

    void greedy_takes_the_largest_and_the_lowest_id_on_ties() {
        Sampler sampler({});
        std::vector<float> logits = random_logits(5000, 1);
        logits[4001] = logits[2500] = logits[2501] = 50.0F;
        QCOMPARE(sampler.sample(logits, {}, 0).id, TokenId{2500});
        QCOMPARE(sampler.sample(std::vector<float>(3000, 1.0F), {}, 0).id, TokenId{0});
        QCOMPARE(sampler.sample(std::vector<float>{kMinusInfinity, -1e30F, kMinusInfinity}, {}, 3).id, TokenId{1});
        QCOMPARE(Sampler({.temperature = 1e-9}).sample(logits, {}, 0).id, TokenId{2500});
    }

    void penalties_look_at_the_window_only() {
        const std::vector<float> logits{1.0F, 2.0F, 3.0F, 2.9F, -1.0F};
        const std::vector<TokenId> generated{3, 3, 2, 2};
        QCOMPARE(Sampler({.presence_penalty = 0.5, .penalty_window = 4}).sample(logits, generated, 0).id, TokenId{2});
        QCOMPARE(Sampler({.presence_penalty = 0.5, .penalty_window = 2}).sample(logits, generated, 0).id, TokenId{3});
        QCOMPARE(Sampler({.presence_penalty = 0.5, .penalty_window = 0}).sample(logits, generated, 0).id, TokenId{2});
        QCOMPARE(Sampler({.repetition_penalty = 2.0, .penalty_window = 4}).sample(logits, generated, 0).id, TokenId{1});
        QCOMPARE(Sampler({.repetition_penalty = 2.0})
                     .sample(std::vector<float>{-1.5F, -1.0F}, std::vector<TokenId>{1}, 0)
                     .id,
                 TokenId{0});
    }

    void reports_the_raw_distribution() {
        const auto logits = random_logits(kQwenVocabulary, 3, 3.0);
        const auto expected = log_softmax(logits);
        std::vector<TokenId> order(logits.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) { return logits[a] > logits[b]; });
        const std::vector<TokenId> generated(order.begin(), order.begin() + 2);
        for (const double temperature : {0.0, 1.7}) {
            Sampler sampler({.temperature = temperature,
                             .top_k = 30,
                             .repetition_penalty = 1.5,
                             .presence_penalty = 1.0,
                             .seed = 4});
            const auto choice = sampler.sample(logits, generated, 200);
            QVERIFY(std::abs(choice.log_prob - expected[choice.id]) < 2e-6 * std::abs(expected[choice.id]) + 1e-6);
            QCOMPARE(choice.alternatives.size(), std::size_t{200});
            for (std::size_t i = 0; i < 200; ++i) {
                const auto [id, log_prob] = choice.alternatives[i];
                QCOMPARE(id, order[i]);
                QVERIFY(std::abs(log_prob - expected[id]) < 2e-6 * std::abs(expected[id]) + 1e-6);
            }
        }
    }

    void lists_alternatives_in_order_and_none_that_is_impossible() {
        const std::vector<float> logits{1.0F, kMinusInfinity, 2.0F, 1.0F, kMinusInfinity};
        const auto choice = Sampler({}).sample(logits, {}, 5);
        QCOMPARE(choice.alternatives.size(), std::size_t{3});
        QCOMPARE(choice.alternatives[0].first, TokenId{2});
        QCOMPARE(choice.alternatives[1].first, TokenId{0});
        QCOMPARE(choice.alternatives[2].first, TokenId{3});
        QVERIFY(Sampler({}).sample(logits, {}, 0).alternatives.empty());
        QVERIFY(Sampler({}).sample(logits, {}, -3).alternatives.empty());
        QCOMPARE(Sampler({}).sample(std::vector<float>(9000, 0.5F), {}, 4).alternatives.back().first, TokenId{3});
    }

    void draws_as_often_as_promised_data() {
        QTest::addColumn<double>("temperature");
        QTest::addColumn<int>("top_k");
        QTest::addColumn<double>("top_p");
        QTest::addColumn<double>("min_p");
        QTest::newRow("temperature") << 1.0 << 0 << 1.0 << 0.0;
        QTest::newRow("hot") << 2.0 << 0 << 1.0 << 0.0;
        QTest::newRow("top-k") << 1.0 << 12 << 1.0 << 0.0;
        QTest::newRow("top-p") << 1.3 << 0 << 0.7 << 0.0;
        QTest::newRow("all") << 0.8 << 50 << 0.95 << 0.02;
    }
    void draws_as_often_as_promised() {
        QFETCH(double, temperature);
        QFETCH(int, top_k);
        QFETCH(double, top_p);
        QFETCH(double, min_p);
        const SamplingOptions options{
            .temperature = temperature, .top_k = top_k, .top_p = top_p, .min_p = min_p, .seed = 11};
        const auto [statistic, freedom] = chi_square(options, random_logits(2500, 5, 2.0));
        // The statistic has mean f and standard deviation sqrt(2 f); six of those are passed by chance once in millions
        // of seeds.
        QVERIFY2(statistic < freedom + 6.0 * std::sqrt(2.0 * freedom) + 10.0,
                 std::to_string(statistic / freedom).c_str());
        QVERIFY2(statistic > freedom - 6.0 * std::sqrt(2.0 * freedom), std::to_string(statistic / freedom).c_str());
    }

    void the_same_seed_gives_the_same_draws_everywhere() {
        const auto logits = random_logits(3000, 9);
        const auto draws = [&](std::uint64_t seed) {
            Sampler sampler({.temperature = 1.0, .top_p = 0.9, .seed = seed});
            std::vector<TokenId> ids;
            for (int i = 0; i < 20; ++i) ids.push_back(sampler.sample(logits, {}, 0).id);
            return ids;
        };
        QCOMPARE(draws(1), draws(1));
        QVERIFY(draws(1) != draws(2));
        // The way from the generator to a token is fixed: its top bits choose among equals.
        Sampler sampler({.temperature = 1.0});
        const std::vector<float> quarters(4, 0.0F);
        std::mt19937_64 random(0);
        for (int i = 0; i < 1000; ++i) {
            const auto expected = static_cast<TokenId>(random() >> 62U);
            QCOMPARE(sampler.sample(quarters, {}, 0).id, expected);
        }
    }

    void impossible_tokens_are_never_drawn() {
        std::vector<float> logits(2000, kMinusInfinity);
        logits[0] = logits[1500] = logits[1999] = -5.0F;
        for (const double top_p : {1.0, 0.99}) {
            Sampler sampler({.temperature = 5.0, .top_k = 100, .top_p = top_p, .seed = 3});
            for (int i = 0; i < 2000; ++i) QVERIFY(logits[sampler.sample(logits, {}, 0).id] == -5.0F);
        }
    }

    void ties_at_the_cut_stay_together() {
        std::vector<float> logits(3000, 0.0F);
        logits[17] = logits[2900] = logits[5] = 9.0F;
        QCOMPARE(Sampler({.temperature = 1.0, .top_k = 2}).distribution(logits, {}).size(), std::size_t{3});
        QCOMPARE(Sampler({.temperature = 1.0, .top_p = 0.4}).distribution(logits, {}).size(), std::size_t{3});
    }

    void a_top_p_near_one_keeps_what_counts() {
        auto logits = random_logits(20000, 12, 6.0);
        for (const double top_p : {1.0 - 1e-9, 1.0 - 1e-12, std::nextafter(1.0, 0.0)}) {
            const auto kept = Sampler({.temperature = 1.0, .top_p = top_p}).distribution(logits, {});
            QVERIFY(kept.size() > 5000);
        }
    }

    void refuses_broken_logits() {
        const auto message = [](std::vector<float> logits, std::vector<TokenId> generated = {}) -> std::string {
            try {
                Sampler({.presence_penalty = 1.0}).sample(logits, generated, 5);
            } catch (const InputError& error) {
                return error.what();
            }
            return {};
        };
        std::vector<float> logits = random_logits(4000, 6);
        QVERIFY(message(logits).empty());
        logits[3999] = std::numeric_limits<float>::quiet_NaN();
        QVERIFY(message(logits).find("NaN at token 3999") != std::string::npos);
        logits[3999] = std::numeric_limits<float>::infinity();
        QVERIFY(message(logits).find("+inf at token 3999") != std::string::npos);
        QVERIFY(message(std::vector<float>(2000, kMinusInfinity)).find("-inf for every token") != std::string::npos);
        QVERIFY(message({}).find("no logits") != std::string::npos);
        QVERIFY(message({0.0F, 1.0F}, {2}).find("found 2") != std::string::npos);
        QVERIFY(message({0.0F, 1.0F}, {-1}).find("found -1") != std::string::npos);
    }

    void refuses_options_outside_their_range() {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const std::vector<std::pair<SamplingOptions, std::string>> bad{
            {{.temperature = -0.1}, "temperature"},
            {{.temperature = nan}, "temperature"},
            {{.temperature = 1e9}, "temperature"},
            {{.top_k = -1}, "top_k"},
            {{.top_p = 0.0}, "top_p"},
            {{.top_p = 1.1}, "top_p"},
            {{.min_p = -0.1}, "min_p"},
            {{.min_p = 1.0}, "min_p"},
            {{.repetition_penalty = 0.0}, "repetition_penalty"},
            {{.presence_penalty = nan}, "presence_penalty"},
            {{.penalty_window = -1}, "penalty_window"},
        };
        for (const auto& [options, name] : bad) {
            try {
                Sampler sampler(options);
                QFAIL(name.c_str());
            } catch (const OptionError& error) {
                QCOMPARE(error.parts().name, name);
                QVERIFY(!error.parts().expected.empty() && !error.parts().found.empty());
            }
        }
    }

    void keeps_up_with_a_fast_model() {
        const auto logits = random_logits(kQwenVocabulary, 8, 2.5);
        const auto milliseconds = [&](const SamplingOptions& options) {
            Sampler sampler(options);
            std::vector<TokenId> generated(100, 7);
            double best = 1e9;
            for (int i = 0; i < 15; ++i) {
                QElapsedTimer timer;
                timer.start();
                sampler.sample(logits, generated, 5);
                best = std::min(best, static_cast<double>(timer.nsecsElapsed()) * 1e-6);
            }
            return best;
        };
        const double plain = milliseconds({});
        const double penalised = milliseconds({.repetition_penalty = 1.1});
        const double nucleus = milliseconds({.temperature = 0.7, .top_k = 20, .top_p = 0.8});
        const double wide = milliseconds({.temperature = 1.0, .top_p = 0.95});
        const double hot = milliseconds({.temperature = 2.0});
        qInfo("greedy %.3f ms, penalised %.3f, top-k and top-p %.3f, top-p alone %.3f, temperature alone %.3f", plain,
              penalised, nucleus, wide, hot);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
        QVERIFY(plain < 2.0);  // generous: the machine may be busy
        QVERIFY(wide < 20.0);
#endif
    }
};

}  // namespace vitrine

using vitrine::TestSampler;
VITRINE_TEST(TestSampler)
#include "test_sampler.moc"
