#pragma once

#include "core/device.h"
#include "core/types.h"
#include "core/weights/checkpoint.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace vitrine {

at::ScalarType scalar_type(DType dtype);
at::Device torch_device(const Device& device);

// One weight of a module: its name in the checkpoint, the shape the configuration demands, and where the tensor goes.
// Modules are built empty from a configuration and list their parameters; loading or initialising fills them.
struct Parameter {
    std::string name;
    std::vector<std::int64_t> shape;
    at::Tensor* tensor = nullptr;
    double init_mean = 0.0;  // for random weights: normal(mean, std)
    double init_std = 0.0;

    std::int64_t elements() const;
};
using ParameterList = std::vector<Parameter>;

std::int64_t count_elements(const ParameterList& parameters);

struct WeightTarget {
    at::ScalarType dtype = at::kFloat;
    at::Device device = at::kCPU;
};

// Bytes read so far of all bytes to read; called often, from the loading thread.
using LoadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct LoadReport {
    std::vector<std::string> used;     // names as the checkpoint has them
    std::vector<std::string> ignored;  // tensors of the checkpoint that no parameter wants
    bool stopped = false;              // the stop token fired; parameters are left empty
};

// Fills every parameter exactly once from the mapped file, straight to the target dtype, chunk by chunk, and gives the
// file's pages back as it goes. `actual_name` maps a parameter's name to the checkpoint's. Throws WeightsError naming
// the tensor and both shapes when one is missing, of another shape or of a dtype that is not floating point.
LoadReport load_parameters(const ParameterList& parameters, const Checkpoint& checkpoint, const WeightTarget& target,
                           const std::function<std::string(const std::string&)>& actual_name,
                           const LoadProgress& progress = {}, std::stop_token stop = {});

// What load_parameters would use and ignore, with the same errors, without reading any data.
LoadReport match_parameters(const ParameterList& parameters, const Checkpoint& checkpoint,
                            const std::function<std::string(const std::string&)>& actual_name);

// Random weights, reproducible from the seed on every machine: normal with each parameter's mean and std. Tensors of
// more than four million elements repeat a pool of prime length, so that billions of weights take seconds and no two
// rows are alike.
void randomise_parameters(const ParameterList& parameters, const WeightTarget& target, std::uint64_t seed);

// Writes all parameters to one safetensors file, as that dtype, beside its place and renamed. Throws FileError.
void save_parameters(const std::filesystem::path& path, const ParameterList& parameters, DType dtype);

}  // namespace vitrine
