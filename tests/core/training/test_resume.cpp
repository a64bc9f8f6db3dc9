#include "core/error.h"
#include "training_support.h"

#include <QRandomGenerator>

#include <cmath>

using namespace vitrine;
namespace fs = std::filesystem;

// A run that was broken off, in whatever way, ends bit-equal to one that was not.
class TestResume : public QObject {
    Q_OBJECT

    test::Workshop workshop_;
    static constexpr std::int64_t kSteps = 30;

    TrainingOptions options() const {
        TrainingOptions options = workshop_.options();
        options.steps = kSteps;
        options.trainable = "projector+language";
        options.validation_samples = 4;
        options.evaluate_every = 7;
        options.sample_pictures = 1;
        options.checkpoint_every = 2;
        options.keep = 2;
        return options;
    }

    // What an unbroken run of these options ends with; made once for all.
    const fs::path& unbroken() {
        static fs::path run;
        if (!run.empty()) return run;
        run = workshop_.path("unbroken");
        test::Recorder recorder;
        train(options(), run, recorder);
        return run;
    }

    static nlohmann::json progress(const fs::path& run, std::int64_t step) {
        nlohmann::json json = nlohmann::json::parse(
            SafetensorsFile::open(test::checkpoint(run, step) / "state").metadata().at("progress"));
        json.erase("elapsed_s");
        return json;
    }

    // Empty when both runs ended alike, to the last bit.
    static std::string differs(const fs::path& run, const fs::path& expected, std::int64_t step = kSteps) {
        if (test::trained_state(run, step) != test::trained_state(expected, step)) return "state";
        if (progress(run, step) != progress(expected, step)) return progress(run, step).dump();
        const fs::path made = test::checkpoint(run, step), wanted = test::checkpoint(expected, step);
        if (test::bytes_of(made / "projector.safetensors") != test::bytes_of(wanted / "projector.safetensors"))
            return "projector";
        if (fs::read_symlink(run / "model") != fs::read_symlink(expected / "model")) return "model";
        return {};
    }

    QStringList start(const fs::path& run, const TrainingOptions& options) const {
        const fs::path file = run.string() + ".json";
        test::write_text(file, to_json(options));
        return {QString::fromStdString(file), "--run", QString::fromStdString(run)};
    }
    static QStringList resume(const fs::path& run) { return {"--resume", QString::fromStdString(run)}; }

    static std::size_t lines(const fs::path& run) {
        const std::string text = test::bytes_of(run / "metrics.jsonl");
        return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }
    static bool writes_a_checkpoint(const fs::path& run) {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(run / "checkpoints", error))
            if (entry.path().extension() == ".part") return true;
        return false;
    }

