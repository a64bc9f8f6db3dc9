#include "core/error.h"
#include "core/generate/generator.h"
#include "core/image/decode.h"
#include "core/insight/recording.h"
#include "core/insight/recording_parts.h"
#include "insight_reference.h"
#include "support/test_main.h"

#include <ATen/ATen.h>

#include <cmath>
#include <memory>

using namespace vitrine;
using test::InsightReference;

namespace {

constexpr double kClose = 1e-5;     // of weights, which sum to 1
constexpr double kRelative = 2e-4;  // of what has another scale, by its largest value

// A model of the reference with one of its conversations gone through as the engine does it: the prompt at once, then
// one word at a time.
struct Opened {
    Opened(const QString& model_name, const QString& talk)
        : reference(model_name.toStdString(), talk.toStdString()),
          model(std::make_shared<const VisionLanguageModel>(std::move(
              *VisionLanguageModel::load(ModelFolder::open(reference.model_folder()), {at::kFloat, at::kCPU})))) {
        Prompt prompt = with_pictures(reference.prompt()), neutral = with_pictures(reference.neutral_prompt());
        const std::vector<TokenId> answer = reference.answer();
        length = static_cast<std::int64_t>(prompt.ids.size() + answer.size());
        answer_begin = static_cast<std::int64_t>(prompt.ids.size());
        pictures = static_cast<int>(prompt.pictures.size());
        const Qwen3Config& config = model->language().config();
        past = std::make_shared<Past>(KvCache(config, 1, length, model->language().options()));
        past->queries.emplace(config, length, model->language().options());
        recording = std::make_unique<Recording>(RecordingParts{
            .model = model, .past = past, .prompt = prompt, .neutral = neutral, .neutral_text = "neutral"});

        const c10::InferenceMode inference;
        const at::Tensor embeds = reference.tensor("inputs_embeds");
        const auto pass = [&](std::int64_t first, std::int64_t count) {
            return model->language().forward(
                {.inputs_embeds = embeds.narrow(1, first, count), .cache = &past->cache, .observer = &*past->queries});
        };
        pass(0, answer_begin);
        for (std::size_t i = 0; i < answer.size(); ++i) {
            recording->add_token({.index = static_cast<int>(i), .id = answer[i]});
            pass(answer_begin + static_cast<std::int64_t>(i), 1);
        }
    }

    Prompt with_pictures(Prompt prompt) const {
        for (std::size_t i = 0; i < prompt.pictures.size(); ++i)
            prompt.pictures[i].picture =
                std::make_shared<const Image>(decode_image_file(reference.picture(static_cast<int>(i))));
        return prompt;
    }

    at::Tensor on_picture(const at::Tensor& rows, int picture) const {  // [..., T] -> [..., P]
        return rows.narrow(-1, reference.integers("picture_begin")[static_cast<std::size_t>(picture)],
                           reference.integer("picture_count"));
    }

    InsightReference reference;
    std::shared_ptr<const VisionLanguageModel> model;
    std::shared_ptr<Past> past;
    std::unique_ptr<Recording> recording;
    std::int64_t length = 0;
    std::int64_t answer_begin = 0;
    int pictures = 0;
};

// Largest difference; a NaN of ours stands where a row does not reach, where the reference has zero.
double difference(const std::vector<float>& ours, const at::Tensor& expected) {
    const at::Tensor wanted = expected.contiguous().flatten().to(at::kFloat);
    if (static_cast<std::int64_t>(ours.size()) != wanted.numel()) return INFINITY;
    double worst = 0.0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        const float value = wanted[static_cast<std::int64_t>(i)].item<float>();
        if (std::isnan(ours[i]) && value == 0.0F) continue;
        const double error = std::abs(static_cast<double>(ours[i]) - static_cast<double>(value));
        worst = error <= worst ? worst : error;  // a NaN becomes the worst
    }
    return worst;
}

// Relative to the largest value there is, for measures that are not shares.
double relative_difference(const std::vector<float>& ours, const at::Tensor& expected) {
    return difference(ours, expected) / std::max(1e-12, expected.abs().max().item<double>());
}

