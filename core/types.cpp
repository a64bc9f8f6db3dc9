#include "core/types.h"

#include <array>
#include <utility>

namespace vitrine {
namespace {

constexpr std::array kDTypeNames{std::pair{DType::float32, std::string_view{"fp32"}},
                                 std::pair{DType::bfloat16, std::string_view{"bf16"}},
                                 std::pair{DType::float16, std::string_view{"fp16"}}};

}  // namespace

std::string_view name_of(DType dtype) {
    for (const auto& [value, name] : kDTypeNames) {
        if (value == dtype) return name;
    }
    return "unknown";
}

std::optional<DType> dtype_from_name(std::string_view wanted) {
    for (const auto& [value, name] : kDTypeNames) {
        if (name == wanted) return value;
    }
    return std::nullopt;
}

std::size_t bytes_per_element(DType dtype) {
    return dtype == DType::float32 ? 4 : 2;
}

std::string_view name_of(FinishReason reason) {
    switch (reason) {
        case FinishReason::stop_token: return "stop_token";
        case FinishReason::stop_string: return "stop_string";
        case FinishReason::length: return "length";
        case FinishReason::loop: return "loop";
        case FinishReason::stopped: return "stopped";
    }
    return "unknown";
}

}  // namespace vitrine
