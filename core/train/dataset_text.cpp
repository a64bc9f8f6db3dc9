#include "core/train/dataset_text.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/text/utf8.h"

namespace vitrine::dataset {
namespace {

constexpr std::size_t kWindow = std::size_t{1} << 18;
constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

// Windows-1252 from 0x80 to 0x9F; above, it is Latin-1. Five places are not assigned.
constexpr std::array<char16_t, 32> kWindows1252{0x20AC, 0xFFFD, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                                0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0xFFFD, 0x017D, 0xFFFD,
                                                0xFFFD, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                                0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0xFFFD, 0x017E, 0x0178};

char32_t windows_1252(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 && byte < 0xA0 ? kWindows1252[byte - 0x80U] : byte;
}

enum class Mark { none, utf8, utf16_little, utf16_big };

Mark mark_of(std::string_view head) {
    if (head.starts_with("\xEF\xBB\xBF")) return Mark::utf8;
    if (head.starts_with("\xFF\xFE")) return Mark::utf16_little;
    if (head.starts_with("\xFE\xFF")) return Mark::utf16_big;
    return Mark::none;
}

std::string from_utf16(std::string_view bytes, bool big) {
    const auto unit = [&](std::size_t at) {
        const auto first = static_cast<unsigned char>(bytes[at]);
        const auto second = static_cast<unsigned char>(bytes[at + 1]);
        return static_cast<char32_t>(big ? first << 8U | second : second << 8U | first);
    };
    std::string text;
    text.reserve(bytes.size());
    for (std::size_t at = 2; at + 1 < bytes.size(); at += 2) {
        char32_t c = unit(at);
        const bool leads = c >= 0xD800 && c < 0xDC00;
        if (leads && at + 3 < bytes.size() && (unit(at + 2) & 0xFC00U) == 0xDC00) {
            c = 0x10000 + ((c & 0x3FFU) << 10U | (unit(at + 2) & 0x3FFU));
            at += 2;
        } else if ((c & 0xF800U) == 0xD800) {
            c = utf8::replacement;
        }
        utf8::append(text, c);
    }
    return text;
}

}  // namespace

bool mend_utf8(std::string& text) {
    std::string mended;
    std::size_t copied = 0;  // of text into mended
    for (std::size_t at = 0; (at += utf8::ascii_prefix(std::string_view(text).substr(at))) < text.size();) {
        const utf8::Sequence next = utf8::examine(std::string_view(text).substr(at));
        if (next.form != utf8::Form::whole) {
            mended.append(text, copied, at - copied);
            for (std::size_t i = 0; i < next.length; ++i) utf8::append(mended, windows_1252(text[at + i]));
            copied = at + next.length;
        }
        at += next.length;
    }
    if (copied == 0) return false;
    text = mended.append(text, copied);
    return true;
}

std::string without_mark(std::string bytes) {
    switch (mark_of(bytes)) {
        case Mark::utf8: return bytes.substr(3);
        case Mark::utf16_little: return from_utf16(bytes, false);
        case Mark::utf16_big: return from_utf16(bytes, true);
        case Mark::none: break;
    }
    return bytes;
}

std::size_t read_at(const ReadOnlyFile& file, std::uint64_t at, std::span<char> bytes) {
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t count =
            ::pread(file.descriptor(), bytes.data() + filled, bytes.size() - filled, static_cast<off_t>(at + filled));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            throw FileError({.name = {},
                             .where = file.path().string() + ", byte " + std::to_string(at + filled),
                             .expected = "to read it",
                             .found = "\"" + std::generic_category().message(errno) + "\"",
                             .advice = {}});
        }
        if (count == 0) break;
        filled += static_cast<std::size_t>(count);
    }
    return filled;
}

TextFile::TextFile(const std::filesystem::path& path) : file_(path) {
    std::array<char, 3> head{};
    const std::size_t count = read_at(file_, 0, head);
    switch (mark_of({head.data(), count})) {
        case Mark::utf8: start_ = 3; break;
        case Mark::utf16_little:
        case Mark::utf16_big:
            decoded_ = without_mark(file_.read_all());
            start_ = file_.size();  // nothing more is read from the file
            size_ = decoded_.size();
            return;
        case Mark::none: break;
    }
    size_ = file_.size() - start_;
}

std::size_t TextFile::read(std::uint64_t at, std::span<char> bytes) const {
    if (decoded_.empty()) return read_at(file_, start_ + at, bytes);
    if (at >= decoded_.size()) return 0;
    return decoded_.copy(bytes.data(), bytes.size(), at);
}

std::string TextFile::read(std::uint64_t at, std::size_t length) const {
    std::string text(length, '\0');
    text.resize(read(at, std::span(text)));
    return text;
}

void TextWindow::fill() {
    start_ += at_;
    at_ = 0;
    buffer_.resize(kWindow);
    buffer_.resize(file_->read(start_, std::span(buffer_)));
}

bool LineReader::next(Line& line) {
    for (;;) {
        line = {.at = window_.position(), .number = ++number_};
        bool blank = true;
        bool ended = false;
        while (!ended) {
            const std::string_view rest = window_.rest();
            if (rest.empty()) break;
            const std::size_t length = std::min(rest.find('\n'), rest.size());
            ended = length < rest.size();
            blank = blank && rest.substr(0, length).find_first_not_of(kWhiteSpace) == rest.npos;
            line.length += length;
            window_.advance(length + (ended ? 1 : 0));
        }
        line.position = window_.position();
        if (!blank) return true;
        if (!ended) return false;
    }
}

}  // namespace vitrine::dataset
