#include "training_support.h"

#include <cmath>

using namespace vitrine;
namespace fs = std::filesystem;

// Whole runs on a small model: what they learn, keep, write and leave alone.
class TestTrainer : public QObject {
    Q_OBJECT

    test::Workshop workshop_;

    static double mean_loss(const std::vector<StepMetrics>& steps, std::size_t first, std::size_t count) {
        double sum = 0.0;
        for (std::size_t i = first; i < first + count; ++i) sum += steps[i].loss;
        return sum / static_cast<double>(count);
    }

private Q_SLOTS:
    void accumulation_changes_nothing() {
        TrainingOptions options = workshop_.options();
        options.batch = 8;
        options.steps = 4;
        at::Tensor whole;
        for (const int at_once : {0, 8, 1, 3}) {
            options.micro_batch = at_once;
            const fs::path run = workshop_.path("accumulation-" + std::to_string(at_once));
            test::Recorder recorder;
            train(options, run, recorder);
            const at::Tensor values = test::read_tensor(test::checkpoint(run, 4) / "state", "values");
            QCOMPARE(recorder.steps.back().samples, std::uint64_t{32});
            if (!whole.defined()) whole = values;
            const double error = test::difference(values, whole);
            QVERIFY2(error < 1e-5, std::to_string(error).c_str());
        }
        const double moved =
            test::difference(whole.narrow(0, 0, 48 * 64),
                             test::read_tensor(workshop_.model() / "projector.safetensors", "fc1.weight").flatten());
        QVERIFY(moved > 1e-3);  // it has learned something that could have differed
    }

    void frozen_parts_stay_as_they_are_data() {
        QTest::addColumn<QString>("trainable");
        for (const char* trainable : {"projector", "projector+language", "all"}) QTest::newRow(trainable) << trainable;
    }

    void frozen_parts_stay_as_they_are() {
        QFETCH(QString, trainable);
        TrainingOptions options = workshop_.options();
        options.trainable = trainable.toStdString();
        options.steps = 2;
        const fs::path run = workshop_.path("frozen-" + options.trainable);
        const std::string vision = test::bytes_of(workshop_.model() / "vision" / "model.safetensors");
        const std::string language = test::bytes_of(workshop_.model() / "language" / "model.safetensors");
        test::Recorder recorder;
        const fs::path made = train(options, run, recorder).checkpoint;
        const nlohmann::json parts = test::read_json(made / "vitrine.json");
        const auto weights = [&](const char* part) {  // an absolute path, or a folder of the checkpoint
            return test::bytes_of(made / parts[part].get<std::string>() / "model.safetensors");
        };
        QCOMPARE(weights("vision") == vision, trainable != "all");
        QCOMPARE(weights("language") == language, trainable == "projector");
        QCOMPARE(fs::exists(made / "vision"), trainable == "all");
        QCOMPARE(fs::exists(made / "language"), trainable != "projector");
        QVERIFY(test::bytes_of(made / "projector.safetensors") !=
                test::bytes_of(workshop_.model() / "projector.safetensors"));
        QVERIFY(vision == test::bytes_of(workshop_.model() / "vision" / "model.safetensors"));
        QVERIFY(language == test::bytes_of(workshop_.model() / "language" / "model.safetensors"));
    }

    void without_a_rate_nothing_changes() {
        TrainingOptions options = workshop_.options();
        options.trainable = "all";
        options.learning_rate = 0.0;
        options.weight_decay = 0.1;
        options.steps = 3;
        test::Recorder recorder;
        const fs::path made = train(options, workshop_.path("no-rate"), recorder).checkpoint;
        for (const char* part : {"vision", "language"}) {
            const SafetensorsFile before = SafetensorsFile::open(workshop_.model() / part / "model.safetensors");
            const SafetensorsFile after = SafetensorsFile::open(made / part / "model.safetensors");
            QCOMPARE(after.tensors().size(), before.tensors().size());
            for (const TensorInfo& tensor : before.tensors())
                QVERIFY2(test::read_tensor(before, tensor.name).equal(test::read_tensor(after, tensor.name)),
                         tensor.name.c_str());
        }
    }

