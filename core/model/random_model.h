#pragma once

#include "core/types.h"
#include "core/weights/config.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// The sizes of a model, without weights.
struct ModelShape {
    Qwen3Config language;
    SiglipConfig vision;
};

// "demo" (a few MB), "qwen3-0.6b", "qwen3-4b" (each with SigLIP base), "siglip-base" (with the demo's language model).
// Throws OptionError naming the shapes there are.
ModelShape shape_by_name(std::string_view name);
std::span<const std::string_view> shape_names();

// Writes a complete model folder in the formats real ones have, with random weights: vitrine.json, vision/, language/
// (with a tokenizer of the 256 bytes and Qwen3's control tokens), projector.safetensors and a drawn sample.png. What
// such a model says is noise; it serves to try the program, to measure and to start a training from nothing. With
// `texts` the tokenizer learns their words too, and the vocabulary grows where it must. The folder must
// not exist or be empty. Throws FileError.
void write_random_model(const ModelShape& shape, DType dtype, std::uint64_t seed, const std::filesystem::path& folder,
                        const std::vector<std::string>& texts = {});

}  // namespace vitrine
