#include "core/train/model_writer.h"

#include "core/error.h"
#include "core/weights/file.h"
#include "core/weights/json_file.h"

#include <nlohmann/json.hpp>

namespace vitrine {
namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

const char* dtype_word(DType dtype) {
    return dtype == DType::float32 ? "float32" : dtype == DType::bfloat16 ? "bfloat16" : "float16";
}

// Weights under their own names, config.json with the new dtype, and whatever else is small: tokenizer, templates.
void write_checkpoint(const fs::path& from, const fs::path& to, const ParameterList& parameters, DType dtype) {
    constexpr std::uintmax_t largest_copied = 64 << 20;
    std::error_code error;
    fs::create_directories(to, error);
    for (const fs::directory_entry& entry : fs::directory_iterator(from, error)) {
        const fs::path& path = entry.path();
        const std::string name = path.filename().string();
        const bool weights = path.extension() == ".safetensors" || name.ends_with(".index.json") ||
                             path.extension() == ".bin" || path.extension() == ".pt";
        if (!entry.is_regular_file() || weights || name == "config.json" || entry.file_size() > largest_copied)
            continue;
        fs::copy_file(path, to / name, fs::copy_options::overwrite_existing, error);
        if (error) break;
    }
    if (error)
        throw FileError(
            {.name = "checkpoint", .where = to.string(), .expected = "to be writable", .found = error.message()});
    nlohmann::json config = read_json_file(from / "config.json");
    config.erase("torch_dtype");
    config["dtype"] = dtype_word(dtype);
    write_file(to / "config.json", config.dump(2) + "\n");
    save_parameters(to / "model.safetensors", parameters, dtype);
}

}  // namespace

void write_model_folder(const fs::path& folder, VisionLanguageModel& model, const TrainedParts& trained,
                        DType tower_dtype, const std::string& training) {
    const ModelFolder& source = model.folder();
    ordered_json parts{{"name", source.name}};
    if (!source.about.empty()) parts["about"] = source.about;
    const auto tower = [&](const char* name, bool changed, const fs::path& from, const ParameterList& parameters) {
        parts[name] = changed ? std::string(name) : fs::absolute(from).lexically_normal().string();
        if (changed) write_checkpoint(from, folder / name, parameters, tower_dtype);
    };
    tower("vision", trained.vision, source.vision, model.vision_parameters());
    tower("language", trained.language, source.language, model.language_parameters());
    save_parameters(folder / "projector.safetensors", model.projector_parameters(), DType::float32);
    parts["projector"] = "projector.safetensors";
    parts["presets"] = source.presets;
    parts["training"] = ordered_json::parse(training);
    write_file(folder / "vitrine.json", parts.dump(2) + "\n");
}

void export_model(const ModelFolder& source, DType dtype, const fs::path& out) {
    AtomicFolder whole(out);
    std::optional<VisionLanguageModel> model = VisionLanguageModel::load(source, {scalar_type(dtype), at::kCPU});
    // The projector alone is read again: it is kept in fp32.
    load_parameters(model->projector_parameters(), Checkpoint::open(source.projector), {at::kFloat, at::kCPU},
                    [](const std::string& name) { return name; });
    write_model_folder(whole.path(), *model, {.vision = true, .projector = true, .language = true}, dtype,
                       source.training.empty() ? "{}" : source.training);
    whole.commit();
}

}  // namespace vitrine
