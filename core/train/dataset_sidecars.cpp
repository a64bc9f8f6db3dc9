#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/train/dataset_file_format.h"
#include "core/train/dataset_formats.h"

namespace vitrine::dataset {
namespace {

constexpr std::uint64_t kLongestCaption = std::uint64_t{1} << 20;

// A folder of pictures, each with its caption in NAME.txt or NAME.caption. The captions are kept in memory: people
// edit them while a run is on, and the run goes on with what it began with.
class Sidecars final : public PictureFileFormat {
public:
    Sidecars(const Path& folder, const Path& pictures)
        : PictureFileFormat({pictures.empty() ? folder : pictures}),
          folder_(folder),
          pictures_(pictures.empty() ? folder : pictures) {}

    void scan(Collector& collector) override {
        const auto go_on = [&](std::uint64_t) { return !collector.stopped(); };
        FolderListing captions = list_files(folder_, go_on);
        const bool apart = pictures_ != folder_;
        FolderListing pictures = apart ? list_files(pictures_, go_on) : captions;
        for (const FolderListing* listing : {&captions, apart ? &pictures : nullptr}) {
            if (listing == nullptr) continue;
            for (const auto& [why, place] : listing->skipped) collector.skip(why, place);
        }

        // Names without their endings, in byte order.
        struct Group {
            std::vector<std::string> pictures;
            std::string text;
            std::string caption;
        };
        std::map<std::string, Group, std::less<>> groups;
        for (std::string& file : pictures.files) {
            if (is_picture_name(file)) groups[std::string(split_ending(file).first)].pictures.push_back(file);
        }
        for (std::string& file : captions.files) {
            const auto [stem, ending] = split_ending(file);
            if (ending == "txt") groups[std::string(stem)].text = file;
            if (ending == "caption") groups[std::string(stem)].caption = file;
        }

        collector.expect(groups.size());
        std::uint64_t done = 0;
        for (auto& [stem, group] : groups) {
            ++done;
            const std::string& sidecar = group.text.empty() ? group.caption : group.text;
            if (group.pictures.empty()) collector.skip(reason::missing_picture, sidecar);
            if (sidecar.empty() || group.pictures.size() > 1) {
                const char* why = sidecar.empty() ? reason::missing_caption : reason::shared_sidecar;
                for (const std::string& picture : group.pictures) collector.skip(why, picture);
            }
            bool more = true;
            if (group.pictures.size() == 1 && !sidecar.empty()) {
                if (!group.text.empty() && !group.caption.empty()) collector.note(note::two_sidecars, sidecar);
                more = take(collector, std::move(group.pictures.front()), sidecar, done);
            }
            if (!more || !collector.go_on(done)) return;
        }
    }

    RawRow read(const Row& row) const override {
        const Pair& pair = pairs_[row.at];
        RawRow result{.picture = pair.picture, .bare = true};
        result.turns.push_back({Role::assistant, pair.caption, {}, {}});
        return result;
    }
    std::string where() const override { return folder_.string(); }
    std::string place(const Row& row) const override { return pairs_[row.at].picture; }

private:
    struct Pair {
        std::string picture;
        std::string caption;
    };

    bool take(Collector& collector, std::string picture, const std::string& sidecar, std::uint64_t done) {
        std::string caption;
        try {
            const ReadOnlyFile file(folder_ / sidecar);
            if (file.size() > kLongestCaption) {
                collector.skip(reason::broken_row, sidecar + ": longer than a caption can be");
                return true;
            }
            caption = without_mark(file.read_all());
        } catch (const FileError& error) {
            collector.skip(reason::unreadable_file, error.what());
            return true;
        }
        if (mend_utf8(caption)) collector.note(note::windows_1252, sidecar);
        pairs_.push_back({std::move(picture), std::move(caption)});
        return collector.take({.at = pairs_.size() - 1}, done);
    }

    Path folder_;
    Path pictures_;
    std::vector<Pair> pairs_;
};

}  // namespace

Format open_sidecars(const Path& path, const Path& pictures) {
    return std::make_unique<Sidecars>(path, pictures);
}

}  // namespace vitrine::dataset
