#include "core/model/parameters.h"

#include "core/error.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <set>

namespace vitrine {
namespace {

constexpr std::int64_t kChunkElements = 4 << 20;       // of one copy: 8 MB of bf16
constexpr std::int64_t kRandomPoolElements = 4194301;  // prime

std::optional<at::ScalarType> float_type(std::string_view safetensors_dtype) {
    if (safetensors_dtype == "F32") return at::kFloat;
    if (safetensors_dtype == "BF16") return at::kBFloat16;
    if (safetensors_dtype == "F16") return at::kHalf;
    return std::nullopt;
}

// Copies the elements of a mapped tensor into `target` [shape], converting on the way; never holds more than one chunk
// besides.
void copy_mapped(const Checkpoint::Entry& entry, at::Tensor& target) {
    const at::ScalarType stored = *float_type(entry.tensor->dtype);
    const auto element_bytes = static_cast<std::int64_t>(at::elementSize(stored));
    at::Tensor flat = target.view({-1});
    at::Tensor aligned;  // only for tensors whose bytes do not start at a multiple of the element size
    for (std::int64_t first = 0; first < flat.numel(); first += kChunkElements) {
        const std::int64_t count = std::min(kChunkElements, flat.numel() - first);
        const auto bytes = entry.file->bytes(*entry.tensor)
                               .subspan(static_cast<std::size_t>(first * element_bytes),
                                        static_cast<std::size_t>(count * element_bytes));
        const void* source = bytes.data();
        if (reinterpret_cast<std::uintptr_t>(source) % static_cast<std::uintptr_t>(element_bytes) != 0) {
            if (!aligned.defined()) aligned = at::empty({std::min(kChunkElements, flat.numel())}, stored);
            std::memcpy(aligned.data_ptr(), source, bytes.size());
            source = aligned.data_ptr();
        }
        flat.narrow(0, first, count)
            .copy_(at::from_blob(const_cast<void*>(source), {count}, at::TensorOptions(stored)));
        const std::uint64_t begin = entry.tensor->begin + static_cast<std::uint64_t>(first * element_bytes);
        entry.file->release(begin, begin + bytes.size());
    }
}

}  // namespace

at::ScalarType scalar_type(DType dtype) {
    switch (dtype) {
        case DType::float32: return at::kFloat;
        case DType::bfloat16: return at::kBFloat16;
        case DType::float16: return at::kHalf;
    }
    return at::kFloat;
}

std::int64_t Parameter::elements() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t count_elements(const ParameterList& parameters) {
    std::int64_t total = 0;
    for (const Parameter& parameter : parameters) total += parameter.elements();
    return total;
}

LoadReport match_parameters(const ParameterList& parameters, const Checkpoint& checkpoint,
                            const std::function<std::string(const std::string&)>& actual_name) {
    LoadReport report;
    std::set<std::string, std::less<>> wanted;
    for (const Parameter& parameter : parameters) {
        const std::string name = actual_name(parameter.name);
        const Checkpoint::Entry* entry = checkpoint.find(name);
        if (entry == nullptr) {
            throw WeightsError({.name = name,
                                .where = checkpoint.path().string(),
                                .expected = "a tensor of shape " + shape_text(parameter.shape),
                                .found = "no tensor of that name",
                                .advice = "The weights do not belong to this config.json, or a shard is incomplete."});
        }
        if (entry->tensor->shape != parameter.shape) {
            throw WeightsError({.name = name,
                                .where = entry->file->path().string(),
                                .expected = "shape " + shape_text(parameter.shape),
                                .found = shape_text(entry->tensor->shape),
                                .advice = "The weights do not belong to this config.json."});
        }
        if (!float_type(entry->tensor->dtype)) {
            throw WeightsError({.name = name,
                                .where = entry->file->path().string(),
                                .expected = "dtype F32, BF16 or F16",
                                .found = entry->tensor->dtype,
                                .advice = "Quantised checkpoints are not read; take the original weights."});
        }
        wanted.insert(name);
        report.used.push_back(name);
    }
    for (std::string& name : checkpoint.names()) {
        if (!wanted.contains(name)) report.ignored.push_back(std::move(name));
    }
    return report;
}

LoadReport load_parameters(const ParameterList& parameters, const Checkpoint& checkpoint, const WeightTarget& target,
                           const std::function<std::string(const std::string&)>& actual_name,
                           const LoadProgress& progress, std::stop_token stop) {
    LoadReport report = match_parameters(parameters, checkpoint, actual_name);
    std::uint64_t total = 0;
    for (const std::string& name : report.used) {
        const TensorInfo& tensor = *checkpoint.find(name)->tensor;
        total += tensor.end - tensor.begin;
    }
    std::uint64_t done = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (stop.stop_requested()) {
            for (const Parameter& parameter : parameters) parameter.tensor->reset();
            report.stopped = true;
            return report;
        }
        const Checkpoint::Entry& entry = *checkpoint.find(report.used[i]);
        at::Tensor tensor = at::empty(parameters[i].shape, at::TensorOptions(target.dtype).device(target.device));
        copy_mapped(entry, tensor);
        *parameters[i].tensor = std::move(tensor);
        done += entry.tensor->end - entry.tensor->begin;
        if (progress) progress(done, total);
    }
    return report;
}

void randomise_parameters(const ParameterList& parameters, const WeightTarget& target, std::uint64_t seed) {
    at::Generator generator = at::detail::createCPUGenerator(seed);
    at::Tensor pool;  // [kRandomPoolElements], standard normal, fp32
    std::int64_t offset = 0;
    for (const Parameter& parameter : parameters) {
        at::Tensor tensor = at::empty(parameter.shape, at::TensorOptions(target.dtype).device(target.device));
        at::Tensor flat = tensor.view({-1});
        if (flat.numel() <= kRandomPoolElements) {
            flat.copy_(at::empty(flat.sizes(), at::kFloat).normal_(parameter.init_mean, parameter.init_std, generator));
        } else {
            if (!pool.defined()) pool = at::empty({kRandomPoolElements}, at::kFloat).normal_(0.0, 1.0, generator);
            const at::Tensor scaled = (pool * parameter.init_std + parameter.init_mean).to(target.dtype);
            for (std::int64_t first = 0; first < flat.numel();) {
                const std::int64_t count = std::min(flat.numel() - first, kRandomPoolElements - offset);
                flat.narrow(0, first, count).copy_(scaled.narrow(0, offset, count));
                first += count;
                offset = (offset + count) % kRandomPoolElements;
            }
        }
        *parameter.tensor = std::move(tensor);
    }
}

at::Device torch_device(const Device& device) {
    return device.kind == Device::Kind::cpu ? at::Device(at::kCPU)
                                            : at::Device(at::kCUDA, static_cast<at::DeviceIndex>(device.index));
}

void save_parameters(const std::filesystem::path& path, const ParameterList& parameters, DType dtype) {
    const char* name = dtype == DType::float32 ? "F32" : dtype == DType::bfloat16 ? "BF16" : "F16";
    std::vector<at::Tensor> tensors;
    std::vector<TensorView> views;
    for (const Parameter& parameter : parameters) {
        tensors.push_back(parameter.tensor->detach().to(at::kCPU, scalar_type(dtype)).contiguous());
        const auto* data = static_cast<const std::byte*>(tensors.back().const_data_ptr());
        views.push_back({parameter.name, name, parameter.shape, {data, tensors.back().nbytes()}});
    }
    write_safetensors(path, views, {{"format", "pt"}});
}

}  // namespace vitrine
