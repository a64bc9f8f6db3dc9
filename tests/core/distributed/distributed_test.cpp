#include "core/weights/safetensors.h"
#include "support/folders.h"
#include "support/test_main.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QProcess>
#include <QStandardPaths>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct Outcome {
    int exit_code = -1;  // -1: killed, or it hung
    QByteArray err;
};

using Variables = std::vector<std::pair<QString, QString>>;

void prepare(QProcess& process, const QString& program, const QStringList& arguments, const Variables& variables = {}) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("OMP_WAIT_POLICY"), QStringLiteral("passive"));  // more processes than cores
    // Open MPI keeps memory until the end: not ours to report where leaks are looked for.
    const QString sanitizer = environment.value(QStringLiteral("ASAN_OPTIONS"));
    environment.insert(QStringLiteral("ASAN_OPTIONS"), sanitizer + QStringLiteral(":detect_leaks=0"));
    for (const auto& [key, value] : variables) environment.insert(key, value);
    process.setProcessEnvironment(environment);
    process.setProgram(program);
    process.setArguments(arguments);
}

Outcome outcome_of(QProcess& process) {
    if (!process.waitForFinished(120'000)) {
        process.kill();
        process.waitForFinished();
        return {-1, "hung: " + process.readAllStandardError()};
    }
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1, process.readAllStandardError()};
}

Outcome run(const QString& program, const QStringList& arguments, const Variables& variables = {}) {
    QProcess process;
    prepare(process, program, arguments, variables);
    process.start();
    return outcome_of(process);
}

Outcome cli(const QStringList& arguments, const Variables& variables = {}) {
    return run(QStringLiteral(VITRINE_CLI), arguments, variables);
}

// Two processes on this machine, also as root, on any number of cores, without any other network.
QStringList by_mpirun(const QStringList& arguments) {
    return QStringList{"--allow-run-as-root",
                       "--oversubscribe",
                       "--bind-to",
                       "none",
                       "--mca",
                       "btl",
                       "self,vader",
                       "--mca",
                       "oob_tcp_if_include",
                       "lo",
                       "--mca",
                       "odls_base_sigkill_timeout",
                       "4",
                       "-n",
                       "2",
                       QStringLiteral(VITRINE_CLI)} +
           arguments;
}

Outcome mpirun(const QStringList& arguments) {
    return run(QStringLiteral("mpirun"), by_mpirun(arguments));
}

struct Process {
    char state = 'X';  // Z: dead, but its parent has not taken note
    qint64 parent = 0;
};

Process process_of(const QString& id) {
    QFile file("/proc/" + id + "/stat");
    if (!file.open(QIODevice::ReadOnly)) return {};
    const QByteArray stat = file.readAll();  // id (name) state parent ...
    const QList<QByteArray> fields = stat.mid(stat.lastIndexOf(')') + 2).split(' ');
    return {fields.value(0).at(0), fields.value(1).toLongLong()};
}

std::vector<pid_t> children_of(qint64 parent) {
    std::vector<pid_t> children;
    for (const QString& entry : QDir(QStringLiteral("/proc")).entryList(QDir::Dirs))
        if (entry.toInt() > 0 && process_of(entry).parent == parent) children.push_back(entry.toInt());
    return children;
}

struct Steps {
    std::vector<json> steps, evaluations;
    std::int64_t last() const { return steps.empty() ? 0 : steps.back().at("step").get<std::int64_t>(); }
};

Steps steps_of(const fs::path& folder) {
    Steps found;
    std::ifstream stream(folder / "metrics.jsonl");
    for (std::string line; std::getline(stream, line);) {
        const json entry = json::parse(line, nullptr, false);
        if (entry.contains("loss")) found.steps.push_back(entry);
        if (entry.contains("validation_loss")) found.evaluations.push_back(entry);
    }
    return found;
}

std::vector<float> state_of(const fs::path& run, std::int64_t step, const char* tensor) {
    const auto file = vitrine::SafetensorsFile::open(run / "checkpoints" / ("step-" + std::to_string(step)) / "state");
    const vitrine::TensorInfo* info = file.find(tensor);
    if (info == nullptr || info->dtype != "F32") return {};
    std::vector<float> values(static_cast<std::size_t>(info->elements()));
    std::memcpy(values.data(), file.bytes(*info).data(), values.size() * sizeof(float));
    return values;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size() || a.empty()) return 1e9;
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(double{a[i]} - double{b[i]}));
    return largest;
}

// A folder with a model and runs beside it.
class Runs {
public:
    fs::path path(const char* name) const { return fs::path(folder_.path().toStdString()) / name; }
    QString model() const { return QString::fromStdString(path("model").string()); }
    Outcome make_model() const { return cli({"init", "--shape", "demo", "--out", model()}); }

