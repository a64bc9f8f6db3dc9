#include "core/weights/config.h"
#include "core/weights/weights_support.h"
#include "support/test_main.h"

using namespace vitrine;
using namespace vitrine::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const json kParts{{"vision", "siglip"}, {"language", "qwen"}, {"projector", "projector.safetensors"}};

// Sets a variable of the environment until the end of the scope; empty unsets it.
class Environment {
public:
    Environment(const char* name, const std::string& value)
        : name_(name), had_(qEnvironmentVariableIsSet(name)), before_(qgetenv(name)) {
        value.empty() ? qunsetenv(name) : qputenv(name, QByteArray::fromStdString(value));
    }
    ~Environment() { had_ ? qputenv(name_, before_) : qunsetenv(name_); }

private:
    const char* name_;
    bool had_;
    QByteArray before_;
};
struct NoCacheVariables {
    Environment a{"HF_HUB_CACHE", {}}, b{"HUGGINGFACE_HUB_CACHE", {}}, c{"HF_HOME", {}}, d{"XDG_CACHE_HOME", {}};
};

void write_model(const Folder& folder, const json& description) {
    folder.write("siglip/config.json", "{}");
    folder.write("qwen/config.json", "{}");
    folder.write("projector.safetensors", tiny_safetensors({"fc1.weight"}));
    folder.write("vitrine.json", description.dump());
}
// A model folder whose vitrine.json is changed so; a null removes the key.
std::function<void(const Folder&)> model(const json& changes) {
    return [changes](const Folder& folder) {
        const NoCacheVariables none;
        const Environment cache("HF_HUB_CACHE", folder / "cache");
        json description = kParts;
        description.merge_patch(changes);
        write_model(folder, description);
        ModelFolder::open(folder.path());
    };
}

const std::vector<BrokenInput>& inputs() {
    static const std::vector<BrokenInput> table{
        {"nothing there",
         [](const Folder& folder) { ModelFolder::open(folder / "nowhere"); },
         "config",
         {"nowhere", "nothing there", "spelling"}},
        {"empty folder",
         [](const Folder& folder) { ModelFolder::open(folder.path()); },
         "file",
         {"vitrine.json", "No such file"}},
        {"a checkpoint",
         [](const Folder& folder) {
             folder.write("config.json", "{}");
             ModelFolder::open(folder.path());
         },
         "config",
         {"vitrine.json", "a single checkpoint", "names vision, language and projector"}},
        {"another file",
         [](const Folder& folder) { ModelFolder::open(folder.write("a.json", "{}")); },
         "config",
         {"a.json", "a file"}},
        {"no JSON",
         [](const Folder& folder) {
             folder.write("vitrine.json", "{vision: 1}");
             ModelFolder::open(folder.path());
         },
         "config",
         {"vitrine.json", "line 1, column 2"}},
        {"a list",
         [](const Folder& folder) {
             folder.write("vitrine.json", "[]");
             ModelFolder::open(folder.path());
         },
         "config",
         {"vitrine.json", "an object"}},
        {"no vision",
         model({{"vision", nullptr}}),
         "config",
         {"vitrine.json: vision", "this key", "language, projector"}},
        {"no language",
         model({{"language", nullptr}, {"langauge", "qwen"}}),
         "config",
         {"language", "only the keys langauge, projector, vision"}},
        {"no projector", model({{"projector", nullptr}}), "config", {"projector", "this key"}},
        {"vision a number", model({{"vision", 3}}), "config", {"vision", "a string that is not empty", "3"}},
        {"vision without text", model({{"vision", ""}}), "config", {"vision", "a string that is not empty"}},
        {"name a list", model({{"name", {"x"}}}), "config", {"name", R"(["x"])"}},
        {"vision missing",
         model({{"vision", "parts/vision/here"}}),
         "config",
         {"vision", "parts/vision/here", "Correct the path"}},
        {"vision missing, absolute",
         model({{"vision", "/no/such/folder"}}),
         "config",
         {"vision", "none at /no/such/folder"}},
        {"vision a file",
         model({{"vision", "projector.safetensors"}}),
         "config",
         {"vision", "the file ", "Name the folder"}},
        {"not downloaded",
         model({{"language", "Qwen/Qwen3-0.6B"}}),
         "config",
         {"language", "Qwen/Qwen3-0.6B in ", "/cache", "hf download Qwen/Qwen3-0.6B", "HF_HUB_CACHE"}},
        {"projector missing",
         model({{"projector", "none.safetensors"}}),
         "config",
         {"projector", "no file at ", "none.safetensors", "train a projector"}},
        {"projector a folder", model({{"projector", "qwen"}}), "config", {"projector", "the folder "}},
        {"presets a list", model({{"presets", {1}}}), "config", {"presets", "an object of prompts"}},
        {"preset a number",
         model({{"presets", {{"short", 5}}}}),
         "config",
         {"presets short", "a prompt as a string", "5"}},
    };
    return table;
}

