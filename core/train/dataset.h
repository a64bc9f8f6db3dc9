#pragma once

#include "core/types.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

// The picture-and-text pairs a run learns from, in the formats people have. Opening reads every row once, keeps the
// good ones and lists the others by reason; nothing but an unreadable data set as a whole stops a run.
namespace vitrine {

// One conversation about at most one picture. Assistant turns are what is learned.
struct Sample {
    std::string id;                 // for people: "llava.json row 17", "shard-00001.tar 000017"
    std::string picture;            // key for Dataset::picture(); empty: a row of text alone
    std::vector<Message> messages;  // user and assistant in turn (a system turn may stand first); pictures left empty
};

// What was left out and why, and what was mended. Counts are complete; of each reason the first `kept` places are
// listed. Reasons: "missing picture", "empty picture", "remote picture", "outside the folder", "several pictures",
// "shared sidecar", "missing caption", "empty caption", "empty answer", "no answer", "turns out of order", "wrong
// type", "broken row", "duplicate", "file cut", "folder seen before", "unreadable folder", "unreadable file".
struct SkipReport {
    struct Reason {
        std::uint64_t count = 0;
        std::vector<std::string> examples;  // "llava.json row 18: images/000018.jpg"
    };
    static constexpr std::size_t kept = 100;
    std::map<std::string, Reason> reasons;
    // Of samples that are used all the same: "last question dropped", "read as Windows-1252", "two sidecars".
    std::map<std::string, Reason> notes;

    void add(const std::string& reason, const std::string& example);
    void note(const std::string& what, const std::string& example);
    std::uint64_t total() const;             // left out, notes not among them
    std::vector<std::string> lines() const;  // for people, one a reason: "missing picture: 3, first llava.json row 18"
};

enum class DatasetFormat : std::uint8_t {
    llava,      // JSON array of {id, image, conversations: [{from: human|gpt, value}]}; rows without image are text
    coco,       // COCO captions JSON: images joined with annotations on image_id, one sample per caption
    cc3m,       // TSV: caption TAB file (or file TAB caption; with or without a heading)
    sidecars,   // folder of pictures with NAME.txt (or else NAME.caption) beside them, folders below included
    jsonl,      // one object a line: {image|file_name|file, text|caption|conversations}; or a folder's metadata.jsonl
    kohya,      // JSON object keyed by stem or path: {"caption": ..., "tags": ...}; the tags where there is no caption
    webdataset  // tar, folder of tars or text file that lists tars: KEY.jpg + KEY.txt, else KEY.json, else KEY.cls
};
std::string_view name_of(DatasetFormat format);

struct DatasetOptions {
    std::string format = "auto";  // or a name_of(DatasetFormat); OptionError otherwise
    // Folder of the pictures; empty: beside the file, then images/, for COCO also where its archives unpack to.
    std::filesystem::path pictures;
    std::vector<std::string> prompts{
        "Describe this picture."};  // for bare captions; row i gets prompt i modulo their number
    std::uint64_t limit = 0;        // first good rows only; 0: all
};

// Const after opening; every function may be called from several threads at once.
class Dataset {
public:
    virtual ~Dataset() = default;
    virtual std::string format() const = 0;              // name_of(DatasetFormat), or "scenes"
    virtual std::size_t size() const = 0;                // samples kept
    virtual Sample sample(std::size_t index) const = 0;  // throws FileError when the file has changed since opening
    virtual Image picture(const std::string& key) const = 0;  // decoded; throws PictureError, FileError
    // Changes when the picture does, costs no decoding (path, size, time of change; for tar members the tar's and the
    // offset).
    virtual std::string picture_identity(const std::string& key) const = 0;
    virtual const SkipReport& skipped() const = 0;
    // Of format, prompts and all samples kept: the same rows in the same order give the same value on every machine,
    // wherever the files lie. Pictures count by name, not by content.
    virtual std::uint64_t fingerprint() const = 0;
};

using DatasetProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;  // bytes or files

// Throws FileError or ConfigError when not one sample can be used, naming the format that was found or tried, what the
// file looks like or the reasons counted. nullptr when stopped.
std::unique_ptr<Dataset> open_dataset(const std::filesystem::path& path, const DatasetOptions& options,
                                      const DatasetProgress& progress = {}, std::stop_token stop = {});

}  // namespace vitrine
