#include "core/error.h"
#include "core/model/verify.h"
#include "core/weights/safetensors.h"
#include "support/folders.h"
#include "support/test_main.h"

#include <ATen/ATen.h>

#include <cstring>

using namespace vitrine;
namespace fs = std::filesystem;

namespace {

const WeightTarget kFloat{at::kFloat, at::kCPU};

// Every stage with its error, for the message of a failing test.
QByteArray describe(const Verification& verification) {
    std::string text = "first difference: " + verification.first_difference + "\n";
    for (const StageComparison& stage : verification.stages) {
        text += stage.stage + " max " + std::to_string(stage.max_abs) + (stage.ok ? "\n" : " DIFFERS\n");
    }
    return QByteArray::fromStdString(text);
}

std::string first_difference(const fs::path& folder) {
    return verify(folder, folder / "reference.safetensors", kFloat).first_difference;
}

// Rewrites one tensor of a checkpoint file in place.
void overwrite(const fs::path& file, const std::string& name, const std::function<void(std::span<float>)>& edit) {
    std::uint64_t header = 0;
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    stream.read(reinterpret_cast<char*>(&header), 8);
    const SafetensorsFile weights = SafetensorsFile::open(file);
    const TensorInfo* tensor = weights.find(name);
    QVERIFY2(tensor != nullptr && tensor->dtype == "F32", name.c_str());
    std::vector<float> values(static_cast<std::size_t>(tensor->elements()));
    const auto offset = static_cast<std::streamoff>(8 + header + tensor->begin);
    stream.seekg(offset).read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
    edit(values);
    stream.seekp(offset).write(reinterpret_cast<const char*>(values.data()),
                               static_cast<std::streamsize>(values.size() * 4));
}

}  // namespace

