#include "core/kernels/linear.h"

#include "core/kernels/isa.h"
#include "core/kernels/plain.h"
#include "kernels_support.h"  // LibTorch before Qt, whose macros it does not survive
#include "support/test_main.h"

namespace vitrine::test {
namespace {

// What rounding may do: once to the result's type, and fp32 sums of `terms` products.
std::string judge(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                  const std::string& what) {
    const at::Tensor wide_x = x.to(at::kDouble), wide_weight = weight.to(at::kDouble);
    at::Tensor expected = at::matmul(wide_x, wide_weight.t());
    at::Tensor magnitude = at::matmul(wide_x.abs(), wide_weight.abs().t());
    if (bias.defined()) {
        expected = expected + bias.to(at::kDouble);
        magnitude = magnitude + bias.to(at::kDouble).abs();
    }
    return beyond(y, expected, expected.abs() * (rounding(y.scalar_type()) * 1.001) + magnitude * 1e-6, what);
}

std::string name(const at::Tensor& x, const at::Tensor& weight) {
    std::string text = c10::toString(x.scalar_type());
    for (const auto size : x.sizes()) text += " " + std::to_string(size);
    return text + " -> " + std::to_string(weight.size(0));
}

class LinearTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { at::manual_seed(7); }

    // Otherwise everything below would compare the plain way with itself.
    void has_kernels_for_this_processor() {
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
            QVERIFY(kernels::processor_kernels() != nullptr);
#endif
    }

    void is_rounded_once_whatever_the_shape() {
        const at::InferenceMode inference;
        with_threads([](const std::string& threads) {
            for (const auto type : kernel_types)
                for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 220})
                    for (const auto& [k, n] : {std::pair<std::int64_t, std::int64_t>{1, 1},
                                               {7, 5},
                                               {8, 16},
                                               {17, 33},
                                               {64, 100},
                                               {257, 129},
                                               {515, 300}}) {
                        const at::Tensor x = normal({m, k}, type), weight = normal({n, k}, type),
                                         bias = normal({n}, type);
                        const std::string what = threads + " " + name(x, weight);
                        QCOMPARE(kernels::linear_supported(x, weight), true);
                        VERIFY_SAME(judge(kernels::linear(x, weight, bias), x, weight, bias, what + " with bias"));
                        VERIFY_SAME(judge(kernels::linear(x, weight), x, weight, {}, what));
                    }
        });
    }

    void holds_at_the_sizes_of_the_models() {
        const at::InferenceMode inference;
        for (const auto type : kernel_types)
            for (const std::int64_t m : {1, 3, 300})
                for (const auto& [k, n] :
                     {std::pair<std::int64_t, std::int64_t>{1024, 3072}, {3072, 1024}, {1152, 4304}}) {
                    const at::Tensor x = normal({1, m, k}, type), weight = normal({n, k}, type);
                    VERIFY_SAME(judge(kernels::linear(x, weight), x, weight, {}, name(x, weight)));
                }
    }

    void reads_rows_that_lie_apart() {
        const at::InferenceMode inference;
        for (const auto type : kernel_types)
            for (const std::int64_t m : {1, 5, 40}) {
                const at::Tensor x = normal({2, m, 90}, type).narrow(2, 11, 50), weight = normal({70, 50}, type);
                QVERIFY(!x.is_contiguous());
                VERIFY_SAME(judge(kernels::linear(x, weight), x, weight, {}, name(x, weight)));
                VERIFY_SAME(judge(kernels::linear(x[0], weight), x[0], weight, {}, name(x[0], weight)));
            }
        const at::Tensor single = normal({50}, at::kBFloat16), weight = normal({70, 50}, at::kBFloat16);
        QCOMPARE(kernels::linear(single, weight).dim(), 1);
        VERIFY_SAME(judge(kernels::linear(single, weight), single, weight, {}, "one vector"));
    }

    void many_equals_one_by_one() {
        const at::InferenceMode inference;
        with_threads([](const std::string& threads) {
            for (const auto type : kernel_types)
                for (const std::int64_t m : {1, 4, 37}) {
                    const at::Tensor x = normal({m, 200}, type), q = normal({256, 200}, type),
                                     k = normal({131, 200}, type), v = normal({7, 200}, type);
                    const at::Tensor bias = normal({131}, type);
                    const at::Tensor* const weights[] = {&q, &k, &v};
                    const at::Tensor* const biases[] = {nullptr, &bias, nullptr};
                    const auto together = kernels::linear_many(x, weights, biases);
                    QCOMPARE(together.size(), std::size_t{3});
                    VERIFY_SAME(judge(together[0], x, q, {}, threads + " q"));
                    VERIFY_SAME(judge(together[1], x, k, bias, threads + " k"));
                    VERIFY_SAME(judge(together[2], x, v, {}, threads + " v"));
                }
        });
        QVERIFY(kernels::linear_many(normal({1, 8}, at::kFloat), {}).empty());
    }

    void nan_and_infinity_pass_through() {
        const at::InferenceMode inference;
        for (const auto type : kernel_types)
            for (const std::int64_t m : {2, 30}) {
                const at::Tensor x = normal({m, 40}, type), weight = normal({20, 40}, type);
                x[0][3] = std::numeric_limits<float>::quiet_NaN();
                x[1][3] = std::numeric_limits<float>::infinity();
                const at::Tensor y = kernels::linear(x, weight);
                QVERIFY(at::isnan(y[0]).all().item<bool>());
                QVERIFY(at::isinf(y[1]).all().item<bool>());
            }
    }

    void steps_aside_where_it_does_not_apply() {
        const at::Tensor x = normal({3, 16}, at::kFloat), weight = normal({8, 16}, at::kFloat);
        QVERIFY(kernels::linear_supported(x, weight));
        QVERIFY(!kernels::linear_supported(x.to(at::kBFloat16), weight));
        QVERIFY(!kernels::linear_supported(x.to(at::kDouble), weight.to(at::kDouble)));
        QVERIFY(!kernels::linear_supported(x.narrow(1, 0, 8), weight));
        QVERIFY(!kernels::linear_supported(x, normal({16, 8}, at::kFloat).t()));
        QVERIFY(!kernels::linear_supported(x.narrow(0, 0, 0), weight));
        {
            const kernels::PlainGuard plain;
            QVERIFY(!kernels::linear_supported(x, weight));
        }
        QVERIFY(kernels::linear_supported(x, weight));
        QCOMPARE(kernels::linear(x.narrow(0, 0, 0), weight).size(1), 8);
        const at::Tensor turned = normal({16, 8}, at::kFloat).t();
        VERIFY_SAME(judge(kernels::linear(x, turned), x, turned, {}, "a transposed weight"));
        QVERIFY_THROWS_EXCEPTION(c10::Error, kernels::linear(x.narrow(1, 0, 8), weight));
    }

    void gradients_flow() {
        const at::Tensor weight = normal({8, 16}, at::kFloat);
        const at::Tensor x = normal({3, 16}, at::kFloat).requires_grad_();
        QVERIFY(!kernels::linear_supported(x, weight));
        kernels::linear(x, weight).sum().backward();
        VERIFY_SAME(differs(x.grad(), weight.sum(0).expand({3, 16}), 4, "gradient"));
        const c10::NoGradGuard none;
        QVERIFY(kernels::linear_supported(x, weight));
    }
};

VITRINE_TEST(LinearTest)

}  // namespace
}  // namespace vitrine::test

#include "linear_test.moc"
