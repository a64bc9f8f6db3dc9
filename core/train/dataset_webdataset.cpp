#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/error.h"
#include "core/image/decode.h"
#include "core/train/dataset_formats.h"
#include "core/train/dataset_json.h"
#include "core/train/dataset_pictures.h"
#include "core/train/dataset_tar.h"

namespace vitrine::dataset {
namespace {

enum class TextKind : std::uint8_t { none, plain, json, label };

// The members of one sample: neighbours whose names are equal up to the first dot.
struct Group {
    std::string key;
    std::string picture;  // the member's name
    std::uint64_t picture_at = 0;
    std::uint64_t picture_size = 0;
    std::uint64_t text_at = 0;
    std::uint64_t text_size = 0;
    TextKind kind = TextKind::none;
    bool several = false;  // pictures
};

// The same, packed: a set can have millions. The name is the picture's, or the key where there is no picture.
struct Entry {
    std::uint64_t picture_at = 0;
    std::uint64_t text_at = 0;
    std::uint64_t name_at = 0;
    std::uint32_t picture_size = 0;
    std::uint32_t text_size = 0;
    std::uint32_t tar = 0;
    std::uint16_t name_length = 0;
    std::uint16_t key_length = 0;
    TextKind kind = TextKind::none;
    bool several = false;
    bool pictured = false;
};

constexpr std::uint64_t kLargestPicture = 0xFFFFFFFF;
constexpr std::size_t kLongestName = 0xFFFF;

// Everything before the first dot of the base name, and what stands behind that dot in lower case.
std::pair<std::string_view, std::string> split_first_dot(std::string_view name) {
    const std::size_t base = name.rfind('/') + 1;  // npos + 1 is 0
    const std::size_t dot = std::min(name.find('.', base), name.size());
    return {name.substr(0, dot), lower(name.substr(std::min(dot + 1, name.size())))};
}

TextKind text_kind(std::string_view ending) {
    if (ending == "txt" || ending == "caption") return TextKind::plain;
    if (ending == "json") return TextKind::json;
    if (ending == "cls") return TextKind::label;
    return TextKind::none;
}

bool has_junk(std::string_view name) {
    for (std::size_t at = 0; at <= name.size();) {
        const std::size_t end = std::min(name.find('/', at), name.size());
        if (const auto part = name.substr(at, end - at); !part.empty() && is_junk(part)) return true;
        at = end + 1;
    }
    return false;
}

// One tar or many. Members are read where they lie; nothing is unpacked, and no tar stays open.
class WebDataset final : public RowFormat {
public:
    explicit WebDataset(const Path& path) : path_(path), tars_(tars_of(path)) {}

    void scan(Collector& collector) override {
        std::uint64_t total = 0;
        for (const Path& tar : tars_) {
            std::error_code missing;
            if (const auto size = file_size(tar, missing); !missing) total += size;
        }
        collector.expect(total);
        std::uint64_t before = 0;
        for (std::uint32_t tar = 0; tar < tars_.size(); ++tar) {
            try {
                const ReadOnlyFile file(tars_[tar]);
                if (!scan_tar(collector, file, tar, before)) return;
                before += file.size();
            } catch (const FileError& error) {
                collector.skip(reason::unreadable_file, error.what());
            }
        }
    }

    RawRow read(const Row& row) const override {
        const Entry& entry = entries_[row.at];
        if (entry.several) throw Skip{reason::several_pictures, {}};
        if (entry.kind == TextKind::none) throw Skip{reason::missing_caption, {}};
        if (entry.text_size > kLongestRow) throw Skip{reason::broken_row, "its text is longer than a caption can be"};

        std::string text(entry.text_size, '\0');
        text.resize(read_at(ReadOnlyFile(tars_[entry.tar]), entry.text_at, text));
        text = without_mark(std::move(text));
        bool mended = false;
        RawRow result;
        if (entry.kind == TextKind::json) {
            result = row_from_json(parse_row(std::move(text), mended));
        } else {
            mended = mend_utf8(text);
            result.turns.push_back({Role::assistant, std::move(text), {}, {}});
            result.bare = true;
        }
        if (mended) result.notes.push_back(note::windows_1252);
        result.identity = key_of(entry);
        result.picture = entry.pictured ? picture_key(entry) : std::string();  // whatever the JSON calls it
        return result;
    }

    std::string where() const override { return path_.string(); }
    std::string place(const Row& row) const override {
        const Entry& entry = entries_[row.at];
        return place(entry.tar, key_of(entry));
    }

    void require_picture(const std::string& key) const override {
        if (part_of(key).size == 0) throw Skip{reason::empty_picture, std::string(portable(key))};
    }
    Image picture(const std::string& key) const override {
        const Part part = part_of(key);
        const ReadOnlyFile file(tars_[part.tar]);
        std::string bytes(part.size, '\0');
        bytes.resize(read_at(file, part.at, bytes));
        return decode_image(std::as_bytes(std::span(bytes)), std::string(portable(key)));
    }
    std::string picture_identity(const std::string& key) const override {
        const Part part = part_of(key);
        return file_identity(tars_[part.tar]) + "|" + std::to_string(part.at);
    }
    std::string_view portable(std::string_view key) const override { return key.substr(0, key.rfind('@')); }

private:
    struct Part {
        std::uint64_t tar = 0;
        std::uint64_t at = 0;
        std::uint64_t size = 0;
    };

