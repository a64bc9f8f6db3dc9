#include <QProcess>
#include <QTemporaryDir>

#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "core/error.h"
#include "core/train/tensorboard.h"
#include "support/test_main.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Scalar = TensorBoardWriter::Scalar;

struct Reading {
    bool ok = false;
    Json found;
    std::string complaint;
};

Reading read_by_tensorboard(const fs::path& folder) {
    QProcess process;
    process.start(VITRINE_PYTHON, {VITRINE_TENSORBOARD_READER, QString::fromStdString(folder.string())});
    Reading reading;
    if (!process.waitForFinished(120'000)) return {false, {}, "it did not end"};
    reading.ok = process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0;
    reading.complaint = process.readAllStandardError().toStdString();
    if (reading.ok) reading.found = Json::parse(process.readAllStandardOutput().toStdString());
    return reading;
}

// A folder of runs with one run in it, gone with this object.
class Runs {
public:
    Runs() { fs::create_directory(run()); }
    fs::path all() const { return temporary_.path().toStdString(); }
    fs::path run() const { return all() / "first"; }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(run()), fs::directory_iterator()));
    }

private:
    QTemporaryDir temporary_;
};

void write_step(TensorBoardWriter& writer, std::int64_t step, double loss) {
    writer.scalars(step, std::vector<Scalar>{{"loss/train", loss}, {"lr", 1e-3 / static_cast<double>(step + 1)}});
}

class TestTensorBoard : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void curvesTextsAndOptions() {
        const Runs runs;
        const std::string long_text(300, 'x');  // lengths beyond one byte
        {
            TensorBoardWriter writer(runs.run());
            writer.start_session({{"lr", 1e-3},
                                  {"checkpointing", true},
                                  {"batch", std::int64_t{4}},
                                  {"projector", std::string("fc1-gelu-fc2")}},
                                 {"loss/train"});
            write_step(writer, 1, 5.25);
            write_step(writer, 2, -0.125);
            writer.scalars(3, {});  // nothing to say
            writer.scalars(std::int64_t{1} << 40, std::vector<Scalar>{{"late", 7.0}});
            writer.text(2, "samples/0", "a **red** circle\xFF");
            writer.text(3, "samples/0", "ein großer 圓 " + long_text);
            writer.end_session(true);
        }
        const Reading reading = read_by_tensorboard(runs.all());
        QVERIFY2(reading.ok, reading.complaint.c_str());

        QCOMPARE(reading.found["files"].size(), 1U);
        const Json& events = reading.found["files"].begin().value();
        QCOMPARE(events.size(), 9U);
        QCOMPARE(events[0].dump(), std::string(R"([0,"brain.Event:2"])"));
        QVERIFY(reading.found["files"].begin().key().find("tfevents") != std::string::npos);

