#pragma once

#include "core/train/dataset.h"

#include <cstdint>
#include <memory>

// Scenes as training data: drawn and worded when they are asked for, so nothing is stored and there can be any number.
namespace vitrine {

struct ScenesDatasetOptions {
    enum class What : std::uint8_t {
        captions,   // "Describe this picture." and the caption, nothing else
        questions,  // `turns` questions in one conversation
        mixed       // questions, and in `caption_share` of the conversations the caption as one of the turns
    };
    std::uint64_t seed = 0;
    std::uint64_t count = 0;  // scenes 0 to count - 1 of the seed; may be as large as 2^40
    int size = 128;           // width and height of the pictures
    What what = What::mixed;
    std::size_t turns = 4;
    double caption_share = 0.5;
};

// format() is "scenes", picture keys are "scene:SEED:INDEX", nothing is skipped. Throws OptionError.
std::unique_ptr<Dataset> make_scenes_dataset(const ScenesDatasetOptions& options);

}  // namespace vitrine
