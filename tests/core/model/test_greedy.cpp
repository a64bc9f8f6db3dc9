#include "core/generate/generator.h"
#include "core/model/vlm.h"
#include "support/folders.h"
#include "support/test_main.h"

#include <ATen/ATen.h>

using namespace vitrine;
namespace fs = std::filesystem;

// 64 greedy tokens must be those of transformers' generate(), with and without a picture.
class TestGreedy : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void generates_what_transformers_generates_data() {
        QTest::addColumn<QString>("name");
        for (const fs::directory_entry& entry : fs::directory_iterator(test::reference_models())) {
            if (!fs::exists(entry.path() / "reference.json")) continue;
            const QString name = QString::fromStdString(entry.path().filename().string());
            QTest::newRow(qPrintable(name)) << name;
        }
    }

    void generates_what_transformers_generates() {
        QFETCH(QString, name);
        const c10::InferenceMode inference;
        const fs::path path = test::reference_models() / name.toStdString();
        const auto model = VisionLanguageModel::load(ModelFolder::open(path), {at::kFloat, at::kCPU});
        QVERIFY(model.has_value());
        const nlohmann::json reference = test::read_json(path / "reference.json");
        const SafetensorsFile activations = SafetensorsFile::open(path / "reference.safetensors");
        const TensorInfo& info = *activations.find("vision.pixel_values");
        const at::Tensor pixels =
            at::from_blob(const_cast<std::byte*>(activations.bytes(info).data()), info.shape, at::kFloat).clone();
        QCOMPARE(reference["greedy"].size(), std::size_t{2});

        for (const nlohmann::json& run : reference["greedy"]) {
            Prompt prompt{.ids = run["prompt_ids"].get<std::vector<TokenId>>()};
            std::vector<at::Tensor> projected;
            if (const auto pictures = static_cast<std::int64_t>(run["pictures"].size()); pictures > 0) {
                const auto pad = reference["image_token_id"].get<TokenId>();
                const std::int64_t patches = model->vision().config().num_patches();
                projected =
                    model->projector().forward(model->vision().forward(pixels.narrow(0, 0, pictures))).unbind(0);
                auto at_pad = std::find(prompt.ids.begin(), prompt.ids.end(), pad);
                for (std::int64_t i = 0; i < pictures; ++i) {
                    QVERIFY(at_pad != prompt.ids.end());
                    prompt.pictures.push_back({.begin = at_pad - prompt.ids.begin(), .count = patches});
                    at_pad = std::find(at_pad + patches, prompt.ids.end(), pad);
                }
            }
            const at::Tensor embeds = embed_prompt(model->language(), prompt, projected);
            KvCache cache(model->language().config(), 1, embeds.size(1) + 64, model->language().options());
            std::string streamed;
            const GenerationResult result = generate(model->language(), model->tokenizer(), cache, embeds,
                                                     {.max_tokens = 64, .detect_loops = false},
                                                     [&](const TokenEvent& event) { streamed += event.text; }, {});
            QCOMPARE(result.ids, run["ids"].get<std::vector<TokenId>>());
            QCOMPARE(result.text, run["text"].get<std::string>());
            QCOMPARE(streamed, result.text);
            QCOMPARE(result.finish, FinishReason::length);
            QCOMPARE(cache.length(), embeds.size(1) + 63);
        }
    }
};

VITRINE_TEST(TestGreedy)
#include "test_greedy.moc"
