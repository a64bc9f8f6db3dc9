#include "core/model/description.h"

#include "core/model/vlm.h"

#include <algorithm>
#include <utility>

namespace vitrine {
namespace {

namespace fs = std::filesystem;

PartDescription listed(PartKind kind, const Checkpoint& checkpoint) {
    PartDescription part{.kind = kind, .path = checkpoint.path(), .strays = checkpoint.strays()};
    for (const SafetensorsFile& file : checkpoint.files())
        part.tensors.insert(part.tensors.end(), file.tensors().begin(), file.tensors().end());
    return part;
}

// Vision and language alike: the parameters that the configuration demands, matched with what the checkpoint holds.
template <typename Model, typename Config>
PartDescription described(PartKind kind, const fs::path& folder) {
    const Checkpoint checkpoint = Checkpoint::open(folder);
    Model model = Model::from_config(Config::from_folder(folder));
    PartDescription part = listed(kind, checkpoint);
    part.config = model.config().entries;
    LoadReport report = match_parameters(model.parameters(), checkpoint,
                                         [&](const std::string& name) { return Model::actual_name(checkpoint, name); });
    part.used = std::move(report.used);
    part.ignored = std::move(report.ignored);
    part.parameters = count_elements(model.parameters());
    return part;
}

}  // namespace

std::string_view name_of(PartKind kind) {
    switch (kind) {
        case PartKind::vision: return "vision";
        case PartKind::language: return "language";
        case PartKind::projector: return "projector";
        case PartKind::file: break;
    }
    return "file";
}

PartKind kind_of(const Checkpoint& checkpoint) {
    if (VisionTransformer::is_in(checkpoint)) return PartKind::vision;
    if (checkpoint.find("fc1.weight") != nullptr && checkpoint.find("fc2.weight") != nullptr)
        return PartKind::projector;
    const std::vector<std::string> names = checkpoint.names();
    const bool language = std::any_of(names.begin(), names.end(),
                                      [](const std::string& name) { return name.ends_with("embed_tokens.weight"); });
    return language ? PartKind::language : PartKind::file;
}

PartDescription describe_part(PartKind kind, const fs::path& path) {
    if (kind == PartKind::vision) return described<VisionTransformer, SiglipConfig>(kind, path);
    if (kind == PartKind::language) return described<Qwen3Model, Qwen3Config>(kind, path);
    PartDescription part = listed(kind, Checkpoint::open(path));
    for (const TensorInfo& tensor : part.tensors) {
        part.used.push_back(tensor.name);
        part.parameters += tensor.elements();
    }
    return part;
}

std::vector<PartDescription> describe_model(const fs::path& path) {
    if (fs::is_regular_file(path)) return {describe_part(PartKind::file, path)};
    if (!fs::exists(path / "vitrine.json")) {
        const bool vision = kind_of(Checkpoint::open(path)) == PartKind::vision;
        return {describe_part(vision ? PartKind::vision : PartKind::language, path)};
    }
    const ModelFolder folder = ModelFolder::open(path);
    return {describe_part(PartKind::vision, folder.vision), describe_part(PartKind::projector, folder.projector),
            describe_part(PartKind::language, folder.language)};
}

MemoryNeed memory_need(const Qwen3Config& language, const SiglipConfig& vision, DType dtype, std::int64_t context) {
    const MemoryEstimate estimate =
        estimate_memory(language, vision, dtype, std::min(context, language.max_position_embeddings));
    return {dtype, estimate.weights, estimate.kv_cache, estimate.working};
}

DType default_dtype(const Qwen3Config& language) {
    if (language.stored_dtype == "float32") return DType::float32;
    if (language.stored_dtype == "float16") return DType::float16;
    return DType::bfloat16;
}

}  // namespace vitrine
