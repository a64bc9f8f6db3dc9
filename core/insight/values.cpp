#include "core/insight/values.h"

#include <array>
#include <utility>

namespace vitrine {
namespace {

constexpr std::array kMethodNames{std::pair{MapMethod::attention, std::string_view{"attention"}},
                                  std::pair{MapMethod::value_norm, std::string_view{"value-norm"}},
                                  std::pair{MapMethod::relative, std::string_view{"relative"}},
                                  std::pair{MapMethod::relevance, std::string_view{"relevance"}},
                                  std::pair{MapMethod::lens, std::string_view{"lens"}},
                                  std::pair{MapMethod::rollout, std::string_view{"rollout"}}};

}  // namespace

std::string_view name_of(Tower tower) {
    return tower == Tower::language ? "language" : "vision";
}

std::string_view name_of(MapMethod method) {
    for (const auto& [value, name] : kMethodNames) {
        if (value == method) return name;
    }
    return "unknown";
}

std::optional<MapMethod> map_method_from_name(std::string_view wanted) {
    for (const auto& [value, name] : kMethodNames) {
        if (name == wanted) return value;
    }
    return std::nullopt;
}

}  // namespace vitrine