        const Json& run = reading.found["runs"]["first"];
        const Json& loss = run["scalars"]["loss/train"];
        QCOMPARE(loss.size(), 2U);
        QCOMPARE(loss[0].dump(), std::string("[1,5.25]"));
        QCOMPARE(loss[1].dump(), std::string("[2,-0.125]"));
        QCOMPARE(run["scalars"]["late"].dump(), std::string("[[1099511627776,7.0]]"));
        QCOMPARE(run["scalars"]["lr"][1][1].get<float>(), 1e-3F / 3);
        QCOMPARE(run["texts"]["samples/0"][0].dump(), Json::parse(R"([2, ["a **red** circle\ufffd"]])").dump());
        QCOMPARE(run["texts"]["samples/0"][1][1][0].get<std::string>(), "ein großer 圓 " + long_text);
        QVERIFY(run["shown"]["samples/0"].get<std::string>().find("<p>ein großer") != std::string::npos);
    }

    void optionsInTheHparamsTab() {
        const Runs runs;
        {
            TensorBoardWriter writer(runs.run());
            writer.start_session(
                {{"lr", 1e-3}, {"bf16", false}, {"batch", std::int64_t{4}}, {"data", std::string("coco")}},
                {"loss/train"});
            write_step(writer, 1, 2.5);
            const Json running = read_by_tensorboard(runs.all()).found["hparams"]["groups"];
            QVERIFY(!running["sessionGroups"][0]["sessions"][0].contains("status"));
            writer.end_session(false);
        }
        const Json found = read_by_tensorboard(runs.all()).found["hparams"];
        const Json& group = found["groups"]["sessionGroups"][0];
        QCOMPARE(group["hparams"].dump(),
                 Json::parse(R"({"lr": 0.001, "bf16": false, "batch": 4.0, "data": "coco"})").dump());
        QCOMPARE(group["metricValues"][0]["name"]["tag"].get<std::string>(), "loss/train");
        QCOMPARE(group["metricValues"][0]["value"].get<double>(), 2.5);
        QCOMPARE(group["sessions"][0]["status"].get<std::string>(), "STATUS_FAILURE");
        QVERIFY(group["sessions"][0]["endTimeSecs"].get<double>() >=
                group["sessions"][0]["startTimeSecs"].get<double>());
        std::map<std::string, std::string> types;
        for (const Json& info : found["experiment"]["hparamInfos"]) types[info["name"]] = info["type"];
        QCOMPARE(types["lr"], "DATA_TYPE_FLOAT64");
        QCOMPARE(types["bf16"], "DATA_TYPE_BOOL");
        QCOMPARE(types["batch"], "DATA_TYPE_FLOAT64");
        QCOMPARE(types["data"], "DATA_TYPE_STRING");
    }

    // The first process is killed at step 5, after its checkpoint of step 3: steps 4 and 5 are run again.
    void resumedRunHidesTheLostSteps() {
        const Runs runs;
        fs::path first;
        {
            TensorBoardWriter writer(runs.run());
            first = writer.path();
            writer.start_session({{"lr", 1e-3}}, {"loss/train"});
            for (int step = 1; step <= 5; ++step) write_step(writer, step, 10.0 + step);
        }
        fs::path second;
        {
            TensorBoardWriter writer(runs.run(), 4);
            second = writer.path();
            for (int step = 4; step <= 6; ++step) write_step(writer, step, 20.0 + step);
        }
        QCOMPARE(runs.files(), 2U);
        QVERIFY(first.filename() < second.filename());  // even within a second: TensorBoard goes by it
        const Reading reading = read_by_tensorboard(runs.all());
        QVERIFY2(reading.ok, reading.complaint.c_str());
        QCOMPARE(reading.found["files"][second.filename()][1].dump(), std::string(R"([4,"session_log"])"));
        QCOMPARE(reading.found["runs"]["first"]["scalars"]["loss/train"].dump(),
                 Json::parse("[[1, 11.0], [2, 12.0], [3, 13.0], [4, 24.0], [5, 25.0], [6, 26.0]]").dump());
        QCOMPARE(reading.found["hparams"]["groups"]["sessionGroups"].size(), 1U);
    }

    void nextFileComesBehindOneFromTheFuture() {
        const Runs runs;
        std::ofstream(runs.run() / "events.out.tfevents.9000000000.other.1");
        std::ofstream(runs.run() / "events.out.tfevents.odd");
        const TensorBoardWriter writer(runs.run());
        QVERIFY(writer.path().filename().string().starts_with("events.out.tfevents.9000000001."));
    }

    void everyRecordIsWrittenAtOnce() {
        const Runs runs;
        TensorBoardWriter writer(runs.run());
        auto before = fs::file_size(writer.path());
        for (int step = 1; step <= 3; ++step) {
            write_step(writer, step, 1.0);
            QVERIFY(fs::file_size(writer.path()) > before);
            before = fs::file_size(writer.path());
        }
    }

    // The reader is one that would notice a fault in any of the four parts of a record.
    void readerChecksTheSums() {
        const Runs runs;
        fs::path path;
        {
            TensorBoardWriter writer(runs.run());
            path = writer.path();
            writer.scalars(1, std::vector<Scalar>{{"loss", 1.0}});
        }
        std::stringstream whole;
        whole << std::ifstream(path, std::ios::binary).rdbuf();
        for (const std::size_t at : {std::size_t{0}, std::size_t{9}, whole.str().size() - 6, whole.str().size() - 1}) {
            std::string broken = whole.str();
            broken[at] = static_cast<char>(broken[at] ^ 1);
            std::ofstream(path, std::ios::binary) << broken;
            const Reading reading = read_by_tensorboard(runs.all());
            QVERIFY(!reading.ok);
            QVERIFY2(reading.complaint.find("crc32") != std::string::npos, reading.complaint.c_str());
        }
    }

    void fullDiskLeavesTheFileReadable() {
        const Runs runs;
        TensorBoardWriter writer(runs.run());
        write_step(writer, 1, 1.0);
        const auto size = fs::file_size(writer.path());

        rlimit before{};
        ::getrlimit(RLIMIT_FSIZE, &before);
        const rlimit tight{.rlim_cur = size + 20, .rlim_max = before.rlim_max};  // in the middle of the next record
        const auto handler = std::signal(SIGXFSZ, SIG_IGN);
        ::setrlimit(RLIMIT_FSIZE, &tight);
        std::string message;
        try {
            write_step(writer, 2, 2.0);
        } catch (const FileError& error) {
            message = error.what();
        }
        ::setrlimit(RLIMIT_FSIZE, &before);
        std::signal(SIGXFSZ, handler);

        QVERIFY2(message.find(writer.path().string()) != std::string::npos, message.c_str());
        QCOMPARE(fs::file_size(writer.path()), size);
        write_step(writer, 3, 3.0);
        const Reading reading = read_by_tensorboard(runs.all());
        QVERIFY2(reading.ok, reading.complaint.c_str());
        QCOMPARE(reading.found["runs"]["first"]["scalars"]["loss/train"].dump(),
                 Json::parse("[[1, 1.0], [3, 3.0]]").dump());
    }

    void folderThatCannotBeWritten() {
        const Runs runs;
        QVERIFY_THROWS_EXCEPTION(FileError, TensorBoardWriter(runs.run() / "missing"));
        std::ofstream(runs.run() / "file");
        QVERIFY_THROWS_EXCEPTION(FileError, TensorBoardWriter(runs.run() / "file"));
        QCOMPARE(runs.files(), 1U);
    }
};

VITRINE_TEST(TestTensorBoard)

}  // namespace
}  // namespace vitrine

#include "test_tensorboard.moc"
