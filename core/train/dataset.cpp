#include "core/train/dataset.h"

#include <utility>

#include "core/error.h"
#include "core/train/dataset_formats.h"
#include "core/train/dataset_rows.h"

namespace vitrine {
namespace {

void count(std::map<std::string, SkipReport::Reason>& table, const std::string& what, const std::string& example) {
    SkipReport::Reason& entry = table[what];
    if (++entry.count <= SkipReport::kept) entry.examples.push_back(example);
}

DatasetFormat chosen_format(const std::filesystem::path& path, const std::string& name) {
    if (name == "auto") return dataset::detect_format(path);
    if (const auto format = dataset::format_from_name(name)) return *format;
    throw OptionError({.name = "format",
                       .where = {},
                       .expected = "auto, llava, coco, cc3m, sidecars, jsonl, kohya or webdataset",
                       .found = "\"" + name + "\"",
                       .advice = {}});
}

dataset::Format open_format(DatasetFormat format, const std::filesystem::path& path,
                            const std::filesystem::path& pictures) {
    switch (format) {
        case DatasetFormat::llava: return dataset::open_llava(path, pictures);
        case DatasetFormat::coco: return dataset::open_coco(path, pictures);
        case DatasetFormat::cc3m: return dataset::open_cc3m(path, pictures);
        case DatasetFormat::sidecars: return dataset::open_sidecars(path, pictures);
        case DatasetFormat::jsonl: return dataset::open_jsonl(path, pictures);
        case DatasetFormat::kohya: return dataset::open_kohya(path, pictures);
        case DatasetFormat::webdataset: break;
    }
    return dataset::open_webdataset(path);
}

}  // namespace

void SkipReport::add(const std::string& reason, const std::string& example) {
    count(reasons, reason, example);
}

void SkipReport::note(const std::string& what, const std::string& example) {
    count(notes, what, example);
}

std::vector<std::string> SkipReport::lines() const {
    std::vector<std::string> lines;
    for (const auto& [reason, what] : reasons)
        lines.push_back(reason + ": " + std::to_string(what.count) +
                        (what.examples.empty() ? "" : ", first " + what.examples.front()));
    return lines;
}

std::uint64_t SkipReport::total() const {
    std::uint64_t sum = 0;
    for (const auto& [reason, entry] : reasons) sum += entry.count;
    return sum;
}

std::string_view name_of(DatasetFormat format) {
    switch (format) {
        case DatasetFormat::llava: return "llava";
        case DatasetFormat::coco: return "coco";
        case DatasetFormat::cc3m: return "cc3m";
        case DatasetFormat::sidecars: return "sidecars";
        case DatasetFormat::jsonl: return "jsonl";
        case DatasetFormat::kohya: return "kohya";
        case DatasetFormat::webdataset: return "webdataset";
    }
    return {};
}

std::unique_ptr<Dataset> open_dataset(const std::filesystem::path& path, const DatasetOptions& options,
                                      const DatasetProgress& progress, std::stop_token stop) {
    if (options.prompts.empty()) {
        throw OptionError({.name = "prompts", .where = {}, .expected = "at least one", .found = "none", .advice = {}});
    }
    const DatasetFormat format = chosen_format(path, options.format);
    return dataset::RowDataset::open(format, open_format(format, path, options.pictures), options, progress,
                                     std::move(stop));
}

}  // namespace vitrine