void add_talks() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("talk");
    QTest::newRow("two query heads a key head") << "tiny"
                                                << "one";
    QTest::newRow("two pictures") << "tiny"
                                  << "two";
    QTest::newRow("four query heads a key head, biases, own head") << "tiny_untied"
                                                                   << "one";
    QTest::newRow("the same with two pictures") << "tiny_untied"
                                                << "two";
    QTest::newRow("heads of the real size") << "real_heads"
                                            << "one";
}

}  // namespace

// The inside of the model against transformers and the methods written down independently in Python.
class TestRecording : public QObject {
    Q_OBJECT

    std::unique_ptr<Opened> opened_;
    QString name_;

    // The conversation of this data row, kept as long as the next test asks for the same.
    Opened& opened() {
        const QString model = *static_cast<QString*>(QTest::qData("model", QMetaType::QString));
        const QString talk = *static_cast<QString*>(QTest::qData("talk", QMetaType::QString));
        if (name_ != model + talk) opened_ = std::make_unique<Opened>(model, talk);
        name_ = model + talk;
        return *opened_;
    }

private Q_SLOTS:
    void rows_are_those_of_transformers_data() { add_talks(); }
    void rows_are_those_of_transformers() {
        Opened& o = opened();
        const at::Tensor attentions = o.reference.tensor("language.attentions");
        QCOMPARE(o.recording->layout().length, o.length);
        // Every row where the model is tiny; of the large one each row of the answer and some of the prompt.
        const std::int64_t step = o.length > 200 ? 37 : 1;
        for (std::int64_t position = 1; position < o.length; position += position < o.answer_begin ? step : 1) {
            for (int layer = 0; layer < attentions.size(0); ++layer) {
                for (int head = 0; head < attentions.size(1); ++head) {
                    const at::Tensor row = attentions[layer][head][position - 1];
                    const double worst =
                        difference(o.recording->row(layer, head, position), row.narrow(0, 0, position));
                    QVERIFY2(worst < kClose, qPrintable(QStringLiteral("layer %1 head %2 position %3: %4")
                                                            .arg(layer)
                                                            .arg(head)
                                                            .arg(position)
                                                            .arg(worst)));
                }
            }
        }
    }

    void masses_and_entropies_agree_data() { add_talks(); }
    void masses_and_entropies_agree() {
        Opened& o = opened();
        const at::Tensor attentions = o.reference.tensor("language.attentions");
        const at::Tensor masses = o.reference.tensor("rows.masses"), entropy = o.reference.tensor("rows.entropy");
        const at::Tensor entropy_all = o.reference.tensor("rows.entropy.all");
        const std::vector<std::int64_t> positions = o.reference.integers("positions");
        for (int picture = 0; picture < o.pictures; ++picture) {
            for (std::size_t r = 0; r < positions.size(); ++r) {
                const auto index = static_cast<std::int64_t>(r);
                const HeadMaps heads = o.recording->heads({.picture = picture, .position = positions[r]});
                QVERIFY(difference(heads.entropy, entropy[index]) < kRelative);
                QVERIFY(difference(heads.values, o.on_picture(attentions.select(2, positions[r] - 1), picture)) <
                        kClose);
                std::vector<float> shares;
                for (const Masses& m : heads.masses)
                    for (const double share : {m.picture, m.other_pictures, m.first, m.prompt, m.answer})
                        shares.push_back(static_cast<float>(share));
                QVERIFY(difference(shares, masses[picture][index]) < kClose);

                const AttentionMap mean = o.recording->map({.picture = picture, .position = positions[r]});
                QVERIFY(std::abs(mean.entropy - entropy_all[index].item<double>()) < kRelative);
                QCOMPARE(mean.keys, positions[r]);
                QVERIFY(difference(mean.grid.values,
                                   o.on_picture(attentions.mean(c10::IntArrayRef{0, 1})[positions[r] - 1], picture)) <
                        kClose);
                QVERIFY(std::abs(mean.masses->picture - masses[picture][index].select(2, 0).mean().item<double>()) <
                        kClose);
            }
        }
    }

