#include "core/train/optimizer.h"
#include "training_support.h"

#include <cmath>

using namespace vitrine;

// AdamW is torch.optim.AdamW, alone and at the end of a whole run with clipping and a schedule.
class TestOptimizer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void steps_equal_torch() {
        const SafetensorsFile reference = SafetensorsFile::open(test::training_reference() / "adamw.safetensors");
        const nlohmann::json options = nlohmann::json::parse(reference.metadata().at("options"));
        std::map<std::string, at::Tensor> tensors;
        ParameterList list;
        for (const char* name : {"bias", "matrix", "norm", "second"}) {
            tensors[name] = test::read_tensor(reference, std::string("before.") + name);
            list.push_back({.name = name, .shape = tensors[name].sizes().vec(), .tensor = &tensors[name]});
        }
        FlatParameters parameters(list, at::kFloat);
        QCOMPARE(parameters.size(), std::int64_t{7 + 143 + 13 + 30});
        QCOMPARE(parameters.decayed(), std::int64_t{143 + 30});
        AdamW optimiser(parameters, {.weight_decay = options["weight_decay"],
                                     .beta1 = options["beta1"],
                                     .beta2 = options["beta2"],
                                     .epsilon = options["epsilon"]});
        for (int step = 0; step < 7; ++step) {
            std::vector<at::Tensor> gradients;
            for (const Parameter& parameter : parameters.parameters())
                gradients.push_back(
                    test::read_tensor(reference, "gradient." + std::to_string(step) + "." + parameter.name).flatten());
            at::Tensor gradient = parameters.gradient();
            gradient.copy_(at::cat(gradients) * 4.0);
            optimiser.step(parameters, 0.02 / (1 + step), 0.25);
            parameters.bind_frozen();
            for (const Parameter& parameter : parameters.parameters()) {
                const at::Tensor expected =
                    test::read_tensor(reference, "after." + std::to_string(step) + "." + parameter.name);
                const double error = test::difference(*parameter.tensor, expected);
                QVERIFY2(error < 1e-6, (parameter.name + ": " + std::to_string(error)).c_str());
            }
        }
        QCOMPARE(optimiser.steps, std::int64_t{7});
    }

    // Five steps of a run: the same losses, norms, rates and, in the end, weights.
    void a_run_equals_torch() {
        const std::filesystem::path reference = test::training_reference();
        const nlohmann::json expected = test::read_json(reference / "run.json");
        const nlohmann::json& given = expected["options"];
        const QTemporaryDir folder;
        const std::filesystem::path run = std::filesystem::path(folder.path().toStdString()) / "run";
        TrainingOptions options;
        options.model = reference / "model";
        options.data.path = reference / "data" / "data.json";
        options.validation_samples = 0;
        options.dtype = "fp32";
        options.device = "cpu";
        options.threads = 2;
        options.batch = 6;
        options.micro_batch = 4;
        options.steps = given["steps"];
        options.learning_rate = given["learning_rate"];
        options.warmup = given["warmup"];
        options.weight_decay = given["weight_decay"];
        options.beta1 = given["beta1"];
        options.beta2 = given["beta2"];
        options.epsilon = given["epsilon"];
        options.clip = given["clip"];
        options.cache_features = false;
        test::Recorder recorder;
        const TrainingResult result = train(options, run, recorder);
        QCOMPARE(result.end, TrainingEnd::finished);
        QCOMPARE(recorder.steps.size(), expected["losses"].size());
        int clipped = 0;
        for (std::size_t i = 0; i < recorder.steps.size(); ++i) {
            const StepMetrics& step = recorder.steps[i];
            const auto near = [&](double found, const char* what) {
                return std::abs(found - expected[what][i].get<double>()) < 1e-4 * expected[what][i].get<double>();
            };
            QVERIFY2(near(step.loss, "losses"), std::to_string(step.loss).c_str());
            QVERIFY2(near(step.grad_norm, "norms"), std::to_string(step.grad_norm).c_str());
            QVERIFY2(near(step.learning_rate, "rates"), std::to_string(step.learning_rate).c_str());
            clipped += step.grad_norm > options.clip ? 1 : 0;
            QCOMPARE(step.clipped_share, static_cast<double>(clipped) / static_cast<double>(i + 1));
        }
        for (const char* name : {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}) {
            const at::Tensor found = test::read_tensor(result.checkpoint / "projector.safetensors", name);
            const double error = test::difference(found, test::read_tensor(reference / "after.safetensors", name));
            QVERIFY2(error < 1e-5, (std::string(name) + ": " + std::to_string(error)).c_str());
        }
    }

    void the_rate_rises_and_falls() {
        QCOMPARE(scheduled_rate(2.0, 0.1, true, 0.0), 0.0);
        QCOMPARE(scheduled_rate(2.0, 0.1, true, 0.05), 1.0);
        QCOMPARE(scheduled_rate(2.0, 0.1, true, 0.1), 2.0);
        QVERIFY(std::abs(scheduled_rate(2.0, 0.1, true, 0.55) - 1.0) < 1e-12);
        QVERIFY(std::abs(scheduled_rate(2.0, 0.1, true, 1.0)) < 1e-12);
        QCOMPARE(scheduled_rate(2.0, 0.1, false, 0.7), 2.0);
        QCOMPARE(scheduled_rate(2.0, 0.0, true, 0.0), 2.0);
        QCOMPARE(scheduled_rate(2.0, 1.0, true, 0.5), 1.0);
        QVERIFY(std::isfinite(scheduled_rate(2.0, 1.0, true, 1.0)));
    }
};

VITRINE_TEST(TestOptimizer)
#include "test_optimizer.moc"
