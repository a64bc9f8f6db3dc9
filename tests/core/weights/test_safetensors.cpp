#include "core/weights/safetensors.h"
#include "core/weights/weights_support.h"
#include "support/test_main.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <random>

using namespace vitrine;
using namespace vitrine::test;
using nlohmann::json;

namespace {

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string unhex(const std::string& hex) {
    return QByteArray::fromHex(QByteArray::fromStdString(hex)).toStdString();
}

// The tensors of a file as the writer takes them.
std::vector<TensorView> views_of(const SafetensorsFile& file) {
    std::vector<TensorView> views;
    for (const TensorInfo& tensor : file.tensors())
        views.push_back({tensor.name, tensor.dtype, tensor.shape, file.bytes(tensor)});
    return views;
}

std::size_t files_in(const std::filesystem::path& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

// Resident kilobytes of this process's mapping of a file.
long resident_kb(const std::filesystem::path& path) {
    std::ifstream smaps("/proc/self/smaps");
    bool is_ours = false;
    for (std::string line; std::getline(smaps, line);) {
        if (line.find('-') < line.find(' ') && line.find(':') > line.find(' ')) is_ours = line.ends_with(path.string());
        if (is_ours && line.starts_with("Rss:")) return std::stol(line.substr(4));
    }
    return -1;
}

const std::string kFloat(4, '\1');
TensorView one_float(std::string name) {
    return {std::move(name), "F32", {1}, std::as_bytes(std::span(kFloat))};
}

}  // namespace

class TestSafetensors : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void reads_every_type_that_python_writes();
    void writes_what_python_writes();
    void agrees_with_the_reference_reader_data();
    void agrees_with_the_reference_reader();
    void knows_the_size_of_every_type();
    void reads_a_file_without_tensors();
    void accepts_spaces_after_the_header();
    void reads_thousands_of_tensors_quickly();
    void notices_a_file_that_shrank();
    void gives_pages_back();
    void aligns_what_it_writes();
    void refuses_to_write_nonsense();
    void leaves_nothing_behind_when_writing_fails();
    void replaces_a_file_that_is_being_read();
    void survives_damage_to_the_header();
};

void TestSafetensors::reads_every_type_that_python_writes() {
    const auto file = SafetensorsFile::open(reference_path("types.safetensors"));
    const json listing = reference_json("types.json");
    QCOMPARE(file.tensors().size(), listing.size());
    QCOMPARE(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
    for (const auto& [name, expected] : listing.items()) {
        const TensorInfo* tensor = file.find(name);
        QVERIFY2(tensor != nullptr, name.c_str());
        QCOMPARE(tensor->dtype, expected["dtype"].get<std::string>());
        QCOMPARE(tensor->shape, expected["shape"].get<std::vector<std::int64_t>>());
        QCOMPARE(text_of(file.bytes(*tensor)), unhex(expected["hex"]));
    }
    QCOMPARE(file.find("scalar")->elements(), 1);
    QCOMPARE(file.find("empty")->elements(), 0);
    QCOMPARE(shape_text(file.find("t.F32")->shape), std::string("[2, 3]"));
    QVERIFY(file.find("t.f32") == nullptr);
    QVERIFY(std::is_sorted(file.tensors().begin(), file.tensors().end(),
                           [](const TensorInfo& a, const TensorInfo& b) { return a.begin < b.begin; }));
    QCOMPARE(file.file_bytes(), std::filesystem::file_size(file.path()));
}

void TestSafetensors::writes_what_python_writes() {
    const auto original = reference_path("types.safetensors");
    const auto file = SafetensorsFile::open(original);
    std::vector<TensorView> views = views_of(file);
    std::shuffle(views.begin(), views.end(), std::mt19937(3));

    const Folder folder;
    write_safetensors(folder / "copy.safetensors", views, file.metadata());
    QVERIFY(content_of(folder / "copy.safetensors") == content_of(original));
}

void TestSafetensors::agrees_with_the_reference_reader_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<bool>("accepted");
    for (const json& verdict : reference_json("verdicts.json")) {
        QTest::newRow(verdict["header"].get<std::string>().substr(0, 120).c_str())
            << QString::fromStdString(verdict["file"]) << verdict["accepted"].get<bool>();
    }
}

void TestSafetensors::agrees_with_the_reference_reader() {
    QFETCH(QString, file);
    QFETCH(bool, accepted);
    const Refusal refusal =
        refusal_of([&] { SafetensorsFile::open(reference_path("verdicts/" + file.toStdString())); });
    QCOMPARE(refusal.kind, accepted ? std::string("none") : std::string("weights"));
}