// The whole stack against transformers, stage by stage.
class TestParity : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void fp32_agrees_data() {
        QTest::addColumn<QString>("name");
        for (const fs::directory_entry& entry : fs::directory_iterator(test::reference_models())) {
            if (!fs::exists(entry.path() / "reference.safetensors")) continue;
            const QString name = QString::fromStdString(entry.path().filename().string());
            QTest::newRow(qPrintable(name)) << name;
        }
    }

    void fp32_agrees() {
        QFETCH(QString, name);
        const fs::path folder = test::reference_models() / name.toStdString();
        const Verification verification = verify(folder, folder / "reference.safetensors", kFloat);
        QVERIFY2(verification.ok(), describe(verification));
        std::vector<std::string> stages;
        for (const StageComparison& stage : verification.stages) stages.push_back(stage.stage);
        for (const char* needed : {"vision.embeddings", "vision.layers.0", "vision.post_layernorm", "projector",
                                   "language.layers.0", "language.norm", "language.logits", "language.logits.cached",
                                   "batch.logits", "glue.inputs_embeds", "glue.logits"}) {
            QVERIFY2(std::find(stages.begin(), stages.end(), needed) != stages.end(), needed);
        }
        QVERIFY(verification.stages.size() > 12);
    }

    void bf16_chooses_the_same_tokens() {
        const fs::path folder = test::reference_models() / "bf16_files";
        const Verification verification =
            verify(folder, folder / "reference_bf16.safetensors", {at::kBFloat16, at::kCPU});
        QVERIFY2(verification.ok(), describe(verification));
        for (const StageComparison& stage : verification.stages) {
            if (stage.stage.ends_with("logits")) QVERIFY(stage.agreement >= 0.99);
        }
    }

    void fp16_weights_compute_in_fp16() {
        const fs::path folder = test::reference_models() / "fp16_files";
        const Verification verification = verify(folder, folder / "reference.safetensors", {at::kHalf, at::kCPU});
        for (const StageComparison& stage : verification.stages) {
            if (stage.stage.ends_with("logits")) QVERIFY2(stage.agreement >= 0.9, describe(verification));
        }
    }

    // The reference must be able to tell: each of these changes has to be noticed, and at the right stage.
    void a_wrong_detail_is_noticed_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("stage");
        QTest::newRow("GELU exact instead of tanh") << "vision/config.json"
                                                    << "hidden_act"
                                                    << "\"gelu\""
                                                    << "vision.layers.0";
        QTest::newRow("layer_norm_eps") << "vision/config.json"
                                        << "layer_norm_eps"
                                        << "1e-5"
                                        << "vision.layers.0";
        QTest::newRow("rms_norm_eps") << "language/config.json"
                                      << "rms_norm_eps"
                                      << "1e-5"
                                      << "language.layers.0";
        QTest::newRow("rope base") << "language/config.json"
                                   << "rope_theta"
                                   << "10000.0"
                                   << "language.layers.0";
    }

    void a_wrong_detail_is_noticed() {
        QFETCH(QString, file);
        QFETCH(QString, key);
        QFETCH(QString, value);
        QFETCH(QString, stage);
        const test::FolderCopy copy("mha");
        QCOMPARE(first_difference(copy.path()), std::string());
        copy.edit_json(file.toStdString(), [&](nlohmann::json& config) {
            nlohmann::json& place =
                key == "rope_theta" && config.contains("rope_parameters") ? config["rope_parameters"] : config;
            QVERIFY(place.contains(key.toStdString()));
            place[key.toStdString()] = nlohmann::json::parse(value.toStdString());
        });
        QCOMPARE(first_difference(copy.path()), stage.toStdString());
    }

    void every_kind_of_weight_matters_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("tensor");
        QTest::addColumn<QString>("stage");
        const QString vision = "vision/model.safetensors";
        const QString language = "language/model.safetensors";
        QTest::newRow("patch embedding") << vision << "vision_model.embeddings.patch_embedding.bias"
                                         << "vision.embeddings";
        QTest::newRow("positions") << vision << "vision_model.embeddings.position_embedding.weight"
                                   << "vision.embeddings";
        QTest::newRow("tower k bias is free, v bias is not")
            << vision << "vision_model.encoder.layers.1.self_attn.v_proj.bias"
            << "vision.layers.1";
        QTest::newRow("tower norm") << vision << "vision_model.encoder.layers.2.layer_norm2.weight"
                                    << "vision.layers.2";
        QTest::newRow("post_layernorm") << vision << "vision_model.post_layernorm.bias"
                                        << "vision.post_layernorm";
        QTest::newRow("projector") << "projector.safetensors"
                                   << "fc2.bias"
                                   << "projector";
        QTest::newRow("q_norm") << language << "model.layers.0.self_attn.q_norm.weight"
                                << "language.layers.0";
        QTest::newRow("k_norm") << language << "model.layers.1.self_attn.k_norm.weight"
                                << "language.layers.1";
        QTest::newRow("input norm") << language << "model.layers.0.input_layernorm.weight"
                                    << "language.layers.0";
        QTest::newRow("last norm") << language << "model.norm.weight"
                                   << "language.norm";
    }

    void every_kind_of_weight_matters() {
        QFETCH(QString, file);
        QFETCH(QString, tensor);
        QFETCH(QString, stage);
        const test::FolderCopy copy("mha");
        overwrite(copy.path() / file.toStdString(), tensor.toStdString(), [](std::span<float> values) {
            for (float& value : values) value = 1.0F;  // as if it had never been read
        });
        QCOMPARE(first_difference(copy.path()), stage.toStdString());
    }

    void swapped_colours_are_noticed() {
        const test::FolderCopy copy("mha");
        const fs::path reference = copy.path() / "reference.safetensors";
        const auto plane = [&] {
            const auto shape = SafetensorsFile::open(reference).find("vision.pixel_values")->shape;
            return static_cast<std::size_t>(shape[2] * shape[3]);
        }();
        overwrite(reference, "vision.pixel_values", [&](std::span<float> values) {
            std::swap_ranges(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(plane),
                             values.begin() + static_cast<std::ptrdiff_t>(2 * plane));
        });
        QCOMPARE(first_difference(copy.path()), std::string("vision.embeddings"));
    }

    void parts_can_be_verified_alone() {
        const fs::path folder = test::reference_models() / "mha";
        const Verification vision = verify(folder / "vision", folder / "reference.safetensors", kFloat);
        QVERIFY2(vision.ok(), describe(vision));
        QCOMPARE(vision.stages.back().stage, std::string("vision.post_layernorm"));
        const Verification language = verify(folder / "language", folder / "reference.safetensors", kFloat);
        QVERIFY2(language.ok(), describe(language));
        QCOMPARE(language.stages.back().stage, std::string("batch.logits"));
    }

    void a_reference_without_activations_is_refused() {
        const fs::path folder = test::reference_models() / "mha";
        QVERIFY_EXCEPTION_THROWN(verify(folder, folder / "projector.safetensors", kFloat), WeightsError);
    }

    void a_reference_of_another_model_is_refused() {
        const fs::path models = test::reference_models();
        try {
            verify(models / "mha", models / "gqa_head_dim" / "reference.safetensors", kFloat);
            QFAIL("no error");
        } catch (const Error& error) {
            QVERIFY2(std::string(error.what()).find("shape") != std::string::npos, error.what());
        }
    }
};

VITRINE_TEST(TestParity)
#include "test_parity.moc"
