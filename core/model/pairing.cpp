#include "core/model/pairing.h"

#include "core/error.h"
#include "core/model/description.h"
#include "core/model/projector.h"
#include "core/text/chat_template.h"
#include "core/text/tokenizer.h"
#include "core/weights/file.h"
#include "core/weights/json_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kNeverTrained =
    "never trained";  // in the note of vitrine.json's training, as random models say it
constexpr const char* kProjectorFile = "projector.safetensors";

// The width of one side of a matrix of the projector: 0 its outputs, 1 its inputs.
PairingNumber width(const Checkpoint& projector, const char* name, std::size_t side) {
    const Checkpoint::Entry* entry = projector.find(name);
    if (entry == nullptr || entry->tensor->shape.size() != 2) {
        throw WeightsError({.name = name,
                            .where = projector.path().string(),
                            .expected = "a projector: fc1.weight [H, C], fc1.bias, fc2.weight [H, H], fc2.bias",
                            .found = entry == nullptr ? "no tensor of that name" : shape_text(entry->tensor->shape),
                            .advice = "Choose the projector.safetensors of a training run."});
    }
    return {std::string(name) + (side == 0 ? " outputs" : " inputs"), projector.path(), entry->tensor->shape[side]};
}

// "models--Qwen--Qwen3-0.6B/snapshots/HASH" is Qwen/Qwen3-0.6B, as long as the cache leads there.
std::optional<std::string> hub_id_of(const fs::path& checkpoint) {
    const std::string repository = checkpoint.parent_path().parent_path().filename().string();
    constexpr std::string_view prefix = "models--";
    if (!repository.starts_with(prefix)) return std::nullopt;
    std::string id = repository.substr(prefix.size());
    if (const auto dashes = id.find("--"); dashes != std::string::npos) id.replace(dashes, 2, "/");
    const auto cached = find_in_hub_cache(id);
    std::error_code ignored;
    return cached && fs::equivalent(*cached, checkpoint, ignored) ? std::optional(id) : std::nullopt;
}

std::string reference_to(const fs::path& part, const fs::path& folder) {
    if (auto id = hub_id_of(part)) return *id;
    const fs::path whole = fs::absolute(part).lexically_normal();
    const fs::path models = fs::absolute(folder).lexically_normal().parent_path();
    const fs::path relative = whole.lexically_relative(models);
    const bool beside = !relative.empty() && *relative.begin() != "..";
    return beside ? (fs::path("..") / relative).string() : whole.string();
}

std::string number_text(const PairingNumber& number) {
    return std::to_string(number.value) + " (" + number.name + " in " + number.file.string() + ")";
}

}  // namespace

bool PairingVerdict::fits() const {
    return std::all_of(checks.begin(), checks.end(), [](const PairingCheck& check) { return check.ok(); });
}

PairingVerdict check_pairing(const Pairing& pairing) {
    PairingVerdict verdict{.vision = SiglipConfig::from_folder(pairing.vision),
                           .language = Qwen3Config::from_folder(pairing.language),
                           .untrained = pairing.projector.empty()};
    const fs::path vision_file = pairing.vision / "config.json";
    const fs::path language_file = pairing.language / "config.json";
    const PairingNumber language_width{"hidden_size", language_file, verdict.language.hidden_size};
    if (!verdict.untrained) {
        const Checkpoint projector = Checkpoint::open(pairing.projector);
        verdict.checks.push_back(
            {{"hidden_size", vision_file, verdict.vision.hidden_size}, width(projector, "fc1.weight", 1)});
        verdict.checks.push_back({width(projector, "fc1.weight", 0), width(projector, "fc2.weight", 1)});
        verdict.checks.push_back({width(projector, "fc2.weight", 0), language_width});
    }
    const fs::path tokenizer_file = pairing.language / "tokenizer.json";
    check_chat_template(pairing.language);
    verdict.checks.push_back({{"number of tokens", tokenizer_file, Tokenizer::from_file(tokenizer_file).vocab_size()},
                              {"vocab_size", language_file, verdict.language.vocab_size},
                              true});
    verdict.checks.push_back({{"patches of a picture", vision_file, verdict.vision.num_patches()},
                              {"max_position_embeddings", language_file, verdict.language.max_position_embeddings},
                              true});
    describe_part(PartKind::vision, pairing.vision);  // throws where weights and configuration do not belong together
    describe_part(PartKind::language, pairing.language);
    return verdict;
}

void write_paired_model(const Pairing& pairing, const std::string& name, std::uint64_t seed, const fs::path& folder) {
    const PairingVerdict verdict = check_pairing(pairing);
    for (const PairingCheck& check : verdict.checks) {
        if (check.ok()) continue;
        throw ConfigError({.name = name,
                           .where = folder.string(),
                           .expected = number_text(check.left),
                           .found = number_text(check.right),
                           .advice = "These parts do not fit together."});
    }

    AtomicFolder whole(folder);
    ordered_json model{{"name", name}};
    if (verdict.untrained) {
        model["about"] =
            "The projector between the two parts is new and untrained: what this model says about pictures is noise "
            "until the projector is trained.";
    }
    model["vision"] = reference_to(pairing.vision, folder);
    model["language"] = reference_to(pairing.language, folder);
    model["projector"] = kProjectorFile;
    const fs::path projector_file = whole.path() / kProjectorFile;
    if (verdict.untrained) {
        Projector projector = Projector::from_config(verdict.vision.hidden_size, verdict.language.hidden_size);
        randomise_parameters(projector.parameters(), {at::kFloat, at::kCPU}, seed);
        save_parameters(projector_file, projector.parameters(), DType::float32);
        model["training"] = {{"note", std::string("random weights, ") + kNeverTrained}, {"seed", seed}};
    } else {
        // A copy of a few megabytes: the run it comes from may be deleted.
        write_file(projector_file, ReadOnlyFile(pairing.projector).read_all());
        model["training"] = {{"note", "projector taken over"}, {"from", pairing.projector.string()}};
    }
    write_file(whole.path() / "vitrine.json", model.dump(2) + "\n");
    whole.commit();
}

bool is_untrained(const ModelFolder& folder) {
    const auto training = ordered_json::parse(folder.training, nullptr, false);
    if (!training.is_object()) return false;
    const auto note = training.find("note");
    return note != training.end() && note->is_string() &&
           note->get_ref<const std::string&>().find(kNeverTrained) != std::string::npos;
}

}  // namespace vitrine