void TestSafetensors::knows_the_size_of_every_type() {
    for (const auto& [dtype, bits] : std::map<std::string, int>{{"F4", 4},
                                                                {"F6_E3M2", 6},
                                                                {"BOOL", 8},
                                                                {"F8_E8M0", 8},
                                                                {"BF16", 16},
                                                                {"U32", 32},
                                                                {"C64", 64},
                                                                {"I64", 64}}) {
        QCOMPARE(safetensors_bits(dtype), bits);
    }
    QCOMPARE(safetensors_bits("bf16"), 0);
    QCOMPARE(safetensors_bits(""), 0);
}

void TestSafetensors::reads_a_file_without_tensors() {
    const Folder folder;
    const auto file = SafetensorsFile::open(folder.write("empty.safetensors", safetensors_bytes("{}")));
    QVERIFY(file.tensors().empty());
    write_safetensors(folder / "again.safetensors", {});
    QCOMPARE(SafetensorsFile::open(folder / "again.safetensors").tensors().size(), std::size_t{0});
}

void TestSafetensors::accepts_spaces_after_the_header() {
    const Folder folder;
    const auto path = folder.write(
        "a.safetensors", safetensors_bytes(R"({"w":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}       )", "x"));
    const auto file = SafetensorsFile::open(path);
    QCOMPARE(text_of(file.bytes(*file.find("w"))), std::string("x"));
}

void TestSafetensors::reads_thousands_of_tensors_quickly() {
    constexpr int count = 20'000;
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back("model.layers." + std::to_string(i) + ".self_attn.q_proj.weight");
    const Folder folder;
    const auto path = folder.write("many.safetensors", tiny_safetensors(names));
    QElapsedTimer timer;
    timer.start();
    const auto file = SafetensorsFile::open(path);
    const qint64 elapsed = timer.elapsed();
    qInfo("%d tensors opened in %lld ms", count, static_cast<long long>(elapsed));
    QCOMPARE(file.tensors().size(), names.size());
    QVERIFY(file.find(names.back()) != nullptr);
    QVERIFY2(elapsed < 5000, "the header's cost has to grow with its length only");
}

void TestSafetensors::notices_a_file_that_shrank() {
    const Folder folder;
    const auto path = folder.write("a.safetensors", tiny_safetensors({"first", "second"}));
    const auto file = SafetensorsFile::open(path);
    QCOMPARE(file.bytes(*file.find("second")).size(), std::size_t{4});
    std::filesystem::resize_file(path, 10);
    const Refusal refusal = refusal_of([&] { file.bytes(*file.find("second")); });
    QCOMPARE(refusal.kind, std::string("weights"));
    QVERIFY(refusal.message.find("second") != std::string::npos);
    QVERIFY(refusal.message.find("found 10 bytes") != std::string::npos);
}

void TestSafetensors::gives_pages_back() {
    const std::string data(8 << 20, '\7');
    const Folder folder;
    const std::vector<TensorView> views{{"a", "U8", {4 << 20}, std::as_bytes(std::span(data)).first(4 << 20)},
                                        {"b", "U8", {4 << 20}, std::as_bytes(std::span(data)).last(4 << 20)}};
    write_safetensors(folder / "big.safetensors", views);
    const auto file = SafetensorsFile::open(folder / "big.safetensors");
    const auto touch = [&](const char* name) { return std::ranges::count(file.bytes(*file.find(name)), std::byte{7}); };
    QCOMPARE(touch("a") + touch("b"), std::ptrdiff_t{8 << 20});
    QVERIFY(resident_kb(file.path()) >= 8 << 10);

    const TensorInfo& a = *file.find("a");
    file.release(a.begin, a.end);
    QVERIFY(resident_kb(file.path()) <= (4 << 10) + 64);
    file.release(0, ~std::uint64_t{0});  // clamped to the data
    QVERIFY(resident_kb(file.path()) <= 64);
    file.release(100, 10);
    QCOMPARE(touch("a"), std::ptrdiff_t{4 << 20});  // read again
}

void TestSafetensors::aligns_what_it_writes() {
    const std::string data(16, '\2');
    const auto bytes = std::as_bytes(std::span(data));
    const Folder folder;
    write_safetensors(folder / "a.safetensors", std::vector<TensorView>{{"a", "U8", {3}, bytes.first(3)},
                                                                        {"b", "I64", {2}, bytes},
                                                                        {"c", "F16", {1}, bytes.first(2)}});
    std::uint64_t length = 0;
    content_of(folder / "a.safetensors").copy(reinterpret_cast<char*>(&length), sizeof length);
    QCOMPARE(length % 8, std::uint64_t{0});
    const auto file = SafetensorsFile::open(folder / "a.safetensors");
    QCOMPARE(file.find("b")->begin, std::uint64_t{0});
    QCOMPARE(file.find("c")->begin, std::uint64_t{16});
    QCOMPARE(file.find("a")->begin, std::uint64_t{18});
}

