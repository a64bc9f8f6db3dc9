#pragma once

#include "core/model/vlm.h"

#include <filesystem>
#include <string>

namespace vitrine {

// Which parts of a model a run has changed.
struct TrainedParts {
    bool vision = false;
    bool projector = false;
    bool language = false;
};

// Makes a model folder in `folder`, which exists: changed towers as files of their own with the rest of their
// checkpoint copied beside them, frozen ones by their absolute path, the projector in fp32. `training` is JSON for
// vitrine.json. Throws FileError.
void write_model_folder(const std::filesystem::path& folder, VisionLanguageModel& model, const TrainedParts& trained,
                        DType tower_dtype, const std::string& training);

// A model folder whose parts all lie inside it, the towers' weights as `dtype`. `out` must not exist or be empty.
// Throws Error.
void export_model(const ModelFolder& model, DType dtype, const std::filesystem::path& out);

}  // namespace vitrine
