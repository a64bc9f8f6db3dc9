#include "support/folders.h"
#include "support/test_main.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QProcess>

#include <csignal>
#include <set>

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct Outcome {
    int exit_code = -1;
    QByteArray out;
    QByteArray err;

    std::vector<json> lines() const {
        std::vector<json> result;
        for (const QByteArray& line : out.split('\n')) {
            if (!line.isEmpty()) result.push_back(json::parse(line.toStdString()));
        }
        return result;
    }
};

Outcome run(const QStringList& arguments, const QByteArray& input = {}) {
    QProcess process;
    process.start(QStringLiteral(VITRINE_CLI), arguments);
    process.write(input);
    process.closeWriteChannel();
    if (!process.waitForFinished(120'000)) return {};
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1, process.readAllStandardOutput(),
            process.readAllStandardError()};
}

QString reference(const char* name) {
    return QString::fromStdString((vitrine::test::reference_models() / name).string());
}

QByteArray contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("<absent>");
}

}  // namespace

// vitrine-cli as scripts see it: exit codes, JSON lines, files.
class TestCli : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    QString model_;
    QString picture_;

    QString path(const QString& name) const { return folder_.filePath(name); }
    QStringList caption(const QStringList& more) const {
        return QStringList{"caption", "--model", model_, "--max-tokens", "6"} + more;
    }

