#include <QString>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/eval/metrics.h"
#include "core/eval/words.h"
#include "support/folders.h"
#include "support/test_main.h"

namespace vitrine {
namespace {

const nlohmann::json& reference() {
    static const nlohmann::json json =
        test::read_json(std::filesystem::path(VITRINE_REFERENCE_DIR) / "eval" / "eval.json");
    return json;
}

CaptionMetrics metrics_of(const nlohmann::json& texts) {
    CaptionMetrics metrics;
    for (const auto& text : texts) {
        metrics.add({.candidate = text["candidate"],
                     .references = text["references"],
                     .question = text["question"],
                     .kinds = text["kinds"]});
    }
    return metrics;
}

double value_of(const CaptionMetrics& metrics, const std::string& metric, const std::string& split = "captions") {
    for (const Metric& m : metrics.values()) {
        if (m.metric == metric && m.split == split) return m.value;
    }
    return std::nan("");
}

double cider_of_two(const std::string& candidate) {
    CaptionMetrics metrics;
    metrics.add({.candidate = candidate, .references = {"a small red star beside a ring"}});
    metrics.add({.candidate = "", .references = {"two green squares"}});
    return value_of(metrics, "cider");
}

class TestMetrics : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void equalToTheReferenceImplementation() {
        const std::vector<Metric> values = metrics_of(reference()["texts"]).values();
        QCOMPARE(values.size(), reference()["metrics"].size());
        for (std::size_t i = 0; i < values.size(); ++i) {  // the order is part of it
            const auto& expected = reference()["metrics"][i];
            const std::string name = values[i].split + " " + values[i].metric;
            QCOMPARE(name, expected["split"].get<std::string>() + " " + expected["metric"].get<std::string>());
            QCOMPARE(values[i].n, expected["n"].get<std::size_t>());
            const double difference = std::abs(values[i].value - expected["value"].get<double>());
            QVERIFY2(difference < 1e-9, qPrintable(QString("%1 is off by %2").arg(name.c_str()).arg(difference)));
        }
    }

    void textsComeInAnyOrder() {
        nlohmann::json texts = reference()["texts"];
        const std::vector<Metric> forward = metrics_of(texts).values();
        std::reverse(texts.begin(), texts.end());
        const std::vector<Metric> backward = metrics_of(texts).values();
        QCOMPARE(backward.size(), forward.size());
        for (std::size_t i = 0; i < forward.size(); ++i)
            QVERIFY(std::abs(forward[i].value - backward[i].value) < 1e-12);
    }

    void splitsAreScoredAlone() {
        nlohmann::json captions = nlohmann::json::array();
        for (const auto& text : reference()["texts"]) {
            if (!text["question"]) captions.push_back(text);
        }
        QVERIFY(std::abs(value_of(metrics_of(captions), "cider") -
                         value_of(metrics_of(reference()["texts"]), "cider")) < 1e-12);
    }

    void perfectCaptions() {
        CaptionMetrics metrics;
        metrics.add(
            {.candidate = "A large red circle.", .references = {"a  large red circle.", "x"}, .kinds = {"k", "k"}});
        metrics.add({.candidate = "two blue squares on white", .references = {"two blue squares on white"}});
        QCOMPARE(value_of(metrics, "exact_match"), 1.0);
        QVERIFY(std::abs(value_of(metrics, "bleu4") - 1.0) < 1e-6);
        QVERIFY(std::abs(value_of(metrics, "rouge_l") - 1.0) < 1e-12);
        QCOMPARE(metrics.values().back().n, 1U);  // a kind named twice counts once
    }

    void exactMatchCountsPunctuation() {
        const auto exact = [](const char* candidate, const char* wanted) {
            CaptionMetrics metrics;
            metrics.add({.candidate = candidate, .references = {wanted}, .question = true});
            return value_of(metrics, "exact_match", "questions") == 1.0;
        };
        QVERIFY(exact(" YES\n", "yes"));
        QVERIFY(exact("", ""));
        QVERIFY(!exact("yes.", "yes"));
        QVERIFY(!exact("ye s", "yes"));
    }

    void ciderFallsWithEachFault() {
        const double right = cider_of_two("a small red star beside a ring");
        const double one_word = cider_of_two("a small blue star beside a ring");
        const double repeated = cider_of_two("a small red star beside a ring a small red star beside a ring");
        QVERIFY(std::abs(right - 5.0) < 1e-9);  // the other text of the two scores 0
        QVERIFY(one_word < right && one_word > 0.0);
        QVERIFY(repeated < right);
    }

    void textWithoutReferenceIsRefused() {
        CaptionMetrics metrics;
        QVERIFY(metrics.values().empty());
        QVERIFY_THROWS_EXCEPTION(InputError, metrics.add({.candidate = "a cat", .references = {}}));
        QVERIFY(metrics.values().empty());
    }

    void wordsOfCaptions() {
        for (const auto& sample : reference()["words"]) {
            const nlohmann::json found = caption_words(sample["text"].get<std::string>());
            QCOMPARE(found.dump(), sample["words"].dump());
        }
        QCOMPARE(caption_words("a\xFF b \xC3").size(), 3U);  // ill-formed bytes neither crash nor vanish
    }

    void lowerCaseOfAlphabets() {
        QVERIFY(reference()["lower"].size() > 400);
        for (const auto& pair : reference()["lower"])
            QCOMPARE(normalised_text(pair["capital"].get<std::string>()), pair["small"].get<std::string>());
        QCOMPARE(normalised_text("\u00df\u00d7\u0131 \u5b57"), std::string("\u00df\u00d7\u0131 \u5b57"));
    }
};

VITRINE_TEST(TestMetrics)

}  // namespace
}  // namespace vitrine

#include "test_metrics.moc"
