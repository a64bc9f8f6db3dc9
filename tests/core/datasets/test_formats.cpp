#include "core/datasets/datasets_support.h"
#include "support/test_main.h"

#include <chrono>

using namespace vitrine;
using namespace vitrine::test;
using namespace std::string_literals;

namespace {

// What a sample says, in one line: its id, picture and turns.
std::string line_of(const Sample& sample) {
    std::string line = sample.id + " [" + sample.picture + "]";
    for (const Message& message : sample.messages) {
        line += message.role == Role::user ? " U:" : message.role == Role::assistant ? " A:" : " S:";
        line += message.text;
    }
    return line;
}

struct Case {
    const char* name;
    std::function<std::filesystem::path(const Folder&)> make;  // the path to open; pictures a.png and sub/b.png exist
    const char* format;
    std::vector<const char*> samples;
    const char* skipped = "";
};

const std::vector<Case>& cases() {
    static const std::vector<Case> table{
        {"LLaVA JSON",
         [](const Folder& folder) {
             return folder.write("chat.json", R"([
  {"id": "1", "image": "a.png", "conversations": [
      {"from": "human", "value": "<image>\nWhat is it?"}, {"from": "gpt", "value": "A cat."},
      {"from": "human", "value": "Its colour?"}, {"from": "gpt", "value": "Grey."}]},
  {"id": 2, "conversations": [{"from": "user", "value": "2+2?"}, {"from": "assistant", "value": "4"}]},
  {"id": "3", "image": ["sub/b.png"], "conversations": [
      {"from": "system", "value": "Be brief."}, {"from": "human", "value": "Name <image> it\n<image>"},
      {"from": "gpt", "value": " B. "}]}
])");
         },
         "llava",
         {"chat.json row 1 [a.png] U:What is it? A:A cat. U:Its colour? A:Grey.", "chat.json row 2 [] U:2+2? A:4",
          "chat.json row 3 [sub/b.png] S:Be brief. U:Name it A:B."}},
        {"JSON array of captions",
         [](const Folder& folder) { return folder.write("rows.json", R"([{"image":"a.png","caption":"one"}])"); },
         "llava",
         {"rows.json row 1 [a.png] U:Describe this picture. A:one"}},
        {"pictures in images/ beside the file",
         [](const Folder& folder) {
             folder.write("images/only/here.png", pixel(9));
             return folder.write("chat.json", "[" + llava_row("1", "only/here.png", "Here.") + "]");
         },
         "llava",
         {"chat.json row 1 [only/here.png] U:What is it? A:Here."}},
        {"COCO captions, annotations first",
         [](const Folder& folder) {
             return folder.write("captions_val.json", R"({"info": {"year": 2017}, "annotations": [
  {"id": 10, "image_id": 2, "caption": "b one\n"}, {"id": 11, "image_id": 1, "caption": "a one"},
  {"id": 12, "image_id": 2, "caption": "b two"}], "licenses": [{"id": 1}],
  "images": [{"id": 1, "file_name": "a.png", "height": 1}, {"id": 2, "file_name": "sub/b.png"}]})");
         },
         "coco",
         {"captions_val.json annotation 1 [sub/b.png] U:Describe this picture. A:b one",
          "captions_val.json annotation 2 [a.png] U:Describe this picture. A:a one",
          "captions_val.json annotation 3 [sub/b.png] U:Describe this picture. A:b two"}},
        {"COCO beside the folder of its pictures",
         [](const Folder& folder) {
             folder.write("train7/x.jpg", pixel(1));
             return folder.write("annotations/captions_train7.json",
                                 R"({"images":[{"id":1,"file_name":"x.jpg"}],)"
                                 R"("annotations":[{"id":1,"image_id":1,"caption":"an x"}]})");
         },
         "coco",
         {"captions_train7.json annotation 1 [x.jpg] U:Describe this picture. A:an x"}},
        {"TSV, caption first",
         [](const Folder& folder) {
             return folder.write("cc3m.tsv", "a cat\ta.png\r\n\r\na bee\tsub/b.png\r\nfar\thttp://host/c.jpg");
         },
         "cc3m",
         {"cc3m.tsv line 1 [a.png] U:Describe this picture. A:a cat",
          "cc3m.tsv line 3 [sub/b.png] U:Describe this picture. A:a bee"},
         "remote picture 1"},
        {"TSV, picture first, no ending that helps",
         [](const Folder& folder) { return folder.write("table.txt", "a.png\ta cat\nsub/b.png\ta bee\n"); },
         "cc3m",
         {"table.txt line 1 [a.png] U:Describe this picture. A:a cat",
          "table.txt line 2 [sub/b.png] U:Describe this picture. A:a bee"}},
        {"TSV with a heading that has an address too",
         [](const Folder& folder) {
             return folder.write("t.tsv", "url\tCaption\tFile\nhttp://h/1.jpg\ta cat\ta.png\n");
         },
         "cc3m",
         {"t.tsv line 2 [a.png] U:Describe this picture. A:a cat"}},
        {"folder with sidecars",
         [](const Folder& folder) {
             folder.write("a.txt", "\xEF\xBB\xBF"s + "first line\r\nsecond line\r\n");
             folder.write("sub/b.caption", "bee");
             folder.write("._a.jpg", "junk");
             folder.write("Thumbs.db", "junk");
             folder.write("__MACOSX/a.png", "junk");
             folder.write("sub/c.JPEG", pixel(1));
             folder.write("sub/c.TXT", "sea");
             return folder.path();
         },
         "sidecars",
         {"a.png [a.png] U:Describe this picture. A:first line\nsecond line",
          "sub/b.png [sub/b.png] U:Describe this picture. A:bee",
          "sub/c.JPEG [sub/c.JPEG] U:Describe this picture. A:sea"}},
        {"JSONL",
         [](const Folder& folder) {
             return folder.write("rows.jsonl", R"({"file_name":"a.png","text":"one"})"
                                               "\n\n"
                                               R"({"file":"./sub//x/../b.png","caption":"two"})"
                                               "\r\n" +
                                                   llava_row("7", "sub\\\\b.png", "three"));
         },
         "jsonl",
         {"rows.jsonl line 1 [a.png] U:Describe this picture. A:one",
          "rows.jsonl line 3 [sub/b.png] U:Describe this picture. A:two",
          "rows.jsonl line 4 [sub/b.png] U:What is it? A:three"}},
        {"JSONL of one line, called .json",
         [](const Folder& folder) { return folder.write("rows.json", R"({"image":"a.png","text":"one"})"); },
         "jsonl",
         {"rows.json line 1 [a.png] U:Describe this picture. A:one"}},
        {"JSONL whose rows begin with an object",
         [](const Folder& folder) {
             const std::string row = R"({"meta":{"k":1},"image":"a.png","text":"one)";
             return folder.write("rows.json", row + "\"}\n" + row + " more\"}\n");
         },
         "jsonl",
         {"rows.json line 1 [a.png] U:Describe this picture. A:one",
          "rows.json line 2 [a.png] U:Describe this picture. A:one more"}},
        {"folder with metadata.jsonl",
         [](const Folder& folder) {
             folder.write("metadata.jsonl", R"({"file_name":"a.png","text":"one"})");
             return folder.path();
         },
         "jsonl",
         {"metadata.jsonl line 1 [a.png] U:Describe this picture. A:one"}},
        {"kohya metadata",
         [](const Folder& folder) {
             return folder.write("meta_cap.json", R"({
  "a": {"caption": "a cat", "tags": "cat, grey"}, "sub/b.png": {"tags": "bee"}, ")" +
                                                      (folder / "sub/b").string() + R"(": "a text"})");
         },
         "kohya",
         {"meta_cap.json entry 1 [a.png] U:Describe this picture. A:a cat",
          "meta_cap.json entry 2 [sub/b.png] U:Describe this picture. A:bee",
          "meta_cap.json entry 3 [sub/b.png] U:Describe this picture. A:a text"}},
        {"tar",
         [](const Folder& folder) {
             return folder.write("s.tar", tar_member("1.jpg", pixel(7)) + tar_member("1.txt", "one") + tar_end());
         },
         "webdataset",
         {"s.tar 1 [s.tar/1.jpg@0:512:14] U:Describe this picture. A:one"}},
        {"folder of tars, in the order of their names",
         [](const Folder& folder) {
             folder.write("b.tar", tar_member("1.jpg", pixel(7)) + tar_member("1.txt", "two") + tar_end());
             folder.write("a.TAR", tar_member("1.jpg", pixel(7)) + tar_member("1.txt", "one"));
             return folder.path();
         },
         "webdataset",
         {"a.TAR 1 [a.TAR/1.jpg@0:512:14] U:Describe this picture. A:one",
          "b.tar 1 [b.tar/1.jpg@1:512:14] U:Describe this picture. A:two"}},
        {"list of tars, in the order of its lines",
         [](const Folder& folder) {
             folder.write("x/b.tar", tar_member("1.jpg", pixel(7)) + tar_member("1.txt", "two"));
             folder.write("x/a.tar", tar_member("1.jpg", pixel(7)) + tar_member("1.txt", "one"));
             return folder.write("shards.txt", "x/b.tar\r\nx/gone.tar\nx/a.tar\n");
         },
         "webdataset",
         {"b.tar 1 [b.tar/1.jpg@0:512:14] U:Describe this picture. A:two",
          "a.tar 1 [a.tar/1.jpg@2:512:14] U:Describe this picture. A:one"},
         "unreadable file 1"},
    };
    return table;
}

}  // namespace