private Q_SLOTS:
    void initTestCase() {
        model_ = path("model");
        const Outcome made = run({"init", "--shape", "demo", "--out", model_});
        QVERIFY2(made.exit_code == 0, made.err);
        picture_ = model_ + "/sample.png";
        QVERIFY(QFile::exists(picture_));
    }

    void version_and_help() {
        const Outcome version = run({"--version"});
        QCOMPARE(version.exit_code, 0);
        QVERIFY(version.out.startsWith("vitrine-cli "));
        const Outcome help = run({"--help"});
        QCOMPARE(help.exit_code, 0);
        for (const char* command : {"caption", "chat", "inspect", "verify", "bench"})
            QVERIFY(help.out.contains(command));
    }

    void faults_have_their_exit_codes_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("exit_code");
        QTest::addColumn<QByteArray>("message");
        const auto row = [](const char* name, const char* arguments, int code, const char* message) {
            QTest::newRow(name) << QString::fromUtf8(arguments).split(u' ') << code << QByteArray(message);
        };
        row("no command", "", 2, "subcommand");
        row("unknown command", "paint", 2, "subcommand");
        row("unknown option", "caption --colour red x.png", 2, "--colour");
        row("no picture", "caption --model MODEL", 2, "pictures");
        row("bad number", "caption --model MODEL PICTURE --max-tokens many", 2, "max-tokens");
        row("bad dtype", "caption --model MODEL PICTURE --dtype fp8", 2, "fp32, bf16 or fp16");
        row("bad device", "caption --model MODEL PICTURE --device gpu", 2, "auto, cpu");
        row("bad temperature", "caption --model MODEL PICTURE --temperature -1", 2, "temperature");
        row("unknown preset", "caption --model MODEL PICTURE --preset poem", 2, "caption");
        row("missing model", "caption --model nowhere PICTURE", 1, "nowhere");
        row("missing picture", "caption --model MODEL nowhere.png", 1, "nowhere.png");
        row("empty folder", "caption --model MODEL EMPTY", 1, "at least one picture");
        row("missing reference", "verify --model MODEL --reference nowhere.safetensors", 1, "nowhere.safetensors");
        row("folder in the way", "init --out MODEL", 1, "empty folder");
    }

    void faults_have_their_exit_codes() {
        QFETCH(QStringList, arguments);
        QFETCH(int, exit_code);
        QFETCH(QByteArray, message);
        QDir().mkpath(path("empty"));
        arguments.removeAll(QString());
        for (QString& argument : arguments) {
            if (argument == "MODEL") argument = model_;
            if (argument == "PICTURE") argument = picture_;
            if (argument == "EMPTY") argument = path("empty");
        }
        const Outcome outcome = run(arguments);
        QVERIFY2(outcome.exit_code == exit_code, outcome.err);
        QVERIFY2(outcome.err.contains(message), outcome.err);
        QVERIFY2(outcome.out.isEmpty(), outcome.out);
    }

    void a_gpu_that_is_missing_is_exit_3() {
        const Outcome outcome = run(caption({picture_, "--device", "cuda:7"}));
        QVERIFY2(outcome.exit_code == 3, outcome.err);
        QVERIFY(outcome.err.contains("cuda:7"));
    }

    void captions_as_json_lines() {
        const QString broken = path("broken.png");
        QVERIFY(QFile::copy(model_ + "/vitrine.json", broken));
        const Outcome outcome = run(caption({"--json", picture_, broken, picture_}));
        QCOMPARE(outcome.exit_code, 1);  // one failed, the others went on
        const auto lines = outcome.lines();
        QCOMPARE(lines.size(), std::size_t{3});
        QCOMPARE(lines[0]["file"].get<std::string>(), picture_.toStdString());
        for (const char* key : {"caption", "finish", "tokens", "first_token_ms", "tokens_per_s", "peak_rss_bytes"})
            QVERIFY2(lines[0].contains(key), key);
        QVERIFY(lines[0]["tokens"].get<int>() <= 6);
        QCOMPARE(lines[1]["file"].get<std::string>(), broken.toStdString());
        QVERIFY(lines[1].contains("error"));
        QCOMPARE(lines[0]["caption"], lines[2]["caption"]);
    }

    // A model may say anything, also what a terminal takes for a command.
    void people_see_no_control_characters() {
        const QString name = path("clear \x1b[2J.png");
        QVERIFY(QFile::copy(picture_, name));
        const QStringList noise{"caption", "--model", model_, "--max-tokens", "400", "--temperature",
                                "20",      "--seed",  "3"};
        const std::string said = run(noise + QStringList{"--json", name}).lines().at(0)["caption"];
        const auto is_control = [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7F; };
        QVERIFY(std::any_of(said.begin(), said.end(), is_control));
        const Outcome shown = run(noise + QStringList{name, name});
        QVERIFY(shown.out.contains("clear \\x1B[2J.png"));
        QVERIFY(std::none_of(shown.out.begin(), shown.out.end(), is_control));
        const Outcome missing = run(caption({path("no \x1b[2J.png")}));
        QVERIFY2(missing.err.contains("no \\x1B[2J.png"), missing.err);
    }

    void sidecars_are_never_lost() {
        const QString folder = path("sidecars");
        QDir().mkpath(folder);
        const QString a = folder + "/a.png";
        const QString sidecar = folder + "/a.txt";
        QVERIFY(QFile::copy(picture_, a));
        const Outcome first = run(caption({"--json", "--write", "txt", a}));
        QVERIFY2(first.exit_code == 0, first.err);
        const QByteArray said = QByteArray::fromStdString(first.lines().at(0)["caption"]) + '\n';
        QCOMPARE(contents(sidecar), said);
        vitrine::test::write_text(sidecar.toStdString(), "by hand");
        const Outcome second = run(caption({"--write", "txt", a}));
        QCOMPARE(second.exit_code, 1);
        QVERIFY(second.err.contains("--overwrite"));
        QCOMPARE(contents(sidecar), QByteArray("by hand"));
        QCOMPARE(run(caption({"--write", "txt", "--only-missing", a})).exit_code, 0);
        QCOMPARE(contents(sidecar), QByteArray("by hand"));
        QCOMPARE(run(caption({"--write", "txt", "--overwrite", a})).exit_code, 0);
        QCOMPARE(contents(sidecar), said);

        // a.png and a.jpg would share a.caption: the second is refused, by name
        const QString twin = folder + "/a.jpg";
        QVERIFY(QFile::copy(picture_, twin));
        const Outcome shared = run(caption({"--write", "caption", folder}));
        QCOMPARE(shared.exit_code, 1);
        QVERIFY(shared.err.contains("a.jpg") && shared.err.contains("a.png"));
    }

    void lines_of_captions_grow_and_resume() {
        const QString a = path("=1+1 \"x\".png");
        const QString b = path("写真 #%20.png");
        QVERIFY(QFile::copy(picture_, a) && QFile::copy(picture_, b));
        for (const char* format : {"jsonl", "csv"}) {
            const QString file = path("lines." + QString::fromUtf8(format));
            const QStringList write{"--write", QString::fromUtf8(format), "--out", file, "--only-missing"};
            QCOMPARE(run(caption(write + QStringList{a})).exit_code, 0);
            const QByteArray before = contents(file);
            const Outcome more = run(caption(write + QStringList{"--json", a, b}));
            QCOMPARE(more.exit_code, 0);
            QCOMPARE(more.lines().size(), std::size_t{1});  // a has its caption already
            QVERIFY(contents(file).startsWith(before) && contents(file).size() > before.size());
            QCOMPARE(run(caption(write + QStringList{"--json", a, b})).lines().size(), std::size_t{0});
        }
    }

    void chat_takes_turns_and_reuses_the_cache() {
        const Outcome outcome = run({"chat", "--model", model_, "--json", "--max-tokens", "8", "--image", picture_,
                                     "--system", "Be brief.", "--message", "What is this?", "--message", "Sure?"});
        QVERIFY2(outcome.exit_code == 0, outcome.err);
        const auto lines = outcome.lines();
        QCOMPARE(lines.size(), std::size_t{2});
        QCOMPARE(lines[0]["turn"].get<int>(), 1);
        QCOMPARE(lines[0]["cached_tokens"].get<int>(), 0);
        QVERIFY(lines[1]["cached_tokens"].get<int>() > 64);
        for (const char* key : {"turn", "text", "finish", "tokens", "cached_tokens"})
            QVERIFY2(lines[1].contains(key), key);
    }

    void chat_reads_turns_from_a_pipe() {
        const Outcome outcome = run({"chat", "--model", model_, "--json", "--max-tokens", "4"},
                                    "Hello\n/image nowhere.png\nStill there?\n/quit\n");
        QVERIFY2(outcome.exit_code == 0, outcome.err);
        QCOMPARE(outcome.lines().size(), std::size_t{2});
        QVERIFY(outcome.err.contains("nowhere.png"));
    }

    void inspect_tells_what_transformers_counts_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"tiny", "gqa_head_dim", "sharded", "full_siglip", "text_config", "bf16_files"})
            QTest::newRow(name) << QString::fromUtf8(name);
    }

    void inspect_tells_what_transformers_counts() {
        QFETCH(QString, name);
        const QString folder = reference(name.toUtf8().constData());
        const Outcome outcome = run({"inspect", folder, "--json"});
        QVERIFY2(outcome.exit_code == 0, outcome.err);
        const json expected = vitrine::test::read_json(fs::path(folder.toStdString()) / "reference.json")["expect"];
        const auto lines = outcome.lines();
        QCOMPARE(lines.size(), std::size_t{3});
        for (const json& part : lines) {
            const json& truth = expected[part["part"].get<std::string>()];
            QCOMPARE(part["parameters"], truth["parameters"]);
            QCOMPARE(part["used"].size(), truth["tensors_used"].get<std::size_t>());
            QCOMPARE(part["ignored"], truth["ignored"]);
            QCOMPARE(part["strays"].size(), truth["strays"].size());
            QCOMPARE(part["bytes"]["fp32"].get<std::int64_t>(), 4 * truth["parameters"].get<std::int64_t>());
            for (const json& entry : part["config"]) QVERIFY(entry["origin"].get<std::string>().size() > 3);
        }
    }

    void inspect_says_where_a_value_came_from() {
        const Outcome outcome = run({"inspect", reference("full_siglip") + QStringLiteral("/vision"), "--json"});
        QVERIFY2(outcome.exit_code == 0, outcome.err);
        std::map<std::string, std::string> origins;
        const auto lines = outcome.lines();
        for (const json& entry : lines.front()["config"]) origins[entry["key"]] = entry["origin"];
        QVERIFY(std::any_of(origins.begin(), origins.end(), [](const auto& origin) {
            return origin.second.find("class default") != std::string::npos;
        }));
        QVERIFY(std::any_of(origins.begin(), origins.end(),
                            [](const auto& origin) { return origin.second.find("config.json") != std::string::npos; }));
    }

    void verify_lists_every_layer() {
        const QString folder = reference("mha");
        const Outcome outcome =
            run({"verify", "--model", folder, "--reference", folder + "/reference.safetensors", "--json"});
        QVERIFY2(outcome.exit_code == 0, outcome.err);
        const auto lines = outcome.lines();
        QCOMPARE(lines.back()["ok"].get<bool>(), true);
        QVERIFY(!lines.back()["worst"].get<std::string>().empty());
        for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
            for (const char* key : {"stage", "max_abs", "mean_abs", "ok"}) QVERIFY2(lines[i].contains(key), key);
        }
        QCOMPARE(
            std::count_if(lines.begin(), lines.end(),
                          [](const json& line) { return line.value("stage", "").starts_with("language.layers."); }),
            2);
    }

    void bench_measures_beside_libtorch() {
        const Outcome outcome = run({"bench", "--json", "--repeats", "2", "--context", "32", "--tokens", "8",
                                     "--figures", "decode,prefill,tower,load,memory"});
        QVERIFY2(outcome.exit_code == 0, outcome.err);
        std::set<std::string> figures;
        for (const json& line : outcome.lines()) {
            figures.insert(line["figure"].get<std::string>() + " " + line["dtype"].get<std::string>());
            QVERIFY(line["min"].get<double>() > 0.0 && line["min"] <= line["median"] && line["median"] <= line["max"] &&
                    line["n"] == 2);
        }
        for (const char* figure :
             {"decode bf16", "decode_libtorch bf16", "prefill fp32", "tower fp32", "load bf16", "memory bf16"}) {
            QVERIFY2(figures.contains(figure), figure);
        }
    }

    void trains_evaluates_and_exports() {
        const QString run_folder = path("run");
        const QStringList start{"train",    "--model",
                                model_,     "--run",
                                run_folder, "--json",
                                "--set",    "data.scenes=true",
                                "--set",    "validation_samples=4",
                                "--set",    "sample_pictures=1",
                                "--dtype",  "fp32",
                                "--batch",  "2",
                                "--steps",  "2"};
        const Outcome trained = run(start);
        QVERIFY2(trained.exit_code == 0, trained.err);
        const auto lines = trained.lines();
        QCOMPARE(lines.size(), std::size_t{4});  // two steps, an evaluation, the end
        for (const char* key : {"step", "loss", "learning_rate", "grad_norm", "samples_per_s", "eta_s"})
            QVERIFY2(lines[0].contains(key), key);
        QVERIFY(lines[2].contains("shuffled_loss"));
        QCOMPARE(lines[3]["end"].get<std::string>(), std::string("finished"));
        QCOMPARE(run(start).exit_code, 1);  // a run is never written over
        const Outcome resumed = run({"train", run_folder, "--resume", "--steps", "3", "--json"});
        QVERIFY2(resumed.exit_code == 0, resumed.err);
        QCOMPARE(resumed.lines()[0]["step"].get<int>(), 3);

        const QString exported = path("exported");
        const Outcome copied = run({"export", run_folder + "/model", "--out", exported});
        QVERIFY2(copied.exit_code == 0, copied.err);
        QVERIFY(QFile::exists(exported + "/vision/model.safetensors"));
        const QString predictions = path("predictions.jsonl");
        const Outcome scored = run({"eval", "--model", exported, "--scenes", "--limit", "3", "--json", "--max-tokens",
                                    "4", "--predictions", predictions});
        QVERIFY2(scored.exit_code == 0, scored.err);
        std::set<std::string> metrics;
        for (const json& line : scored.lines()) metrics.insert(line["metric"]);
        QCOMPARE(metrics, (std::set<std::string>{"bleu4", "cider", "exact_match", "rouge_l"}));
        QCOMPARE(scored.lines()[0]["split"].get<std::string>(), std::string("captions"));
        QCOMPARE(scored.lines()[0]["n"].get<int>(), 3);
        QCOMPARE(contents(predictions).count('\n'), 15);  // a caption and four questions each
        QCOMPARE(run({"eval", "--model", exported}).exit_code, 2);
    }

    void training_options_are_checked() {
        const QStringList begin{"train", "--run", path("never"), "--model", model_};
        const Outcome unknown = run(begin + QStringList{"--set", "colour=red"});
        QCOMPARE(unknown.exit_code, 1);
        QVERIFY2(unknown.err.contains("colour"), unknown.err);
        const Outcome range = run(begin + QStringList{"--set", "data.scenes=true", "--set", "batch=0"});
        QCOMPARE(range.exit_code, 1);
        QVERIFY2(range.err.contains("batch"), range.err);
        const Outcome nothing = run(begin);
        QVERIFY2(nothing.exit_code == 1 && nothing.err.contains("data.path"), nothing.err);
        QVERIFY(!QFile::exists(path("never")));
        QCOMPARE(run({"train", path("never"), "--resume"}).exit_code, 1);
    }

    void interrupting_stops_with_130_and_leaves_nothing_half_done() {
        const QString target = path("interrupted.png");
        QVERIFY(QFile::copy(picture_, target));
        QProcess process;
        process.start(QStringLiteral(VITRINE_CLI), {"caption", "--model", model_, "--max-tokens", "1900",
                                                    "--no-loop-detection", "--trace", "--write", "txt", target});
        process.setReadChannel(QProcess::StandardError);
        QByteArray seen;
        while (!seen.contains("glue") && process.waitForReadyRead(60'000)) seen += process.readAllStandardError();
        QVERIFY2(seen.contains("glue"), seen);
        QElapsedTimer timer;
        timer.start();
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(10'000));
        QCOMPARE(process.exitCode(), 130);
        QVERIFY(!QFile::exists(path("interrupted.txt")));
    }

    void numbers_do_not_depend_on_the_locale() {
        QProcess process;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("LC_ALL", "de_DE.UTF-8");
        process.setProcessEnvironment(environment);
        process.start(QStringLiteral(VITRINE_CLI), caption({"--trace", "--temperature", "0.5", picture_}));
        QVERIFY(process.waitForFinished(60'000));
        QCOMPARE(process.exitCode(), 0);
        QVERIFY(!process.readAllStandardError().contains(",0 ms"));
    }
};

VITRINE_TEST(TestCli)
#include "test_cli.moc"
