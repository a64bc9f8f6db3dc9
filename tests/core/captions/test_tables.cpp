#include "core/captions/csv.h"
#include "core/captions/prompt.h"
#include "core/captions/table.h"
#include "core/error.h"
#include "core/train/dataset.h"
#include "support/folders.h"
#include "support/test_main.h"

namespace fs = std::filesystem;
using namespace vitrine::captions;
using vitrine::test::contents;
using vitrine::test::write_text;

namespace {

// Pictures whose names and captions are hard on formats.
struct Pair {
    std::string picture;
    std::string caption;
};
const std::vector<Pair> kPairs{
    {"plain.jpg", "A red circle."},
    {"\xE5\x86\x99\xE7\x9C\x9F #1 %20.png", "\xE8\xB5\xA4\xE3\x81\x84\xE5\x86\x86"},
    {"wide\xE3\x80\x80space.webp", "Two lines,\nand \"quotes\" with a \\ backslash."},
    {"=1+1.png", "=HYPERLINK(\"x\")"},
    {"dots.v1.final.jpg", "+5 'apples' and a tab\there"},
    {"sub folder/plain.jpg", "Same name, other folder."},
    {"twin.jpg", "One of two."},
    {"twin.png", "The other of two."},
    {"shout.JPG", "'=quoted already"},
    {"sub folder/odd.heic", "An ending that kohya's tools do not add."},
};

const Provenance kMade{.model = "demo",
                       .prompt = "What is \"it\"?",
                       .seed = 18446744073709551615U,
                       .time = "2025-01-02T03:04:05Z",
                       .finish = "stop_token"};

}  // namespace

class TestTables : public QObject {
    Q_OBJECT

    QTemporaryDir temporary_;
    fs::path folder_ = fs::path(temporary_.path().toStdString()) / "pictures";

    fs::path write(Format format, const fs::path& target) const {
        Export table(format, target);
        for (const auto& [picture, caption] : kPairs) {
            if (const auto reason = table.add(folder_ / picture, caption, kMade)) throw std::runtime_error(*reason);
        }
        table.commit();
        return target;
    }

private Q_SLOTS:
    void initTestCase() {
        fs::create_directories(folder_ / "sub folder");
        for (const auto& [picture, caption] : kPairs) write_text(folder_ / picture, "P6 1 1 255\n123");
    }

    void the_trainer_reads_what_was_written_data() {
        QTest::addColumn<int>("format");
        QTest::addColumn<QByteArray>("found");
        QTest::addColumn<bool>("beside");
        for (const auto& [format, name] :
             {std::pair{Format::jsonl, "jsonl"}, {Format::kohya, "kohya"}, {Format::llava, "llava"}}) {
            QTest::addRow("%s beside the pictures", name) << static_cast<int>(format) << QByteArray(name) << true;
            QTest::addRow("%s elsewhere", name) << static_cast<int>(format) << QByteArray(name) << false;
        }
    }
    void the_trainer_reads_what_was_written() {
        QFETCH(const int, format);
        QFETCH(const QByteArray, found);
        QFETCH(const bool, beside);
        const fs::path place = beside ? folder_ : folder_.parent_path();
        const fs::path target = place / ("table" + std::string(ending_of(static_cast<Format>(format))));
        write(static_cast<Format>(format), target);
        const auto dataset = vitrine::open_dataset(target, {.pictures = beside ? fs::path() : folder_.parent_path()});
        QCOMPARE(QByteArray::fromStdString(dataset->format()), found);
        for (const std::string& line : dataset->skipped().lines()) QVERIFY2(false, line.c_str());
        QCOMPARE(dataset->size(), kPairs.size());
        for (std::size_t i = 0; i < kPairs.size(); ++i) {
            const vitrine::Sample sample = dataset->sample(i);
            const std::string picture = (beside ? "" : "pictures/") + kPairs[i].picture;
            QCOMPARE(QByteArray::fromStdString(sample.picture), QByteArray::fromStdString(picture));
            QCOMPARE(QByteArray::fromStdString(sample.messages.back().text),
                     QByteArray::fromStdString(kPairs[i].caption));
            const std::string asked =
                format == static_cast<int>(Format::llava) ? kMade.prompt : "Describe this picture.";
            QCOMPARE(QByteArray::fromStdString(sample.messages.front().text), QByteArray::fromStdString(asked));
        }
    }

    void kohya_keys_are_stems_where_a_stem_is_enough() {
        const auto json = vitrine::test::read_json(write(Format::kohya, folder_ / "keys.json"));
        for (const char* key : {"plain", "dots.v1.final", "sub folder/plain", "shout"})
            QVERIFY2(json.contains(key), key);
        for (const char* key : {"twin.jpg", "twin.png", "sub folder/odd.heic"}) QVERIFY2(json.contains(key), key);
    }

    void provenance_stands_in_jsonl() {
        const QByteArray line = contents(write(Format::jsonl, folder_ / "from.jsonl")).split('\n').front();
        const auto json = nlohmann::json::parse(line.toStdString());
        QCOMPARE(json["model"].get<std::string>(), kMade.model);
        QCOMPARE(json["prompt"].get<std::string>(), kMade.prompt);
        QCOMPARE(json["seed"].get<std::uint64_t>(), kMade.seed);
        QCOMPARE(json["time"].get<std::string>(), kMade.time);
        QCOMPARE(json["edited"].get<bool>(), false);
    }

