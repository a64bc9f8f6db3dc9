#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vitrine {

// 128 bits that stand for some content: two different pictures or towers do not meet by chance.
struct ContentKey {
    std::array<std::uint64_t, 2> words{0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F};

    void add(std::span<const std::byte> bytes);
    void add(const std::string& text);
    std::string text() const;  // 32 hexadecimal digits
    auto operator<=>(const ContentKey&) const = default;
};

// What a frozen tower makes of each picture, in bf16, kept on disk for the next epoch and the next run: records of one
// size in files that only grow, a file for each process that writes. Every record carries its key and a checksum, so a
// cut or damaged one is a picture to compute again, nothing worse. One thread at a time.
class FeatureCache {
public:
    // In folder/TOWER-PATCHESxWIDTH. Makes it, reads the keys of what is there. Throws FileError.
    FeatureCache(const std::filesystem::path& folder, const ContentKey& tower, std::int64_t patches,
                 std::int64_t width);
    ~FeatureCache();
    FeatureCache(const FeatureCache&) = delete;
    FeatureCache& operator=(const FeatureCache&) = delete;

    std::optional<at::Tensor> find(const ContentKey& picture);  // [P, C] bf16
    // False when it could not be written (a full disk): the run goes on without.
    bool store(const ContentKey& picture, const at::Tensor& features);

    std::size_t size() const { return places_.size(); }
    std::uint64_t record_bytes() const { return record_bytes_; }
    const std::filesystem::path& folder() const { return folder_; }

private:
    struct File;
    struct Place {
        std::size_t file;
        std::uint64_t record;
    };
    void read_keys(std::size_t file);

    std::filesystem::path folder_;
    std::int64_t patches_, width_;
    std::uint64_t record_bytes_;
    std::vector<std::unique_ptr<File>> files_;
    std::optional<std::size_t> own_;  // the file this process appends to; none where none could be had
    std::map<ContentKey, Place> places_;
};

}  // namespace vitrine