void TestSafetensors::refuses_to_write_nonsense() {
    const Folder folder;
    const auto refused = [&](const std::vector<TensorView>& views) {
        const Refusal refusal = refusal_of([&] { write_safetensors(folder / "a.safetensors", views); });
        return refusal.kind + " " + refusal.message;
    };
    TensorView wrong_shape = one_float("w");
    wrong_shape.shape = {2};
    TensorView wrong_type = one_float("w");
    wrong_type.dtype = "float";
    QVERIFY(refused({one_float("w"), one_float("w")}).find("a name that is taken") != std::string::npos);
    QVERIFY(refused({one_float("__metadata__")}).find("a name that is taken") != std::string::npos);
    QVERIFY(refused({wrong_shape}).find("expected the bytes of F32 [2], found 4 bytes") != std::string::npos);
    QVERIFY(refused({wrong_type}).find("found float") != std::string::npos);
    QCOMPARE(files_in(folder.path()), std::size_t{0});
}

void TestSafetensors::leaves_nothing_behind_when_writing_fails() {
    const std::string data(1 << 20, '\3');
    const std::vector<TensorView> views{{"w", "U8", {1 << 20}, std::as_bytes(std::span(data))}};
    const Folder folder;
    folder.write("a.safetensors", "the old one");
    const auto refused = [&](const std::filesystem::path& path) {
        return refusal_of([&] { write_safetensors(path, views); });
    };

    // As on a full disk: a part of the data is taken, then the system refuses more.
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{1 << 16, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const Refusal full = refused(folder / "a.safetensors");
    ::setrlimit(RLIMIT_FSIZE, &before);
    QCOMPARE(full.kind, std::string("file"));
    QVERIFY2(full.message.find("a.safetensors: expected to write it, found \"File too large\"") != std::string::npos,
             full.message.c_str());
    QCOMPARE(content_of(folder / "a.safetensors"), std::string("the old one"));
    QCOMPARE(files_in(folder.path()), std::size_t{1});

    std::filesystem::create_directory(folder / "taken");
    QCOMPARE(refused(folder / "taken").kind, std::string("file"));
    QCOMPARE(refused(folder / "none" / "a.safetensors").kind, std::string("file"));
    QCOMPARE(files_in(folder.path()), std::size_t{2});

    std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
    const bool was_root = ::geteuid() == 0 && ::seteuid(65534) == 0;  // root may write everywhere
    const Refusal unwritable = refused(folder / "b.safetensors");
    if (was_root) QCOMPARE(::seteuid(0), 0);
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
    QVERIFY2(unwritable.message.find("Permission denied") != std::string::npos, unwritable.message.c_str());
    QCOMPARE(files_in(folder.path()), std::size_t{2});
}

void TestSafetensors::replaces_a_file_that_is_being_read() {
    const Folder folder;
    const auto path = folder / "a.safetensors";
    write_safetensors(path, std::vector{one_float("old")});
    const auto file = SafetensorsFile::open(path);
    write_safetensors(path, std::vector{one_float("new")});
    QCOMPARE(text_of(file.bytes(*file.find("old"))), kFloat);  // the old file lives on while it is open
    QVERIFY(SafetensorsFile::open(path).find("new") != nullptr);
}

void TestSafetensors::survives_damage_to_the_header() {
    const std::string original = content_of(reference_path("types.safetensors"));
    std::uint64_t length = 0;
    original.copy(reinterpret_cast<char*>(&length), sizeof length);
    const std::size_t header_end = 8 + length;
    std::mt19937 random(20240229);
    const auto below = [&](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };

    const Folder folder;
    int opened = 0;
    for (int round = 0; round < 2000; ++round) {
        std::string damaged = original;
        for (std::size_t flips = 1 + below(4); flips > 0; --flips) {
            const std::size_t at = below(4) == 0 ? below(8) : below(header_end);
            damaged[at] =
                below(2) == 0 ? static_cast<char>(damaged[at] ^ (1U << below(8))) : static_cast<char>(below(256));
        }
        if (below(4) == 0) damaged.resize(below(damaged.size()));
        if (below(4) == 0) damaged.erase(below(std::min(header_end, damaged.size() + 1)), 1 + below(8));

        const auto path = folder.write(std::to_string(round), damaged);  // rewriting one file would wait for the disk
        const Refusal refusal = refusal_of([&] {
            const auto file = SafetensorsFile::open(path);
            for (const TensorInfo& tensor : file.tensors()) {
                const auto bytes = file.bytes(tensor);
                QVERIFY(std::accumulate(bytes.begin(), bytes.end(), 0U, [](unsigned sum, std::byte b) {
                            return sum + unsigned(b);
                        }) <= 255U * bytes.size());
            }
            ++opened;
        });
        QVERIFY2(refusal.kind == "none" || refusal.kind == "weights", refusal.message.c_str());
    }
    qInfo("%d of 2000 damaged files were still valid", opened);
    QVERIFY(opened < 1000);
}

VITRINE_TEST(TestSafetensors)
#include "test_safetensors.moc"
