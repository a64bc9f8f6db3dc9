#include "app/cli/common.h"
#include "core/device.h"
#include "core/model/projector.h"
#include "core/model/qwen3.h"
#include "core/model/siglip.h"

#include <iomanip>
#include <iostream>
#include <map>

namespace vitrine::cli {
namespace fs = std::filesystem;

namespace {

// One part of a model, or a file by itself.
struct Part {
    std::string name;  // "vision", "projector", "language", "file"
    fs::path path;
    std::vector<ConfigEntry> config;
    std::vector<TensorInfo> tensors;  // all that the files hold
    LoadReport report;
    std::int64_t parameters = 0;  // that the model uses
    std::vector<fs::path> strays;
};

Part describe(std::string name, const Checkpoint& checkpoint) {
    Part part{.name = std::move(name), .path = checkpoint.path()};
    for (const SafetensorsFile& file : checkpoint.files())
        part.tensors.insert(part.tensors.end(), file.tensors().begin(), file.tensors().end());
    part.strays = checkpoint.strays();
    return part;
}

Part describe_vision(const fs::path& folder) {
    const Checkpoint checkpoint = Checkpoint::open(folder);
    VisionTransformer model = VisionTransformer::from_config(SiglipConfig::from_folder(folder));
    Part part = describe("vision", checkpoint);
    part.config = model.config().entries;
    part.report = match_parameters(model.parameters(), checkpoint, [&](const std::string& name) {
        return VisionTransformer::actual_name(checkpoint, name);
    });
    part.parameters = count_elements(model.parameters());
    return part;
}

Part describe_language(const fs::path& folder) {
    const Checkpoint checkpoint = Checkpoint::open(folder);
    Qwen3Model model = Qwen3Model::from_config(Qwen3Config::from_folder(folder));
    Part part = describe("language", checkpoint);
    part.config = model.config().entries;
    part.report = match_parameters(model.parameters(), checkpoint,
                                   [&](const std::string& name) { return Qwen3Model::actual_name(checkpoint, name); });
    part.parameters = model.num_parameters();
    return part;
}

Part describe_file(const char* name, const fs::path& path) {
    const Checkpoint checkpoint = Checkpoint::open(path);
    Part part = describe(name, checkpoint);
    for (const TensorInfo& tensor : part.tensors) {
        part.report.used.push_back(tensor.name);
        part.parameters += tensor.elements();
    }
    return part;
}

std::vector<Part> describe_all(const fs::path& path) {
    if (fs::is_regular_file(path)) return {describe_file("file", path)};
    if (!fs::exists(path / "vitrine.json")) {
        return {VisionTransformer::is_in(Checkpoint::open(path)) ? describe_vision(path) : describe_language(path)};
    }
    const ModelFolder folder = ModelFolder::open(path);
    return {describe_vision(folder.vision), describe_file("projector", folder.projector),
            describe_language(folder.language)};
}

Json bytes_by_dtype(std::int64_t parameters) {
    Json bytes;
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
        bytes[std::string(name_of(dtype))] = static_cast<std::uint64_t>(parameters) * bytes_per_element(dtype);
    }
    return bytes;
}

Json to_json(const Part& part) {
    Json line{{"part", part.name}, {"path", part.path.string()}, {"config", Json::array()}, {"tensors", Json::array()}};
    for (const ConfigEntry& entry : part.config) {
        line["config"].push_back(
            {{"key", entry.key}, {"value", Json::parse(entry.value, nullptr, false)}, {"origin", entry.origin}});
    }
    for (const TensorInfo& tensor : part.tensors)
        line["tensors"].push_back({{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}});
    line["used"] = part.report.used;
    line["ignored"] = part.report.ignored;
    line["strays"] = Json::array();
    for (const fs::path& stray : part.strays) line["strays"].push_back(stray.string());
    line["parameters"] = part.parameters;
    line["bytes"] = bytes_by_dtype(part.parameters);
    return line;
}

void print_part(const Part& part) {
    std::cout << part.name << ": " << part.path.string() << '\n';
    for (const ConfigEntry& entry : part.config) {
        std::cout << "  " << std::left << std::setw(28) << entry.key << std::setw(24) << entry.value << entry.origin
                  << '\n';
    }
    std::cout << "  " << part.report.used.size() << " tensors used, " << part.report.ignored.size() << " ignored\n";
    for (const TensorInfo& tensor : part.tensors) {
        const bool ignored = std::binary_search(part.report.ignored.begin(), part.report.ignored.end(), tensor.name);
        std::cout << "    " << std::left << std::setw(56) << tensor.name << std::setw(6) << tensor.dtype
                  << std::setw(18) << shape_text(tensor.shape) << (ignored ? "ignored" : "") << '\n';
    }
    for (const fs::path& stray : part.strays)
        std::cout << "  not part of the checkpoint, ignored: " << stray.string() << '\n';
    std::cout << "  " << part.parameters << " parameters;";
    const Json by_dtype = bytes_by_dtype(part.parameters);
    for (const auto& [dtype, bytes] : by_dtype.items())
        std::cout << ' ' << dtype << ' ' << size_text(bytes.get<std::uint64_t>()) << ';';
    std::cout << '\n';
}

}  // namespace

Command add_inspect(CLI::App& parent) {
    struct Arguments {
        ModelFlags model;
        fs::path path;
    };
    auto arguments = std::make_shared<Arguments>();
    CLI::App* app = parent.add_subcommand("inspect", "Show what a model is made of");
    app->add_option("path", arguments->path, "Model folder, checkpoint folder or safetensors file; default: --model");
    arguments->model.add_to(*app);
    return {app, [arguments](std::stop_token) {
                const fs::path path = arguments->path.empty() ? arguments->model.model_folder() : arguments->path;
                for (const Part& part : describe_all(path)) {
                    if (arguments->model.json)
                        print_line(to_json(part));
                    else
                        print_part(part);
                }
                return static_cast<int>(kDone);
            }};
}

}  // namespace vitrine::cli
