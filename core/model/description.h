#pragma once

#include "core/types.h"
#include "core/weights/checkpoint.h"
#include "core/weights/config.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// What a model is made of, told from configurations and the headers of its files: no weight is read. For callers that
// know no LibTorch.
namespace vitrine {

enum class PartKind : std::uint8_t { vision, language, projector, file };
std::string_view name_of(PartKind kind);

// By its tensors: a patch embedding, an embedding of tokens, fc1 and fc2; `file` when it is none of them.
PartKind kind_of(const Checkpoint& checkpoint);

// One part of a model, or a file by itself.
struct PartDescription {
    PartKind kind = PartKind::file;
    std::filesystem::path path;
    std::vector<ConfigEntry> config;
    std::vector<TensorInfo> tensors;            // all that the files hold
    std::vector<std::string> used;              // names of those that the model reads
    std::vector<std::string> ignored;           // sorted
    std::vector<std::filesystem::path> strays;  // files beside the checkpoint that are no part of it
    std::int64_t parameters = 0;                // that the model uses
    std::uint64_t bytes_as(DType dtype) const {
        return static_cast<std::uint64_t>(parameters) * bytes_per_element(dtype);
    }
};

// A checkpoint folder or file, read as that part. Throws Error when its weights do not belong to its configuration.
PartDescription describe_part(PartKind kind, const std::filesystem::path& path);

// A model folder has three parts (vision, projector, language), a checkpoint folder or a single file has one. Throws
// Error.
std::vector<PartDescription> describe_model(const std::filesystem::path& path);

// estimate_memory() of vlm.h: what a model will need, from its configurations alone.
struct MemoryNeed {
    DType dtype = DType::float32;
    std::uint64_t weights = 0;
    std::uint64_t kv_cache = 0;  // for `context` positions, at most the model's own limit
    std::uint64_t working = 0;
    std::uint64_t total() const { return weights + kv_cache + working; }
};
MemoryNeed memory_need(const Qwen3Config& language, const SiglipConfig& vision, DType dtype, std::int64_t context);
// As LoadOptions takes it when no dtype is asked for.
DType default_dtype(const Qwen3Config& language);

}  // namespace vitrine
