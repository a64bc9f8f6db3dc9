#include "core/weights/checkpoint.h"
#include "core/weights/weights_support.h"
#include "support/test_main.h"

using namespace vitrine;
using namespace vitrine::test;
using nlohmann::json;

namespace {

constexpr const char* kIndex = "model.safetensors.index.json";

void write_index(const Folder& folder, const json& weight_map) {
    folder.write(kIndex, json{{"metadata", {{"total_size", 8}}}, {"weight_map", weight_map}}.dump());
}

// Two shards with one tensor each, and whatever weight map the case is about.
std::function<void(const Folder&)> shards_with(json weight_map) {
    return [weight_map = std::move(weight_map)](const Folder& folder) {
        folder.write("one.safetensors", tiny_safetensors({"a"}));
        folder.write("two.safetensors", tiny_safetensors({"b"}));
        write_index(folder, weight_map);
        Checkpoint::open(folder.path());
    };
}
std::function<void(const Folder&)> index_text(std::string text) {
    return [text = std::move(text)](const Folder& folder) {
        folder.write(kIndex, text);
        Checkpoint::open(folder.path());
    };
}
std::function<void(const Folder&)> folder_with(std::vector<std::string> names) {
    return [names = std::move(names)](const Folder& folder) {
        for (const std::string& name : names) folder.write(name, "x");
        Checkpoint::open(folder.path());
    };
}

const std::vector<BrokenInput>& inputs() {
    static const std::vector<BrokenInput> table{
        {"empty folder",
         folder_with({}),
         "weights",
         {"model.safetensors or model.safetensors.index.json", "an empty folder"}},
        {"PyTorch only",
         folder_with({"config.json", "pytorch_model.bin"}),
         "weights",
         {"only config.json, pytorch_model.bin", "only safetensors are read", "save_pretrained"}},
        {"GGUF only", folder_with({"qwen3-q4.gguf"}), "weights", {"qwen3-q4.gguf is a llama.cpp file"}},
        {"shards without an index",
         folder_with({"model-00001-of-00002.safetensors"}),
         "weights",
         {"model-00001-of-00002.safetensors is one shard", "download model.safetensors.index.json too"}},
        {"another name",
         folder_with({"adapter.safetensors"}),
         "weights",
         {"Name the file itself if adapter.safetensors is meant"}},
        {"many files",
         [](const Folder& folder) {
             for (int i = 0; i < 40; ++i) folder.write("picture" + std::to_string(i) + ".png", "");
             Checkpoint::open(folder.path());
         },
         "weights",
         {"picture0.png", "and 28 more"}},
        {"nothing there",
         [](const Folder& folder) { Checkpoint::open(folder / "nowhere"); },
         "file",
         {"nowhere", "spelling"}},
        {"a file of another kind",
         [](const Folder& folder) { Checkpoint::open(folder.write("a.txt", "hello")); },
         "weights",
         {"a.txt", "text: hello"}},
        {"dangling link",
         [](const Folder& folder) {
             std::filesystem::create_symlink("../../blobs/gone", folder / "model.safetensors");
             Checkpoint::open(folder.path());
         },
         "file",
         {"model.safetensors", "a link to ../../blobs/gone"}},
        {"shard is a dangling link",
         [](const Folder& folder) {
             std::filesystem::create_symlink("../../blobs/gone", folder / "one.safetensors");
             write_index(folder, {{"a", "one.safetensors"}});
             Checkpoint::open(folder.path());
         },
         "file",
         {"one.safetensors", "a link to ../../blobs/gone"}},

        {"index cut",
         index_text(R"({"weight_map": {"a": "one.saf)"),
         "weights",
         {kIndex, "the end of the text", "ends too early"}},
        {"index empty", index_text(""), "weights", {kIndex, "found nothing"}},
        {"index a Git LFS pointer",
         index_text("version https://git-lfs.github.com/spec/v1\n"),
         "weights",
         {kIndex, "line 1, column 1"}},
        {"index a list", index_text("[]"), "weights", {kIndex, "weight_map", "found none"}},
        {"index without a map", index_text(R"({"metadata":{}})"), "weights", {kIndex, "weight_map", "found none"}},
        {"map a list", index_text(R"({"weight_map":["a"]})"), "weights", {"weight_map", R"(["a"])"}},
        {"map empty", index_text(R"({"weight_map":{}})"), "weights", {"weight_map", "{}"}},
        {"one tensor twice in the map",
         index_text(R"({"weight_map":{"a":"one.safetensors","a":"two.safetensors"}})"),
         "weights",
         {kIndex, ": a: ", "twice"}},
        {"shard a number", shards_with({{"a", 1}}), "weights", {": a: ", "the name of a shard", "1"}},
        {"shard without a name", shards_with({{"a", ""}}), "weights", {": a: ", "the same folder"}},
        {"shard outside",
         shards_with({{"a", "../one.safetensors"}}),
         "weights",
         {": a: ", "../one.safetensors", "not followed"}},
        {"shard is the folder above", shards_with({{"a", ".."}}), "weights", {": a: ", "not followed"}},
        {"shard absolute", shards_with({{"a", "/etc/passwd"}}), "weights", {": a: ", "/etc/passwd", "not followed"}},
        {"shard with a zero byte",
         shards_with({{"a", std::string("one.safetensors\0x", 17)}}),
         "weights",
         {"not followed"}},
        {"shard missing",
         shards_with({{"a", "one.safetensors"}, {"c", "three.safetensors"}}),
         "weights",
         {kIndex, "three.safetensors", "it holds c", "no such file", "get the missing shard"}},
        {"tensor missing",
         shards_with({{"a", "one.safetensors"}, {"c", "two.safetensors"}}),
         "weights",
         {"two.safetensors: c: ", "the index says is here", "download both again"}},
        {"tensor in the other shard",
         shards_with({{"a", "one.safetensors"}, {"b", "one.safetensors"}, {"c", "two.safetensors"}}),
         "weights",
         {": b: ", "in one.safetensors as the index says", "found in two.safetensors"}},
        {"tensor in two shards",
         [](const Folder& folder) {
             folder.write("one.safetensors", tiny_safetensors({"a", "b"}));
             folder.write("two.safetensors", tiny_safetensors({"b", "c"}));
             write_index(folder, {{"a", "one.safetensors"}, {"b", "one.safetensors"}, {"c", "two.safetensors"}});
             Checkpoint::open(folder.path());
         },
         "weights",
         {": b: ", "found in two.safetensors"}},
        {"shard cut",
         [](const Folder& folder) {
             const std::string whole = tiny_safetensors({"a"});
             folder.write("one.safetensors", whole.substr(0, whole.size() - 3));
             write_index(folder, {{"a", "one.safetensors"}});
             Checkpoint::open(folder.path());
         },
         "weights",
         {"one.safetensors", "3 bytes are missing"}},
    };
    return table;
}

}  // namespace