class TestFormats : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void good_data();
    void good();
    void pictures_come_from_the_row();
    void tars_equal_tarfile_data();
    void tars_equal_tarfile();
    void table_equals_csv();
    void encodings();
};

void TestFormats::good_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < cases().size(); ++i) QTest::newRow(cases()[i].name) << static_cast<int>(i);
}

void TestFormats::good() {
    QFETCH(int, index);
    const Case& data = cases()[static_cast<std::size_t>(index)];
    const Folder folder;
    const bool tars = data.format == "webdataset"s;
    if (!tars) {
        folder.write("a.png", pixel(1));
        folder.write("sub/b.png", pixel(2));
    }
    const std::filesystem::path path = data.make(folder);
    for (const std::string format : {"auto", data.format}) {
        const auto dataset = open_dataset(path, {.format = format});
        VITRINE_COMPARE(dataset->format(), data.format);
        VITRINE_COMPARE(counted(dataset->skipped().reasons), data.skipped);
        QCOMPARE(dataset->size(), data.samples.size());
        for (std::size_t i = 0; i < dataset->size(); ++i) {
            const Sample sample = dataset->sample(i);
            VITRINE_COMPARE(line_of(sample), data.samples[i]);
            if (!sample.picture.empty()) QCOMPARE(dataset->picture(sample.picture).width, 1);
        }
    }
}

