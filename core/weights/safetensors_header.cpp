#include "core/weights/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/weights/json_file.h"

namespace vitrine {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct DTypeRow {
    std::string_view name;
    int bits;
};
// In the order of the reference implementation, which writes the last of these first.
constexpr std::array<DTypeRow, 22> kDTypes{{
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
}};

// Reads one header: text to tensors, each rule of the format with its own message.
class HeaderReader {
public:
    HeaderReader(const fs::path& path, std::uint64_t before_data, std::uint64_t data_bytes)
        : where_(path.string()), before_data_(before_data), data_bytes_(data_bytes) {}

    SafetensorsHeader read(std::string_view text) {
        if (!text.starts_with('{')) {
            fail({}, "a header that begins with {", shown(std::string(text.substr(0, 16))),
                 "This is no safetensors file, or it is damaged. Download it again.");
        }
        json tree;
        try {
            tree = parse_json(text, where_ + ": header");
        } catch (const ConfigError& error) {
            ErrorParts parts = error.parts();
            parts.advice = "The file is damaged or was not written by a safetensors library. Download it again.";
            throw WeightsError(parts);
        }
        for (const auto& [name, entry] : tree.items()) {
            if (name == kSafetensorsMetadataKey) {
                read_metadata(entry);
            } else {
                read_tensor(name, entry);
            }
        }
        check_layout();
        return std::move(header_);
    }

private:
    [[noreturn]] void fail(std::string_view name, std::string expected, std::string found,
                           std::string_view advice) const {
        throw WeightsError({.name = name.empty() ? std::string() : shown_name(name),
                            .where = where_,
                            .expected = std::move(expected),
                            .found = std::move(found),
                            .advice = std::string(advice)});
    }
    [[noreturn]] void fail_damaged(std::string_view name, std::string expected, std::string found) const {
        fail(name, std::move(expected), std::move(found), "The header is damaged. Download the file again.");
    }

    void read_metadata(const json& entry) {
        if (entry.is_null()) return;
        if (!entry.is_object()) fail_damaged(kSafetensorsMetadataKey, "an object of strings", shown(entry));
        for (const auto& [key, value] : entry.items()) {
            if (!value.is_string()) {
                fail_damaged(kSafetensorsMetadataKey, "a string at " + shown_name(key), shown(value));
            }
            header_.metadata.emplace(key, value.get_ref<const std::string&>());
        }
    }

    const json& member(const std::string& name, const json& entry, const char* key) const {
        const auto found = entry.find(key);
        if (found == entry.end()) fail_damaged(name, std::string("the key ") + key, shown(entry));
        return *found;
    }

    std::uint64_t whole_number(const std::string& name, const char* key, const json& value) const {
        constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > largest) {
            fail_damaged(name, std::string("whole numbers in ") + key, shown(value));
        }
        return value.get<std::uint64_t>();
    }

    void read_tensor(const std::string& name, const json& entry) {
        if (!entry.is_object()) {
            fail_damaged(name, "an object with dtype, shape and data_offsets", shown(entry));
        }
        const json& dtype = member(name, entry, "dtype");
        const json& shape = member(name, entry, "shape");
        const json& offsets = member(name, entry, "data_offsets");
        if (!dtype.is_string()) fail_damaged(name, "a dtype as a string", shown(dtype));
        if (!shape.is_array()) fail_damaged(name, "a shape as a list", shown(shape));
        if (!offsets.is_array() || offsets.size() != 2) {
            fail_damaged(name, "data_offsets as two numbers", shown(offsets));
        }

        TensorInfo& tensor = header_.tensors.emplace_back();
        tensor.name = name;
        tensor.dtype = dtype.get_ref<const std::string&>();
        for (const json& extent : shape) {
            tensor.shape.push_back(static_cast<std::int64_t>(whole_number(name, "shape", extent)));
        }
        tensor.begin = whole_number(name, "data_offsets", offsets[0]);
        tensor.end = whole_number(name, "data_offsets", offsets[1]);
        check_size(tensor);
    }

    void check_size(const TensorInfo& tensor) const {
        const int bits = safetensors_bits(tensor.dtype);
        if (bits == 0) {
            fail(tensor.name, "a dtype of the safetensors format", shown_name(tensor.dtype),
                 "The file is damaged or newer than this program.");
        }
        const auto expected = tensor_bytes(tensor.shape, bits);
        const std::string kind = shown_name(tensor.dtype) + " " + shape_text(tensor.shape);
        if (!expected) fail_damaged(tensor.name, "a size in whole bytes below 2^61", kind);
        if (tensor.end < tensor.begin || tensor.end - tensor.begin != *expected) {
            fail_damaged(tensor.name, counted(*expected) + " for " + kind, offsets_text(tensor));
        }
    }

    static std::string offsets_text(const TensorInfo& tensor) {
        return "offsets " + std::to_string(tensor.begin) + " to " + std::to_string(tensor.end);
    }

    // Tensors follow one another without hole or overlap, and the last one ends where the file ends.
    void check_layout() {
        std::stable_sort(header_.tensors.begin(), header_.tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
            return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
        });
        std::uint64_t end = 0;
        const TensorInfo* before = nullptr;
        for (const TensorInfo& tensor : header_.tensors) {
            if (tensor.begin != end) {
                const std::string neighbour = before ? " after " + shown_name(before->name) : "";
                fail_damaged(tensor.name,
                             "offset " + std::to_string(end) + neighbour +
                                 (tensor.begin < end ? " (two tensors overlap)" : " (a hole lies between)"),
                             offsets_text(tensor));
            }
            end = tensor.end;
            before = &tensor;
        }
        const std::string expected = counted(before_data_ + end);
        const std::string found = counted(before_data_ + data_bytes_);
        if (end > data_bytes_) {
            fail({}, expected, found,
                 "The download was cut: " + counted(end - data_bytes_) + " are missing. Download it again.");
        }
        if (end < data_bytes_) {
            fail({}, expected, found,
                 "The file goes on for " + counted(data_bytes_ - end) +
                     " after its last tensor: it is damaged, download it again.");
        }
    }

    std::string where_;
    std::uint64_t before_data_;  // the length and the header
    std::uint64_t data_bytes_;
    SafetensorsHeader header_;
};

}  // namespace

SafetensorsHeader read_safetensors_header(std::string_view text, const fs::path& path, std::uint64_t data_bytes) {
    return HeaderReader(path, kSafetensorsLengthBytes + text.size(), data_bytes).read(text);
}

std::ptrdiff_t safetensors_rank(std::string_view name) {
    return std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeRow& row) { return row.name == name; }) -
           kDTypes.begin();
}

int safetensors_bits(std::string_view dtype) {
    const auto rank = static_cast<std::size_t>(safetensors_rank(dtype));
    return rank < kDTypes.size() ? kDTypes[rank].bits : 0;
}

std::int64_t TensorInfo::elements() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
}

std::string shape_text(std::span<const std::int64_t> shape) {
    std::string text = "[";
    for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    return text + "]";
}

std::optional<std::uint64_t> tensor_bytes(std::span<const std::int64_t> shape, int bits) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) {
        if (extent < 0 || __builtin_mul_overflow(elements, extent, &elements)) return std::nullopt;
    }
    std::uint64_t total = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(elements), static_cast<std::uint64_t>(bits), &total)) {
        return std::nullopt;
    }
    return total % 8 == 0 ? std::optional(total / 8) : std::nullopt;
}

std::string counted(std::uint64_t bytes) {
    return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

}  // namespace vitrine