    void csv_comes_back_and_formulas_are_disarmed() {
        const QByteArray text = contents(write(Format::csv, folder_ / "table.csv"));
        QVERIFY(text.contains("\"'=HYPERLINK(\"\"x\"\")\""));
        const CsvTable table = parse_csv(text.toStdString());
        QVERIFY(!table.open_quote);
        QCOMPARE(table.rows.size(), kPairs.size() + 1);
        for (std::size_t i = 0; i < kPairs.size(); ++i) {
            QCOMPARE(QByteArray::fromStdString(table.rows[i + 1][0]), QByteArray::fromStdString(kPairs[i].picture));
            QCOMPARE(QByteArray::fromStdString(table.rows[i + 1][1]), QByteArray::fromStdString(kPairs[i].caption));
        }
    }

    void pictures_that_no_format_can_hold_are_left_out_by_name() {
        Export table(Format::llava, folder_ / "left.json");
        QCOMPARE(QByteArray::fromStdString(table.add(folder_ / "plain.jpg", " \n", {}).value()),
                 QByteArray("no caption"));
        QVERIFY(table.add(folder_ / "latin\xE9.jpg", "x", {}).has_value());
        QVERIFY(table.add(folder_ / "back\\slash.jpg", "x", {}).has_value());
        QCOMPARE(table.count(), std::size_t{0});
    }

    void an_export_that_is_given_up_leaves_the_old_file() {
        const fs::path target = folder_ / "kept.json";
        write_text(target, "old");
        {
            Export table(Format::kohya, target);
            table.add(folder_ / "plain.jpg", "new", {});
        }
        QCOMPARE(contents(target), QByteArray("old"));
    }

    void a_log_goes_on_behind_a_cut_line() {
        const Record multi{"b \"2\".png", "two\nlines", kMade};
        for (const Format format : {Format::jsonl, Format::csv}) {
            const fs::path path = folder_ / ("log" + std::string(ending_of(format)));
            {
                Log log(format, path);
                log.append({"a.png", "one", kMade});
                log.append(multi);
            }
            // the machine died while the third was written
            const QByteArray whole = contents(path);
            write_text(path, whole.toStdString() +
                                 (format == Format::csv ? "\"c.png\",\"half a" : "{\"file\": \"c.png\", \"capt"));
            Log log(format, path);
            QVERIFY(log.contains("a.png") && log.contains(multi.file) && !log.contains("d.png"));
            log.append({"d.png", "four", kMade});
            QVERIFY(contents(path).startsWith(whole));
            const Log again(format, path);
            QVERIFY(again.contains("a.png") && again.contains(multi.file) && again.contains("d.png"));
        }
    }

    void a_log_keeps_the_columns_of_its_file() {
        const fs::path path = folder_ / "columns.csv";
        write_text(path, "caption,file,mine\nold,x.png,7\n");
        Log(Format::csv, path).append({"y.png", "new", kMade});
        QVERIFY2(contents(path).endsWith("\"new\",\"y.png\",\"\"\n"), contents(path));
    }

    void captions_are_tidied_as_readers_do() {
        QCOMPARE(QByteArray::fromStdString(tidy_caption("\r\n a\r\nb\rc \n")), QByteArray("a\nb\nc"));
        QCOMPARE(QByteArray::fromStdString(utc_time(std::chrono::system_clock::from_time_t(1735787045))),
                 QByteArray("2025-01-02T03:04:05Z"));
    }

    void variables_in_prompts_data() {
        QTest::addColumn<QByteArray>("prompt");
        QTest::addColumn<QByteArray>("asked");
        const auto row = [](const char* prompt, const char* asked) {
            QTest::newRow(prompt) << QByteArray(prompt) << QByteArray(asked);
        };
        row("{name} in {folder}", "my {cat}.v2 in Pets #1");
        row("{unknown} {", "{unknown} {");
        row("{{name}}", "{name}");
        row("{{ {name}", "{ my {cat}.v2");
        row("{\"a\": {\"b\": 1}}", "{\"a\": {\"b\": 1}}");
        row("at most {length} words", "at most 12 words");
        row("", "");
    }
    void variables_in_prompts() {
        QFETCH(const QByteArray, prompt);
        QFETCH(const QByteArray, asked);
        QCOMPARE(QByteArray::fromStdString(expand_prompt(prompt.toStdString(), "/home/Pets #1/my {cat}.v2.jpg", 12)),
                 asked);
    }

    void alt_text_says_how_long_it_may_be() {
        const auto alt =
            std::find_if(presets().begin(), presets().end(), [](const Preset& p) { return p.name == "alt text"; });
        QVERIFY(alt != presets().end());
        QVERIFY(
            QString::fromStdString(expand_prompt(alt->prompt, "a.jpg")).contains(QStringLiteral("at most 20 words")));
    }
};

VITRINE_TEST(TestTables)
#include "test_tables.moc"
