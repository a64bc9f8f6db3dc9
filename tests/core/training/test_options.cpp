#include "core/error.h"
#include "training_support.h"

#include <clocale>

using namespace vitrine;

// run.json in both directions: every option, strictly typed, and errors that name the key and what fits.
class TestOptions : public QObject {
    Q_OBJECT

    static std::string error_of(const std::function<void()>& body) {
        try {
            body();
        } catch (const ConfigError& error) {
            return error.what();
        }
        return "no error";
    }

private Q_SLOTS:
    void cleanup() { std::setlocale(LC_ALL, "C"); }

    void written_options_read_back() {
        for (const char* locale : {"C", "de_DE.UTF-8"}) {  // the second only where it is installed
            std::setlocale(LC_ALL, locale);
            const std::string defaults = to_json(TrainingOptions{});
            // Change every member from its default, by its JSON form, then read and write again.
            nlohmann::ordered_json all = nlohmann::ordered_json::parse(defaults);
            const std::map<std::string, nlohmann::json> words{
                {"task", "patches"},    {"trainable", "vision"},  {"initial_projector", "random"}, {"dtype", "fp16"},
                {"save_dtype", "fp32"}, {"schedule", "constant"}, {"scenes_content", "questions"}};
            const std::function<void(nlohmann::ordered_json&)> change = [&](nlohmann::ordered_json& object) {
                for (auto& [key, value] : object.items()) {
                    if (value.is_object())
                        change(value);
                    else if (words.contains(key))
                        value = words.at(key).get<std::string>();
                    else if (value.is_boolean())
                        value = !value.get<bool>();
                    else if (value.is_number_float())
                        value = value.get<double>() * 0.5 + 0.0123456789;
                    else if (value.is_number())
                        value = value.get<std::int64_t>() + 3;
                    else if (value.is_string())
                        value = value.get<std::string>() + "ä b";
                    else if (value.is_array())
                        value = {"one", "zwei 二"};
                }
            };
            change(all);
            const TrainingOptions read = training_options_from_json(all.dump(), "run.json");
            QCOMPARE(nlohmann::ordered_json::parse(to_json(read)).dump(), all.dump());
            QCOMPARE(read.learning_rate, 1e-3 * 0.5 + 0.0123456789);
            QCOMPARE(to_json(training_options_from_json(defaults, "run.json")), defaults);
            QCOMPARE(to_json(training_options_from_json("{}", "run.json")), defaults);
        }
    }

