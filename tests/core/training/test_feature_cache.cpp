#include "core/train/feature_cache.h"
#include "training_support.h"

using namespace vitrine;
namespace fs = std::filesystem;

// What a frozen tower made of a picture is found again whole or not at all, and a run does not depend on it.
class TestFeatureCache : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    test::Workshop workshop_;

    fs::path path(const std::string& name) const { return fs::path(folder_.path().toStdString()) / name; }
    static ContentKey key_of(const std::string& text) {
        ContentKey key;
        key.add(text);
        return key;
    }
    static at::Tensor features(int number) {
        return at::full({4, 6}, number * 0.25, at::kBFloat16) + at::eye(4, 6).to(at::kBFloat16);
    }

    static void change_byte(const fs::path& file, std::uint64_t at) {
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekg(static_cast<std::streamoff>(at));
        const int byte = stream.get();
        stream.seekp(static_cast<std::streamoff>(at));
        stream.put(static_cast<char>(byte ^ 0x10));
    }

    TrainingOptions options(const std::string& cache) const {
        TrainingOptions options = workshop_.options();
        options.cache_features = true;
        options.cache = path(cache);
        options.validation_samples = 4;
        options.steps = 12;  // more than an epoch of the 36 rows that are left
        return options;
    }
    std::string state_after(const TrainingOptions& options, const std::string& run) const {
        test::Recorder recorder;
        train(options, path(run), recorder);
        return test::trained_state(path(run), options.steps);
    }
    static std::vector<fs::path> files_of(const fs::path& cache) {
        std::vector<fs::path> files;
        for (const auto& entry : fs::recursive_directory_iterator(cache))
            if (entry.is_regular_file()) files.push_back(entry.path());
        return files;
    }

