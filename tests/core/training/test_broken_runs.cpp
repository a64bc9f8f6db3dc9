#include "core/error.h"
#include "training_support.h"

#include <limits>

#include <sys/mount.h>
#include <unistd.h>

using namespace vitrine;
namespace fs = std::filesystem;

// What goes wrong stops the run before it does harm, or does not stop it at all, and is said in words that help.
class TestBrokenRuns : public QObject {
    Q_OBJECT

    test::Workshop workshop_;

    static nlohmann::json row(const std::string& id, const std::string& question, const std::string& answer,
                              const std::string& picture = {}) {
        nlohmann::json row{{"id", id},
                           {"conversations",
                            {{{"from", "human"}, {"value", (picture.empty() ? "" : "<image>\n") + question}},
                             {{"from", "gpt"}, {"value", answer}}}}};
        if (!picture.empty()) row["image"] = picture;
        return row;
    }
    // A data set of its own that uses the workshop's pictures, by path.
    TrainingOptions options_for(const std::string& name, const nlohmann::json& rows) const {
        TrainingOptions options = workshop_.options();
        options.data.path = workshop_.path(name + ".json");
        options.data.pictures = workshop_.data();
        test::write_text(options.data.path, rows.dump());
        return options;
    }

    template <class Fault>
    static std::string message_of(const std::function<void()>& body) {
        try {
            body();
        } catch (const Fault& error) {
            return error.what();
        }
        return {};
    }
    static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

    // The projector with one number replaced.
    fs::path model_with_projector(const std::string& name, float number) const {
        const fs::path folder = workshop_.path(name);
        fs::copy(workshop_.model(), folder, fs::copy_options::recursive);
        const SafetensorsFile before = SafetensorsFile::open(workshop_.model() / "projector.safetensors");
        std::vector<at::Tensor> tensors;
        std::vector<TensorView> views;
        for (const TensorInfo& info : before.tensors()) {
            tensors.push_back(test::read_tensor(before, info.name));
            if (info.name == "fc1.weight") tensors.back().flatten()[5].fill_(number);
            views.push_back(
                {info.name,
                 "F32",
                 info.shape,
                 {static_cast<const std::byte*>(tensors.back().const_data_ptr()), tensors.back().nbytes()}});
        }
        write_safetensors(folder / "projector.safetensors", views);
        return folder;
    }

private Q_SLOTS:
    void a_loss_that_is_not_finite_stops_before_the_weights_change_data() {
        QTest::addColumn<float>("number");
        QTest::addColumn<QString>("dtype");
        QTest::newRow("infinite") << std::numeric_limits<float>::infinity() << "fp32";
        QTest::newRow("not a number") << std::numeric_limits<float>::quiet_NaN() << "fp32";
        QTest::newRow("beyond fp16") << 1e6F << "fp16";
    }

    // One row of eight shows a picture; the projector spoils it, and it alone.
    void a_loss_that_is_not_finite_stops_before_the_weights_change() {
        QFETCH(float, number);
        QFETCH(QString, dtype);
        nlohmann::json rows = nlohmann::json::array();
        for (int i = 0; i < 7; ++i) rows.push_back(row("text " + std::to_string(i), "Count.", "one two three"));
        rows.push_back(row("the culprit", "What?", "a star", "images/000003.png"));
        const std::string name = std::string("bad ") + QTest::currentDataTag();
        if (!fs::exists(workshop_.data() / "images" / "000003.png"))
            rows.back()["image"] = test::read_json(workshop_.data() / "scenes.json")[3]["image"];
        TrainingOptions options = options_for(name, rows);
        options.model = model_with_projector(name + " model", number);
        options.trainable = "projector+language";
        options.dtype = dtype.toStdString();
        options.schedule = "constant";
        options.warmup = 0.0;
        options.batch = 2;
        options.steps = 4;
        std::int64_t failed_at = 0;
        fs::path run;
        std::string message;
        for (options.seed = 0; failed_at < 2; ++options.seed) {  // until the row is not in the first step
            QVERIFY(options.seed < 20);
            run = workshop_.path(name + " run " + std::to_string(options.seed));
            test::Recorder recorder;
            message = message_of<TrainingError>([&] { train(options, run, recorder); });
            QVERIFY(!message.empty());
            failed_at = static_cast<std::int64_t>(recorder.steps.size()) + 1;
        }
        --options.seed;
        QVERIFY2(has(message, "the culprit") || has(message, "row 8"), message.c_str());
        QVERIFY2(has(message, "step " + std::to_string(failed_at)), message.c_str());
        const nlohmann::json status = test::read_json(run / "status.json");
        QCOMPARE(status["state"], "failed");
        QVERIFY(has(status["reason"], "finite"));
        QVERIFY(has(test::bytes_of(run / "log.txt"), "Failed: "));

        // The weights are those of a run that ends just before.
        options.steps = failed_at - 1;
        test::Recorder recorder;
        const fs::path before = workshop_.path(name + " before");
        train(options, before, recorder);
        QCOMPARE(test::trained_state(run, failed_at - 1), test::trained_state(before, failed_at - 1));
    }

