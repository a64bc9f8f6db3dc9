#include "core/generate/generator.h"
#include "core/model/verify.h"
#include "core/model/vlm.h"
#include "support/folders.h"
#include "support/test_main.h"

#include <QProcess>

#include <ATen/ATen.h>

using namespace vitrine;
namespace fs = std::filesystem;

namespace {

fs::path model_folder() {
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(VITRINE_REFERENCE_DIR) / "real")) {
        if (entry.is_directory()) return entry.path();
    }
    return {};
}

const StageComparison& stage(const Verification& verification, const std::string& name) {
    for (const StageComparison& comparison : verification.stages) {
        if (comparison.stage == name) return comparison;
    }
    throw std::runtime_error("stage " + name + " was not compared");
}

QByteArray describe(const Verification& verification) {
    std::string text = "first difference: " + verification.first_difference + "\n";
    for (const StageComparison& comparison : verification.stages) {
        text += comparison.stage + " max " + std::to_string(comparison.max_abs) + " agreement " +
                std::to_string(comparison.agreement) + (comparison.ok ? "\n" : " DIFFERS\n");
    }
    return QByteArray::fromStdString(text);
}

}  // namespace

// SigLIP-base-patch16-224 and Qwen3-0.6B in their real sizes.
class TestReal : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void fp32_agrees_layer_by_layer() {
        const Verification verification =
            verify(model_folder(), model_folder() / "reference.safetensors", {at::kFloat, at::kCPU});
        QVERIFY2(verification.ok(), describe(verification));
        QVERIFY(stage(verification, "vision.post_layernorm").max_abs <= 1e-4);
        for (const char* logits : {"language.logits", "language.logits.cached", "batch.logits", "glue.logits"}) {
            QVERIFY2(stage(verification, logits).max_abs <= 1e-3, logits);
        }
        for (int layer = 0; layer < 28; ++layer) stage(verification, "language.layers." + std::to_string(layer));
        for (int layer = 0; layer < 12; ++layer) stage(verification, "vision.layers." + std::to_string(layer));
    }

    void bf16_chooses_the_same_tokens() {
        const Verification verification =
            verify(model_folder(), model_folder() / "reference_bf16.safetensors", {at::kBFloat16, at::kCPU});
        QVERIFY2(verification.ok(), describe(verification));
        for (const char* logits : {"language.logits", "language.logits.cached", "glue.logits"}) {
            QVERIFY2(stage(verification, logits).agreement >= 0.99, describe(verification));
            QVERIFY2(stage(verification, logits).sure_positions >= 10, describe(verification));
        }
    }

    void greedy_text_is_that_of_transformers() {
        const c10::InferenceMode inference;
        const auto model = VisionLanguageModel::load(ModelFolder::open(model_folder()), {at::kFloat, at::kCPU});
        QVERIFY(model.has_value());
        const nlohmann::json reference = test::read_json(model_folder() / "reference.json");
        const SafetensorsFile activations = SafetensorsFile::open(model_folder() / "reference.safetensors");
        const TensorInfo& info = *activations.find("vision.pixel_values");
        const at::Tensor pixels =
            at::from_blob(const_cast<std::byte*>(activations.bytes(info).data()), info.shape, at::kFloat).clone();
        QVERIFY(!reference["greedy"].empty());
        for (const nlohmann::json& run : reference["greedy"]) {
            Prompt prompt{.ids = run["prompt_ids"].get<std::vector<TokenId>>()};
            std::vector<at::Tensor> projected;
            if (!run["pictures"].empty()) {
                projected = model->projector().forward(model->vision().forward(pixels)).unbind(0);
                const auto pad =
                    std::find(prompt.ids.begin(), prompt.ids.end(), reference["image_token_id"].get<TokenId>());
                prompt.pictures.push_back(
                    {.begin = pad - prompt.ids.begin(), .count = model->vision().config().num_patches()});
            }
            const at::Tensor embeds = embed_prompt(model->language(), prompt, projected);
            KvCache cache(model->language().config(), 1, embeds.size(1) + 64, model->language().options());
            const GenerationResult result = generate(model->language(), model->tokenizer(), cache, embeds,
                                                     {.max_tokens = 64, .detect_loops = false}, {}, {});
            QCOMPARE(result.ids, run["ids"].get<std::vector<TokenId>>());
            QCOMPARE(result.text, run["text"].get<std::string>());
        }
    }

    // Loading and running in bf16, file pages included, measured on a process of its own.
    void memory_stays_below_a_quarter_more_than_the_weights() {
        QProcess process;
        process.start(VITRINE_CLI, {"caption", QString::fromStdString((model_folder() / "picture_0.png").string()),
                                    "--model", QString::fromStdString(model_folder().string()), "--dtype", "bf16",
                                    "--device", "cpu", "--max-tokens", "16", "--json"});
        QVERIFY(process.waitForFinished(200'000));
        QCOMPARE(process.exitCode(), 0);
        const double peak =
            nlohmann::json::parse(process.readAllStandardOutput().toStdString())["peak_rss_bytes"].get<double>();
        const auto language_file =
            static_cast<double>(fs::file_size(model_folder() / "language" / "model.safetensors"));
        ParameterList others =
            VisionTransformer::from_config(SiglipConfig::from_folder(ModelFolder::open(model_folder()).vision))
                .parameters();
        const double others_bf16 = 2.0 * static_cast<double>(count_elements(others));
        qInfo("peak %.0f MB, language file %.0f MB, tower in bf16 %.0f MB: %.2f times the file", peak / 1e6,
              language_file / 1e6, others_bf16 / 1e6, (peak - others_bf16) / language_file);
        QVERIFY(peak > language_file);  // else the measurement is broken
        QVERIFY(peak - others_bf16 <= 1.25 * language_file);
    }
};

VITRINE_TEST(TestReal)
#include "test_real.moc"
