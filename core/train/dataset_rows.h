#pragma once

#include "core/train/dataset.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

// What the formats share. A format finds its rows and reads any one of them again when asked; whether a row is good is
// judged here, once for all formats. Of a kept row only its place is remembered, so that half a million rows cost a few
// megabytes.
namespace vitrine::dataset {

constexpr std::uint64_t kLongestRow = std::uint64_t{1} << 24;  // bytes; a longer one is no row but a missing bracket

namespace reason {
constexpr const char* missing_picture = "missing picture";
constexpr const char* empty_picture = "empty picture";
constexpr const char* remote_picture = "remote picture";
constexpr const char* outside = "outside the folder";
constexpr const char* several_pictures = "several pictures";
constexpr const char* shared_sidecar = "shared sidecar";
constexpr const char* missing_caption = "missing caption";
constexpr const char* empty_caption = "empty caption";
constexpr const char* empty_answer = "empty answer";
constexpr const char* no_answer = "no answer";
constexpr const char* order = "turns out of order";
constexpr const char* wrong_type = "wrong type";
constexpr const char* broken_row = "broken row";
constexpr const char* duplicate = "duplicate";
constexpr const char* cut = "file cut";
constexpr const char* seen_folder = "folder seen before";
constexpr const char* unreadable_folder = "unreadable folder";
constexpr const char* unreadable_file = "unreadable file";
}  // namespace reason

namespace note {
constexpr const char* windows_1252 = "read as Windows-1252";
constexpr const char* dropped_question = "last question dropped";
constexpr const char* two_sidecars = "two sidecars";
}  // namespace note

// Thrown while a row is read: it is left out, and the next one is looked at.
struct Skip {
    std::string reason;
    std::string detail;  // stands behind the place of the row; may be empty
};

// Where a row lies; each format uses the fields as it needs.
struct Row {
    std::uint64_t at = 0;
    std::uint32_t length = 0;
    std::uint32_t number = 0;  // from 1, for people
    std::uint32_t extra = 0;
    std::uint32_t check = 0;  // of the content, to notice a file that changes under us
};

// A row as a format reads it, before it is judged.
struct RawRow {
    std::string identity;        // the row's own id, where it has one
    std::string picture;         // a key of the format's; empty: text alone
    std::vector<Message> turns;  // a bare caption is one assistant turn that still wants its prompt
    bool bare = false;
    std::vector<const char*> notes;  // what was mended
};

class Collector;

// One open data set of one format. scan() runs once, before anything else; the rest is const and may run on any thread.
class RowFormat {
public:
    virtual ~RowFormat() = default;
    virtual void scan(Collector& collector) = 0;          // takes the rows in order until the collector has enough
    virtual RawRow read(const Row& row) const = 0;        // throws Skip
    virtual std::string where() const = 0;                // the path of the data set, for messages
    virtual std::string place(const Row& row) const = 0;  // "llava.json row 17"
    virtual void require_picture(const std::string& key) const = 0;  // throws Skip; opens nothing
    virtual Image picture(const std::string& key) const = 0;
    virtual std::string picture_identity(const std::string& key) const = 0;
    // The part of a key that is the same wherever and however the data lies.
    virtual std::string_view portable(std::string_view key) const { return key; }
};

// 64-bit FNV-1a over strings and numbers; each string goes in with its length, so that borders count.
class Digest {
public:
    Digest& add(std::string_view text);
    Digest& add(std::uint64_t number);
    std::uint64_t value() const { return state_; }

private:
    std::uint64_t state_ = 0xCBF29CE484222325U;
};

// Mends and judges the turns of a row: white space and the picture's marker go, roles must alternate and end with an
// answer. Throws Skip.
void settle(RawRow& row);
std::uint64_t content_of(const RawRow& row, const RowFormat& format);

// Judges the rows of a data set as they are found.
class Collector {
public:
    Collector(const RowFormat& format, std::uint64_t limit, const DatasetProgress& progress, std::stop_token stop)
        : format_(format), limit_(limit), progress_(progress), stop_(std::move(stop)) {}

    void expect(std::uint64_t total) { total_ = total; }  // bytes or files
    // Both return whether more is wanted; `done` is how far in the data set the scan is.
    bool take(Row row, std::uint64_t done);
    bool go_on(std::uint64_t done);

    void skip(const char* why, const std::string& place) { report_.add(why, place); }
    void note(const char* what, const std::string& place) { report_.note(what, place); }
    std::size_t size() const { return rows_.size(); }  // kept so far
    bool stopped() const { return stop_.stop_requested(); }

private:
    friend class RowDataset;
    void judge(Row row);

    const RowFormat& format_;
    std::uint64_t limit_;
    const DatasetProgress& progress_;
    std::stop_token stop_;
    std::uint64_t total_ = 0;
    std::uint64_t next_report_ = 0;
    std::vector<Row> rows_;
    SkipReport report_;
    std::unordered_set<std::uint64_t> seen_;
    Digest digest_;
};

// The data set that all formats become.
class RowDataset final : public Dataset {
public:
    // nullptr when stopped.
    static std::unique_ptr<Dataset> open(DatasetFormat name, std::unique_ptr<RowFormat> format,
                                         const DatasetOptions& options, const DatasetProgress& progress,
                                         std::stop_token stop);

    std::string format() const override { return std::string(name_of(name_)); }
    std::size_t size() const override { return rows_.size(); }
    Sample sample(std::size_t index) const override;
    Image picture(const std::string& key) const override { return format_->picture(key); }
    std::string picture_identity(const std::string& key) const override { return format_->picture_identity(key); }
    const SkipReport& skipped() const override { return report_; }
    std::uint64_t fingerprint() const override { return fingerprint_; }

private:
    RowDataset(DatasetFormat name, std::unique_ptr<RowFormat> format) : name_(name), format_(std::move(format)) {}

    DatasetFormat name_;
    std::unique_ptr<RowFormat> format_;
    std::vector<std::string> prompts_;
    std::vector<Row> rows_;
    SkipReport report_;
    std::uint64_t fingerprint_ = 0;
};

}  // namespace vitrine::dataset
