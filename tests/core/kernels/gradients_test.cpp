#include <torch/csrc/autograd/autograd.h>

#include "core/kernels/fused.h"
#include "core/kernels/gradients.h"
#include "core/kernels/linear.h"
#include "core/kernels/plain.h"
#include "kernels_support.h"  // LibTorch before Qt, whose macros it does not survive
#include "support/test_main.h"

#include <functional>
#include <vector>

namespace vitrine::test {
namespace {

using Tensors = std::vector<at::Tensor>;
using Operation = std::function<at::Tensor(const Tensors&)>;

// Gradients of sum(f(inputs) * direction) for every input. In fp64 the operations go the plain way and autograd does
// it.
Tensors gradients_of(const Operation& f, const Tensors& inputs, const at::Tensor& direction, at::ScalarType type) {
    Tensors leaves;
    for (const at::Tensor& input : inputs) leaves.push_back(input.to(type).detach().requires_grad_(true));
    const at::Tensor y = f(leaves);
    return torch::autograd::grad({y}, leaves, {direction.to(type)});
}

// The inputs are rounded to the type first, so that both ways see the same numbers.
std::string compare(const Operation& f, Tensors inputs, const std::string& what) {
    std::string fault;
    with_threads([&](const std::string& threads) {
        for (const auto type : kernel_types) {
            for (at::Tensor& input : inputs) input = input.to(type);
            at::Tensor direction;
            {
                const at::NoGradGuard guard;
                direction = at::randn_like(f(inputs));
            }
            const Tensors found = gradients_of(f, inputs, direction, type);
            Tensors wide;
            for (const at::Tensor& input : inputs) wide.push_back(input.to(at::kDouble));
            const Tensors expected = gradients_of(f, wide, direction, at::kDouble);
            for (std::size_t i = 0; i < found.size() && fault.empty(); ++i) {
                // A sum of many rounded terms errs by its scale, not by the size of what is left of it.
                const at::Tensor scale = expected[i].abs().max().clamp_min(0.1);
                const at::Tensor bound =
                    scale * (type == at::kFloat ? 2e-5 : 8 * rounding(type)) + at::zeros_like(expected[i]);
                fault = beyond(found[i], expected[i], bound,
                               threads + " " + what + " " + c10::toString(type) + " input " + std::to_string(i));
            }
        }
    });
    return fault;
}

class GradientsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { at::manual_seed(5); }

    void matmul_takes_every_layout() {
        with_threads([](const std::string& threads) {
            for (const auto type : kernel_types)
                for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{
                         {1, 1, 1}, {5, 3, 7}, {13, 40, 33}, {64, 300, 130}, {300, 17, 260}, {7, 600, 50}})
                    for (const bool a_turned : {false, true})
                        for (const bool b_turned : {false, true}) {
                            const at::Tensor a = a_turned ? normal({k, m}, type).t() : normal({m, k}, type);
                            const at::Tensor b = b_turned ? normal({n, k}, type).t() : normal({k, n}, type);
                            const at::Tensor exact = at::matmul(a.to(at::kDouble), b.to(at::kDouble));
                            VERIFY_SAME(differs(kernels::matmul(a, b), exact, 1,
                                                threads + " " + std::to_string(m) + "x" + std::to_string(k) + "x" +
                                                    std::to_string(n) + (a_turned ? " a" : "") +
                                                    (b_turned ? " b" : "")));
                        }
            const at::Tensor wide = normal({20, 64}, at::kFloat), cut = wide.narrow(1, 8, 30);
            VERIFY_SAME(differs(kernels::matmul(cut, cut.t()), at::matmul(cut, cut.t()), 2, "a cut of a matrix"));
            VERIFY_SAME(differs(kernels::matmul(cut.t(), cut), at::matmul(cut.t(), cut), 2, "a cut, turned"));
        });
    }

    void linear() {
        for (const auto& [rows, in, out] :
             std::vector<std::array<std::int64_t, 3>>{{1, 5, 3}, {9, 64, 48}, {130, 33, 257}})
            VERIFY_SAME(compare([](const Tensors& t) { return kernels::linear(t[0], t[1], t[2]); },
                                {at::randn({2, rows, in}), at::randn({out, in}), at::randn({out})}, "linear"));
    }

    void linear_leaves_frozen_weights_alone() {
        const at::Tensor x = at::randn({4, 8}).requires_grad_(true), weight = at::randn({6, 8});
        const at::Tensor y = kernels::linear(x, weight);
        const at::Tensor given = at::randn({4, 6});
        torch::autograd::backward({y}, {given});
        VERIFY_SAME(differs(x.grad(), at::matmul(given, weight), 4, "x"));
        QVERIFY(!weight.grad().defined());
    }

