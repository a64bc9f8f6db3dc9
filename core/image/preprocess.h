#pragma once

#include "core/types.h"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace vitrine {

// How a picture becomes pixel_values. The defaults are SiglipImageProcessor's.
struct PreprocessConfig {
    int image_size = 224;  // both sides; the aspect is not kept, nothing is cropped
    double rescale_factor = 1.0 / 255.0;
    std::array<float, 3> mean{0.5F, 0.5F, 0.5F};  // RGB
    std::array<float, 3> std{0.5F, 0.5F, 0.5F};
    std::vector<std::string> warnings;  // where preprocessor_config.json differs from what SigLIP was trained with
};

// Reads preprocessor_config.json from a checkpoint folder; absent file means the defaults with image_size. Throws
// ConfigError.
PreprocessConfig read_preprocess_config(const std::filesystem::path& folder, int image_size);

// Bicubic resize with antialias exactly as Pillow 13 does it (8-bit, a = -0.5, a pass along each side in Pillow's
// order, fixed-point coefficients of 22 bits), to width x height. Throws nothing.
Image resize_bicubic(const Image& image, int width, int height);

// What the tower sees: resize to image_size x image_size, then (value * rescale_factor - mean) / std.
// Returns [3, image_size, image_size], row-major, RGB planes.
std::vector<float> pixel_values(const Image& image, const PreprocessConfig& config);

}  // namespace vitrine
