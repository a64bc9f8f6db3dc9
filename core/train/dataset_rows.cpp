#include "core/train/dataset_rows.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/train/dataset_formats.h"

namespace vitrine::dataset {
namespace {

constexpr std::string_view kMarker = "<image>";
constexpr std::string_view kSpace = " \t\r\n\v\f";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

void trim(std::string& text) {
    const std::size_t first = text.find_first_not_of(kSpace);
    if (first == text.npos) return text.clear();
    text.erase(text.find_last_not_of(kSpace) + 1);
    text.erase(0, first);
}

// Takes the picture's marker out, with the line or the space it had for itself. True when there was one.
bool remove_markers(std::string& text) {
    bool found = false;
    for (std::size_t at = 0; (at = text.find(kMarker, at)) != text.npos; found = true) {
        std::size_t end = at + kMarker.size();
        const bool opens_line = at == 0 || text[at - 1] == '\n';
        if (end < text.size() && (text[end] == '\n' ? opens_line : text[end] == ' ')) {
            ++end;
        }
        text.erase(at, end - at);
    }
    return found;
}

// True when the text held the picture's marker.
bool tidy(std::string& text) {
    if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
    if (text.find('\r') != text.npos) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const bool pair = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
            if (!pair) text[kept++] = text[i] == '\r' ? '\n' : text[i];
        }
        text.resize(kept);
    }
    const bool marked = remove_markers(text);
    trim(text);
    return marked;
}

[[noreturn]] void fail_changed(const std::string& place, const std::string& found) {
    throw FileError({.name = {},
                     .where = place,
                     .expected = "the text that was there when the data set was opened",
                     .found = found,
                     .advice = "The file has changed since. Open the data set again."});
}

[[noreturn]] void fail_empty(DatasetFormat format, const std::string& where, const SkipReport& report) {
    std::string found;
    std::string first;
    std::uint64_t most = 0;
    for (const auto& [why, what] : report.reasons) {
        found += (found.empty() ? "" : ", ") + std::to_string(what.count) + " x " + why;
        if (what.count > most) {
            most = what.count;
            first = why;
        }
    }
    if (most > 0) found += "; the first \"" + first + "\" is " + report.reasons.at(first).examples.front();
    throw ConfigError({.name = {},
                       .where = where,
                       .expected = "at least one sample that can be used (format " + std::string(name_of(format)) + ")",
                       .found = found.empty() ? "no rows in " + looks_like(where) : found,
                       .advice = first == reason::missing_picture || first == reason::outside
                                     ? "Name the folder that the pictures' names start from."
                                 : first == reason::cut ? "Download the file again."
                                                        : ""});
}

}  // namespace

Digest& Digest::add(std::string_view text) {
    add(std::uint64_t{text.size()});
    for (const char c : text) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    return *this;
}

Digest& Digest::add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i, number >>= 8U) state_ = (state_ ^ (number & 0xFFU)) * 0x100000001B3U;
    return *this;
}

void settle(RawRow& row) {
    bool marked = false;
    for (Message& turn : row.turns) marked = tidy(turn.text) || marked;
    if (row.bare) {
        if (row.turns.front().text.empty()) throw Skip{reason::empty_caption, {}};
        if (row.picture.empty()) throw Skip{reason::missing_picture, "the row names none"};
        return;
    }
    if (marked && row.picture.empty()) {
        throw Skip{reason::missing_picture, "the text has the marker of a picture, the row names none"};
    }
    if (row.turns.size() > 1 && row.turns.back().role == Role::user) {
        row.turns.pop_back();
        row.notes.push_back(note::dropped_question);
    }
    std::size_t turn = 0;
    if (!row.turns.empty() && row.turns.front().role == Role::system) ++turn;
    for (Role wanted = Role::user; turn < row.turns.size(); ++turn) {
        const Message& message = row.turns[turn];
        const std::string which = "turn " + std::to_string(turn + 1);
        if (message.role != wanted) throw Skip{reason::order, which};
        if (message.text.empty() && wanted == Role::assistant) throw Skip{reason::empty_answer, which};
        if (message.text.empty() && row.picture.empty()) throw Skip{reason::order, which + " asks nothing"};
        wanted = wanted == Role::user ? Role::assistant : Role::user;
    }
    if (row.turns.empty() || row.turns.back().role != Role::assistant) throw Skip{reason::no_answer, {}};
}

