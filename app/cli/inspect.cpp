#include "app/cli/common.h"
#include "core/device.h"
#include "core/model/description.h"

#include <algorithm>
#include <iomanip>
#include <iostream>

namespace vitrine::cli {
namespace fs = std::filesystem;

namespace {

Json bytes_by_dtype(const PartDescription& part) {
    Json bytes;
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
        bytes[std::string(name_of(dtype))] = part.bytes_as(dtype);
    return bytes;
}

Json to_json(const PartDescription& part) {
    Json line{{"part", name_of(part.kind)},
              {"path", part.path.string()},
              {"config", Json::array()},
              {"tensors", Json::array()}};
    for (const ConfigEntry& entry : part.config) {
        line["config"].push_back(
            {{"key", entry.key}, {"value", Json::parse(entry.value, nullptr, false)}, {"origin", entry.origin}});
    }
    for (const TensorInfo& tensor : part.tensors)
        line["tensors"].push_back({{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}});
    line["used"] = part.used;
    line["ignored"] = part.ignored;
    line["strays"] = Json::array();
    for (const fs::path& stray : part.strays) line["strays"].push_back(stray.string());
    line["parameters"] = part.parameters;
    line["bytes"] = bytes_by_dtype(part);
    return line;
}

void print_part(const PartDescription& part) {
    std::cout << name_of(part.kind) << ": " << part.path.string() << '\n';
    for (const ConfigEntry& entry : part.config) {
        std::cout << "  " << std::left << std::setw(28) << entry.key << std::setw(24) << entry.value << entry.origin
                  << '\n';
    }
    std::cout << "  " << part.used.size() << " tensors used, " << part.ignored.size() << " ignored\n";
    for (const TensorInfo& tensor : part.tensors) {
        const bool ignored = std::binary_search(part.ignored.begin(), part.ignored.end(), tensor.name);
        std::cout << "    " << std::left << std::setw(56) << tensor.name << std::setw(6) << tensor.dtype
                  << std::setw(18) << shape_text(tensor.shape) << (ignored ? "ignored" : "") << '\n';
    }
    for (const fs::path& stray : part.strays)
        std::cout << "  not part of the checkpoint, ignored: " << stray.string() << '\n';
    std::cout << "  " << part.parameters << " parameters;";
    const Json by_dtype = bytes_by_dtype(part);
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
                for (const PartDescription& part : describe_model(path)) {
                    if (arguments->model.json)
                        print_line(to_json(part));
                    else
                        print_part(part);
                }
                return static_cast<int>(kDone);
            }};
}

}  // namespace vitrine::cli
