#include "core/model/projector.h"

#include "core/error.h"

#include <cmath>

namespace vitrine {

Projector::Projector(std::int64_t vision_hidden, std::int64_t language_hidden)
    : fc1_(vision_hidden, language_hidden, true, std::sqrt(2.0 / static_cast<double>(vision_hidden + language_hidden))),
      fc2_(language_hidden, language_hidden, true, std::sqrt(1.0 / static_cast<double>(language_hidden))) {}

Projector Projector::from_config(std::int64_t vision_hidden, std::int64_t language_hidden) {
    return Projector(vision_hidden, language_hidden);
}

Projector Projector::from_pretrained(const std::filesystem::path& file, const WeightTarget& target) {
    const Checkpoint checkpoint = Checkpoint::open(file);
    const Checkpoint::Entry* first = checkpoint.find("fc1.weight");
    if (first == nullptr || first->tensor->shape.size() != 2) {
        throw WeightsError({.name = "fc1.weight",
                            .where = file.string(),
                            .expected = "a projector: fc1.weight [H, C], fc1.bias, fc2.weight [H, H], fc2.bias",
                            .found = first == nullptr ? "no tensor of that name" : shape_text(first->tensor->shape),
                            .advice = "Name a projector file in vitrine.json."});
    }
    Projector projector(first->tensor->shape[1], first->tensor->shape[0]);
    load_parameters(projector.parameters(), checkpoint, target, [](const std::string& name) { return name; });
    return projector;
}

at::Tensor Projector::forward(const at::Tensor& features, ForwardObserver* observer) const {
    const at::Tensor projected = fc2_(activate(fc1_(features), Activation::gelu));
    if (observer != nullptr) observer->on_stage("projector", projected);
    return projected;
}

ParameterList Projector::parameters() {
    ParameterList list;
    fc1_.parameters("fc1.", list);
    fc2_.parameters("fc2.", list);
    return list;
}

}  // namespace vitrine