std::uint64_t content_of(const RawRow& row, const RowFormat& format) {
    Digest digest;
    digest.add(row.identity).add(format.portable(row.picture)).add(std::uint64_t{row.bare});
    for (const Message& turn : row.turns) digest.add(static_cast<std::uint64_t>(turn.role)).add(turn.text);
    return digest.value();
}

bool Collector::go_on(std::uint64_t done) {
    constexpr std::uint64_t steps = 200;
    if (progress_ && done >= next_report_) {
        progress_(done, std::max(total_, done));
        next_report_ = done + std::max<std::uint64_t>(total_ / steps, 1);
    }
    return !stopped() && (limit_ == 0 || rows_.size() < limit_);
}

bool Collector::take(Row row, std::uint64_t done) {
    try {
        judge(row);
    } catch (const Skip& skip) {
        const std::string place = format_.place(row);
        report_.add(skip.reason, skip.detail.empty() ? place : place + ": " + skip.detail);
    }
    return go_on(done);
}

void Collector::judge(Row row) {
    RawRow raw = format_.read(row);
    settle(raw);
    if (!raw.picture.empty()) format_.require_picture(raw.picture);
    const std::uint64_t content = content_of(raw, format_);
    if (!seen_.insert(content).second) throw Skip{reason::duplicate, std::string(format_.portable(raw.picture))};
    for (const char* what : raw.notes) report_.note(what, format_.place(row));
    row.check = static_cast<std::uint32_t>(content);
    digest_.add(content);
    rows_.push_back(row);
}

std::unique_ptr<Dataset> RowDataset::open(DatasetFormat name, std::unique_ptr<RowFormat> format,
                                          const DatasetOptions& options, const DatasetProgress& progress,
                                          std::stop_token stop) {
    Collector collector(*format, options.limit, progress, std::move(stop));
    collector.digest_.add(name_of(name));
    for (const std::string& prompt : options.prompts) collector.digest_.add(prompt);
    format->scan(collector);
    if (collector.stopped()) return nullptr;
    if (collector.rows_.empty()) fail_empty(name, format->where(), collector.report_);
    if (progress) progress(std::max<std::uint64_t>(collector.total_, 1), std::max<std::uint64_t>(collector.total_, 1));

    std::unique_ptr<RowDataset> dataset(new RowDataset(name, std::move(format)));
    dataset->prompts_ = options.prompts;
    dataset->rows_ = std::move(collector.rows_);
    dataset->rows_.shrink_to_fit();
    dataset->report_ = std::move(collector.report_);
    dataset->fingerprint_ = collector.digest_.value();
    return dataset;
}

Sample RowDataset::sample(std::size_t index) const {
    const Row& row = rows_.at(index);
    RawRow raw;
    try {
        raw = format_->read(row);
        settle(raw);
    } catch (const Skip& skip) {
        fail_changed(format_->place(row), skip.detail.empty() ? skip.reason : skip.reason + ": " + skip.detail);
    }
    if (static_cast<std::uint32_t>(content_of(raw, *format_)) != row.check) {
        fail_changed(format_->place(row), "another text");
    }
    if (raw.bare) raw.turns.insert(raw.turns.begin(), Message{Role::user, prompts_[index % prompts_.size()], {}, {}});
    return {format_->place(row), std::move(raw.picture), std::move(raw.turns)};
}

}  // namespace vitrine::dataset
