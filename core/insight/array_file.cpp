#include "core/insight/array_file.h"

#include "core/error.h"
#include "core/weights/safetensors.h"

#include <zlib.h>

#include <bit>
#include <limits>
#include <set>

namespace vitrine {
namespace {

template <class Integer>
void append_number(std::string& bytes, Integer value) {  // little-endian
    for (std::size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> 8 * i & 0xFF);
}

void check(const ArrayView& array) {
    constexpr std::size_t kMostDimensions = 64;  // numpy has no more, so a header always fits format 1.0
    constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();
    std::uint64_t elements = 1;
    bool fits = array.shape.size() <= kMostDimensions;
    for (const std::int64_t size : array.shape) {
        fits = fits && size >= 0 && size <= kLongest && elements <= std::numeric_limits<std::uint32_t>::max();
        elements *= static_cast<std::uint64_t>(size);
    }
    if (fits && elements == array.values.size()) return;
    throw InputError({.name = "array " + array.name,
                      .expected = "the values of shape " + shape_text(array.shape),
                      .found = std::to_string(array.values.size()) + " values"});
}

// A zip archive of stored members, written in memory. Times are left at the format's first day.
class ZipArchive {
public:
    void add(const std::string& name, const std::string& content) {
        const std::uint64_t offset = bytes_.size();
        constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max() - 0x1000'0000ULL;
        if (offset + content.size() > kMost || members_ == std::numeric_limits<std::uint16_t>::max()) {
            throw InputError({.name = name,
                              .expected = "an archive below 4 GiB with less than 65,536 members",
                              .found = std::to_string(offset + content.size()) + " bytes",
                              .advice = "Export fewer maps at once."});
        }
        std::string description;                                            // the part that both headers share
        append_number(description, std::uint16_t{20});                      // version needed: 2.0
        append_number(description, static_cast<std::uint16_t>(1U << 11U));  // names are UTF-8
        append_number(description, std::uint16_t{0});                       // stored
        append_number(description, std::uint16_t{0});                       // midnight
        append_number(description, std::uint16_t{0x21});                    // 1 January 1980
        append_number(description, static_cast<std::uint32_t>(
                                       crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size())));
        append_number(description, static_cast<std::uint32_t>(content.size()));
        append_number(description, static_cast<std::uint32_t>(content.size()));
        append_number(description, static_cast<std::uint16_t>(name.size()));
        append_number(description, std::uint16_t{0});  // no extra field

        bytes_ += "PK\x03\x04" + description + name + content;

        directory_ += "PK\x01\x02";
        append_number(directory_, std::uint16_t{20});  // made by: 2.0
        directory_ += description;
        append_number(directory_, std::uint16_t{0});  // no comment
        append_number(directory_, std::uint16_t{0});  // on disk 0
        append_number(directory_, std::uint16_t{0});  // attributes
        append_number(directory_, std::uint32_t{0});
        append_number(directory_, static_cast<std::uint32_t>(offset));
        directory_ += name;
        ++members_;
    }

    std::string finish() && {
        const std::uint64_t offset = bytes_.size();
        bytes_ += directory_ + "PK\x05\x06";
        append_number(bytes_, std::uint32_t{0});  // of one disk
        append_number(bytes_, members_);
        append_number(bytes_, members_);
        append_number(bytes_, static_cast<std::uint32_t>(directory_.size()));
        append_number(bytes_, static_cast<std::uint32_t>(offset));
        append_number(bytes_, std::uint16_t{0});  // no comment
        return std::move(bytes_);
    }

private:
    std::string bytes_;
    std::string directory_;
    std::uint16_t members_ = 0;
};

bool is_plain(const std::string& name) {
    return !name.empty() && name.size() < 256 && name.front() != '.' &&
           name.find_first_of(std::string_view("/\\:\0", 4)) == std::string::npos;
}

}  // namespace

std::string npy_bytes(const ArrayView& array, std::string_view words) {
    check(array);
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
    for (const std::int64_t size : array.shape) header += std::to_string(size) + ", ";
    header += "), }";

    // The numbers start at a multiple of 64 bytes, behind spaces and a line's end.
    std::string bytes("\x93NUMPY\x01\x00", 8);
    const std::size_t before = bytes.size() + sizeof(std::uint16_t);
    header.resize((before + header.size() + 1 + 63) / 64 * 64 - before - 1, ' ');
    append_number(bytes, static_cast<std::uint16_t>(header.size() + 1));
    bytes += header + '\n';
    bytes.reserve(bytes.size() + 4 * array.values.size() + words.size());
    for (const float value : array.values) append_number(bytes, std::bit_cast<std::uint32_t>(value));
    return bytes.append(words);
}

std::string npz_bytes(std::span<const ArrayView> arrays, std::string_view provenance) {
    ZipArchive archive;
    std::set<std::string> names;
    for (const ArrayView& array : arrays) {
        if (!is_plain(array.name) || !names.insert(array.name).second) {
            throw InputError({.name = "array",
                              .expected = "a name of its own without / \\ : and .",
                              .found = "\"" + array.name + "\""});
        }
        archive.add(array.name + ".npy", npy_bytes(array));
    }
    if (!provenance.empty()) archive.add("provenance.json", std::string(provenance));
    return std::move(archive).finish();
}

}  // namespace vitrine
