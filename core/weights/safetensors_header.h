#pragma once

#include "core/weights/safetensors.h"

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What the reader and the writer of safetensors share: the header's rules.
namespace vitrine {

constexpr std::uint64_t kSafetensorsLengthBytes = 8;  // a little-endian u64 before the header: how long it is
constexpr std::uint64_t kSafetensorsLongestHeader = 100'000'000;
constexpr std::string_view kSafetensorsMetadataKey = "__metadata__";

struct SafetensorsHeader {
    std::vector<TensorInfo> tensors;  // in file order, without holes, ending where the data ends
    std::map<std::string, std::string> metadata;
};
// Throws WeightsError for a header that breaks a rule of the format or that does not fit the `data_bytes` after it.
SafetensorsHeader read_safetensors_header(std::string_view text, const std::filesystem::path& path,
                                          std::uint64_t data_bytes);

// How many bytes a tensor takes; nothing when that overflows or does not end at a whole byte.
std::optional<std::uint64_t> tensor_bytes(std::span<const std::int64_t> shape, int bits_per_element);

// The place of a dtype in the order of the reference implementation, which writes the last of them first.
std::ptrdiff_t safetensors_rank(std::string_view dtype);

std::string counted(std::uint64_t bytes);  // "1 byte", "12 bytes"

}  // namespace vitrine
