#include "core/datasets/datasets_support.h"
#include "support/test_main.h"

using namespace vitrine;
using namespace vitrine::test;
using namespace std::string_literals;

namespace {

struct Case {
    const char* name;
    std::function<std::filesystem::path(const Folder&)> make;  // a.png, b.png and the empty e.png exist
    const char* kept;                                          // the last turns of the samples
    const char* skipped;
    const char* first;  // the place listed first, of the reason named first
    const char* notes = "";
};

std::function<std::filesystem::path(const Folder&)> file(const char* name, std::string content) {
    return [name, content = std::move(content)](const Folder& folder) { return folder.write(name, content); };
}
// A LLaVA file of a good row and this one.
std::function<std::filesystem::path(const Folder&)> second(const std::string& row) {
    return file("d.json", "[" + llava_row("0", "a.png", "good") + ",\n" + row + "]");
}
std::function<std::filesystem::path(const Folder&)> turns(const std::string& conversations) {
    return second(R"({"id":"1","image":"b.png","conversations":)" + conversations + "}");
}
std::string said(const char* who, const char* what) {
    return R"({"from":")"s + who + R"(","value":")" + what + "\"}";
}
// A tar with a good sample and these members.
std::function<std::filesystem::path(const Folder&)> tar(const std::string& members,
                                                        const std::string& end = tar_end()) {
    return file("s.tar", tar_member("0.jpg", pixel(1)) + tar_member("0.txt", "good") + members + end);
}

