#include "core/datasets/datasets_support.h"
#include "support/test_main.h"

#include <sys/resource.h>

#include <atomic>
#include <stop_token>
#include <thread>

using namespace vitrine;
using namespace vitrine::test;

namespace {

std::string numbered_rows(int count) {
    std::string rows;
    for (int i = 0; i < count; ++i) {
        rows += "{\"image\":\"a.png\",\"text\":\"text " + std::to_string(i) + "\"}\n";
    }
    return rows;
}

std::uint64_t fingerprint_of(const std::string& rows, const DatasetOptions& options = {}) {
    const Folder folder;
    folder.write("a.png", pixel(1));
    folder.write("b.png", pixel(2));
    return open_dataset(folder.write("d.jsonl", rows), options)->fingerprint();
}

}  // namespace

class TestDatasets : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void prompts_go_round();
    void limit_counts_good_rows();
    void another_folder_of_pictures();
    void fingerprint();
    void fingerprint_of_every_format();
    void several_threads();
    void stopping();
    void progress();
    void changed_while_open();
    void more_shards_than_open_files();
};

void TestDatasets::prompts_go_round() {
    const Folder folder;
    folder.write("a.png", pixel(1));
    const std::string rows =
        "{\"image\":\"gone.png\",\"text\":\"x\"}\n" + numbered_rows(3) + llava_row("1", "a.png", "own") + "\n";
    const auto dataset = open_dataset(folder.write("d.jsonl", rows), {.prompts = {"P0", "P1"}});
    std::string asked;
    for (std::size_t i = 0; i < dataset->size(); ++i) asked += dataset->sample(i).messages.front().text + "|";
    VITRINE_COMPARE(asked, "P0|P1|P0|What is it?|");
}

void TestDatasets::limit_counts_good_rows() {
    const Folder folder;
    folder.write("a.png", pixel(1));
    const auto path =
        folder.write("d.jsonl", "{\"image\":\"gone.png\",\"text\":\"x\"}\n" + numbered_rows(50) + "broken\n");
    const auto dataset = open_dataset(path, {.limit = 2});
    VITRINE_COMPARE(answers(*dataset), "text 0|text 1");
    VITRINE_COMPARE(counted(dataset->skipped().reasons), "missing picture 1");
    QCOMPARE(open_dataset(path, {.limit = 1000})->size(), std::size_t{50});
}

void TestDatasets::another_folder_of_pictures() {
    const Folder folder;
    folder.write("there/a.png", pixel(7));
    folder.write("a.png", pixel(1));
    folder.write("b.png", pixel(1));
    const auto path =
        folder.write("d.jsonl", "{\"image\":\"a.png\",\"text\":\"x\"}\n{\"image\":\"b.png\",\"text\":\"y\"}\n");
    const auto dataset = open_dataset(path, {.pictures = folder / "there"});
    VITRINE_COMPARE(answers(*dataset), "x");
    QCOMPARE(int{dataset->picture("a.png").rgb.at(0)}, 7);

    folder.write("texts/a.txt", "apart");
    VITRINE_COMPARE(answers(*open_dataset(folder / "texts", {.pictures = folder / "there"})), "apart");
}

void TestDatasets::fingerprint() {
    const std::string one = "{\"image\":\"a.png\",\"text\":\"one\"}\n",
                      two = "{\"image\":\"b.png\",\"text\":\"two\"}\n";
    const std::uint64_t base = fingerprint_of(one + two);
    QCOMPARE(fingerprint_of(one + two), base);  // in another folder
    QCOMPARE(fingerprint_of("\n" + one + "broken\n" + two), base);
    QCOMPARE(base, std::uint64_t{3854162050107293807});  // the same on every machine
    QVERIFY(fingerprint_of(two + one) != base);
    QVERIFY(fingerprint_of(one) != base);
    QVERIFY(fingerprint_of(one + "{\"image\":\"b.png\",\"text\":\"twO\"}\n") != base);
    QVERIFY(fingerprint_of(one + "{\"image\":\"a.png\",\"text\":\"two\"}\n") != base);
    QVERIFY(fingerprint_of(one + two, {.prompts = {"Another."}}) != base);
    QVERIFY(fingerprint_of(one + "{\"image\":\"b.png\",\"id\":7,\"text\":\"two\"}\n") != base);
}

// Moved to another place, each format keeps its fingerprint and no two share one.
void TestDatasets::fingerprint_of_every_format() {
    std::vector<std::uint64_t> all;
    const std::pair<const char*, std::string> files[] = {
        {"d.json", "[{\"image\":\"a.png\",\"text\":\"one\"}]"},
        {"d.jsonl", "{\"image\":\"a.png\",\"text\":\"one\"}"},
        {"c.json", R"({"images":[{"id":1,"file_name":"a.png"}],"annotations":[{"image_id":1,"caption":"one"}]})"},
        {"d.tsv", "one\ta.png"},
        {"k.json", R"({"a":"one"})"},
        {"s.tar", tar_member("a.png", pixel(1)) + tar_member("a.txt", "one")},
        {"a.txt", "one"},
    };
    for (const auto& [name, content] : files) {
        std::vector<std::uint64_t> seen;
        for (int place = 0; place < 2; ++place) {
            const Folder folder;
            folder.write("a.png", pixel(1));
            const auto path = folder.write(name, content);
            seen.push_back(open_dataset(name == std::string("a.txt") ? folder.path() : path, {})->fingerprint());
        }
        QCOMPARE(seen[0], seen[1]);
        QVERIFY2(std::find(all.begin(), all.end(), seen[0]) == all.end(), name);
        all.push_back(seen[0]);
    }
}

