#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// One tensor of a safetensors file. Offsets are relative to the data that follows the header.
struct TensorInfo {
    std::string name;
    std::string dtype;  // as the file says it: "F32", "BF16", "F16", "I64", ...
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::int64_t elements() const;
};
// Of one element of a dtype of the format, F4 and F6_* included; 0 for any other name.
int safetensors_bits(std::string_view dtype);
std::string shape_text(std::span<const std::int64_t> shape);  // "[2, 3]"

// A memory-mapped safetensors file, checked whole on opening (the rules of the format: header length at most 100,000,000,
// no holes, no overlaps, no duplicate names, last offset = end of file). Read-only and const after opening.
class SafetensorsFile {
public:
    // Throws WeightsError (a Git LFS pointer and a cut download are named as such) or FileError.
    static SafetensorsFile open(const std::filesystem::path& path);

    SafetensorsFile(SafetensorsFile&&) noexcept;
    SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
    ~SafetensorsFile();

    const std::filesystem::path& path() const;
    const std::vector<TensorInfo>& tensors() const;              // in file order
    const std::map<std::string, std::string>& metadata() const;
    const TensorInfo* find(std::string_view name) const;         // nullptr when absent

    // The mapped bytes. Alignment is not guaranteed. Throws WeightsError when the file shrank since it was opened.
    std::span<const std::byte> bytes(const TensorInfo& tensor) const;
    // Gives the pages of this range back to the system; they are read again when touched again.
    void release(std::uint64_t begin, std::uint64_t end) const;
    std::uint64_t file_bytes() const;

private:
    struct Impl;
    explicit SafetensorsFile(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

struct TensorView {
    std::string name;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;
};
// Writes beside the target and renames; tensors stand widest dtype first, then by name, the data 8-byte aligned. Throws
// FileError, or WeightsError when a tensor's bytes do not fit its shape or two have one name; nothing is left half-written.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace vitrine
