#include "core/weights/checkpoint.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/weights/json_file.h"

namespace vitrine {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr std::size_t kMostListed = 12;

[[noreturn]] void fail(const fs::path& where, std::string name, std::string expected, std::string found,
                       std::string advice) {
    throw WeightsError({.name = std::move(name),
                        .where = where.string(),
                        .expected = std::move(expected),
                        .found = std::move(found),
                        .advice = std::move(advice)});
}

// A dangling link (a cleaned download cache leaves them behind) is there: opening it says what is wrong with it.
bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(path, ignored));
}

std::vector<fs::path> listing(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> paths;
    for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        paths.push_back(entry->path());
    }
    if (error) {
        throw FileError({.name = {},
                         .where = folder.string(),
                         .expected = "a folder that can be read",
                         .found = error.message(),
                         .advice = "Check the spelling of the path and the permissions of the folder."});
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

[[noreturn]] void fail_without_weights(const fs::path& folder, const std::vector<fs::path>& paths) {
    const auto first = [&](auto&& matches) {
        const auto found = std::find_if(paths.begin(), paths.end(), matches);
        return found == paths.end() ? std::string() : shown_name(found->filename().string());
    };
    const auto ends_in = [](std::string_view extension) {
        return [extension](const fs::path& path) { return path.extension() == extension; };
    };
    const std::string shard = first([](const fs::path& path) {
        const std::string name = path.filename().string();
        return name.ends_with(".safetensors") && name.find("-of-") != std::string::npos;
    });

    std::string advice = "Name the folder that holds the checkpoint, or download it.";
    if (!shard.empty()) {
        advice = shard + " is one shard of several: download " + kIndexFile + " too, it says what lies where.";
    } else if (const std::string other = first(ends_in(".safetensors")); !other.empty()) {
        advice = "Name the file itself if " + other + " is meant.";
    } else if (const std::string gguf = first(ends_in(".gguf")); !gguf.empty()) {
        advice = gguf + " is a llama.cpp file and only safetensors are read: get the original checkpoint.";
    } else if (const std::string bin = first([](const fs::path& path) {
                   return path.extension() == ".bin" || path.extension() == ".pt" || path.extension() == ".pth";
               });
               !bin.empty()) {
        advice =
            bin + " is a PyTorch file and only safetensors are read: convert it with transformers' save_pretrained.";
    }

    std::string found = paths.empty() ? "an empty folder" : "only ";
    for (std::size_t i = 0; i < std::min(paths.size(), kMostListed); ++i) {
        found += (i > 0 ? ", " : "") + shown_name(paths[i].filename().string());
    }
    if (paths.size() > kMostListed) found += " and " + std::to_string(paths.size() - kMostListed) + " more";
    fail(folder, {}, std::string(kSingleFile) + " or " + kIndexFile, found, advice);
}

// Tensor name to shard name. A shard is a plain file name: an index from elsewhere must not reach outside its folder.
std::map<std::string, std::string> read_index(const fs::path& path) {
    json index;
    try {
        index = read_json_file(path);
    } catch (const ConfigError& error) {
        throw WeightsError(error.parts());
    }
    const auto advice = "Download the index again.";
    const auto weight_map = index.find("weight_map");  // end() also where index is no object
    if (weight_map == index.end() || !weight_map->is_object() || weight_map->empty()) {
        fail(path, "weight_map", "an object with the shard of each tensor",
             weight_map == index.end() ? "none" : shown(*weight_map), advice);
    }

    std::map<std::string, std::string> shard_of;
    for (const auto& [tensor, shard] : weight_map->items()) {
        if (!shard.is_string()) fail(path, shown_name(tensor), "the name of a shard", shown(shard), advice);
        const auto& name = shard.get_ref<const std::string&>();
        if (name.empty() || name == "." || name == ".." ||
            name.find_first_of(std::string_view("/\\\0", 3)) != name.npos) {
            fail(path, shown_name(tensor), "the name of a file in the same folder", shown(shard),
                 "An index that points elsewhere is not followed. Download it again from a source you trust.");
        }
        shard_of.emplace(tensor, name);
    }
    return shard_of;
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& folder_or_file) {
    Checkpoint checkpoint;
    checkpoint.path_ = folder_or_file;
    std::error_code ignored;
    if (!fs::is_directory(folder_or_file, ignored)) {
        checkpoint.add_single(folder_or_file);
        return checkpoint;
    }

    const std::vector<fs::path> paths = listing(folder_or_file);
    if (is_there(folder_or_file / kIndexFile)) {
        checkpoint.add_shards(folder_or_file / kIndexFile);
    } else if (is_there(folder_or_file / kSingleFile)) {
        checkpoint.add_single(folder_or_file / kSingleFile);
    } else {
        fail_without_weights(folder_or_file, paths);
    }
    std::copy_if(paths.begin(), paths.end(), std::back_inserter(checkpoint.strays_), [&](const fs::path& path) {
        return path.extension() == ".safetensors" &&
               std::none_of(checkpoint.files_.begin(), checkpoint.files_.end(),
                            [&](const SafetensorsFile& file) { return file.path() == path; });
    });
    return checkpoint;
}

void Checkpoint::add_single(const fs::path& path) {
    const SafetensorsFile& file = files_.emplace_back(SafetensorsFile::open(path));
    for (const TensorInfo& tensor : file.tensors()) entries_.emplace(tensor.name, Entry{&file, &tensor});
}

void Checkpoint::add_shards(const fs::path& index_path) {
    const auto shard_of = read_index(index_path);
    std::set<std::string> shards;
    for (const auto& [tensor, shard] : shard_of) shards.insert(shard);

    files_.reserve(shards.size());  // entries point into it
    for (const std::string& shard : shards) {
        const fs::path path = index_path.parent_path() / shard;
        if (!is_there(path)) {
            const auto wanted =
                std::find_if(shard_of.begin(), shard_of.end(), [&](const auto& pair) { return pair.second == shard; });
            fail(index_path, shown_name(shard), "this shard (it holds " + shown_name(wanted->first) + " and others)",
                 "no such file", "The download is not complete: get the missing shard.");
        }
        const SafetensorsFile& file = files_.emplace_back(SafetensorsFile::open(path));
        for (const TensorInfo& tensor : file.tensors()) {
            const auto indexed = shard_of.find(tensor.name);
            if (indexed == shard_of.end()) {
                unindexed_.push_back(tensor.name);
            } else if (indexed->second != shard) {
                fail(index_path, shown_name(tensor.name), "in " + shown_name(indexed->second) + " as the index says",
                     "in " + shown_name(shard),
                     "Index and shards are of different versions: download all of them again.");
            } else {
                entries_.emplace(tensor.name, Entry{&file, &tensor});
            }
        }
    }
    for (const auto& [tensor, shard] : shard_of) {
        if (entries_.contains(tensor)) continue;
        fail(index_path.parent_path() / shard, shown_name(tensor), "this tensor, which the index says is here", "none",
             "Index and shard are of different versions: download both again.");
    }
}

const Checkpoint::Entry* Checkpoint::find(std::string_view name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
}

std::vector<std::string> Checkpoint::names() const {
    std::vector<std::string> names;
    names.reserve(entries_.size());
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
}

std::uint64_t Checkpoint::bytes() const {
    std::uint64_t total = 0;
    for (const auto& [name, entry] : entries_) total += entry.tensor->end - entry.tensor->begin;
    return total;
}

}  // namespace vitrine