private Q_SLOTS:
    void keys_tell_contents_apart() {
        std::set<std::string> seen;
        for (int i = 0; i < 1000; ++i) QVERIFY(seen.insert(key_of("picture " + std::to_string(i)).text()).second);
        QVERIFY(seen.insert(key_of("").text()).second);
        QVERIFY(seen.insert(key_of(std::string(1, '\0')).text()).second);
        QVERIFY(seen.insert(key_of(std::string(8, '\0')).text()).second);
        ContentKey two, one;
        two.add(std::string("ab"));
        two.add(std::string("c"));
        one.add(std::string("abc"));
        QVERIFY(two != one);
        QCOMPARE(key_of("abc"), one);
        QCOMPARE(one.text().size(), std::size_t{32});
    }

    void what_was_stored_is_found_again() {
        const fs::path folder = path("found");
        for (int start = 0; start < 2; ++start) {
            FeatureCache cache(folder, key_of("tower"), 4, 6);
            QCOMPARE(cache.size(), static_cast<std::size_t>(start * 10));
            for (int i = 0; i < 10; ++i) {
                const ContentKey key = key_of("picture " + std::to_string(i));
                if (start == 0) QVERIFY(!cache.find(key) && cache.store(key, features(i)));
                QVERIFY(cache.find(key)->equal(features(i)));
            }
            QVERIFY(!cache.find(key_of("another picture")));
        }
        QCOMPARE(FeatureCache(folder, key_of("another tower"), 4, 6).size(), std::size_t{0});
        QCOMPARE(FeatureCache(folder, key_of("tower"), 6, 4).size(), std::size_t{0});
    }

    void damaged_records_are_not_found_data() {
        QTest::addColumn<int>("byte");
        QTest::newRow("key") << 3;
        QTest::newRow("second half of the key") << 12;
        QTest::newRow("checksum") << 20;
        QTest::newRow("first number") << 24;
        QTest::newRow("last byte") << 24 + 47;
    }

    void damaged_records_are_not_found() {
        QFETCH(int, byte);
        const fs::path folder = path(std::string("damaged ") + QTest::currentDataTag());
        std::uint64_t record = 0;
        fs::path file;
        {
            FeatureCache cache(folder, key_of("tower"), 4, 6);
            for (int i = 0; i < 3; ++i) cache.store(key_of(std::to_string(i)), features(i));
            record = cache.record_bytes();
            QCOMPARE(record, std::uint64_t{24 + 48});
            file = cache.folder() / "0.features";
        }
        change_byte(file, record + static_cast<std::uint64_t>(byte));
        FeatureCache cache(folder, key_of("tower"), 4, 6);
        QVERIFY(cache.find(key_of("0"))->equal(features(0)));
        QVERIFY(!cache.find(key_of("1")));
        QVERIFY(cache.find(key_of("2"))->equal(features(2)));
        QVERIFY(cache.store(key_of("1"), features(1)));
        QVERIFY(cache.find(key_of("1"))->equal(features(1)));
    }

    void a_cut_file_keeps_what_is_whole() {
        const fs::path folder = path("cut");
        fs::path file;
        {
            FeatureCache cache(folder, key_of("tower"), 4, 6);
            for (int i = 0; i < 3; ++i) cache.store(key_of(std::to_string(i)), features(i));
            file = cache.folder() / "0.features";
        }
        fs::resize_file(file, 72 * 2 + 40);
        FeatureCache cache(folder, key_of("tower"), 4, 6);
        QCOMPARE(cache.size(), std::size_t{2});
        QVERIFY(cache.store(key_of("3"), features(3)));
        const FeatureCache whole(folder, key_of("tower"), 4, 6);
        QCOMPARE(whole.size(), std::size_t{3});
        QVERIFY(cache.find(key_of("3"))->equal(features(3)));
    }

    void several_writers_share_a_folder() {
        const fs::path folder = path("shared");
        FeatureCache first(folder, key_of("tower"), 4, 6), second(folder, key_of("tower"), 4, 6);
        for (int i = 0; i < 4; ++i)
            QVERIFY((i % 2 == 0 ? first : second).store(key_of(std::to_string(i)), features(i)));
        FeatureCache reader(folder, key_of("tower"), 4, 6);
        for (int i = 0; i < 4; ++i) QVERIFY(reader.find(key_of(std::to_string(i)))->equal(features(i)));
    }

    void a_run_does_not_depend_on_what_the_cache_held() {
        const std::string cold = state_after(options("cold"), "run-cold");
        QVERIFY(!files_of(path("cold")).empty());

        TrainingOptions again = options("cold");
        test::Recorder recorder;
        train(again, path("run-warm"), recorder);
        QVERIFY(test::trained_state(path("run-warm"), again.steps) == cold);
        QVERIFY2(recorder.messages.find("40 pictures there") != std::string::npos, recorder.messages.c_str());

        // Filled by steps of another size, and by only some of the rows.
        TrainingOptions other = options("partly");
        other.steps = 3;
        other.batch = 5;
        other.validation_samples = 2;
        state_after(other, "run-other");
        QVERIFY(state_after(options("partly"), "run-partly") == cold);
    }

    void a_damaged_cache_is_mended() {
        const std::string expected = state_after(options("whole"), "run-whole");
        state_after(options("hurt"), "run-hurt-first");
        const auto files = files_of(path("hurt"));
        QCOMPARE(files.size(), std::size_t{1});
        const std::uint64_t record = 24 + 16 * 48 * 2;
        QCOMPARE(fs::file_size(files[0]), 40 * record);
        for (std::uint64_t i = 0; i < 20; ++i) change_byte(files[0], i * record + (i * 97) % record);
        fs::resize_file(files[0], 35 * record + 100);
        QVERIFY(state_after(options("hurt"), "run-hurt") == expected);
    }

    void another_tower_sees_for_itself() {
        const std::string first = state_after(options("towers"), "run-tower-1");
        QCOMPARE(std::distance(fs::directory_iterator(path("towers")), {}), std::ptrdiff_t{1});
        write_random_model(test::small_shape(), DType::float32, 8, path("other-model"));
        fs::copy(workshop_.model() / "language", path("other-model") / "language",
                 fs::copy_options::recursive | fs::copy_options::overwrite_existing);
        fs::copy(workshop_.model() / "projector.safetensors", path("other-model") / "projector.safetensors",
                 fs::copy_options::overwrite_existing);
        TrainingOptions other = options("towers");
        other.model = path("other-model");
        QVERIFY(state_after(other, "run-tower-2") != first);
        QCOMPARE(std::distance(fs::directory_iterator(path("towers")), {}), std::ptrdiff_t{2});
        other.cache = path("fresh");
        QVERIFY(state_after(other, "run-tower-3") == test::trained_state(path("run-tower-2"), other.steps));
        // The same weights that look at pictures of another size.
        other.cache = path("towers");
        nlohmann::json config = test::read_json(path("other-model") / "vision" / "config.json");
        config["image_size"] = 72;  // still 4 x 4 patches of 16
        test::write_text(path("other-model") / "vision" / "config.json", config.dump());
        state_after(other, "run-tower-4");
        QCOMPARE(std::distance(fs::directory_iterator(path("towers")), {}), std::ptrdiff_t{3});
    }

    void without_a_cache_nothing_is_written() {
        TrainingOptions without = options("never");
        without.cache_features = false;
        state_after(without, "run-never");
        QVERIFY(!fs::exists(path("never")));
        const at::Tensor found = test::read_tensor(test::checkpoint(path("run-never"), 12) / "state", "values");
        state_after(options("always"), "run-always");
        const at::Tensor rounded = test::read_tensor(test::checkpoint(path("run-always"), 12) / "state", "values");
        QVERIFY(test::difference(found, rounded) < 0.1);  // features rounded to bf16, nothing more
    }

    void a_cache_that_cannot_be_had_is_an_error_with_advice() {
        TrainingOptions bad = options("x");
        test::write_text(path("a file"), "in the way");
        bad.cache = path("a file") / "cache";
        test::Recorder recorder;
        try {
            train(bad, path("run-bad"), recorder);
            QFAIL("no error");
        } catch (const std::exception& error) {
            QVERIFY2(std::string(error.what()).find("cache_features") != std::string::npos, error.what());
        }
    }
};

VITRINE_TEST(TestFeatureCache)
#include "test_feature_cache.moc"