void TestFormats::pictures_come_from_the_row() {
    const Folder folder;
    folder.write("a.png", pixel(1));
    folder.write("sub/b.png", pixel(2));
    const auto path =
        folder.write("rows.jsonl", "{\"image\":\"sub/b.png\",\"text\":\"b\"}\n{\"image\":\"a.png\",\"text\":\"a\"}\n");
    const auto dataset = open_dataset(path, {});
    const std::string first = dataset->sample(0).picture;
    QCOMPARE(int{dataset->picture(first).rgb.at(0)}, 2);
    QCOMPARE(int{dataset->picture(dataset->sample(1).picture).rgb.at(0)}, 1);

    const std::string before = dataset->picture_identity(first);
    QCOMPARE(dataset->picture_identity(first), before);
    QVERIFY(before != dataset->picture_identity("a.png"));
    std::filesystem::last_write_time(folder / "sub/b.png",
                                     std::filesystem::last_write_time(folder / "sub/b.png") + std::chrono::seconds(1));
    QVERIFY(dataset->picture_identity(first) != before);
    folder.write("sub/b.png", pixel(2) + "longer");
    QVERIFY(dataset->picture_identity(first) != before);

    std::filesystem::remove(folder / "sub/b.png");
    QVERIFY_THROWS_EXCEPTION(FileError, dataset->picture(first));
    QVERIFY_THROWS_EXCEPTION(FileError, dataset->picture_identity(first));
    folder.write("a.png", "no picture at all");
    QVERIFY_THROWS_EXCEPTION(PictureError, dataset->picture("a.png"));
}

void TestFormats::tars_equal_tarfile_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"ustar", "gnu", "pax"}) QTest::newRow(name) << QString(name);
}

void TestFormats::tars_equal_tarfile() {
    QFETCH(QString, name);
    const auto expected = nlohmann::json::parse(content_of(dataset_reference("tars.json"))).at(name.toStdString());
    const auto dataset = open_dataset(dataset_reference(name.toStdString() + ".tar"), {});
    VITRINE_COMPARE(counted(dataset->skipped().reasons), "");
    QCOMPARE(dataset->size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const Sample sample = dataset->sample(i);
        QCOMPARE(sample.picture, expected[i].at("picture").get<std::string>());
        QCOMPARE(sample.messages.back().text, expected[i].at("answer").get<std::string>());
        QCOMPARE(dataset->picture(sample.picture).width, expected[i].at("width").get<int>());
    }
}

void TestFormats::table_equals_csv() {
    const auto expected = nlohmann::json::parse(content_of(dataset_reference("table.json")));
    const auto dataset = open_dataset(dataset_reference("table.tsv"), {});
    QCOMPARE(dataset->size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        QCOMPARE(dataset->sample(i).messages.back().text, expected[i].get<std::string>());
        QCOMPARE(dataset->sample(i).picture, std::to_string(i) + ".png");
    }
}

void TestFormats::encodings() {
    const auto expected = nlohmann::json::parse(content_of(dataset_reference("texts.json")));
    const auto dataset = open_dataset(dataset_reference("texts"), {});
    QCOMPARE(dataset->size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const Sample sample = dataset->sample(i);
        const std::string encoding = sample.picture.substr(0, sample.picture.rfind('.'));
        QCOMPARE(sample.messages.back().text, expected.at(encoding).get<std::string>());
    }
    VITRINE_COMPARE(counted(dataset->skipped().notes), "read as Windows-1252 2");
}

VITRINE_TEST(TestFormats)
#include "test_formats.moc"
