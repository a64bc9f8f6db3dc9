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

// What was left out and why. Counts are complete; of each reason the first `kept` places are listed.
struct SkipReport {
    struct Reason {
        std::uint64_t count = 0;
        std::vector<std::string> examples;  // "llava.json row 18: images/000018.jpg"
    };
    static constexpr std::size_t kept = 100;
    std::map<std::string, Reason>
        reasons;  // "missing picture", "no answer", "broken row", "duplicate", "outside the folder", ...

    void add(const std::string& reason, const std::string& example);
    std::uint64_t total() const;
};

enum class DatasetFormat : std::uint8_t {
    llava,      // JSON array of {id, image, conversations: [{from: human|gpt, value}]}
    coco,       // COCO captions JSON: images joined with annotations on image_id, one sample per caption
    cc3m,       // TSV: caption TAB file (or file TAB caption; with or without a heading)
    sidecars,   // folder of pictures with NAME.txt or NAME.caption beside them
    jsonl,      // one object a line: {image|file_name|file, text|caption|conversations}
    kohya,      // JSON object keyed by stem or path: {"caption": ..., "tags": ...}
    webdataset  // tar, or a folder of tars: KEY.jpg + KEY.txt|KEY.json
};
std::string_view name_of(DatasetFormat format);

struct DatasetOptions {
    std::string format = "auto";     // or a name_of(DatasetFormat); OptionError otherwise
    std::filesystem::path pictures;  // folder of the pictures; empty: beside the file ("images/" also tried)
    std::vector<std::string> prompts{
        "Describe this picture."};  // for bare captions; row i gets prompt i modulo their number
    std::uint64_t limit = 0;        // first good rows only; 0: all
};

// Const after opening; every function may be called from several threads at once.
class Dataset {
public:
    virtual ~Dataset() = default;
    virtual std::string format() const = 0;  // name_of(DatasetFormat), or "scenes"
    virtual std::size_t size() const = 0;    // samples kept
    virtual Sample sample(std::size_t index) const = 0;
    virtual Image picture(const std::string& key) const = 0;  // decoded; throws PictureError, FileError
    // Changes when the picture does, costs no decoding (path, size, time of change; for tar members the tar's and the
    // offset).
    virtual std::string picture_identity(const std::string& key) const = 0;
    virtual const SkipReport& skipped() const = 0;
    // Of format, options and all samples kept: the same rows in the same order give the same value on every machine.
    virtual std::uint64_t fingerprint() const = 0;
};

using DatasetProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;  // bytes or files

// Throws FileError or ConfigError when nothing can be read at all, naming the format that was found or tried and what
// the file looks like. nullptr when stopped.
std::unique_ptr<Dataset> open_dataset(const std::filesystem::path& path, const DatasetOptions& options,
                                      const DatasetProgress& progress = {}, std::stop_token stop = {});

}  // namespace vitrine
