#include "core/datasets/datasets_support.h"
#include "support/test_main.h"

#include <sys/stat.h>

using namespace vitrine;
using namespace vitrine::test;
using namespace std::string_literals;

namespace {

std::function<void(const Folder&)> opened(const char* name, std::string content, std::string format = "auto") {
    return [=](const Folder& folder) { open_dataset(folder.write(name, content), {.format = format}); };
}

const std::string kGood = "{\"image\":\"a.png\",\"text\":\"x\"}\n";

const std::vector<BrokenInput>& inputs() {
    static const std::vector<BrokenInput> table{
        // Nothing to read.
        {"no such path",
         [](const Folder& folder) { open_dataset(folder / "gone.json", {}); },
         "file",
         {"gone.json", "spelling"}},
        {"no such path, format named",
         [](const Folder& folder) { open_dataset(folder / "gone", {.format = "sidecars"}); },
         "file",
         {"gone", "No such file"}},
        {"empty file", opened("d.json", ""), "config", {"d.json", "an empty file", "Download it again"}},
        {"white space", opened("d.json", " \n\n"), "config", {"text that begins with", "download it again"}},
        {"zeros only", opened("d.json", std::string(9000, '\0')), "config", {"bytes 00 00"}},
        {"empty folder",
         [](const Folder& folder) { open_dataset(folder.path(), {}); },
         "config",
         {"format sidecars", "no rows in a folder"}},
        {"a pipe",
         [](const Folder& folder) {
             ::mkfifo((folder / "pipe").c_str(), 0600);
             open_dataset(folder / "pipe", {});
         },
         "file",
         {"pipe"}},
        // Other things.
        {"Git LFS pointer",
         opened("d.json", "version https://git-lfs.github.com/spec/v1\noid sha256:01\nsize 9\n"),
         "config",
         {"a Git LFS pointer", "git lfs pull"}},
        {"web page",
         opened("d.json", "<!DOCTYPE html>\n<html><body>404"),
         "config",
         {"<!DOCTYPE html>", "gave a page"}},
        {"gzip", opened("d.json.gz", "\x1F\x8B\x08\0\0\0\0\0\0\3"s), "config", {"gzip file", "Unpack it first"}},
        {"ZIP", opened("d.zip", "PK\x03\x04\0\0\0\0"s), "config", {"ZIP archive", "Unpack it first"}},
        {"a picture", opened("d.json", "\x89PNG\r\n\x1A\n\0\0"s), "config", {"of the type PNG", "name the folder"}},
        {"Parquet", opened("d.parquet", "PAR1\x15\x04\0\0"s), "config", {"a Parquet file"}},
        {"unknown bytes", opened("d.bin", "\xF0\x00\x9A\x01"s), "config", {"bytes F0 00 9A 01"}},
        {"prose", opened("d.txt", "Once upon a time\nthere was"), "config", {"begins with \"Once upon"}},
        {"an object with other keys",
         opened("d.json", R"({"model": 7, "layers": [1, 2]})"),
         "config",
         {"other keys", "model"}},
        // The wrong format named.
        {"unknown format", opened("d.json", kGood, "parquet"), "other", {"expected auto, llava", "found \"parquet\""}},
        {"JSONL called LLaVA",
         opened("d.json", kGood, "llava"),
         "config",
         {"format llava", "no rows in text that begins with"}},
        {"picture called JSONL",
         opened("d.jsonl", "\x89PNG\r\n\x1A\n\0\0\0"s, "jsonl"),
         "config",
         {"format jsonl", "broken row"}},
        {"LLaVA called COCO", opened("d.json", "[]", "coco"), "config", {"format coco", "no rows"}},
        {"array called kohya", opened("d.json", "[{}]", "kohya"), "config", {"format kohya", "no rows"}},
        {"text called webdataset",
         opened("d.tar", "no tar", "webdataset"),
         "config",
         {"format webdataset", "no rows in text"}},
        {"file called sidecars", opened("d.json", kGood, "sidecars"), "file", {"a folder that can be read"}},
        {"folder called LLaVA",
         [](const Folder& folder) { open_dataset(folder.path(), {.format = "llava"}); },
         "file",
         {"found a folder"}},
        // Nothing in it can be used.
        {"empty array", opened("d.json", "[]"), "config", {"format llava", "no rows"}},
        {"cut behind the bracket",
         opened("d.json", "["),
         "config",
         {"1 x file cut", "row 1: the text ends at line 1, byte 1"}},
        {"cut in the first row", opened("d.json", R"([{"id": "1", "image)"), "config", {"1 x file cut"}},
        {"all pictures missing",
         opened("d.jsonl", kGood + R"({"image":"b.png","text":"x"})"),
         "config",
         {"2 x missing picture", "d.jsonl line 1: a.png", "Name the folder"}},
        {"all rows broken", opened("d.jsonl", "{\"a\n{\"b\n"), "config", {"2 x broken row", "line 1"}},
        {"COCO without captions",
         opened("d.json",
                R"({"images":[{"id":1,"file_name":"a.png"}],"annotations":[{"id":1,"image_id":1,"bbox":[1]}]})"),
         "config",
         {"format coco", "1 x missing caption"}},
        {"COCO cut in the images",
         opened("d.json", R"({"images":[{"id":1,"file_name":"a.png"},{"id)"),
         "config",
         {"format coco", "1 x file cut"}},
        {"a row without an end",
         opened("d.json", "[{\"id\":\"" + std::string(17 << 20, 'x') + "\"}]"),
         "config",
         {"longer than 16 MiB"}},
        {"deep nesting",
         opened("d.json", "[" + std::string(500000, '[') + std::string(500000, ']') + "]"),
         "config",
         {"nesting deeper than"}},
        {"tar of one cut member",
         opened("s.tar", tar_member("1.jpg", std::string(900, 'x')).substr(0, 700)),
         "config",
         {"format webdataset", "1 x file cut"}},
        {"no prompts",
         [](const Folder& folder) { open_dataset(folder.write("d.jsonl", kGood), {.prompts = {}}); },
         "other",
         {"prompts", "at least one"}},
    };
    return table;
}

}  // namespace

class TestBrokenDatasets : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void refused_data() { add_rows(inputs()); }
    void refused() { check_row(inputs()); }
    void every_length_of_a_cut_file_data();
    void every_length_of_a_cut_file();
};