class TestCheckpoint : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void broken_ones_are_refused_data() { add_rows(inputs()); }
    void broken_ones_are_refused() { check_row(inputs()); }
    void reads_shards_as_transformers_writes_them();
    void reads_a_single_file();
    void lists_what_it_ignores();
    void outlives_a_move();
};

void TestCheckpoint::reads_shards_as_transformers_writes_them() {
    const auto sharded = Checkpoint::open(reference_path("sharded"));
    const auto single = Checkpoint::open(reference_path("single"));
    const json shapes = reference_json("shapes.json");
    QVERIFY(sharded.files().size() > 1);
    QCOMPARE(single.files().size(), std::size_t{1});
    QCOMPARE(sharded.names().size(), shapes.size());
    QCOMPARE(sharded.names(), single.names());
    QCOMPARE(sharded.bytes(), single.bytes());
    for (const auto& [name, shape] : shapes.items()) {
        const auto* from_shard = sharded.find(name);
        const auto* from_file = single.find(name);
        QVERIFY2(from_shard != nullptr && from_file != nullptr, name.c_str());
        QCOMPARE(from_shard->tensor->shape, shape.get<std::vector<std::int64_t>>());
        QVERIFY(std::ranges::equal(from_shard->file->bytes(*from_shard->tensor),
                                   from_file->file->bytes(*from_file->tensor)));
    }
    QVERIFY(sharded.strays().empty() && sharded.unindexed().empty());
    QVERIFY(sharded.find("lm_head") == nullptr);
}

void TestCheckpoint::reads_a_single_file() {
    const Folder folder;
    const auto checkpoint = Checkpoint::open(folder.write("projector.safetensors", tiny_safetensors({"fc1.weight"})));
    QCOMPARE(checkpoint.names(), std::vector<std::string>{"fc1.weight"});
    QCOMPARE(checkpoint.bytes(), std::uint64_t{4});
    QCOMPARE(checkpoint.path(), folder / "projector.safetensors");
}

void TestCheckpoint::lists_what_it_ignores() {
    const Folder folder;
    folder.write("one.safetensors", tiny_safetensors({"a", "extra"}));
    folder.write("model.safetensors", tiny_safetensors({"stale"}));
    folder.write("backup.safetensors", "not even readable");
    folder.write("below/other.safetensors", "");
    write_index(folder, {{"a", "one.safetensors"}});
    const auto checkpoint = Checkpoint::open(folder.path());
    QCOMPARE(checkpoint.names(), std::vector<std::string>{"a"});
    QCOMPARE(checkpoint.strays(),
             (std::vector<std::filesystem::path>{folder / "backup.safetensors", folder / "model.safetensors"}));
    QCOMPARE(checkpoint.unindexed(), std::vector<std::string>{"extra"});
    QVERIFY(checkpoint.find("extra") == nullptr && checkpoint.find("stale") == nullptr);
}

void TestCheckpoint::outlives_a_move() {
    const Folder folder;
    folder.write("one.safetensors", tiny_safetensors({"a"}));
    folder.write("two.safetensors", tiny_safetensors({"b"}));
    write_index(folder, {{"a", "one.safetensors"}, {"b", "two.safetensors"}});
    auto checkpoint = Checkpoint::open(folder.path());
    const Checkpoint moved = std::move(checkpoint);
    for (const char* name : {"a", "b"})
        QCOMPARE(moved.find(name)->file->bytes(*moved.find(name)->tensor).size(), std::size_t{4});
}

VITRINE_TEST(TestCheckpoint)
#include "test_checkpoint.moc"
