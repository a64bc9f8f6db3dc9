#pragma once

#include "core/weights/file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

// Text as the files of data sets hold it: UTF-8 with or without a mark, UTF-16 with one, now and then Windows-1252.
namespace vitrine::dataset {

// Reads what is ill-formed UTF-8 as Windows-1252, byte by byte, and leaves the rest. True when anything was changed.
bool mend_utf8(std::string& text);

// UTF-16 with a byte order mark becomes UTF-8, marks go.
std::string without_mark(std::string bytes);

// Fills as much of `bytes` as the file holds from `at` on and returns how much that was. Throws FileError.
std::size_t read_at(const ReadOnlyFile& file, std::uint64_t at, std::span<char> bytes);

// A large text file, read in parts and never held as a whole (UTF-16 excepted, which is decoded into memory). Offsets
// count the bytes of the UTF-8 text behind its mark. Const: any thread may read.
class TextFile {
public:
    explicit TextFile(const std::filesystem::path& path);

    std::string name() const { return file_.path().filename().string(); }  // for messages
    std::filesystem::path folder() const { return file_.path().parent_path(); }
    std::uint64_t size() const { return size_; }
    std::size_t read(std::uint64_t at, std::span<char> bytes) const;  // less than asked for only at the end
    std::string read(std::uint64_t at, std::size_t length) const;

private:
    ReadOnlyFile file_;
    std::uint64_t start_ = 0;
    std::uint64_t size_ = 0;
    std::string decoded_;  // the text of a UTF-16 file
};

// A window that moves forward over a TextFile.
class TextWindow {
public:
    explicit TextWindow(const TextFile& file) : file_(&file) {}

    // What lies at the present place; empty at the end of the file only.
    std::string_view rest() {
        if (at_ == buffer_.size()) fill();
        return std::string_view(buffer_).substr(at_);
    }
    void advance(std::size_t count) { at_ += count; }  // at most rest().size()
    std::uint64_t position() const { return start_ + at_; }

private:
    void fill();

    const TextFile* file_;
    std::string buffer_;
    std::uint64_t start_ = 0;  // of the buffer in the text
    std::size_t at_ = 0;
};

struct Line {
    std::uint64_t at = 0;
    std::uint64_t length = 0;    // without its end
    std::uint64_t number = 0;    // from 1
    std::uint64_t position = 0;  // behind it
};

// The lines of a file that hold more than white space.
class LineReader {
public:
    explicit LineReader(const TextFile& file) : window_(file) {}
    bool next(Line& line);

private:
    TextWindow window_;
    std::uint64_t number_ = 0;
};

}  // namespace vitrine::dataset