private Q_SLOTS:
    void killed_at_any_moment() {
        const fs::path run = workshop_.path("killed");
        QRandomGenerator random(17);
        int kills = 0, in_checkpoints = 0;
        bool ended = false;
        QStringList arguments = start(run, options());
        for (int attempt = 0; attempt < 40 && !ended; ++attempt) {
            test::TrainProcess process(arguments);
            // Some die while a checkpoint is written, the others some time after a step, a few before the first one.
            if (attempt % 3 != 2) {
                process.until([&] { return writes_a_checkpoint(run); });
            } else {
                const std::size_t before = lines(run);
                process.until([&] { return lines(run) > before; });
                QTest::qSleep(static_cast<int>(random.bounded(60)));
            }
            if (process.running()) {
                process.send(SIGKILL);
                ++kills;
            }
            ended = process.wait() == 0;
            if (!ended && writes_a_checkpoint(run)) ++in_checkpoints;
            if (fs::exists(run / "run.json")) arguments = resume(run);
            if (attempt == 8) break;  // enough: let it end
        }
        if (!ended) {
            test::TrainProcess process(arguments);
            QVERIFY2(process.wait() == 0, process.err);
        }
        QVERIFY(kills >= 4);
        QVERIFY(in_checkpoints >= 1);
        const std::string difference = differs(run, unbroken());
        QVERIFY2(difference.empty(), difference.c_str());
        for (const nlohmann::json& line : test::json_lines(test::bytes_of(run / "metrics.jsonl")))
            QVERIFY(line.is_object());
        QVERIFY(!writes_a_checkpoint(run));  // nothing half-written is left lying about
    }

    void interrupted() {
        const fs::path run = workshop_.path("interrupted");
        TrainingOptions slow = options();
        slow.checkpoint_every = 1000;
        test::TrainProcess process(start(run, slow));
        QVERIFY(process.until([&] { return lines(run) > 4; }));
        process.send(SIGINT);
        QVERIFY2(process.wait() == 130, process.err);
        const nlohmann::json status = test::read_json(run / "status.json");
        QCOMPARE(status["state"], "stopped");
        const auto step = status["step"].get<std::int64_t>();
        QVERIFY(step >= 3 && step < kSteps);
        QVERIFY(fs::exists(test::checkpoint(run, step) / "state"));
        test::TrainProcess again(resume(run));
        QVERIFY2(again.wait() == 0, again.err);
        QCOMPARE(test::trained_state(run, kSteps), test::trained_state(unbroken(), kSteps));
    }

    void stopped_in_the_middle_of_a_step() {
        const fs::path run = workshop_.path("stopped");
        TrainingOptions small = options();
        small.micro_batch = 1;
        test::Recorder whole;
        const fs::path expected = workshop_.path("stopped-never");
        train(small, expected, whole);
        std::stop_source stop;
        test::Recorder recorder;
        recorder.after_step = [&](const StepMetrics& metrics) {
            if (metrics.step == 11) stop.request_stop();
        };
        const TrainingResult result = train(small, run, recorder, stop.get_token());
        QCOMPARE(result.end, TrainingEnd::stopped);
        QCOMPARE(result.step, std::int64_t{11});
        QCOMPARE(result.checkpoint, test::checkpoint(run, 11));
        test::Recorder rest;
        QCOMPARE(resume_training(run, {}, rest).end, TrainingEnd::finished);
        QCOMPARE(rest.steps.front().step, std::int64_t{12});
        for (std::size_t i = 0; i < rest.steps.size(); ++i) {
            QCOMPARE(rest.steps[i].loss, whole.steps[11 + i].loss);
            QCOMPARE(rest.steps[i].loss_ema, whole.steps[11 + i].loss_ema);
            QCOMPARE(rest.steps[i].samples, whole.steps[11 + i].samples);
        }
        const std::string difference = differs(run, expected);
        QVERIFY2(difference.empty(), difference.c_str());
    }

    void other_data_and_tasks_resume_as_exactly_data() {
        QTest::addColumn<QString>("kind");
        for (const char* kind : {"cached features", "fresh scenes", "patches", "several epochs", "everything trained"})
            QTest::newRow(kind) << kind;
    }

    void other_data_and_tasks_resume_as_exactly() {
        QFETCH(QString, kind);
        TrainingOptions one = options();
        one.steps = 10;
        if (kind == "cached features") {
            one.cache_features = true;
            one.trainable = "projector";
            one.micro_batch = 3;
        } else if (kind == "several epochs") {
            one.data.limit = 7;
            one.validation_samples = 0;
        } else if (kind == "everything trained") {
            one.trainable = "all";
        } else {
            one.data.path.clear();
            one.data.scenes = true;
        }
        if (kind == "patches") {
            one.task = "patches";
            one.trainable = "vision";
        }
        const std::string name = "kind-" + kind.toStdString();
        test::Recorder whole, first, rest;
        one.cache = workshop_.path(name + "-cache-1");
        train(one, workshop_.path(name + "-whole"), whole);
        std::stop_source stop;
        first.after_step = [&](const StepMetrics& metrics) {
            if (metrics.step == 5) stop.request_stop();
        };
        one.cache = workshop_.path(name + "-cache-2");
        train(one, workshop_.path(name), first, stop.get_token());
        resume_training(workshop_.path(name), {}, rest);
        const std::string difference = differs(workshop_.path(name), workshop_.path(name + "-whole"), 10);
        QVERIFY2(difference.empty(), difference.c_str());
    }

    void a_broken_checkpoint_is_passed_over() {
        const fs::path run = workshop_.path("broken-state");
        std::stop_source stop;
        test::Recorder recorder;
        recorder.after_step = [&](const StepMetrics& metrics) {
            if (metrics.step == 12) stop.request_stop();
        };
        train(options(), run, recorder, stop.get_token());
        fs::resize_file(test::checkpoint(run, 12) / "state", 1000);
        test::Recorder rest;
        resume_training(run, {}, rest);
        QCOMPARE(rest.steps.front().step, std::int64_t{11});
        QVERIFY(test::bytes_of(run / "log.txt").find("Checkpoint left out") != std::string::npos);
        const std::string difference = differs(run, unbroken());
        QVERIFY2(difference.empty(), difference.c_str());
    }

    void a_run_can_be_made_longer() {
        TrainingOptions longer = options();
        longer.schedule = "constant";
        longer.warmup = 0.0;
        longer.steps = 9;
        test::Recorder whole, first, rest;
        train(longer, workshop_.path("long"), whole);
        longer.steps = 5;
        train(longer, workshop_.path("longer"), first);
        resume_training(workshop_.path("longer"), {{"steps", "9"}}, rest);
        QCOMPARE(test::trained_state(workshop_.path("longer"), 9), test::trained_state(workshop_.path("long"), 9));
        QCOMPARE(test::read_json(workshop_.path("longer") / "run.json")["steps"], 9);

        test::Recorder nothing;
        const TrainingResult same = resume_training(workshop_.path("longer"), {}, nothing);
        QCOMPARE(same.end, TrainingEnd::finished);
        QCOMPARE(same.checkpoint, test::checkpoint(workshop_.path("longer"), 9));
        QVERIFY(nothing.steps.empty());
    }

    void other_rows_are_refused() {
        const fs::path run = workshop_.path("other-rows");
        const fs::path data = workshop_.path("changing");
        fs::copy(workshop_.data(), data, fs::copy_options::recursive);
        TrainingOptions one = options();
        one.data.path = data / "scenes.json";
        one.steps = 2;
        test::Recorder recorder;
        train(one, run, recorder);
        nlohmann::json rows = test::read_json(one.data.path);
        rows.erase(rows.begin());
        test::write_text(one.data.path, rows.dump());
        try {
            resume_training(run, {{"steps", "4"}}, recorder);
            QFAIL("no error");
        } catch (const ConfigError& error) {
            QVERIFY2(std::string(error.what()).find("rows this run was started with") != std::string::npos,
                     error.what());
        }
    }

    void there_must_be_a_run_to_resume() {
        test::Recorder recorder;
        QVERIFY_EXCEPTION_THROWN(resume_training(workshop_.path("nowhere"), {}, recorder), FileError);
        QVERIFY(!fs::exists(workshop_.path("nowhere")));
        QVERIFY_EXCEPTION_THROWN(train(options(), workshop_.data(), recorder), FileError);
    }

    void words_in_the_control_file_are_obeyed() {
        const fs::path run = workshop_.path("controlled");
        TrainingOptions one = options();
        one.checkpoint_every = 1000;
        one.evaluate_every = 0;
        test::Recorder recorder;
        recorder.after_step = [&](const StepMetrics& metrics) {
            if (metrics.step == 3) test::write_text(run / "control", "save");
            if (metrics.step == 6) QVERIFY(fs::exists(test::checkpoint(run, 4) / "state"));
            if (metrics.step == 8) test::write_text(run / "control", "stop\n");
        };
        QCOMPARE(train(one, run, recorder).end, TrainingEnd::stopped);
        QVERIFY(!fs::exists(run / "control"));
        QVERIFY(fs::exists(test::checkpoint(run, 8) / "state"));
        test::Recorder rest;
        QCOMPARE(resume_training(run, {}, rest).end, TrainingEnd::finished);
        QCOMPARE(test::trained_state(run, kSteps), test::trained_state(unbroken(), kSteps));
    }

    void paused_and_guarded() {
        const fs::path run = workshop_.path("paused");
        TrainingOptions one = options();
        one.steps = 100'000;
        one.checkpoint_every = 100'000;
        one.evaluate_every = 0;
        test::TrainProcess process(start(run, one));
        const auto state = [&] { return test::read_json(run / "status.json")["state"].get<std::string>(); };
        QVERIFY(process.until([&] { return lines(run) > 2; }));
        test::write_text(run / "control", "pause");
        QVERIFY(process.until([&] { return state() == "paused"; }));
        const std::size_t before = lines(run);
        QTest::qSleep(300);
        QCOMPARE(lines(run), before);

        test::Recorder recorder;
        try {
            resume_training(run, {}, recorder);
            QFAIL("two processes train one run");
        } catch (const FileError& error) {
            QVERIFY2(std::string(error.what()).find("another process") != std::string::npos, error.what());
        }
        test::TrainProcess second(resume(run));
        QCOMPARE(second.wait(), 1);
        QVERIFY2(second.err.contains("another process"), second.err);

        test::write_text(run / "control", "run");
        QVERIFY(process.until([&] { return lines(run) > before + 2; }));
        test::write_text(run / "control", "pause");
        QVERIFY(process.until([&] { return state() == "paused"; }));
        process.send(SIGTERM);  // a stop is obeyed in a pause as well
        QCOMPARE(process.wait(), 130);
        QCOMPARE(state(), std::string("stopped"));
    }
};

VITRINE_TEST(TestResume)
#include "test_resume.moc"