const std::vector<Case>& cases() {
    static const std::string jsonl_good = "{\"image\":\"a.png\",\"text\":\"good\"}\n";
    static const std::vector<Case> table{
        // Pictures.
        {"missing picture", second(llava_row("1", "gone.png", "x")), "good", "missing picture 1",
         "d.json row 2: gone.png"},
        {"a folder is no picture", second(llava_row("1", "folder", "x")), "good", "missing picture 1",
         "d.json row 2: folder"},
        {"empty picture", second(llava_row("1", "e.png", "x")), "good", "empty picture 1", "d.json row 2: e.png"},
        {"remote picture", second(llava_row("1", "HTTPS://host/a.png", "x")), "good", "remote picture 1",
         "d.json row 2: HTTPS://host/a.png"},
        {"above the folder", second(llava_row("1", "folder/../../a.png", "x")), "good", "outside the folder 1",
         "d.json row 2: folder/../../a.png"},
        {"above the folder, as Windows writes", second(llava_row("1", "..\\\\a.png", "x")), "good",
         "outside the folder 1", "d.json row 2: ..\\a.png"},
        {"absolute", second(llava_row("1", "/etc/hostname", "x")), "good", "outside the folder 1",
         "d.json row 2: /etc/hostname"},
        {"another drive", second(llava_row("1", "C:\\\\a.png", "x")), "good", "outside the folder 1",
         "d.json row 2: C:\\a.png"},
        {"absolute, in the folder",
         [](const Folder& folder) {
             return folder.write("d.json", "[" + llava_row("1", (folder / "b.png").string(), "x") + "]");
         },
         "x", "", ""},
        {"several pictures",
         second(R"({"id":"1","image":["a.png","b.png"],"conversations":[)" + said("human", "q") + "," +
                said("gpt", "a") + "]}"),
         "good", "several pictures 1", R"(d.json row 2: ["a.png","b.png"])"},
        {"marker without a picture",
         second(R"({"id":"1","conversations":[)" + said("human", "<image>\\nq") + "," + said("gpt", "a") + "]}"),
         "good", "missing picture 1", "d.json row 2: the text has the marker of a picture, the row names none"},
        {"caption of nothing", file("d.jsonl", jsonl_good + "{\"text\":\"x\"}\n"), "good", "missing picture 1",
         "d.jsonl line 2: the row names none"},
        {"no image has that id",
         file("c.json", R"({"images":[{"id":1,"file_name":"a.png"}],"annotations":[)"
                        R"({"id":1,"image_id":1,"caption":"good"},{"id":2,"image_id":7,"caption":"x"}]})"),
         "good", "missing picture 1", "c.json annotation 2: no image has the id 7"},
        // Texts.
        {"empty caption", file("d.jsonl", jsonl_good + R"({"image":"b.png","caption":" \n"})"), "good",
         "empty caption 1", "d.jsonl line 2"},
        {"no caption", file("d.jsonl", jsonl_good + R"({"image":"b.png","alt":"x"})"), "good", "missing caption 1",
         "d.jsonl line 2"},
        {"marker in the middle of a line",
         turns("[" + said("human", "What <image> is\\n<image>\\nit?") + "," + said("gpt", "A<image>") + "]"), "good|A",
         "", ""},
        {"Windows-1252", file("d.jsonl", jsonl_good + "{\"image\":\"b.png\",\"text\":\"caf\xE9 \xC3\xA9\"}"),
         "good|caf\xC3\xA9 \xC3\xA9", "", "", "read as Windows-1252 1"},
        {"UTF-16",
         file(
             "d.jsonl",
             "\xFF\xFE{\0\"\0i\0m\0a\0g\0e\0\"\0:\0\"\0a\0.\0p\0n\0g\0\"\0,\0\"\0t\0e\0x\0t\0\"\0:\0\"\0\xE9\0\"\0}\0"s),
         "\xC3\xA9", "", ""},
        {"byte order mark", file("d.json", "\xEF\xBB\xBF[" + llava_row("0", "a.png", "good") + "]"), "good", "", ""},
        // Turns.
        {"last question without an answer",
         turns("[" + said("human", "q") + "," + said("gpt", "a") + "," + said("human", "q") + "]"), "good|a", "", "",
         "last question dropped 1"},
        {"question only", turns("[" + said("human", "q") + "]"), "good", "no answer 1", "d.json row 2"},
        {"no turns", turns("[]"), "good", "no answer 1", "d.json row 2"},
        {"two questions", turns("[" + said("human", "q") + "," + said("human", "q") + "," + said("gpt", "a") + "]"),
         "good", "turns out of order 1", "d.json row 2: turn 2"},
        {"answer first", turns("[" + said("gpt", "a") + "]"), "good", "turns out of order 1", "d.json row 2: turn 1"},
        {"empty answer", turns("[" + said("human", "q") + "," + said("gpt", "  ") + "]"), "good", "empty answer 1",
         "d.json row 2: turn 2"},
        {"the picture alone asks", turns("[" + said("human", "<image>") + "," + said("gpt", "a") + "]"), "good|a", "",
         ""},
        {"nothing asks", second(R"({"id":"1","conversations":[)" + said("human", "") + "," + said("gpt", "a") + "]}"),
         "good", "turns out of order 1", "d.json row 2: turn 1 asks nothing"},
        // Types.
        {"unknown role", turns("[" + said("robot", "q") + "]"), "good", "wrong type 1",
         "d.json row 2: a turn of \"robot\""},
        {"a turn is a text", turns(R"(["q","a"])"), "good", "wrong type 1", "d.json row 2: a turn is \"q\""},
        {"turns are a number", turns("7"), "good", "wrong type 1", "d.json row 2: conversations is 7"},
        {"the picture is a number", second(R"({"image":7,"text":"x"})"), "good", "wrong type 1",
         "d.json row 2: image is 7"},
        {"the caption is a list", second(R"({"image":"b.png","text":["x"]})"), "good", "wrong type 1",
         "d.json row 2: text is [\"x\"]"},
        {"the row is a number", second("12.5"), "good", "wrong type 1", "d.json row 2: the row is 12.5"},
        {"zero byte in a name", second(llava_row("1", "a\\u0000.png", "x")), "good", "wrong type 1",
         "d.json row 2: a picture's name with a zero byte"},
        // Rows.
        {"the same row twice", second(llava_row("0", "a.png", "good")), "good", "duplicate 1", "d.json row 2: a.png"},
        {"another id is another row", second(llava_row("1", "a.png", "good")), "good|good", "", ""},
        {"broken line", file("d.jsonl", jsonl_good + "{\"image\":\"b.png\",\n{\"image\":\"b.png\",\"text\":\"x\"}\n"),
         "good|x", "broken row 1", "d.jsonl line 2: the end of the text at line 1, column 18 (byte 18)"},
        {"a key twice", file("d.jsonl", jsonl_good + R"({"text":"x","text":"y","image":"b.png"})"), "good",
         "broken row 1", "d.jsonl line 2: text: this key twice in one object"},
        {"a quote left out costs its row",
         file("d.json", "[\n{\"image\": \"a.png\",\n\"text\": \"lost\n},\n" + llava_row("1", "b.png", "good") + "]"),
         "good", "broken row 1", "d.json row 1: a mistake at line 2, column 14 (byte 33)"},
        {"a comma left out", file("d.json", "[" + llava_row("0", "a.png", "good") + llava_row("1", "b.png", "x") + "]"),
         "good|x", "", ""},
        {"a bracket too many",
         file("d.json", "[" + llava_row("0", "a.png", "good") + "}," + llava_row("1", "b.png", "x") + ",]"), "good|x",
         "broken row 1", nullptr},
        {"half a surrogate pair", second(llava_row("1", "b.png", "\\ud83d")), "good", "broken row 1", nullptr},
        {"columns missing", file("t.tsv", "good\ta.png\nalone\n"), "good", "broken row 1",
         "t.tsv line 2: 1 of 2 columns"},
        {"text behind the list", file("d.json", "[" + llava_row("0", "a.png", "good") + "]\n[]"), "good",
         "broken row 1", "d.json row 2: more text behind the list, at line 2, byte 125"},
        // Files that end too early.
        {"LLaVA JSON cut in a row", file("d.json", "[" + llava_row("0", "a.png", "good") + ",\n{\"id\":\"1\",\"ima"),
         "good", "file cut 1", "d.json row 2: the text ends at line 2, byte 139"},
        {"LLaVA JSON cut between rows", file("d.json", "[" + llava_row("0", "a.png", "good") + ","), "good",
         "file cut 1", nullptr},
        {"COCO cut in the captions",
         file("c.json", R"({"images":[{"id":1,"file_name":"a.png"}],"annotations":[)"
                        R"({"id":1,"image_id":1,"caption":"good"},{"id":2,"im)"),
         "good", "file cut 1", "c.json annotation 2: the text ends at line 1, byte 106"},
        {"kohya cut", file("k.json", R"({"a": {"caption": "good"}, "b": {"capt)"), "good", "file cut 1",
         "k.json entry 2: the text ends at line 1, byte 38"},
        {"zeros at the end of a JSON file",
         file("d.json", "[" + llava_row("0", "a.png", "good") + ",\n" + std::string(5000, '\0')), "good", "file cut 1",
         nullptr},
        // kohya and sidecars.
        {"one key for two pictures",
         [](const Folder& folder) {
             folder.write("b.webp", pixel(1));
             return folder.write("k.json", R"({"a": "good", "b": "x", "b.webp": "y"})");
         },
         "good|y", "several pictures 1", "k.json entry 2: one name, pictures of several types"},
        {"kohya without captions",
         file("k.json", R"({"a": "good", "b": {"train_resolution": [1, 2]}, "c": {"tags": 7}})"), "good",
         "missing caption 1, wrong type 1", "k.json entry 2"},
        {"one sidecar for two pictures",
         [](const Folder& folder) {
             folder.write("a.txt", "good");
             folder.write("b.jpg", pixel(1));
             folder.write("b.txt", "whose?");
             folder.write("c.txt", "nobody's");
             folder.write("e.txt", "empty");
             folder.write("d.gif", pixel(1));
             return folder.path();
         },
         "good", "empty picture 1, missing caption 1, missing picture 1, shared sidecar 2", "e.png: e.png"},
        {"two sidecars for one picture",
         [](const Folder& folder) {
             folder.write("a.txt", "good");
             folder.write("a.caption", "other");
             folder.write("b.txt", "two");
             folder.write("e.txt", "\n");
             return folder.path();
         },
         "good|two", "empty caption 1", "e.png", "two sidecars 1"},
        {"links that go round",
         [](const Folder& folder) {
             folder.write("a.txt", "good");
             folder.write("b.txt", "two");
             folder.write("e.txt", "\n");
             folder.write("sub/c.png", pixel(3));
             folder.write("sub/c.txt", "three");
             std::filesystem::create_directory_symlink(folder.path(), folder / "sub/up");
             std::filesystem::create_directory_symlink("sub", folder / "again");
             std::filesystem::create_symlink("nothing", folder / "f.png");
             folder.write("f.txt", "linked");
             return folder.path();
         },
         "good|two|three", "empty caption 1, folder seen before 2, missing picture 1", "e.png"},
        // Tars.
        {"picture without a text", tar(tar_member("1.jpg", pixel(2))), "good", "missing caption 1", "s.tar 1"},
        {"text without a picture", tar(tar_member("1.txt", "x")), "good", "missing picture 1",
         "s.tar 1: the row names none"},
        {"members that are not neighbours",
         tar(tar_member("1.jpg", pixel(2)) + tar_member("2.jpg", pixel(3)) + tar_member("1.txt", "x")), "good",
         "missing caption 2, missing picture 1", "s.tar 1"},
        {"two pictures of one name",
         tar(tar_member("1.jpg", pixel(2)) + tar_member("1.png", pixel(3)) + tar_member("1.txt", "x")), "good",
         "several pictures 1", "s.tar 1"},
        {"empty member", tar(tar_member("1.jpg", "") + tar_member("1.txt", "x")), "good", "empty picture 1",
         "s.tar 1: s.tar/1.jpg"},
        {"the same member twice",
         tar(tar_member("1.jpg", pixel(1)) + tar_member("1.txt", "x") + tar_member("0.jpg", pixel(1)) +
             tar_member("0.txt", "good")),
         "good|x", "duplicate 1", "s.tar 0: s.tar/0.jpg"},
        {"junk in a tar",
         tar(tar_member("__MACOSX/._1.jpg", "x") + tar_member("._1.jpg", "x") + tar_member("./1.jpg", pixel(2)) +
             tar_member("1.npy", "123") + tar_member("1.txt", "x")),
         "good|x", "", ""},
        {"no blocks at the end", tar(tar_member("1.jpg", pixel(2)) + tar_member("1.txt", "x"), ""), "good|x", "", ""},
        {"tar cut in a picture", tar(tar_member("1.jpg", std::string(700, 'x')).substr(0, 600), ""), "good",
         "file cut 1", "s.tar 1.jpg: the file ends inside it"},
        {"tar cut in a header", tar(tar_member("1.jpg", pixel(2)) + tar_member("1.txt", "x").substr(0, 100), ""),
         "good", "file cut 1, missing caption 1", nullptr},
        {"tar damaged in the middle", tar(std::string(512, 'x') + tar_member("1.jpg", pixel(2)), ""), "good",
         "broken row 1", "s.tar byte 2048: no member of a tar; what follows cannot be found"},
        {"broken JSON in a tar", tar(tar_member("1.jpg", pixel(2)) + tar_member("1.json", "{")), "good", "broken row 1",
         nullptr},
        {"a size beyond the file", tar(tar_member("1.jpg", pixel(2), '0', 0777777777)), "good", "file cut 1", nullptr},
    };
    return table;
}

}  // namespace

