#pragma once

#include "core/captions/record.h"
#include "core/weights/file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// Captions of many pictures in one file that other tools read. JSONL, kohya and LLaVA come back through open_dataset as
// they went out.
namespace vitrine::captions {

enum class Format : std::uint8_t {
    jsonl,  // one object a line: file, caption and its provenance
    csv,    // the same as columns
    kohya,  // metadata JSON: {"NAME": {"caption": ...}}
    llava   // JSON array of {id, image, conversations}
};
std::string_view name_of(Format format);
std::string_view ending_of(Format format);  // ".jsonl"

// A JSONL or CSV file that grows as captions come; each is in the file when append() returns. A file that is there is
// continued, behind a line that was cut as well, and a CSV file keeps the columns of its heading. One thread.
class Log {
public:
    Log(Format format, std::filesystem::path file);  // jsonl or csv; throws FileError

    bool contains(const std::string& file) const { return files_.contains(file); }  // with a caption
    void append(const Record& record);                                              // throws FileError

private:
    void read_csv(std::string_view text);
    void read_jsonl(std::string_view text);
    void write(std::string_view text) const;

    Format format_;
    std::filesystem::path path_;
    std::vector<std::string> columns_;
    std::set<std::string> files_;
};

// A whole table, written beside its target: the target is the old file until commit(), and then the new one. Pictures
// below its folder are named relative to it, others by their whole path. One thread.
class Export {
public:
    Export(Format format, const std::filesystem::path& target);  // throws FileError

    // Why the picture was left out: no caption, a name that the format cannot hold. nullopt when it is in. Throws
    // FileError when the table cannot be written.
    std::optional<std::string> add(const std::filesystem::path& picture, const std::string& caption,
                                   const Provenance& provenance);
    std::size_t count() const { return count_; }
    void commit();

private:
    std::string row_of(const std::filesystem::path& picture, const Record& record) const;
    void write(std::string_view text);

    Format format_;
    std::filesystem::path folder_;  // that names start from
    AtomicFile file_;
    std::string waiting_;  // for a write of a good size
    std::size_t count_ = 0;
};

}  // namespace vitrine::captions
