#pragma once

#include "core/weights/config.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// Joining a vision tower, a language model and a projector to a model folder. Configurations and headers decide; no
// weight is read.
namespace vitrine {

struct Pairing {
    std::filesystem::path vision;  // checkpoint folders
    std::filesystem::path language;
    std::filesystem::path projector;  // a safetensors file; empty: a new one with random weights, to be trained
};

// One number that a file says: `value` of `name` in `file`.
struct PairingNumber {
    std::string name;
    std::filesystem::path file;
    std::int64_t value = 0;
};

// Two numbers of different files that have to agree.
struct PairingCheck {
    PairingNumber left;
    PairingNumber right;
    bool at_most = false;  // left may also be the smaller one
    bool ok() const { return at_most ? left.value <= right.value : left.value == right.value; }
};

struct PairingVerdict {
    std::vector<PairingCheck> checks;
    SiglipConfig vision;
    Qwen3Config language;
    bool untrained = false;  // the projector is new
    bool fits() const;
};

// Everything that loading would check before it reads weights, tokenizer and chat template included. Throws Error when
// a part is no such part or cannot be used at all.
PairingVerdict check_pairing(const Pairing& pairing);

// Writes a model folder, whole or not at all: vitrine.json that names vision and language (a checkpoint of the Hugging
// Face cache by its id, one that lies beside the new folder by a relative path, any other by its absolute path) and the
// projector as a file of its own. `folder` must not exist or be empty. Throws ConfigError when the parts do not fit,
// Error.
void write_paired_model(const Pairing& pairing, const std::string& name, std::uint64_t seed,
                        const std::filesystem::path& folder);

// Whether the folder itself says that its projector has learned nothing yet.
bool is_untrained(const ModelFolder& folder);

}  // namespace vitrine