    // First the whole, then the projector alone from random weights beside the language model that came of it.
    void eight_pictures_are_learned_by_heart() {
        TrainingOptions options = workshop_.options();
        options.data.limit = 8;
        options.validation_data.path = options.data.path;
        options.validation_data.limit = 8;
        options.validation_samples = 8;
        options.sample_pictures = 2;
        options.trainable = "projector+language";
        options.batch = 8;
        options.steps = 250;
        options.learning_rate = 3e-3;
        options.cache_features = true;
        test::Recorder whole;
        const fs::path run = workshop_.path("overfit");
        train(options, run, whole);
        const EvaluationMetrics& learned = whole.evaluations.back();
        const auto shown = [](const EvaluationMetrics& metrics) {
            return "loss " + std::to_string(metrics.loss) + ", shuffled " + std::to_string(metrics.shuffled_loss);
        };
        QVERIFY2(learned.loss < 0.1, shown(learned).c_str());
        QVERIFY2(learned.shuffled_loss > 1.0, shown(learned).c_str());
        QVERIFY(learned.accuracy > 0.97);
        QVERIFY(whole.steps.back().loss < 0.1 && whole.steps.front().loss > 3.0);
        QCOMPARE(learned.samples.size(), std::size_t{2});

        options.model = run / "model";
        options.trainable = "projector";
        options.initial_projector = "random";
        options.steps = 300;
        options.learning_rate = 1e-2;
        test::Recorder bridge;
        train(options, workshop_.path("overfit-projector"), bridge);
        const EvaluationMetrics& relearned = bridge.evaluations.back();
        QVERIFY(bridge.steps.front().loss > 1.0);
        QVERIFY2(relearned.loss < 0.1, shown(relearned).c_str());
        QVERIFY2(relearned.shuffled_loss > 1.0, shown(relearned).c_str());
    }

    void it_ends_early_when_nothing_improves() {
        TrainingOptions options = workshop_.options();
        options.learning_rate = 0.0;
        options.validation_samples = 4;
        options.evaluate_every = 2;
        options.early_stop = 3;
        options.steps = 100;
        test::Recorder recorder;
        const TrainingResult result = train(options, workshop_.path("early"), recorder);
        QCOMPARE(result.end, TrainingEnd::early_stop);
        QCOMPARE(result.step, std::int64_t{8});  // best at 2, then three without improvement
        QCOMPARE(recorder.evaluations.size(), std::size_t{4});
        QVERIFY(recorder.evaluations[0].best && !recorder.evaluations[3].best);
        QCOMPARE(result.best_loss, recorder.evaluations[0].loss);
        QCOMPARE(test::read_json(workshop_.path("early") / "status.json")["state"], "finished");
    }