class TestIrregular : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void listed_data();
    void listed();
    void counts_are_complete();
};

void TestIrregular::listed_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < cases().size(); ++i) QTest::newRow(cases()[i].name) << static_cast<int>(i);
}

void TestIrregular::listed() {
    QFETCH(int, index);
    const Case& data = cases()[static_cast<std::size_t>(index)];
    const Folder folder;
    folder.write("a.png", pixel(1));
    folder.write("b.png", pixel(2));
    folder.write("e.png", "");
    std::filesystem::create_directory(folder / "folder");
    const auto dataset = open_dataset(data.make(folder), {});
    const SkipReport& report = dataset->skipped();
    VITRINE_COMPARE(answers(*dataset), data.kept);
    VITRINE_COMPARE(counted(report.reasons), data.skipped);
    VITRINE_COMPARE(counted(report.notes), data.notes);
    if (data.first != nullptr && !report.reasons.empty()) {
        VITRINE_COMPARE(report.reasons.begin()->second.examples.at(0), data.first);
    }
}

void TestIrregular::counts_are_complete() {
    const Folder folder;
    folder.write("a.png", pixel(1));
    std::string rows = "{\"image\":\"a.png\",\"text\":\"good\"}\n";
    for (int i = 0; i < 250; ++i) rows += "{\"image\":\"gone" + std::to_string(i) + ".png\",\"text\":\"x\"}\n";
    const auto dataset = open_dataset(folder.write("d.jsonl", rows), {});
    const SkipReport::Reason& reason = dataset->skipped().reasons.at("missing picture");
    QCOMPARE(reason.count, std::uint64_t{250});
    QCOMPARE(reason.examples.size(), SkipReport::kept);
    VITRINE_COMPARE(reason.examples.back(), "d.jsonl line 101: gone99.png");
    QCOMPARE(dataset->skipped().total(), std::uint64_t{250});
}

VITRINE_TEST(TestIrregular)
#include "test_irregular.moc"
