#include "core/scenes/export.h"
#include "core/error.h"
#include "core/image/decode.h"
#include "core/scenes/language.h"
#include "core/train/dataset.h"
#include "support/folders.h"
#include "support/test_main.h"

#include <QDirIterator>
#include <QProcess>

#include <csignal>

namespace vitrine::scenes {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kSeed = 60;
constexpr std::uint64_t kCount = 12;

int files_in(const fs::path& folder) {
    QDirIterator files(QString::fromStdString(folder.string()), QDir::Files | QDir::Hidden,
                       QDirIterator::Subdirectories);
    int count = 0;
    for (; files.hasNext(); files.next()) ++count;
    return count;
}

std::string text_of(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

class TestExport : public QObject {
    Q_OBJECT

    QTemporaryDir temporary_;

    fs::path path(const std::string& name) const { return fs::path(temporary_.path().toStdString()) / name; }
    fs::path written(ExportFormat format) const {
        const fs::path folder = path(std::string(name_of(format)));
        if (!fs::exists(folder))
            export_scenes({.seed = kSeed, .count = kCount, .size = 96, .turns = 5, .format = format, .folder = folder});
        return folder;
    }
    static std::string stem(std::uint64_t index) {
        const std::string digits = std::to_string(index);
        return std::string(6 - digits.size(), '0') + digits;
    }

private Q_SLOTS:
    void pictures_are_those_of_the_scenes() {
        const fs::path folder = written(ExportFormat::jsonl);
        for (std::uint64_t i = 0; i < kCount; ++i) {
            const Image stored = decode_image_file(folder / "images" / (stem(i) + ".png"));
            QCOMPARE(stored.width, 96);
            QVERIFY(stored.rgb == draw(make_scene(kSeed, i), 96, 96).rgb);
        }
        QCOMPARE(files_in(folder), static_cast<int>(kCount) + 1);
    }

    // What the readers of training data make of every format.
    void data_sets_read_them_back_data() {
        QTest::addColumn<int>("format");
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("files");
        const auto row = [](ExportFormat format, const char* file, int files) {
            QTest::newRow(name_of(format).data()) << static_cast<int>(format) << file << files;
        };
        row(ExportFormat::llava, "scenes.json", kCount + 1);
        row(ExportFormat::jsonl, "scenes.jsonl", kCount + 1);
        row(ExportFormat::coco, "captions.json", kCount + 2);
        row(ExportFormat::cc3m, "scenes.tsv", kCount + 1);
        row(ExportFormat::kohya, "scenes.json", kCount + 1);
        row(ExportFormat::sidecars, "", 2 * kCount);
        row(ExportFormat::webdataset, "", 1);
    }
    void data_sets_read_them_back() {
        QFETCH(int, format);
        QFETCH(QString, file);
        QFETCH(int, files);
        const fs::path folder = written(static_cast<ExportFormat>(format));
        QCOMPARE(files_in(folder), files);
        const auto data = open_dataset(file.isEmpty() ? folder : folder / file.toStdString(), {});
        QCOMPARE(data->format(), std::string(name_of(static_cast<ExportFormat>(format))));
        QCOMPARE(data->size(), static_cast<std::size_t>(kCount));
        QCOMPARE(data->skipped().total(), std::uint64_t{0});
        for (std::size_t i = 0; i < kCount; ++i) {
            const Scene scene = make_scene(kSeed, i);
            const Sample sample = data->sample(i);
            QVERIFY(data->picture(sample.picture).rgb == draw(scene, 96, 96).rgb);
            std::vector<Message> messages{{.role = Role::user, .text = "Describe this picture."},
                                          {.role = Role::assistant, .text = caption(scene)}};
            if (static_cast<ExportFormat>(format) == ExportFormat::llava) {
                Random random(kSeed, i, Stream::words);
                messages = converse(scene, random, {.turns = 5});
            }
            QCOMPARE(sample.messages.size(), messages.size());
            for (std::size_t m = 0; m < messages.size(); ++m) {
                QCOMPARE(sample.messages[m].text, messages[m].text);
                QVERIFY(sample.messages[m].role == messages[m].role);
            }
        }
    }

    void jsonl_tells_everything() {
        std::ifstream stream(written(ExportFormat::jsonl) / "scenes.jsonl");
        std::string line;
        std::uint64_t index = 0;
        for (; std::getline(stream, line); ++index) {
            const json row = json::parse(line);
            const Scene scene = make_scene(kSeed, index);
            QCOMPARE(row["image"].get<std::string>(), "images/" + stem(index) + ".png");
            QCOMPARE(row["caption"].get<std::string>(), caption(scene));
            QCOMPARE(row["background"].get<std::string>(), std::string(name_of(scene.background)));
            QCOMPARE(row["questions"].size(), std::size_t{5});
            for (const json& question : row["questions"]) {
                const auto kind = kind_of(question["question"].get<std::string>());
                QVERIFY(kind && question["kind"] == name_of(*kind) && !question["answer"].get<std::string>().empty());
            }
            QCOMPARE(row["objects"].size(), scene.objects.size());
            for (std::size_t i = 0; i < scene.objects.size(); ++i) {
                const json& object = row["objects"][i];
                const PixelBox box = pixel_box(scene.objects[i], 96, 96);
                QVERIFY(object["shape"] == name_of(scene.objects[i].shape));
                QVERIFY(object["colour"] == name_of(scene.objects[i].colour));
                QVERIFY(object["size"] == name_of(scene.objects[i].size));
                QVERIFY(object["box"] == json({box.x, box.y, box.width, box.height}));
                QCOMPARE(object["radius"].get<double>(), scene.objects[i].radius);
            }
        }
        QCOMPARE(index, kCount);
    }

    void coco_has_a_box_for_every_object() {
        const json instances = test::read_json(written(ExportFormat::coco) / "instances.json");
        QCOMPARE(instances["categories"].size(), kShapes);
        QCOMPARE(instances["images"].size(), static_cast<std::size_t>(kCount));
        std::size_t at = 0;
        for (std::uint64_t i = 0; i < kCount; ++i) {
            for (const SceneObject& object : make_scene(kSeed, i).objects) {
                const json& annotation = instances["annotations"].at(at++);
                const PixelBox box = pixel_box(object, 96, 96);
                QVERIFY(annotation["image_id"] == i && annotation["id"] == at);
                QVERIFY(annotation["bbox"] == json({box.x, box.y, box.width, box.height}));
                const std::size_t category = annotation["category_id"].get<std::size_t>();
                QVERIFY(instances["categories"][category - 1]["id"] == category);
                QVERIFY(instances["categories"][category - 1]["name"] == name_of(object.shape));
            }
        }
        QCOMPARE(instances["annotations"].size(), at);
    }

    void tar_is_read_by_tar() {
        const fs::path folder = path("tars");
        QVERIFY(export_scenes(
            {.seed = kSeed, .count = 1003, .size = 16, .format = ExportFormat::webdataset, .folder = folder}));
        QCOMPARE(files_in(folder), 2);
        QProcess tar;
        tar.start("tar", {"-xOf", QString::fromStdString((folder / "scenes-000001.tar").string()), "001002.txt"});
        QVERIFY(tar.waitForFinished());
        QCOMPARE(tar.readAllStandardOutput().toStdString(), caption(make_scene(kSeed, 1002)));
        tar.start("tar", {"-tf", QString::fromStdString((folder / "scenes-000001.tar").string())});
        QVERIFY(tar.waitForFinished());
        QCOMPARE(tar.readAllStandardOutput().split('\n').size(), qsizetype{10});
    }

    void the_same_scenes_make_the_same_files() {
        const fs::path again = path("again");
        QVERIFY(export_scenes({.seed = kSeed,
                               .count = kCount,
                               .size = 96,
                               .turns = 5,
                               .format = ExportFormat::webdataset,
                               .folder = again / ""}));
        QVERIFY(text_of(again / "scenes-000000.tar") ==
                text_of(written(ExportFormat::webdataset) / "scenes-000000.tar"));
    }

    void a_stop_leaves_nothing() {
        std::stop_source source;
        const fs::path folder = path("stopped");
        std::uint64_t last = 0;
        const auto stop_after_five = [&](std::uint64_t done, std::uint64_t total) {
            QCOMPARE(total, std::uint64_t{100});
            last = done;
            if (done == 5) source.request_stop();
        };
        QVERIFY(!export_scenes({.count = 100, .folder = folder}, stop_after_five, source.get_token()));
        QCOMPARE(last, std::uint64_t{5});
        QVERIFY(!fs::exists(folder) && !fs::exists(path("stopped.part")));
    }

    void what_is_there_stays() {
        const fs::path folder = path("mine");
        fs::create_directories(folder);
        QVERIFY(export_scenes({.count = 1, .folder = folder}));
        const std::string before = text_of(folder / "scenes.json");
        QVERIFY_THROWS_EXCEPTION(FileError, export_scenes({.count = 2, .folder = folder}));
        QCOMPARE(text_of(folder / "scenes.json"), before);
        test::write_text(path("file"), "mine");
        QVERIFY_THROWS_EXCEPTION(FileError, export_scenes({.count = 2, .folder = path("file")}));
        QVERIFY_THROWS_EXCEPTION(FileError, export_scenes({.count = 2, .folder = path("file") / "below"}));
        QCOMPARE(text_of(path("file")), std::string("mine"));
        QVERIFY_THROWS_EXCEPTION(FileError, export_scenes({.count = 2, .folder = "/proc/scenes"}));
        QVERIFY_THROWS_EXCEPTION(OptionError, export_scenes({.count = 0, .folder = path("none")}));
        QVERIFY_THROWS_EXCEPTION(OptionError, export_format_by_name("pdf"));
        QVERIFY(!fs::exists(path("none")));
    }

    void the_command_says_what_it_wrote() {
        const auto run = [](const QStringList& arguments) {
            QProcess process;
            process.start(QStringLiteral(VITRINE_CLI), QStringList("scenes") + arguments);
            process.waitForFinished(60'000);
            return std::tuple(process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError());
        };
        const QString out = QString::fromStdString(path("command").string());
        const QStringList usual{"--count", "3",     "--seed",   "18446744073709551615",
                                "--size",  "64",    "--format", "sidecars",
                                "--json",  "--out", out};
        const auto [code, output, errors] = run(usual);
        QVERIFY2(code == 0, errors);
        const json line = json::parse(output.toStdString());
        QVERIFY(line == json({{"written", 3}, {"seed", 18446744073709551615ULL}}));
        QCOMPARE(files_in(path("command")), 6);
        QCOMPARE(text_of(path("command") / "000002.txt"), caption(make_scene(18446744073709551615ULL, 2)) + "\n");
        QCOMPARE(std::get<0>(run(usual)), 1);
        QCOMPARE(std::get<0>(run({"--count", "3", "--format", "pdf", "--out", out + "2"})), 2);
        QCOMPARE(std::get<0>(run({"--count", "0", "--out", out + "2"})), 2);
        QVERIFY(!fs::exists(path("command2")));
    }

    void the_command_can_be_interrupted() {
        QProcess process;
        process.start(QStringLiteral(VITRINE_CLI),
                      {"scenes", "--count", "1000000", "--out", QString::fromStdString(path("long").string())});
        QVERIFY(process.waitForStarted());
        QTRY_VERIFY_WITH_TIMEOUT(fs::exists(path("long.part") / "images" / "000010.png"), 30'000);
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(30'000));
        QCOMPARE(process.exitCode(), 130);
        QVERIFY(!fs::exists(path("long")) && !fs::exists(path("long.part")));
    }
};

}  // namespace vitrine::scenes

using vitrine::scenes::TestExport;
VITRINE_TEST(TestExport)
#include "export_test.moc"
