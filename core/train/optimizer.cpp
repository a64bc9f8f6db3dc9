#include "core/train/optimizer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vitrine {

FlatParameters::FlatParameters(const ParameterList& parameters, at::ScalarType dtype)
    : parameters_(parameters), dtype_(dtype) {
    const auto is_matrix = [](const Parameter& parameter) { return parameter.shape.size() > 1; };
    std::stable_partition(parameters_.begin(), parameters_.end(), is_matrix);
    std::vector<at::Tensor> flat;
    for (const Parameter& parameter : parameters_) {
        flat.push_back(parameter.tensor->detach().to(at::kFloat).flatten());
        if (is_matrix(parameter)) decayed_ += parameter.elements();
    }
    values_ = at::cat(flat);
    gradient_ = at::zeros_like(values_);
    std::int64_t offset = 0;
    for (const Parameter& parameter : parameters_) {
        const auto view = [&](const at::Tensor& whole) {
            return whole.narrow(0, offset, parameter.elements()).view(parameter.shape);
        };
        at::Tensor leaf = view(values_).detach().requires_grad_(true);
        leaf.mutable_grad() = view(gradient_);
        leaves_.push_back(leaf);
        offset += parameter.elements();
    }
}

std::int64_t FlatParameters::size() const {
    return values_.numel();
}

void FlatParameters::bind() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) *parameters_[i].tensor = leaves_[i].to(dtype_);
}

void FlatParameters::bind_frozen() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) *parameters_[i].tensor = leaves_[i].detach().to(dtype_);
}

AdamW::AdamW(const FlatParameters& parameters, const AdamWOptions& options)
    : first_moment(at::zeros_like(parameters.values())),
      second_moment(at::zeros_like(parameters.values())),
      options_(options) {}

void AdamW::step(FlatParameters& parameters, double learning_rate, double gradient_scale) {
    ++steps;
    at::Tensor gradient = parameters.gradient();
    if (gradient_scale != 1.0) gradient.mul_(gradient_scale);
    at::Tensor values = parameters.values();
    if (options_.weight_decay != 0.0)
        values.narrow(0, 0, parameters.decayed()).mul_(1.0 - learning_rate * options_.weight_decay);
    first_moment.mul_(options_.beta1).add_(gradient, 1.0 - options_.beta1);
    second_moment.mul_(options_.beta2).addcmul_(gradient, gradient, 1.0 - options_.beta2);
    const double count = static_cast<double>(steps);
    const double first_bias = 1.0 - std::pow(options_.beta1, count);
    const double second_bias = 1.0 - std::pow(options_.beta2, count);
    const at::Tensor root = (second_moment.sqrt() / std::sqrt(second_bias)).add_(options_.epsilon);
    values.addcdiv_(first_moment, root, -learning_rate / first_bias);
}

double scheduled_rate(double peak, double warmup, bool cosine, double progress) {
    if (progress < warmup) return peak * progress / warmup;
    if (!cosine) return peak;
    const double rest = warmup < 1.0 ? (progress - warmup) / (1.0 - warmup) : 1.0;
    return peak * 0.5 * (1.0 + std::cos(std::numbers::pi * std::clamp(rest, 0.0, 1.0)));
}

}  // namespace vitrine