// A cache as huggingface_hub lays it out.
fs::path add_snapshot(const Folder& folder, const std::string& hub, const std::string& repository,
                      const std::string& commit, const std::string& main_ref) {
    const std::string base = hub + "/models--" + repository;
    folder.write(base + "/snapshots/" + commit + "/config.json", "{}");
    if (!main_ref.empty()) folder.write(base + "/refs/main", main_ref);
    return folder / (base + "/snapshots/" + commit);
}

}  // namespace

class TestModelFolder : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void broken_ones_are_refused_data() { add_rows(inputs()); }
    void broken_ones_are_refused() { check_row(inputs()); }
    void resolves_relative_parts_from_any_working_directory();
    void resolves_absolute_parts_and_the_cache();
    void reads_presets_and_training();
    void finds_the_cache_as_huggingface_hub_does();
    void picks_the_snapshot_of_main();
};

void TestModelFolder::resolves_relative_parts_from_any_working_directory() {
    const Folder folder;
    write_model(folder, kParts);
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    const auto here = ModelFolder::open(".");
    fs::current_path(before);
    const auto there = ModelFolder::open(folder / "vitrine.json");
    for (const ModelFolder& model : {here, there, ModelFolder::open(folder.path() / "")}) {
        QCOMPARE(model.path, folder.path());
        QCOMPARE(model.name, folder.path().filename().string());
        QCOMPARE(model.vision, folder / "siglip");
        QCOMPARE(model.language, folder / "qwen");
        QCOMPARE(model.projector, folder / "projector.safetensors");
    }
}

void TestModelFolder::resolves_absolute_parts_and_the_cache() {
    const NoCacheVariables none;
    const Folder folder;
    const Environment cache("HF_HUB_CACHE", folder / "cache");
    const fs::path snapshot = add_snapshot(folder, "cache", "Qwen--Qwen3-0.6B", "abc123", "abc123\n");
    write_model(folder, {{"name", "mine"},
                         {"vision", (folder / "siglip").string()},
                         {"language", "Qwen/Qwen3-0.6B"},
                         {"projector", (folder / "projector.safetensors").string()}});
    const auto model = ModelFolder::open(folder.path());
    QCOMPARE(model.name, std::string("mine"));
    QCOMPARE(model.vision, folder / "siglip");
    QCOMPARE(model.language, snapshot);
    QCOMPARE(model.projector, folder / "projector.safetensors");
}

void TestModelFolder::reads_presets_and_training() {
    const Folder folder;
    write_model(folder, kParts);
    const auto plain = ModelFolder::open(folder.path());
    QCOMPARE(plain.presets, (std::map<std::string, std::string>{{"caption", "Describe this picture."}}));
    QCOMPARE(plain.training, std::string());

    json description = kParts;
    description.update(
        {{"presets", {{"short", "One sentence."}, {"caption", "Tell me."}}}, {"training", {{"by", "A"}}}});
    write_model(folder, description);
    const auto model = ModelFolder::open(folder.path());
    QCOMPARE(model.presets, (std::map<std::string, std::string>{{"caption", "Tell me."}, {"short", "One sentence."}}));
    QCOMPARE(model.training, std::string(R"({"by":"A"})"));
}

void TestModelFolder::finds_the_cache_as_huggingface_hub_does() {
    const NoCacheVariables none;
    const Folder folder;
    const Environment home("HOME", folder / "home");
    const auto expect = [&](const std::string& hub) {
        const fs::path snapshot = add_snapshot(folder, hub, "a--b", "c0ffee", "c0ffee");
        QCOMPARE(find_in_hub_cache("a/b").value_or("nothing"), snapshot);
    };
    QVERIFY(!find_in_hub_cache("a/b"));
    expect("home/.cache/huggingface/hub");
    const Environment xdg("XDG_CACHE_HOME", folder / "xdg");
    QVERIFY(!find_in_hub_cache("a/b"));
    expect("xdg/huggingface/hub");
    const Environment hf_home("HF_HOME", "~/hf");
    QVERIFY(!find_in_hub_cache("a/b"));
    expect("home/hf/hub");
    const Environment hub("HF_HUB_CACHE", folder / "hub");
    QVERIFY(!find_in_hub_cache("a/b"));
    expect("hub");
}

void TestModelFolder::picks_the_snapshot_of_main() {
    const NoCacheVariables none;
    const Folder folder;
    const Environment cache("HF_HUB_CACHE", folder / "hub");
    const fs::path only = add_snapshot(folder, "hub", "gpt2", "aaa", "");
    QCOMPARE(find_in_hub_cache("gpt2").value_or("nothing"), only);  // no refs/main, one snapshot
    const fs::path second = add_snapshot(folder, "hub", "gpt2", "bbb", "");
    QVERIFY(!find_in_hub_cache("gpt2"));  // which of the two?
    add_snapshot(folder, "hub", "gpt2", "bbb", "bbb\n");
    QCOMPARE(find_in_hub_cache("gpt2").value_or("nothing"), second);
    folder.write("hub/models--gpt2/refs/main", "../../../..");
    QVERIFY(!find_in_hub_cache("gpt2"));
    for (const char* id : {"", "/", "a/b/c", "../gpt2", ".", "a--b/c", "/gpt2", "gpt2/"})
        QVERIFY2(!find_in_hub_cache(id), id);
}

VITRINE_TEST(TestModelFolder)
#include "test_model_folder.moc"