void TestDatasets::several_threads() {
    const Folder folder;
    folder.write("a.png", pixel(1));
    std::string tar;
    for (int i = 0; i < 200; ++i) {
        const std::string name = std::to_string(i);
        tar +=
            tar_member(name + ".png", pixel(static_cast<std::uint8_t>(i))) + tar_member(name + ".txt", "text " + name);
    }
    for (const auto& path : {folder.write("d.jsonl", numbered_rows(200)), folder.write("s.tar", tar)}) {
        const auto dataset = open_dataset(path, {});
        std::atomic<int> wrong = 0;
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                for (std::size_t k = 0; k < 400; ++k) {
                    const std::size_t i = (k * (2 * t + 1)) % dataset->size();
                    const Sample sample = dataset->sample(i);
                    const int red = dataset->picture(sample.picture).rgb.at(0);
                    const bool from_tar = dataset->format() == "webdataset";
                    if (sample.messages.back().text != "text " + std::to_string(i)) ++wrong;
                    if (red != (from_tar ? static_cast<int>(i) : 1)) ++wrong;
                }
            });
        }
        threads.clear();
        QCOMPARE(wrong.load(), 0);
    }
}

void TestDatasets::stopping() {
    const Folder folder;
    folder.write("a.png", pixel(1));
    const auto rows = folder.write("d.jsonl", numbered_rows(5000));
    std::stop_source before;
    before.request_stop();
    QVERIFY(open_dataset(rows, {}, {}, before.get_token()) == nullptr);
    QVERIFY(open_dataset(folder.path(), {.format = "sidecars"}, {}, before.get_token()) == nullptr);

    std::stop_source during;
    std::uint64_t calls = 0;
    const auto stop_soon = [&](std::uint64_t, std::uint64_t) {
        if (++calls == 5) during.request_stop();
    };
    QVERIFY(open_dataset(rows, {}, stop_soon, during.get_token()) == nullptr);
    QCOMPARE(calls, std::uint64_t{5});
}

void TestDatasets::progress() {
    const Folder folder;
    folder.write("a.png", pixel(1));
    folder.write("a.txt", "x");
    const auto tar = folder.write("sub/s.tar", tar_member("1.png", pixel(1)) + tar_member("1.txt", "x") + tar_end());
    for (const auto& path : {folder.write("d.jsonl", numbered_rows(5000)), folder.path(), tar}) {
        std::uint64_t last = 0, whole = 0, calls = 0;
        bool forward = true;
        open_dataset(path, {.format = path == folder.path() ? "sidecars" : "auto"},
                     [&](std::uint64_t done, std::uint64_t total) {
                         forward = forward && done >= last && done <= total;
                         last = done;
                         whole = total;
                         ++calls;
                     });
        QVERIFY(forward);
        QCOMPARE(last, whole);
        QVERIFY(calls >= 1 && calls < 300);
    }
}

void TestDatasets::changed_while_open() {
    const Folder folder;
    folder.write("a.png", pixel(1));
    const auto path = folder.write("d.jsonl", numbered_rows(3));
    const auto dataset = open_dataset(path, {});
    folder.write("d.jsonl", numbered_rows(2) + "{\"image\":\"a.png\",\"text\":\"text X\"}\n");
    VITRINE_COMPARE(dataset->sample(1).messages.back().text, "text 1");
    const Refusal refusal = refusal_of([&] { dataset->sample(2); });
    QCOMPARE(refusal.kind, std::string("file"));
    QVERIFY(refusal.message.find("d.jsonl line 3") != std::string::npos);
    QVERIFY(refusal.message.find("has changed") != std::string::npos);
    folder.write("d.jsonl", "");
    QVERIFY_THROWS_EXCEPTION(FileError, dataset->sample(0));
    QVERIFY_THROWS_EXCEPTION(std::out_of_range, dataset->sample(3));

    // Captions of a folder are edited while a run is on: it goes on with those it began with.
    folder.write("a.txt", "before");
    const auto sidecars = open_dataset(folder.path(), {.format = "sidecars"});
    folder.write("a.txt", "after");
    VITRINE_COMPARE(sidecars->sample(0).messages.back().text, "before");
}

void TestDatasets::more_shards_than_open_files() {
    const Folder folder;
    for (int i = 0; i < 300; ++i) {
        folder.write("s/" + std::to_string(i) + ".tar", tar_member("1.png", pixel(9)) + tar_member("1.txt", "x"));
    }
    rlimit before{};
    QCOMPARE(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit low{100, before.rlim_max};
    QCOMPARE(::setrlimit(RLIMIT_NOFILE, &low), 0);
    const auto dataset = open_dataset(folder / "s", {});
    ::setrlimit(RLIMIT_NOFILE, &before);
    QCOMPARE(dataset->size(), std::size_t{300});
    QCOMPARE(int{dataset->picture(dataset->sample(299).picture).rgb.at(0)}, 9);
}

VITRINE_TEST(TestDatasets)
#include "test_datasets.moc"