    void value_norms_agree_data() { add_talks(); }
    void value_norms_agree() {
        Opened& o = opened();
        const at::Tensor by_head = o.reference.tensor("rows.value_norm");
        const at::Tensor joined = o.reference.tensor("rows.value_norm.joined");
        const std::vector<std::int64_t> positions = o.reference.integers("positions");
        const int picture = o.pictures - 1;
        for (std::size_t r = 0; r < positions.size(); ++r) {
            const auto index = static_cast<std::int64_t>(r);
            MapRequest request{.method = MapMethod::value_norm, .picture = picture, .position = positions[r]};
            QVERIFY(relative_difference(o.recording->heads(request).values, o.on_picture(by_head[index], picture)) <
                    kRelative);
            for (request.layer = 0; request.layer < by_head.size(1); ++request.layer) {
                request.head = kAll;
                QVERIFY(relative_difference(o.recording->map(request).grid.values,
                                            o.on_picture(joined[index][request.layer], picture)) < kRelative);
                request.head = static_cast<int>(by_head.size(2)) - 1;
                QVERIFY(relative_difference(o.recording->map(request).grid.values,
                                            o.on_picture(by_head[index][request.layer][request.head], picture)) <
                        kRelative);
            }
        }
    }

    void relative_attention_agrees_data() { add_talks(); }
    void relative_attention_agrees() {
        Opened& o = opened();
        const at::Tensor heads = o.reference.tensor("relative.heads"), mean = o.reference.tensor("relative.mean");
        for (std::int64_t word = 0; word < mean.size(0); ++word) {
            for (int layer = 0; layer < mean.size(1); ++layer) {
                for (int picture = 0; picture < o.pictures; ++picture) {
                    MapRequest request{.method = MapMethod::relative,
                                       .layer = layer,
                                       .picture = picture,
                                       .position = o.answer_begin + word};
                    QVERIFY(relative_difference(o.recording->map(request).grid.values, mean[word][layer][picture]) <
                            1e-4);
                    request.head = 1;
                    QVERIFY(relative_difference(o.recording->map(request).grid.values, heads[word][layer][1][picture]) <
                            1e-4);
                }
            }
        }
    }

    void relevance_agrees_data() { add_talks(); }
    void relevance_agrees() {
        Opened& o = opened();
        const std::vector<std::int64_t> positions = o.reference.integers("relevance.positions");
        const at::Tensor relevance = o.reference.tensor("relevance");
        for (std::size_t r = 0; r < positions.size(); ++r) {
            for (int picture = 0; picture < o.pictures; ++picture) {
                const AttentionMap map =
                    o.recording->map({.method = MapMethod::relevance, .picture = picture, .position = positions[r]});
                const at::Tensor expected = o.on_picture(relevance[static_cast<std::int64_t>(r)], picture);
                const double worst = relative_difference(map.grid.values, expected);
                QVERIFY2(worst < kRelative, qPrintable(QString::number(worst)));
                QVERIFY(expected.max().item<float>() > 0.0F);
            }
        }
    }

    void the_lens_agrees_data() { add_talks(); }
    void the_lens_agrees() {
        Opened& o = opened();
        const std::vector<std::int64_t> layers = o.reference.integers("lens.layers");
        const at::Tensor words = o.reference.tensor("lens.words"), margins = o.reference.tensor("lens.margins");
        const at::Tensor probabilities = o.reference.tensor("lens.probabilities");
        int compared = 0;
        for (std::size_t l = 0; l < layers.size(); ++l) {
            for (int picture = 0; picture < o.pictures; ++picture) {
                const auto found = o.recording->patch_words(picture, static_cast<int>(layers[l]), 5);
                const auto index = static_cast<std::int64_t>(l);
                QCOMPARE(static_cast<std::int64_t>(found->words.size()), words.size(2));
                for (std::int64_t patch = 0; patch < words.size(2); ++patch) {
                    for (std::int64_t k = 0; k < 5; ++k) {
                        const TokenAlternative& word =
                            found->words[static_cast<std::size_t>(patch)][static_cast<std::size_t>(k)];
                        const float expected = probabilities[index][picture][patch][k].item<float>();
                        QVERIFY(std::abs(std::exp(word.log_prob) - expected) < 1e-4F);
                        if (margins[index][picture][patch][k].item<float>() < 1e-3F) continue;
                        QCOMPARE(std::int64_t{word.id}, words[index][picture][patch][k].item<std::int64_t>());
                        ++compared;
                    }
                }
            }
        }
        QVERIFY(compared > words.numel() / 2);

        const at::Tensor map = o.reference.tensor("lens.map"), rank = o.reference.tensor("lens.rank");
        const at::Tensor rank_margins = o.reference.tensor("lens.rank_margins");
        const at::Tensor log_prob = o.reference.tensor("lens.log_prob"), winner = o.reference.tensor("lens.winner");
        const at::Tensor winner_margins = o.reference.tensor("lens.winner_margins");
        for (std::int64_t word = 0; word < map.size(0); ++word) {
            const std::int64_t position = o.answer_begin + word;
            for (int layer = 0; layer < map.size(1); ++layer) {
                const AttentionMap ours = o.recording->map(
                    {.method = MapMethod::lens, .layer = layer, .picture = o.pictures - 1, .position = position});
                QVERIFY(difference(ours.grid.values, map[word][layer][o.pictures - 1]) < kRelative);
            }
            const WordRanks ranks = o.recording->word_ranks(position);
            QVERIFY(difference(ranks.log_prob, log_prob[word]) < 1e-3);
            for (std::int64_t layer = 0; layer < rank.size(1); ++layer) {
                const auto index = static_cast<std::size_t>(layer);
                if (rank_margins[word][layer].item<float>() > 1e-3F)
                    QCOMPARE(ranks.rank[index], rank[word][layer].item<std::int64_t>());
                if (winner_margins[word][layer].item<float>() > 1e-3F)
                    QCOMPARE(std::int64_t{ranks.winner[index].id}, winner[word][layer].item<std::int64_t>());
            }
        }
    }

