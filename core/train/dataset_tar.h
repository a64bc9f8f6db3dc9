#pragma once

#include "core/weights/file.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace vitrine::dataset {

constexpr std::size_t kTarBlock = 512;
using TarBlock = std::array<char, kTarBlock>;

bool is_tar_header(const TarBlock& block);  // its checksum is right

struct TarMember {
    std::string name;
    std::uint64_t at = 0;  // of the content in the file
    std::uint64_t size = 0;
};

// The files in a tar, one after the other, without their content: v7, ustar with its prefix, GNU long names, pax path
// and size. Folders, links and devices are passed over.
class TarReader {
public:
    enum class Step : std::uint8_t {
        member,
        end,
        cut,    // the file ends inside the member
        broken  // no header where one should be; nothing behind it can be found
    };

    explicit TarReader(const ReadOnlyFile& file) : file_(file), size_(file.size()) {}
    Step next(TarMember& member);
    std::uint64_t position() const { return at_; }

private:
    const ReadOnlyFile& file_;
    std::uint64_t size_;
    std::uint64_t at_ = 0;
};

}  // namespace vitrine::dataset