    QStringList train(const char* run, const QStringList& more) const {
        return QStringList{"train",
                           "--run",
                           QString::fromStdString(path(run).string()),
                           "--model",
                           model(),
                           "--dtype",
                           "fp32",
                           "--device",
                           "cpu",
                           "--threads",
                           "1",
                           "--set",
                           "data.scenes=true",
                           "--set",
                           "data.scenes_turns=1",
                           "--set",
                           "sample_pictures=0"} +
               more;
    }
    QStringList resume(const char* run, const QStringList& more = {}) const {
        return QStringList{"train", QString::fromStdString(path(run).string()), "--resume"} + more;
    }
    // A run as it was when only checkpoints up to `step` were there.
    void cut_back(const char* from, const char* to, std::int64_t step) const {
        fs::copy(path(from), path(to), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
        for (const auto& entry : fs::directory_iterator(path(to) / "checkpoints"))
            if (std::stoll(entry.path().filename().string().substr(5)) > step) fs::remove_all(entry.path());
    }

private:
    QTemporaryDir folder_;
};

}  // namespace

// Several processes that train one model, as people start them.
class TestDistributed : public QObject {
    Q_OBJECT

    Runs runs_;

    fs::path path(const char* name) const { return runs_.path(name); }

    // Starts a long run and waits until some steps are done.
    void start_long_run(QProcess& process, const char* run) const {
        prepare(process, QStringLiteral("mpirun"),
                by_mpirun(runs_.train(run, {"--steps", "100000", "--batch", "2", "--set", "validation_samples=0",
                                            "--set", "checkpoint_every=100000"})));
        process.start();
        QTRY_VERIFY_WITH_TIMEOUT(steps_of(path(run)).last() >= 3 || process.state() == QProcess::NotRunning, 60'000);
        QVERIFY2(process.state() == QProcess::Running, process.readAllStandardError());
    }

private Q_SLOTS:
    void initTestCase() {
        if (QStandardPaths::findExecutable(QStringLiteral("mpirun")).isEmpty())
            QSKIP("mpirun is not installed (openmpi-bin)");
        if (!fs::exists(fs::path(VITRINE_CLI).parent_path() / "libvitrine_mpi.so"))
            QSKIP("built without MPI (libopenmpi-dev)");
        const Outcome made = runs_.make_model();
        QVERIFY2(made.exit_code == 0, made.err);
    }

    // Five rows over two processes, texts of uneven lengths, an evaluation of five rows: what counts is the sum over
    // all target tokens, whoever computed them.
    void two_processes_learn_what_one_does() {
        const QStringList options{"--steps", "6",
                                  "--batch", "5",
                                  "--set",   "validation_samples=5",
                                  "--set",   "evaluate_every=3",
                                  "--set",   "checkpoint_every=2",
                                  "--set",   "keep=9"};
        const Outcome one = cli(runs_.train("one", options));
        QVERIFY2(one.exit_code == 0, one.err);
        const Outcome two = mpirun(runs_.train("two", options));
        QVERIFY2(two.exit_code == 0, two.err);
        QVERIFY2(two.err.contains("2 process(es)"), two.err);

        const Steps alone = steps_of(path("one")), together = steps_of(path("two"));
        QCOMPARE(alone.steps.size(), std::size_t{6});
        QCOMPARE(together.steps.size(), std::size_t{6});
        for (std::size_t i = 0; i < 6; ++i) {
            for (const char* count : {"tokens", "samples"})
                QCOMPARE(together.steps[i].at(count).get<std::int64_t>(), alone.steps[i].at(count).get<std::int64_t>());
            for (const char* figure : {"loss", "grad_norm"})
                QVERIFY(std::fabs(together.steps[i].at(figure).get<double>() / alone.steps[i].at(figure).get<double>() -
                                  1.0) < 1e-4);
        }
        QVERIFY(alone.steps[0].at("tokens") != alone.steps[1].at("tokens"));
        QCOMPARE(together.evaluations.size(), std::size_t{2});
        for (std::size_t i = 0; i < 2; ++i)
            for (const char* figure : {"validation_loss", "shuffled_loss", "accuracy"})
                QVERIFY(std::fabs(together.evaluations[i].at(figure).get<double>() -
                                  alone.evaluations[i].at(figure).get<double>()) < 1e-4);

        const auto values = state_of(path("one"), 6, "values");
        QVERIFY(largest_difference(values, state_of(path("one"), 2, "values")) > 1e-3);
        const double difference = largest_difference(values, state_of(path("two"), 6, "values"));
        QVERIFY2(difference < 1e-4, qPrintable(QString::number(difference)));
        qInfo("largest difference of a weight after 6 steps: %g", difference);
    }

    void a_resumed_run_ends_bit_equal() {
        if (!fs::exists(path("two") / "checkpoints" / "step-6")) return;
        runs_.cut_back("two", "resumed", 2);
        const Outcome resumed = mpirun(runs_.resume("resumed"));
        QVERIFY2(resumed.exit_code == 0, resumed.err);
        QVERIFY2(resumed.err.contains("Resumed at step 2"), resumed.err);
        for (const char* tensor : {"values", "first_moment", "second_moment"})
            QCOMPARE(state_of(path("resumed"), 6, tensor), state_of(path("two"), 6, tensor));
    }

    // When to stop early depends on evaluations before the resumption: every process has to know them.
    void processes_stop_early_together_after_a_resumption() {
        const Outcome first =
            mpirun(runs_.train("early", {"--steps", "20", "--batch", "2", "--learning-rate", "1e-30", "--set",
                                         "validation_samples=2", "--set", "evaluate_every=1", "--set", "early_stop=3",
                                         "--set", "checkpoint_every=1", "--set", "keep=9"}));
        QVERIFY2(first.exit_code == 0 && first.err.contains("step 4: early_stop"), first.err);
        runs_.cut_back("early", "early-resumed", 3);
        const Outcome resumed = mpirun(runs_.resume("early-resumed"));
        QVERIFY2(resumed.exit_code == 0 && resumed.err.contains("step 4: early_stop"), resumed.err);
    }

    void a_lost_process_ends_the_run_with_a_checkpoint() {
        QProcess process;
        start_long_run(process, "lost");
        const json status = vitrine::test::read_json(path("lost") / "status.json");
        auto processes = children_of(process.processId());
        QCOMPARE(processes.size(), std::size_t{2});
        std::erase(processes, status.at("pid").get<pid_t>());
        QCOMPARE(processes.size(), std::size_t{1});

        QElapsedTimer timer;
        timer.start();
        QCOMPARE(kill(processes.front(), SIGKILL), 0);
        const Outcome ended = outcome_of(process);
        QVERIFY2(ended.exit_code != 0 && timer.elapsed() < 20'000, ended.err);
        QVERIFY2(ended.err.contains(" is gone"), ended.err);
        QCOMPARE(vitrine::test::read_json(path("lost") / "status.json").at("state").get<std::string>(), "failed");

        const std::int64_t step = steps_of(path("lost")).last();
        QVERIFY(!state_of(path("lost"), step, "values").empty());
        const Outcome resumed = cli(runs_.resume("lost", {"--steps", QString::number(step + 1)}));
        QVERIFY2(resumed.exit_code == 0, resumed.err);
        QVERIFY2(resumed.err.contains("Resumed at step " + QByteArray::number(qlonglong{step})), resumed.err);
        QCOMPARE(steps_of(path("lost")).last(), step + 1);
    }

    void ctrl_c_stops_all_processes_after_the_same_step() {
        QProcess process;
        start_long_run(process, "stopped");
        const auto processes = children_of(process.processId());
        QCOMPARE(processes.size(), std::size_t{2});
        QCOMPARE(kill(static_cast<pid_t>(process.processId()), SIGINT), 0);
        const Outcome ended = outcome_of(process);
        QVERIFY2(ended.err.contains("stopped") && !ended.err.contains("gone"), ended.err);
        for (const pid_t one : processes)
            QTRY_VERIFY(QByteArray("XZ").contains(process_of(QString::number(one)).state));
        QCOMPARE(vitrine::test::read_json(path("stopped") / "status.json").at("state").get<std::string>(), "stopped");
        QVERIFY(!state_of(path("stopped"), steps_of(path("stopped")).last(), "values").empty());
    }
};

// What a launcher leaves in the environment, where several processes cannot be had.
class TestLaunchers : public QObject {
    Q_OBJECT

    Runs runs_;

private Q_SLOTS:
    void an_environment_that_cannot_be_had_is_explained_data() {
        QTest::addColumn<QStringList>("variables");
        QTest::addColumn<QStringList>("words");
        QTest::newRow("torchrun without GPUs")
            << QStringList{"WORLD_SIZE=2", "RANK=0", "LOCAL_RANK=0", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500"}
            << QStringList{"torchrun", "GPU", "mpirun -n 2"};
        QTest::newRow("no number") << QStringList{"WORLD_SIZE=two", "RANK=0"} << QStringList{"WORLD_SIZE", "two"};
        QTest::newRow("no rank") << QStringList{"WORLD_SIZE=2"} << QStringList{"RANK", "none"};
        QTest::newRow("rank too high") << QStringList{"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=2"}
                                       << QStringList{"OMPI_COMM_WORLD_RANK", "below 2"};
    }
    void an_environment_that_cannot_be_had_is_explained() {
        QFETCH(QStringList, variables);
        QFETCH(QStringList, words);
        Variables pairs;
        for (const QString& variable : variables)
            pairs.emplace_back(variable.section('=', 0, 0), variable.section('=', 1));
        const Outcome outcome = cli(runs_.train("never", {"--steps", "1", "--batch", "2"}), pairs);
        QVERIFY2(outcome.exit_code == 1, outcome.err);
        for (const QString& word : words) QVERIFY2(outcome.err.contains(word.toUtf8()), outcome.err);
        QVERIFY(!fs::exists(runs_.path("never")));
    }

    void a_program_built_without_mpi_says_so() {
        const fs::path program = runs_.path("vitrine-cli");
        fs::copy(VITRINE_CLI, program);
        const Outcome outcome =
            run(QString::fromStdString(program.string()), runs_.train("never", {"--steps", "1", "--batch", "2"}),
                {{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "0"}});
        QVERIFY2(outcome.exit_code == 1 && outcome.err.contains("libopenmpi-dev"), outcome.err);
    }
};

VITRINE_TEST(TestDistributed)
VITRINE_TEST(TestLaunchers)
#include "distributed_test.moc"