    void sinks_agree_data() { add_talks(); }
    void sinks_agree() {
        Opened& o = opened();
        const at::Tensor values = o.reference.tensor("sinks.values"), norms = o.reference.tensor("vision.norms");
        for (int picture = 0; picture < o.pictures; ++picture) {
            const Sinks language = o.recording->sinks(Tower::language, picture);
            QCOMPARE(language.channels, o.reference.integers("sinks.channels"));
            QVERIFY(difference(language.values, o.on_picture(values, picture)) < 1e-3);
            for (const std::int64_t position : language.positions) QVERIFY(values[position].item<double>() > 19.99);
            const Sinks vision = o.recording->sinks(Tower::vision, picture);
            QVERIFY(relative_difference(vision.values, norms[picture]) < kRelative);
        }
    }

    void hiding_patches_agrees_data() { add_talks(); }
    void hiding_patches_agrees() {
        Opened& o = opened();
        const at::Tensor plain = o.reference.tensor("answer.log_prob");
        const std::vector<TokenId> answer = o.reference.answer();
        for (int k = 0; k < 2; ++k) {
            const std::string name = "causal." + std::to_string(k);
            const auto picture = static_cast<int>(o.reference.integer(name + ".picture"));
            std::vector<int> patches;
            for (const std::int64_t patch : o.reference.integers(name + ".patches"))
                patches.push_back(static_cast<int>(patch));
            for (const auto means : {CausalCheck::Means::cut, CausalCheck::Means::mean}) {
                const at::Tensor expected =
                    o.reference.tensor(name + (means == CausalCheck::Means::cut ? ".cut" : ".mean"));
                for (std::size_t word = 0; word < answer.size(); ++word) {
                    const auto index = static_cast<std::int64_t>(word);
                    const std::int64_t position = o.answer_begin + index;
                    const double wanted = expected[index][answer[word]].item<double>();
                    const double ours = o.recording->probability_without(position, picture, patches, means);
                    QVERIFY2(std::abs(std::log(ours) - wanted) < 1e-3,
                             qPrintable(QStringLiteral("%1 instead of %2").arg(std::log(ours)).arg(wanted)));
                    if (word != 1) continue;
                    const auto check = o.recording->causal(position, picture, patches, means);
                    QVERIFY(std::abs(check->before - plain[index].item<double>()) < 1e-3);
                    QVERIFY(std::abs(check->after - wanted) < 1e-3);
                    QVERIFY(std::abs(static_cast<double>(check->instead.front().log_prob) -
                                     expected[index].max().item<double>()) < 1e-3);
                    QVERIFY(std::isfinite(check->random) && check->random != check->after);
                }
            }
        }
    }

