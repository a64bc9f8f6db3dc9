#include "core/train/feature_cache.h"

#include "core/error.h"

#include <ATen/ATen.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vitrine {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kHeaderBytes = 24;  // key, checksum of the features
constexpr int kMostWriters = 256;

std::uint64_t mixed(std::uint64_t z) {  // SplitMix64's finaliser
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

std::uint64_t checksum(const ContentKey& key, const void* data, std::size_t bytes) {
    ContentKey sum = key;
    sum.add({static_cast<const std::byte*>(data), bytes});
    return sum.words[0];
}

bool read_whole(int descriptor, void* to, std::size_t bytes, std::uint64_t offset) {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
        const ssize_t count = ::pread(descriptor, at, bytes, static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        at += count;
        bytes -= static_cast<std::size_t>(count);
        offset += static_cast<std::uint64_t>(count);
    }
    return true;
}

}  // namespace

void ContentKey::add(std::span<const std::byte> bytes) {
    std::size_t at = 0;
    const auto take = [&](std::uint64_t word) {
        words[0] = mixed(words[0] ^ word) + 0x9E3779B97F4A7C15;
        words[1] = (words[1] ^ word) * 0xD6E8FEB86659FD93;
        words[1] ^= words[1] >> 32;
    };
    for (; at + 8 <= bytes.size(); at += 8) {
        std::uint64_t word;
        std::memcpy(&word, bytes.data() + at, 8);
        take(word);
    }
    std::uint64_t rest = 0;
    if (at < bytes.size()) std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
    take(rest);
    take(bytes.size());
}

void ContentKey::add(const std::string& text) {
    add(std::as_bytes(std::span(text)));
}

std::string ContentKey::text() const {
    std::string digits;
    for (const std::uint64_t word : words)
        for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[word >> shift & 15];
    return digits;
}

struct FeatureCache::File {
    int descriptor = -1;
    std::uint64_t records = 0;
    File(const fs::path& path, int flags) : descriptor(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (descriptor >= 0) ::close(descriptor);
    }
};

FeatureCache::FeatureCache(const fs::path& folder, const ContentKey& tower, std::int64_t patches, std::int64_t width)
    : folder_(folder / (tower.text() + "-" + std::to_string(patches) + "x" + std::to_string(width))),
      patches_(patches),
      width_(width),
      record_bytes_(kHeaderBytes + static_cast<std::uint64_t>(patches * width) * 2) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error)
        throw FileError({.name = "feature cache",
                         .where = folder_.string(),
                         .expected = "a folder that can be written",
                         .found = error.message(),
                         .advice = "Name another with the option cache, or set cache_features to false."});
    for (int i = 0; i < kMostWriters; ++i) {
        const fs::path path = folder_ / (std::to_string(i) + ".features");
        const bool there = fs::exists(path);
        if (!there && own_) break;
        auto file = std::make_unique<File>(path, O_RDWR | O_CREAT);
        if (file->descriptor < 0)
            file = std::make_unique<File>(path, O_RDONLY);
        else if (!own_ && ::flock(file->descriptor, LOCK_EX | LOCK_NB) == 0)
            own_ = files_.size();
        if (file->descriptor < 0) break;
        files_.push_back(std::move(file));
        read_keys(files_.size() - 1);
    }
}

FeatureCache::~FeatureCache() = default;

void FeatureCache::read_keys(std::size_t index) {
    File& file = *files_[index];
    struct stat status {};
    if (::fstat(file.descriptor, &status) != 0) return;
    file.records = static_cast<std::uint64_t>(status.st_size) / record_bytes_;
    for (std::uint64_t record = 0; record < file.records; ++record) {
        ContentKey key;
        if (read_whole(file.descriptor, key.words.data(), 16, record * record_bytes_)) places_[key] = {index, record};
    }
}

std::optional<at::Tensor> FeatureCache::find(const ContentKey& picture) {
    const auto found = places_.find(picture);
    if (found == places_.end()) return std::nullopt;
    std::array<std::uint64_t, 3> header{};
    at::Tensor features = at::empty({patches_, width_}, at::kBFloat16);
    const int descriptor = files_[found->second.file]->descriptor;
    const std::uint64_t offset = found->second.record * record_bytes_;
    const bool whole = read_whole(descriptor, header.data(), kHeaderBytes, offset) &&
                       read_whole(descriptor, features.mutable_data_ptr(), features.nbytes(), offset + kHeaderBytes) &&
                       header[0] == picture.words[0] && header[1] == picture.words[1] &&
                       header[2] == checksum(picture, features.const_data_ptr(), features.nbytes());
    if (whole) return features;
    places_.erase(found);
    return std::nullopt;
}

bool FeatureCache::store(const ContentKey& picture, const at::Tensor& features) {
    if (!own_) return false;
    File& file = *files_[*own_];
    const at::Tensor data = features.to(at::kCPU, at::kBFloat16).contiguous();
    std::vector<std::byte> record(record_bytes_);
    const std::uint64_t sum = checksum(picture, data.const_data_ptr(), data.nbytes());
    std::memcpy(record.data(), picture.words.data(), 16);
    std::memcpy(record.data() + 16, &sum, 8);
    std::memcpy(record.data() + kHeaderBytes, data.const_data_ptr(), data.nbytes());
    std::size_t written = 0;
    while (written < record.size()) {
        const ssize_t count = ::pwrite(file.descriptor, record.data() + written, record.size() - written,
                                       static_cast<off_t>(file.records * record_bytes_ + written));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        written += static_cast<std::size_t>(count);
    }
    places_[picture] = {*own_, file.records++};
    return true;
}

}  // namespace vitrine
