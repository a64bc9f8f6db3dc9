#pragma once

#include "core/model/parameters.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace vitrine {

// What a run changes, as one flat fp32 vector with its gradient beside it, whatever dtype the model computes in: one
// norm, one all-reduce and a handful of vector operations a step. Matrices stand first, so that weight decay is a cut.
class FlatParameters {
public:
    // Takes the parameters' present values over. The pointers must stay valid; dtype is what the model computes in.
    FlatParameters(const ParameterList& parameters, at::ScalarType dtype);

    // Puts the values into the model, joined to the gradient: before every forward pass that is to be differentiated.
    void bind();
    // Puts them in without that, for evaluation and generation.
    void bind_frozen();

    const at::Tensor& values() const { return values_; }      // [n] fp32
    const at::Tensor& gradient() const { return gradient_; }  // [n] fp32; backward passes add to it
    std::int64_t decayed() const { return decayed_; }         // the first so many belong to matrices
    std::int64_t size() const;
    const ParameterList& parameters() const { return parameters_; }  // in the order of the vector

private:
    ParameterList parameters_;
    at::ScalarType dtype_;
    std::int64_t decayed_ = 0;
    at::Tensor values_, gradient_;
    std::vector<at::Tensor> leaves_;  // views of values_ whose .grad are views of gradient_
};

struct AdamWOptions {
    double weight_decay = 0.0;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
};

// AdamW (arXiv 1711.05101) with the conventions of torch.optim.AdamW: decay before the step, epsilon outside the root.
class AdamW {
public:
    AdamW(const FlatParameters& parameters, const AdamWOptions& options);

    void step(FlatParameters& parameters, double learning_rate, double gradient_scale);

    at::Tensor first_moment, second_moment;  // [n] fp32
    std::int64_t steps = 0;

private:
    AdamWOptions options_;
};

// The learning rate at `progress`, the share of the run that is over: rises from 0 over the first `warmup` of it, then
// falls to 0 along a half cosine, or stays.
double scheduled_rate(double peak, double warmup, bool cosine, double progress);

}  // namespace vitrine