    void a_full_disk_leaves_the_checkpoint_before_data() {
        QTest::addColumn<bool>("mounted");
        QTest::newRow("files may not grow") << false;
        QTest::newRow("a disk without room") << true;
    }

    void a_full_disk_leaves_the_checkpoint_before() {
        QFETCH(bool, mounted);
        const fs::path place = workshop_.path(mounted ? "disk" : "limited");
        fs::create_directory(place);
        const bool on_disk = mounted && ::geteuid() == 0 && ::mount("none", place.c_str(), "tmpfs", 0, "size=2m") == 0;
        if (mounted && !on_disk) QSKIP("needs the right to mount");
        struct Unmount {
            fs::path place;
            bool mounted;
            ~Unmount() {
                if (mounted) ::umount2(place.c_str(), MNT_DETACH);
            }
        } const unmount{place, on_disk};

        const fs::path run = place / "run", expected = workshop_.path(mounted ? "disk-whole" : "limited-whole");
        TrainingOptions options = workshop_.options();
        options.schedule = "constant";
        options.warmup = 0.0;
        options.checkpoint_every = 4;
        test::Recorder recorder;
        train(options, expected, recorder);
        options.steps = 4;
        train(options, run, recorder);
        const std::string before = test::trained_state(run, 4);

        // Room for the lines of metrics, not for another checkpoint: its state alone takes 86 kB.
        const QStringList resume{"--resume", QString::fromStdString(run), "--steps", "8"};
        if (on_disk) {
            std::string filling(1 << 16, 'x');
            const fs::space_info space = fs::space(place);
            filling.resize(space.available - (48 << 10), 'x');
            test::write_text(place / "filling", filling);
        }
        test::TrainProcess full(resume, on_disk ? QString() : QStringLiteral("trap '' XFSZ; ulimit -f 40"));
        QVERIFY2(full.wait() == 1, full.err);
        QVERIFY2(full.err.contains("step-8"), full.err);
        QVERIFY2(full.err.contains(on_disk ? "No space left" : "File too large"), full.err);
        QCOMPARE(test::read_json(run / "status.json")["state"], "failed");
        QVERIFY(!fs::exists(test::checkpoint(run, 8)));
        QVERIFY(!fs::exists(run / "checkpoints" / "step-8.part"));
        QVERIFY(test::trained_state(run, 4) == before);
        QVERIFY(fs::exists(run / "model" / "vitrine.json"));

        fs::remove(place / "filling");
        test::TrainProcess rest(resume);
        QVERIFY2(rest.wait() == 0, rest.err);
        QVERIFY(test::trained_state(run, 8) == test::trained_state(expected, 8));
    }

    void broken_rows_are_left_out_and_listed() {
        nlohmann::json rows = test::read_json(workshop_.data() / "scenes.json");
        const std::string whole = rows[0]["image"];
        fs::create_directory(workshop_.data() / "broken");
        const std::string bytes = test::bytes_of(workshop_.data() / whole);
        test::write_text(workshop_.data() / "broken" / "cut.png", bytes.substr(0, bytes.size() / 3));
        test::write_text(workshop_.data() / "broken" / "noise.png", "this is not a picture");
        rows.erase(rows.begin() + 4, rows.end());
        rows.push_back(row("missing", "What?", "a star", "broken/missing.png"));
        rows.push_back(row("cut", "What?", "a star", "broken/cut.png"));
        rows.push_back(row("noise", "What?", "a star", "broken/noise.png"));
        rows.push_back(row("long", "What?", std::string(5000, 'x'), whole));
        rows.push_back(row("empty", "What?", "  ", whole));
        rows.push_back({{"id", "odd"}, {"conversations", "none"}});
        TrainingOptions options = options_for("broken", rows);
        options.max_length = 500;
        options.steps = 0;
        options.epochs = 3;
        options.cache_features = true;
        const fs::path run = workshop_.path("broken-run");
        test::Recorder recorder;
        const TrainingResult result = train(options, run, recorder);
        QCOMPARE(result.end, TrainingEnd::finished);
        QVERIFY(recorder.steps.back().samples >= 3 * 4);
        const std::string log = test::bytes_of(run / "log.txt");
        for (const char* part :
             {"missing picture: 1", "empty answer: 1", "broken picture: ", "longer than max_length: 1"})
            QVERIFY2(has(log, part), log.c_str());
        const nlohmann::json skipped = test::read_json(run / "skipped.json");
        QCOMPARE(skipped.size(), std::size_t{5});
        QCOMPARE(skipped["broken picture"]["count"], 2);
        QVERIFY(has(skipped["broken picture"].dump(), "cut.png") && has(skipped["broken picture"].dump(), "noise.png"));
        QVERIFY2(has(recorder.messages, "longer than max_length"), recorder.messages.c_str());
    }