    void faults_are_named_data() {
        QTest::addColumn<QString>("json");
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* json, const char* key, const char* expected) {
            QTest::newRow(json) << QString::fromUtf8(json) << QString::fromUtf8(key) << QString::fromUtf8(expected);
        };
        row(R"({"stepz": 3})", "stepz", "option of a training run");
        row(R"({"data": {"paths": "x"}})", "data.paths", "option of a training run");
        row(R"({"steps": "3"})", "steps", "at least 0");
        row(R"({"steps": 3.5})", "steps", "at least 0");
        row(R"({"steps": -1})", "steps", "at least 0");
        row(R"({"steps": 1e300})", "steps", "at least 0");
        row(R"({"seed": -1})", "seed", "not negative");
        row(R"({"batch": 0})", "batch", "1 to 1048576");
        row(R"({"threads": 99999999999})", "threads", "0 to 1024");
        row(R"({"learning_rate": 11})", "learning_rate", "0 to 10");
        row(R"({"learning_rate": null})", "learning_rate", "0 to 10");
        row(R"({"warmup": 1.5})", "warmup", "0 to 1");
        row(R"({"beta1": 1.0})", "beta1", "0.99999");
        row(R"({"epsilon": 0})", "epsilon", "1e-20");
        row(R"({"schedule": "linear"})", "schedule", "cosine, constant");
        row(R"({"dtype": "int8"})", "dtype", "fp32, bf16, fp16");
        row(R"({"trainable": ["projector"]})", "trainable", "projector+language");
        row(R"({"cache_features": 1})", "cache_features", "true or false");
        row(R"({"model": 3})", "model", "a text");
        row(R"({"data": "x"})", "data", "an object");
        row(R"({"data": {"prompts": []}})", "data.prompts", "a list of texts");
        row(R"({"data": {"prompts": ["a", 1]}})", "data.prompts", "a list of texts");
        row(R"({"data": {"scenes_turns": 17}})", "data.scenes_turns", "1 to 16");
        row(R"([1])", "run.json", "an object");
        row(R"({"steps": 3)", "run.json", "");
    }

    void faults_are_named() {
        QFETCH(QString, json);
        QFETCH(QString, key);
        QFETCH(QString, expected);
        const QString message = QString::fromStdString(
            error_of([&] { training_options_from_json(json.toStdString(), "folder/run.json"); }));
        QVERIFY2(message.contains(key) && message.contains(expected) && message.contains("folder/run.json"),
                 qPrintable(message));
    }

    void keys_of_the_program_are_passed_over() {
        const TrainingOptions options =
            training_options_from_json(R"({"_program": "vitrine", "_data_fingerprint": 3, "steps": 5})", "run.json");
        QCOMPARE(options.steps, std::int64_t{5});
    }

    void single_options_can_be_set() {
        TrainingOptions options;
        set_training_option(options, "steps", "100");
        set_training_option(options, "learning_rate", "2.5e-4");
        set_training_option(options, "gradient_checkpointing", "true");
        set_training_option(options, "dtype", "fp32");
        set_training_option(options, "data.path", "123");  // a folder may be called so
        set_training_option(options, "data.prompts", R"(["What?", "Why?"])");
        set_training_option(options, "validation_data.scenes", "true");
        QCOMPARE(options.steps, std::int64_t{100});
        QCOMPARE(options.learning_rate, 2.5e-4);
        QVERIFY(options.gradient_checkpointing && options.validation_data.scenes);
        QCOMPARE(options.dtype, std::string("fp32"));
        QCOMPARE(options.data.path, std::filesystem::path("123"));
        QCOMPARE(options.data.prompts, (std::vector<std::string>{"What?", "Why?"}));
        for (const auto& [key, value] : {std::pair{"steps", "many"},
                                         {"stepz", "1"},
                                         {"steps", "-1"},
                                         {"data", "x"},
                                         {"data.scenes", "1"},
                                         {"batch", "0"}}) {
            const std::string message = error_of([&, k = key, v = value] { set_training_option(options, k, v); });
            QVERIFY2(message.find(key) != std::string::npos, message.c_str());
        }
    }

    void paths_start_at_the_file() {
        TrainingOptions options;
        options.model = "../model";
        options.data.path = "/data/rows.json";
        resolve_paths(options, "/home/me/runs");
        QCOMPARE(options.model, std::filesystem::path("/home/me/model"));
        QCOMPARE(options.data.path, std::filesystem::path("/data/rows.json"));
        QVERIFY(options.cache.empty());
    }

    void options_that_do_not_fit_each_other_data() {
        QTest::addColumn<QString>("json");
        QTest::addColumn<QString>("key");
        QTest::newRow("no data") << R"({})"
                                 << "data.path";
        QTest::newRow("two kinds of data") << R"({"data": {"path": "x", "scenes": true}})"
                                           << "data.path";
        QTest::newRow("no end") << R"({"data": {"scenes": true}})"
                                << "steps";
        QTest::newRow("patches of files") << R"({"task": "patches", "trainable": "vision", "data": {"path": "x"}})"
                                          << "data.scenes";
        QTest::newRow("patches, projector") << R"({"task": "patches", "data": {"scenes": true}, "steps": 1})"
                                            << "trainable";
        QTest::newRow("captions, vision") << R"({"trainable": "vision", "data": {"path": "x"}})"
                                          << "trainable";
    }

    void options_that_do_not_fit_each_other() {
        QFETCH(QString, json);
        QFETCH(QString, key);
        const TrainingOptions options = training_options_from_json(json.toStdString(), "run.json");
        const std::string message = error_of([&] { check_training_options(options, "run.json"); });
        QVERIFY2(message.find(key.toStdString()) != std::string::npos, message.c_str());
        const QTemporaryDir folder;
        test::Recorder recorder;
        const std::filesystem::path run = std::filesystem::path(folder.path().toStdString()) / "run";
        QVERIFY_EXCEPTION_THROWN(train(options, run, recorder), ConfigError);
        QVERIFY(!std::filesystem::exists(run));
    }
};

VITRINE_TEST(TestOptions)
#include "test_options.moc"
