#include "core/train/dataset_tar.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "core/train/dataset_text.h"

namespace vitrine::dataset {
namespace {

constexpr std::uint64_t kLongestExtra = std::uint64_t{1} << 20;

std::string_view field(const TarBlock& block, std::size_t at, std::size_t length) {
    return {block.data() + at, length};
}

std::string_view until_zero(std::string_view text) {
    return text.substr(0, text.find('\0'));
}

std::optional<std::uint64_t> number(std::string_view digits, int base) {
    digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
    digits = digits.substr(0, digits.find_first_of(std::string_view(" \0", 2)));
    if (digits.empty()) return 0;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error != std::errc() || end != digits.data() + digits.size()) return {};
    return value;
}

// Octal, or GNU's binary form (high bit set) for what does not fit.
std::optional<std::uint64_t> size_of(std::string_view digits) {
    if ((static_cast<unsigned char>(digits.front()) & 0x80U) == 0) return number(digits, 8);
    std::uint64_t value = 0;
    for (const char c : digits.substr(digits.size() - 8)) value = value << 8U | static_cast<unsigned char>(c);
    return value;
}

std::string name_of(const TarBlock& header) {
    std::string name(until_zero(field(header, 0, 100)));
    const bool posix = field(header, 257, 6) == std::string_view("ustar\0", 6);  // GNU keeps other things there
    const std::string_view prefix = until_zero(field(header, 345, 155));
    return posix && !prefix.empty() ? std::string(prefix) + "/" + name : name;
}

// "27 path=some/long/name.jpg\n": the length counts the whole record.
std::string pax_value(std::string_view records, std::string_view key) {
    std::string value;
    while (!records.empty()) {
        const std::size_t space = records.find(' ');
        const auto length = space == records.npos ? std::nullopt : number(records.substr(0, space), 10);
        if (!length || *length <= space + 1 || *length > records.size()) break;
        const std::string_view record = records.substr(space + 1, *length - space - 2);
        const std::size_t equals = record.find('=');
        if (record.substr(0, equals) == key && equals != record.npos) value = record.substr(equals + 1);
        records.remove_prefix(*length);
    }
    return value;
}

// What the headers before a member say of it.
struct Extra {
    std::string name;
    std::string size;
};

std::uint64_t padded(std::uint64_t size) {
    return (size + kTarBlock - 1) / kTarBlock * kTarBlock;
}

}  // namespace

bool is_tar_header(const TarBlock& block) {
    const auto wanted = number(field(block, 148, 8), 8);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kTarBlock; ++i) {
        sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
    }
    return wanted && *wanted != 0 && *wanted == sum;
}

TarReader::Step TarReader::next(TarMember& member) {
    Extra extra;
    for (;;) {
        TarBlock header{};
        const std::size_t count = read_at(file_, at_, header);
        const bool zeros = std::all_of(header.begin(), header.end(), [](char c) { return c == '\0'; });
        member = {.name = extra.name.empty() ? name_of(header) : extra.name, .at = at_ + kTarBlock};
        if (count == 0) return extra.name.empty() && extra.size.empty() ? Step::end : Step::cut;
        if (count < kTarBlock) return Step::cut;
        if (zeros) return Step::end;
        if (!is_tar_header(header)) return Step::broken;

        auto size = size_of(field(header, 124, 12));
        const char type = header[156];
        const bool speaks_of_next = type == 'L' || type == 'K' || type == 'x' || type == 'g';
        if (!speaks_of_next && !extra.size.empty()) size = number(extra.size, 10);
        if (type >= '1' && type <= '6') size = 0;  // links, devices and folders hold nothing, whatever they say
        if (!size || *size > std::uint64_t{1} << 62U) return Step::broken;
        member.size = *size;
        if (member.at + member.size > size_) return Step::cut;

        at_ = member.at + padded(member.size);
        if (speaks_of_next) {
            if (member.size > kLongestExtra) return Step::broken;
            std::string text(member.size, '\0');
            read_at(file_, member.at, text);
            if (type == 'L') extra.name = until_zero(text);
            if (type == 'x') {
                if (std::string path = pax_value(text, "path"); !path.empty()) extra.name = std::move(path);
                extra.size = pax_value(text, "size");
            }
            continue;
        }
        if (type == '0' || type == '\0' || type == '7') return Step::member;
        extra = {};
    }
}

}  // namespace vitrine::dataset