    void pictures_that_vanish_do_not_stop_it_data() {
        QTest::addColumn<bool>("cached");
        QTest::newRow("cached") << true;
        QTest::newRow("not cached") << false;
    }

    void pictures_that_vanish_do_not_stop_it() {
        QFETCH(bool, cached);
        const fs::path data = workshop_.path(cached ? "vanishing-cached" : "vanishing");
        fs::copy(workshop_.data(), data, fs::copy_options::recursive);
        TrainingOptions options = workshop_.options();
        options.data.path = data / "scenes.json";
        options.cache_features = cached;
        options.steps = 10;
        test::Recorder recorder;
        const nlohmann::json rows = test::read_json(options.data.path);
        recorder.after_step = [&](const StepMetrics& metrics) {
            if (metrics.step != 3) return;
            for (std::size_t i = 0; i < rows.size(); i += 2) fs::remove(data / rows[i]["image"].get<std::string>());
        };
        const TrainingResult result = train(options, workshop_.path(cached ? "vanished-cached" : "vanished"), recorder);
        QCOMPARE(result.end, TrainingEnd::finished);
        QVERIFY(recorder.steps.back().samples < 40);
        QVERIFY2(has(recorder.messages, "broken picture"), recorder.messages.c_str());
    }

    void nothing_usable_at_all_is_an_error() {
        const auto message = [&](const std::string& name, const nlohmann::json& rows) {
            const TrainingOptions options = options_for(name, rows);
            test::Recorder recorder;
            return message_of<InputError>([&] { train(options, workshop_.path(name + "-run"), recorder); });
        };
        nlohmann::json rows = nlohmann::json::array();
        for (int i = 0; i < 6; ++i)
            rows.push_back(row("gone", "What?", "a star", "gone/" + std::to_string(i) + ".png"));
        const std::string missing = message("all-missing", rows);
        QVERIFY2(has(missing, "missing picture"), missing.c_str());

        fs::create_directories(workshop_.data() / "rubbish");
        for (int i = 0; i < 6; ++i) {
            const std::string name = "rubbish/" + std::to_string(i) + ".png";
            test::write_text(workshop_.data() / name, "rubbish " + std::to_string(i));
            rows[static_cast<std::size_t>(i)]["image"] = name;
        }
        const std::string broken = message("all-broken", rows);
        QVERIFY2(has(broken, "broken picture"), broken.c_str());
        QVERIFY2(has(broken, "rubbish") || has(broken, "row"), broken.c_str());
    }

    void what_does_not_fit_is_refused_with_numbers() {
        TrainingOptions options = workshop_.options();
        options.batch = 1 << 20;
        options.micro_batch = 1 << 20;
        const fs::path run = workshop_.path("huge");
        test::Recorder recorder;
        const std::string message = message_of<MemoryError>([&] { train(options, run, recorder); });
        QVERIFY2(has(message, "GB") && has(message, "available") && has(message, "micro_batch"), message.c_str());
        QCOMPARE(test::read_json(run / "status.json")["state"], "failed");

        test::write_text(workshop_.path("huge.json"), to_json(options));
        test::TrainProcess process({QString::fromStdString(workshop_.path("huge.json")), "--run",
                                    QString::fromStdString(workshop_.path("huge-2"))});
        QVERIFY2(process.wait() == 3, process.err);
        QVERIFY2(process.err.contains("micro_batch"), process.err);

        // The advice can be followed on the spot.
        const TrainingResult result = resume_training(run, {{"micro_batch", "2"}, {"batch", "4"}}, recorder);
        QCOMPARE(result.end, TrainingEnd::finished);
        QCOMPARE(result.step, std::int64_t{8});
    }

    void faults_of_the_command_line_have_their_exit_codes() {
        const QString data = QString::fromStdString(workshop_.data() / "scenes.json");
        const QString model = QString::fromStdString(workshop_.model());
        const auto code = [&](const QStringList& arguments, const char* part) {
            test::TrainProcess process(arguments);
            const int exit_code = process.wait();
            return process.err.contains(part) ? exit_code : -100 - exit_code;
        };
        const QString run = QString::fromStdString(workshop_.path("cli"));
        QCOMPARE(code({"--model", model, "--data", data}, "--run"), 2);
        QCOMPARE(code({"--run", run, "--set", "steps"}, "KEY=VALUE"), 2);
        QCOMPARE(code({"--run", run, "--set", "stepz=3"}, "stepz"), 1);
        QCOMPARE(code({"--run", run, "--steps", "many"}, "steps"), 1);
        QCOMPARE(code({"--run", run, "--model", model, "--data", "nowhere.json"}, "nowhere.json"), 1);
        QCOMPARE(code({"--resume", QString::fromStdString(workshop_.path("nowhere"))}, "nowhere"), 1);
    }
};

VITRINE_TEST(TestBrokenRuns)
#include "test_broken_runs.moc"