    void the_tower_agrees_data() { add_talks(); }
    void the_tower_agrees() {
        Opened& o = opened();
        const at::Tensor attentions = o.reference.tensor("vision.attentions");
        const at::Tensor value_norm = o.reference.tensor("vision.value_norm");
        const at::Tensor joined = o.reference.tensor("vision.value_norm.joined");
        const at::Tensor rollout = o.reference.tensor("vision.rollout");
        const int patches = static_cast<int>(rollout.size(1));
        for (int picture = 0; picture < o.pictures; ++picture) {
            for (const int patch : {0, patches / 2, patches - 1, kAll}) {
                MapRequest request{.tower = Tower::vision, .picture = picture, .patch = patch};
                const auto of = [&](const at::Tensor& all) {
                    return patch == kAll ? all.mean(-2) : all.select(-2, patch);
                };
                QVERIFY(difference(o.recording->heads(request).values, of(attentions[picture])) < kClose);
                QVERIFY(difference(o.recording->map(request).grid.values,
                                   of(attentions[picture].mean(c10::IntArrayRef{0, 1}))) < kClose);
                request.layer = 1;
                request.head = 1;
                QVERIFY(difference(o.recording->map(request).grid.values, of(attentions[picture][1][1])) < kClose);
                request.method = MapMethod::value_norm;
                QVERIFY(relative_difference(o.recording->map(request).grid.values, of(value_norm[picture][1][1])) <
                        kRelative);
                request.head = kAll;
                QVERIFY(relative_difference(o.recording->map(request).grid.values, of(joined[picture][1])) < kRelative);
                if (patch != kAll)
                    QVERIFY(relative_difference(o.recording->heads(request).values, of(value_norm[picture])) <
                            kRelative);
                request.method = MapMethod::rollout;
                QVERIFY(difference(o.recording->map(request).grid.values, of(rollout[picture])) < kClose);
            }
        }
    }

    void words_are_found_by_the_patches_they_look_at_data() { add_talks(); }
    void words_are_found_by_the_patches_they_look_at() {
        Opened& o = opened();
        const at::Tensor attentions = o.reference.tensor("language.attentions");
        const std::vector<int> region{0, 3, 4};
        const int picture = o.pictures - 1;
        const std::int64_t words = o.length - o.answer_begin;
        const at::Tensor rows = attentions.narrow(2, o.answer_begin - 1, words);  // [L, heads, words, T]
        const at::Tensor region_index = at::tensor(std::vector<std::int64_t>{0, 3, 4});
        QVERIFY(difference(o.recording->token_weights({.layer = 1, .head = 2, .picture = picture}, region),
                           o.on_picture(rows[1][2], picture).index_select(1, region_index).sum(1)) < kClose);
        QVERIFY(difference(o.recording->token_weights({.picture = picture}, {}),
                           o.on_picture(rows.mean(c10::IntArrayRef{0, 1}), picture).sum(1)) < kClose);
    }

    void what_does_not_exist_is_refused() {
        Opened o(QStringLiteral("tiny"), QStringLiteral("one"));
        const auto refused = [&](const MapRequest& request, const char* what) {
            try {
                (void)o.recording->map(request);
            } catch (const InputError& error) {
                return error.parts().name == what;
            }
            return false;
        };
        const std::int64_t position = o.answer_begin;
        QVERIFY(refused({.layer = 4, .position = position}, "layer"));
        QVERIFY(refused({.head = 4, .position = position}, "head"));
        QVERIFY(refused({.picture = 1, .position = position}, "picture"));
        QVERIFY(refused({.position = 0}, "position"));
        QVERIFY(refused({.position = o.length}, "position"));
        QVERIFY(refused({.tower = Tower::vision, .patch = 25}, "patch"));
        QVERIFY(refused({.tower = Tower::vision, .method = MapMethod::lens}, "method"));
        QVERIFY(refused({.method = MapMethod::rollout, .position = position}, "method"));
        QVERIFY(refused({.method = MapMethod::lens, .layer = 9, .position = position}, "layer"));
        // A patch before the picture has been read sees nothing of what follows.
        const AttentionMap early = o.recording->map({.position = o.reference.integers("picture_begin")[0]});
        QVERIFY(std::isnan(early.grid.values.front()));
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(!o.recording->patch_words(0, 0, 5, stop.get_token()));
        const std::vector<int> some{1};
        QVERIFY(!o.recording->causal(position, 0, some, CausalCheck::Means::cut, 0, stop.get_token()));
    }
};

VITRINE_TEST(TestRecording)
#include "test_recording.moc"