    void the_last_ones_and_the_best_are_kept() {
        TrainingOptions options = workshop_.options();
        options.learning_rate = 0.0;  // so that the first evaluation stays the best
        options.validation_samples = 4;
        options.evaluate_every = 3;
        options.checkpoint_every = 1;
        options.keep = 2;
        options.steps = 9;
        const fs::path run = workshop_.path("kept");
        test::Recorder recorder;
        train(options, run, recorder);
        std::set<std::string> kept;
        for (const auto& entry : fs::directory_iterator(run / "checkpoints"))
            kept.insert(entry.path().filename().string());
        QCOMPARE(kept, (std::set<std::string>{"step-3", "step-8", "step-9"}));
        QCOMPARE(fs::read_symlink(run / "model"), fs::path("checkpoints/step-3"));

        QProcess caption;
        caption.start(QStringLiteral(VITRINE_CLI),
                      {"caption", "--json", "--max-tokens", "5", "--model", QString::fromStdString(run / "model"),
                       QString::fromStdString(workshop_.model() / "sample.png")});
        QVERIFY(caption.waitForFinished(60'000));
        QVERIFY2(caption.exitCode() == 0, caption.readAllStandardError());
        QVERIFY(nlohmann::json::parse(caption.readAllStandardOutput().toStdString()).contains("caption"));
    }

    void without_validation_the_link_shows_the_last() {
        TrainingOptions options = workshop_.options();
        options.checkpoint_every = 3;
        options.keep = 1;
        options.steps = 4;
        const fs::path run = workshop_.path("last");
        test::Recorder recorder;
        train(options, run, recorder);
        QCOMPARE(fs::read_symlink(run / "model"), fs::path("checkpoints/step-4"));
        QVERIFY(!fs::exists(test::checkpoint(run, 3)));
    }

    void half_precision_learns_too_data() {
        QTest::addColumn<QString>("dtype");
        QTest::newRow("bf16") << "bf16";
        QTest::newRow("fp16") << "fp16";
    }

    void half_precision_learns_too() {
        QFETCH(QString, dtype);
        TrainingOptions options = workshop_.options();
        options.trainable = "projector+language";
        options.dtype = dtype.toStdString();
        options.save_dtype = "bf16";
        options.steps = 40;
        options.learning_rate = 3e-3;
        test::Recorder recorder;
        const fs::path made = train(options, workshop_.path("half-" + options.dtype), recorder).checkpoint;
        const double first = mean_loss(recorder.steps, 0, 5), last = mean_loss(recorder.steps, 35, 5);
        QVERIFY2(last < 0.6 * first, (std::to_string(first) + " " + std::to_string(last)).c_str());
        const auto dtype_of = [](const fs::path& file) { return SafetensorsFile::open(file).tensors().front().dtype; };
        QCOMPARE(dtype_of(made / "projector.safetensors"), std::string("F32"));
        QCOMPARE(dtype_of(made / "language" / "model.safetensors"), std::string("BF16"));
    }

    void checkpointing_gradients_gives_the_same_run() {
        TrainingOptions options = workshop_.options();
        options.trainable = "all";
        test::Recorder plain, checkpointed;
        train(options, workshop_.path("plain"), plain);
        options.gradient_checkpointing = true;
        train(options, workshop_.path("checkpointed"), checkpointed);
        for (std::size_t i = 0; i < plain.steps.size(); ++i)
            QVERIFY(std::abs(plain.steps[i].loss - checkpointed.steps[i].loss) < 1e-4 * plain.steps[i].loss);
    }

    void fresh_scenes_and_patches_run() {
        TrainingOptions options = workshop_.options();
        options.data.path.clear();
        options.data.scenes = true;
        options.validation_samples = 4;
        options.sample_pictures = 1;
        test::Recorder recorder;
        train(options, workshop_.path("scenes"), recorder);
        QCOMPARE(recorder.steps.size(), std::size_t{8});
        QCOMPARE(recorder.evaluations.size(), std::size_t{1});
        QCOMPARE(recorder.evaluations[0].samples.size(), std::size_t{1});

        options.task = "patches";
        options.trainable = "vision";
        options.batch = 8;
        options.steps = 30;
        options.learning_rate = 3e-3;
        test::Recorder patches;
        const fs::path made = train(options, workshop_.path("patches"), patches).checkpoint;
        const double before = mean_loss(patches.steps, 0, 5), after = mean_loss(patches.steps, 25, 5);
        QVERIFY2(after < 0.93 * before, (std::to_string(before) + " " + std::to_string(after)).c_str());
        QVERIFY(fs::exists(made / "vision" / "model.safetensors"));
    }

    void the_folder_tells_what_happened() {
        TrainingOptions options = workshop_.options();
        options.validation_samples = 4;
        options.evaluate_every = 4;
        options.sample_pictures = 2;
        options.clip = 0.5;
        const fs::path run = workshop_.path("told");
        test::Recorder recorder;
        train(options, run, recorder);

        const auto lines = test::json_lines(test::bytes_of(run / "metrics.jsonl"));
        QCOMPARE(lines.front()["event"], "start");
        double ema = 0.0;
        std::int64_t steps = 0, evaluations = 0;
        for (const nlohmann::json& line : lines) {
            if (line.contains("validation_loss")) ++evaluations;
            if (!line.contains("loss")) continue;
            QCOMPARE(line["step"].get<std::int64_t>(), ++steps);
            ema = 0.98 * ema + 0.02 * line["loss"].get<double>();
            QVERIFY(std::abs(line["loss_ema"].get<double>() - ema / (1 - std::pow(0.98, static_cast<double>(steps)))) <
                    1e-9);
            for (const char* key :
                 {"learning_rate", "grad_norm", "clipped_share", "tokens_per_s", "samples_per_s", "data_s", "vision_s",
                  "language_s", "optimiser_s", "elapsed_s", "eta_s", "peak_bytes"})
                QVERIFY2(line[key].is_number(), key);
            QCOMPARE(line["samples"].get<std::int64_t>(), steps * 4);
        }
        QCOMPARE(steps, std::int64_t{8});
        QCOMPARE(evaluations, std::int64_t{2});
        QCOMPARE(lines.back()["step"].get<std::int64_t>(), std::int64_t{8});

        const nlohmann::json status = test::read_json(run / "status.json");
        QCOMPARE(status["state"], "finished");
        QCOMPARE(status["step"], 8);
        QCOMPARE(status["steps"], 8);
        QCOMPARE(test::read_json(run / "samples" / "step-4.json").size(), std::size_t{2});
        QVERIFY(test::bytes_of(run / "log.txt").find("Ended at step 8: finished") != std::string::npos);
        QCOMPARE(to_json(training_options_from_json(test::bytes_of(run / "run.json"), "run.json")), to_json(options));
        QVERIFY(test::read_json(run / "run.json").contains("_data_fingerprint"));
        bool board = false;
        for (const auto& entry : fs::directory_iterator(run))
            board |= entry.path().filename().string().find("tfevents") != std::string::npos;
        QVERIFY(board);
    }
};

VITRINE_TEST(TestTrainer)
#include "test_trainer.moc"