void TestBrokenDatasets::every_length_of_a_cut_file_data() {
    QTest::addColumn<QByteArray>("content");
    const std::string rows = llava_row("1", "a.png", "x\\u00e9\xC3\xA9") + "," + llava_row("2", "a.png", "y");
    QTest::newRow("array") << QByteArray::fromStdString("[" + rows + "]");
    QTest::newRow("COCO") << QByteArray(
        R"({"images":[{"id":1,"file_name":"a.png"}],"annotations":[{"id":1,"image_id":1,"caption":"x"}],"info":{}})");
    QTest::newRow("kohya") << QByteArray(R"({"a": {"caption": "x", "tags": "y"}, "a.png": "z", "b": {"tags": null}})");
    QTest::newRow("table") << QByteArray("caption\tfile\nx\ta.png\n\"y \"\"z\"\"\"\ta.png");
    std::string wide = "\xFF\xFE";
    for (const char c : "[" + llava_row("1", "a.png", "x") + "]") wide.append(1, c).append(1, '\0');
    QTest::newRow("UTF-16") << QByteArray::fromStdString(wide);
    const std::string tar = tar_member("././@LongLink", std::string(120, 'n') + ".jpg", 'L') +
                            tar_member("n.jpg", pixel(1)) + tar_member("x", "20 path=nnnnnnn.txt\n", 'x') +
                            tar_member("n.txt", "x");
    QTest::newRow("tar") << QByteArray::fromStdString(tar);
}

// Whatever is left of a file, it opens or is refused in words, and what opened can be read.
void TestBrokenDatasets::every_length_of_a_cut_file() {
    QFETCH(QByteArray, content);
    const Folder folder;
    folder.write("a.png", pixel(1));
    for (qsizetype length = 0; length <= content.size(); length += content.size() > 2000 ? 13 : 1) {
        const auto path = folder.write("d", content.left(length).toStdString());
        for (const std::string format : {"auto", "llava", "coco", "cc3m", "jsonl", "kohya", "webdataset"}) {
            try {
                const auto dataset = open_dataset(path, {.format = format});
                for (std::size_t i = 0; i < dataset->size(); ++i) {
                    const Sample sample = dataset->sample(i);
                    QVERIFY(sample.messages.size() >= 2);
                    if (!sample.picture.empty()) QVERIFY(!dataset->picture_identity(sample.picture).empty());
                }
            } catch (const InputError& error) {
                QVERIFY(std::string(error.what()).find(path.string()) != std::string::npos);
            }
        }
    }
}

VITRINE_TEST(TestBrokenDatasets)
#include "test_broken_datasets.moc"