    // False when the collector has enough.
    bool scan_tar(Collector& collector, const ReadOnlyFile& file, std::uint32_t tar, std::uint64_t before) {
        TarReader reader(file);
        Group group;
        const auto finish = [&] {
            const bool more = keep(collector, group, tar, before + reader.position());
            group = {};
            return more;
        };
        TarMember member;
        TarReader::Step step;
        while ((step = reader.next(member)) == TarReader::Step::member) {
            if (member.name.starts_with("./")) member.name.erase(0, 2);
            if (has_junk(member.name)) continue;
            const auto [key, ending] = split_first_dot(member.name);
            if (key != group.key) {
                if (!finish()) return false;
                group.key = key;
            }
            add(group, member, ending);
        }
        if (!finish()) return false;
        if (step == TarReader::Step::cut) {
            collector.skip(reason::cut, place(tar, member.name) + ": the file ends inside it");
        }
        if (step == TarReader::Step::broken) {
            collector.skip(reason::broken_row, place(tar, "byte " + std::to_string(reader.position())) +
                                                   ": no member of a tar; what follows cannot be found");
        }
        return true;
    }

    // False when the collector has enough.
    bool keep(Collector& collector, const Group& group, std::uint32_t tar, std::uint64_t done) {
        const bool pictured = !group.picture.empty();
        if (!pictured && group.kind == TextKind::none) return collector.go_on(done);
        const std::string& name = pictured ? group.picture : group.key;
        if (name.size() > kLongestName || group.picture_size > kLargestPicture) {
            collector.skip(reason::broken_row, place(tar, name.substr(0, 200)) + ": its name or its size is too large");
            return collector.go_on(done);
        }
        entries_.push_back({.picture_at = group.picture_at,
                            .text_at = group.text_at,
                            .name_at = names_.size(),
                            .picture_size = static_cast<std::uint32_t>(group.picture_size),
                            .text_size = row_length(group.text_size),
                            .tar = tar,
                            .name_length = static_cast<std::uint16_t>(name.size()),
                            .key_length = static_cast<std::uint16_t>(group.key.size()),
                            .kind = group.kind,
                            .several = group.several,
                            .pictured = pictured});
        names_ += name;
        const std::size_t before = collector.size();
        const bool more = collector.take({.at = entries_.size() - 1}, done);
        if (collector.size() == before) {
            names_.resize(entries_.back().name_at);
            entries_.pop_back();
        }
        return more;
    }

    static void add(Group& group, TarMember& member, const std::string& ending) {
        if (is_picture_ending(ending)) {
            group.several = !group.picture.empty();
            group.picture = std::move(member.name);
            group.picture_at = member.at;
            group.picture_size = member.size;
        } else if (const TextKind kind = text_kind(ending);
                   kind != TextKind::none && (group.kind == TextKind::none || kind < group.kind)) {
            group.kind = kind;
            group.text_at = member.at;
            group.text_size = member.size;
        }
    }

    std::string place(std::uint32_t tar, const std::string& member) const {
        return tars_[tar].filename().string() + " " + member;
    }

    std::string key_of(const Entry& entry) const { return names_.substr(entry.name_at, entry.key_length); }
    // "shard-00001.tar/000017.jpg@1:1536:48213": for people up to the '@', then which tar, offset and size.
    std::string picture_key(const Entry& entry) const {
        return tars_[entry.tar].filename().string() + "/" + names_.substr(entry.name_at, entry.name_length) + "@" +
               std::to_string(entry.tar) + ":" + std::to_string(entry.picture_at) + ":" +
               std::to_string(entry.picture_size);
    }
    Part part_of(std::string_view key) const {
        std::array<std::uint64_t, 3> numbers{};
        const char* at = key.data() + std::min(key.rfind('@'), key.size() - 1);
        const char* const end = key.data() + key.size();
        for (std::uint64_t& part : numbers) {
            const auto [next, error] = std::from_chars(std::min(at + 1, end), end, part);
            if (error != std::errc() || numbers[0] >= tars_.size()) {
                throw FileError({.name = std::string(key),
                                 .where = where(),
                                 .expected = "the key of a picture in it",
                                 .found = {},
                                 .advice = {}});
            }
            at = next;
        }
        return {numbers[0], numbers[1], numbers[2]};
    }

    Path path_;
    std::vector<Path> tars_;
    std::vector<Entry> entries_;
    std::string names_;
};

}  // namespace

Format open_webdataset(const Path& path) {
    return std::make_unique<WebDataset>(path);
}

}  // namespace vitrine::dataset
