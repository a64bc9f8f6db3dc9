#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/weights/config.h"
#include "core/weights/file.h"
#include "core/weights/json_file.h"

namespace vitrine {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kFileName = "vitrine.json";
constexpr const char* kCaptionPreset = "caption";
constexpr const char* kCaptionPrompt = "Describe this picture.";

[[noreturn]] void fail(const fs::path& where, std::string name, std::string expected, std::string found,
                       std::string advice = {}) {
    throw ConfigError({.name = std::move(name),
                       .where = where.string(),
                       .expected = std::move(expected),
                       .found = std::move(found),
                       .advice = std::move(advice)});
}

std::optional<fs::path> from_environment(const char* variable) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') return std::nullopt;
    const std::string_view text(value);
    const char* home = std::getenv("HOME");
    if (home != nullptr && (text == "~" || text.starts_with("~/"))) {
        return fs::path(home) / fs::path(text.substr(std::min<std::size_t>(2, text.size())));
    }
    return fs::path(text);
}

// "name" or "owner/name"; nothing that could lead out of the cache.
bool is_hub_id(std::string_view id) {
    const auto is_part = [](std::string_view part) {
        return !part.empty() && part.front() != '.' && part.front() != '-' && part.find("--") == part.npos &&
               part.find("..") == part.npos && std::all_of(part.begin(), part.end(), [](char c) {
                   return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '_' || c == '.';
               });
    };
    const auto slash = id.find('/');
    if (slash == id.npos) return is_part(id);
    return is_part(id.substr(0, slash)) && is_part(id.substr(slash + 1));
}

bool is_folder(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

bool is_file(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
}

std::string string_at(const json& object, const char* key, const fs::path& where) {
    const auto found = object.find(key);
    if (found == object.end()) {
        std::string keys;
        for (const auto& [name, value] : object.items()) keys += (keys.empty() ? "" : ", ") + shown_name(name);
        fail(where, key, "this key", keys.empty() ? "no keys at all" : "only the keys " + keys,
             "vitrine.json names the three parts: vision, language and projector.");
    }
    if (!found->is_string() || found->get_ref<const std::string&>().empty())
        fail(where, key, "a string that is not empty", shown(*found));
    return found->get<std::string>();
}

fs::path resolve_checkpoint(const fs::path& where, const char* key, const std::string& part) {
    const fs::path folder = (where.parent_path() / part).lexically_normal();  // an absolute part stands by itself
    if (is_folder(folder)) return folder;
    if (is_file(folder)) {
        fail(where, key, "a folder with config.json and the weights", "the file " + folder.string(),
             "Name the folder it lies in.");
    }
    if (!is_hub_id(part)) {
        fail(where, key, "a folder", "none at " + folder.string(), "Correct the path or put the checkpoint there.");
    }
    if (const auto cached = find_in_hub_cache(part)) return *cached;
    fail(where, key, "a folder or a model in the Hugging Face cache",
         "neither " + folder.string() + " nor " + shown_name(part) + " in " + hub_cache_folder().string(),
         "Download it with `hf download " + part + "`, or set HF_HUB_CACHE or HF_HOME to where it is.");
}

fs::path resolve_projector(const fs::path& where, const std::string& part) {
    const fs::path path = (where.parent_path() / part).lexically_normal();
    if (is_file(path)) return path;
    fail(where, "projector", "a safetensors file", (is_folder(path) ? "the folder " : "no file at ") + path.string(),
         "Correct the path, or train a projector first.");
}

std::map<std::string, std::string> read_presets(const json& object, const fs::path& where) {
    std::map<std::string, std::string> presets;
    if (const auto found = object.find("presets"); found != object.end() && !found->is_null()) {
        if (!found->is_object()) fail(where, "presets", "an object of prompts", shown(*found));
        for (const auto& [name, prompt] : found->items()) {
            if (!prompt.is_string()) fail(where, "presets " + shown_name(name), "a prompt as a string", shown(prompt));
            presets.emplace(name, prompt.get<std::string>());
        }
    }
    presets.try_emplace(kCaptionPreset, kCaptionPrompt);
    return presets;
}

// The file itself may be named too.
fs::path find_description(const fs::path& named) {
    const fs::path path = fs::absolute(named).lexically_normal();
    if (is_file(path) && path.filename() == kFileName) return path;
    if (!is_folder(path)) {
        fail(path, {}, "a model folder with vitrine.json", is_file(path) ? "a file" : "nothing there",
             "Check the spelling of the path.");
    }
    if (!is_file(path / kFileName) && is_file(path / "config.json")) {
        fail(path, kFileName, "this file", "the config.json of a single checkpoint",
             "A model folder joins three parts: write a vitrine.json that names vision, language and projector.");
    }
    return path / kFileName;
}

}  // namespace

ModelFolder ModelFolder::open(const fs::path& folder) {
    const fs::path where = find_description(folder);
    const json object = read_json_file(where);
    if (!object.is_object()) fail(where, {}, "an object", shown(object));

    ModelFolder out;
    out.path = where.parent_path();
    out.name = object.contains("name") ? string_at(object, "name", where) : out.path.filename().string();
    out.vision = resolve_checkpoint(where, "vision", string_at(object, "vision", where));
    out.language = resolve_checkpoint(where, "language", string_at(object, "language", where));
    out.projector = resolve_projector(where, string_at(object, "projector", where));
    out.presets = read_presets(object, where);
    if (const auto found = object.find("about"); found != object.end() && !found->is_null()) {
        if (!found->is_string()) fail(where, "about", "a text", shown(*found));
        out.about = found->get<std::string>();
    }
    if (const auto found = object.find("training"); found != object.end() && !found->is_null()) {
        out.training = found->dump();
    }
    return out;
}

// One place: the first variable that is set decides.
fs::path hub_cache_folder() {
    for (const char* variable : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
        if (const auto folder = from_environment(variable)) return *folder;
    }
    if (const auto folder = from_environment("HF_HOME")) return *folder / "hub";
    if (const auto folder = from_environment("XDG_CACHE_HOME")) return *folder / "huggingface/hub";
    return from_environment("HOME").value_or("/") / ".cache/huggingface/hub";
}

std::optional<fs::path> find_in_hub_cache(const std::string& hub_id) {
    if (!is_hub_id(hub_id)) return std::nullopt;
    std::string folder_name = "models--" + hub_id;
    if (const auto slash = folder_name.find('/'); slash != std::string::npos) folder_name.replace(slash, 1, "--");
    const fs::path repository = hub_cache_folder() / folder_name;

    if (is_file(repository / "refs/main")) {
        std::string commit = ReadOnlyFile(repository / "refs/main").read_all();
        commit.erase(
            std::find_if(commit.begin(), commit.end(), [](char c) { return c == '\n' || c == '\r' || c == ' '; }),
            commit.end());
        const fs::path snapshot = repository / "snapshots" / commit;
        if (is_hub_id(commit) && commit.find('/') == commit.npos && is_folder(snapshot)) return snapshot;
    }
    // A download of one revision by its hash leaves no refs/main; a single snapshot is then the one meant.
    std::vector<fs::path> snapshots;
    std::error_code error;
    for (auto entry = fs::directory_iterator(repository / "snapshots", error);
         !error && entry != fs::directory_iterator(); entry.increment(error)) {
        if (is_folder(entry->path())) snapshots.push_back(entry->path());
    }
    return snapshots.size() == 1 ? std::optional(snapshots.front()) : std::nullopt;
}

}  // namespace vitrine