    void rms_norm() {
        for (const std::int64_t n : {3, 16, 100, 1024})
            VERIFY_SAME(compare([](const Tensors& t) { return kernels::rms_norm(t[0], t[1], 1e-6); },
                                {at::randn({3, 50, n}), at::randn({n})}, "rms_norm " + std::to_string(n)));
    }

    void norm_rope() {
        for (const std::int64_t dim : {4, 20, 32, 128})
            for (const std::int64_t angles_of : {1, 2}) {
                const at::Tensor angles = at::rand({angles_of, 70, dim / 2}) * 6;
                const at::Tensor both = at::cat({angles, angles}, -1), cos = both.cos(), sin = both.sin();
                const auto f = [&](const Tensors& t) {
                    return kernels::norm_rope(t[0], t.size() > 1 ? t[1] : at::Tensor(), 1e-6, cos, sin);
                };
                VERIFY_SAME(compare(f, {at::randn({2, 70, 3, dim}), at::randn({dim})}, "norm_rope"));
                VERIFY_SAME(compare(f, {at::randn({2, 70, 3, dim})}, "rope without a norm"));
            }
    }

    void activations() {
        VERIFY_SAME(compare([](const Tensors& t) { return kernels::silu_mul(t[0], t[1]); },
                            {at::randn({7, 301}) * 4, at::randn({7, 301})}, "silu_mul"));
        VERIFY_SAME(
            compare([](const Tensors& t) { return kernels::gelu(t[0], true); }, {at::randn({7, 301}) * 4}, "gelu"));
    }

    void attention_data() {
        QTest::addColumn<int>("heads");
        QTest::addColumn<int>("kv_heads");
        QTest::addColumn<int>("positions");
        QTest::addColumn<int>("dim");
        QTest::addColumn<bool>("causal");
        QTest::addColumn<bool>("padded");
        QTest::newRow("tower") << 6 << 6 << 64 << 32 << false << false;
        QTest::newRow("grouped") << 6 << 3 << 90 << 32 << true << false;
        QTest::newRow("left padding") << 4 << 2 << 37 << 20 << true << true;
        QTest::newRow("more than a block") << 2 << 1 << 300 << 16 << true << true;
        QTest::newRow("one position") << 2 << 1 << 1 << 8 << true << false;
    }

    void attention() {
        QFETCH(int, heads);
        QFETCH(int, kv_heads);
        QFETCH(int, positions);
        QFETCH(int, dim);
        QFETCH(bool, causal);
        QFETCH(bool, padded);
        const at::Tensor start = padded ? at::tensor({0L, 5L}) : at::Tensor();
        VERIFY_SAME(compare([&](const Tensors& t) { return kernels::attention(t[0], t[1], t[2], causal, start); },
                            {at::randn({2, heads, positions, dim}), at::randn({2, kv_heads, positions, dim}),
                             at::randn({2, kv_heads, positions, dim})},
                            "attention"));
    }

    // Repeating a step bit by bit is what an exactly resumable run rests on.
    void gradients_do_not_depend_on_the_threads() {
        const Tensors inputs{at::randn({2, 90, 64}), at::randn({64}), at::randn({128, 64})};
        const at::Tensor direction = at::randn({2, 90, 128});
        std::vector<Tensors> results;
        with_threads([&](const std::string&) {
            results.push_back(gradients_of(
                [](const Tensors& t) { return kernels::linear(kernels::rms_norm(t[0], t[1], 1e-6), t[2]); }, inputs,
                direction, at::kFloat));
        });
        for (std::size_t i = 0; i < inputs.size(); ++i) QVERIFY(results[0][i].equal(results[1][i]));
    }

    void checkpointing_changes_nothing_but_memory() {
        const at::Tensor x = at::randn({3, 16}), weight = at::randn({16, 16}), norm = at::randn({16});
        const auto run = [&](bool checkpoint) {
            const Tensors leaves{x.detach().clone().requires_grad_(true), weight.detach().clone().requires_grad_(true)};
            const auto f = [&](const at::Tensor& t) {
                return kernels::rms_norm(kernels::linear(t, leaves[1]), norm, 1e-6);
            };
            const at::Tensor y = checkpoint ? kernels::gradients::checkpointed(f, leaves[0]) : f(leaves[0]);
            torch::autograd::backward({y.square().sum()}, {});
            return Tensors{y.detach(), leaves[0].grad(), leaves[1].grad()};
        };
        const Tensors kept = run(false), again = run(true);
        for (std::size_t i = 0; i < kept.size(); ++i) QVERIFY(kept[i].equal(again[i]));
    }
};

VITRINE_TEST(GradientsTest)

}  // namespace
}  // namespace vitrine::test

#include "gradients_test.moc"
