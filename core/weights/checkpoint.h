#pragma once

#include "core/weights/safetensors.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// The weights of one Hugging Face checkpoint: model.safetensors, or the shards that model.safetensors.index.json names.
// The index decides; every shard it names must exist and hold what it says; other *.safetensors files beside it are listed
// as strays and never merged. A single .safetensors file is a checkpoint too.
class Checkpoint {
public:
    struct Entry {
        const SafetensorsFile* file = nullptr;
        const TensorInfo* tensor = nullptr;
    };

    // Throws WeightsError, FileError.
    static Checkpoint open(const std::filesystem::path& folder_or_file);

    const std::filesystem::path& path() const { return path_; }
    const std::vector<SafetensorsFile>& files() const { return files_; }
    const std::vector<std::filesystem::path>& strays() const { return strays_; }
    // Tensors in a shard that the index does not name: ignored like the strays, sorted by shard.
    const std::vector<std::string>& unindexed() const { return unindexed_; }
    const Entry* find(std::string_view name) const;  // nullptr when absent
    std::vector<std::string> names() const;          // sorted
    std::uint64_t bytes() const;                     // of all tensors

private:
    void add_single(const std::filesystem::path& path);
    void add_shards(const std::filesystem::path& index_path);

    std::filesystem::path path_;
    std::vector<SafetensorsFile> files_;
    std::vector<std::filesystem::path> strays_;
    std::vector<std::string> unindexed_;
    std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace vitrine
