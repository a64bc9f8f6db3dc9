#include "core/kernels/fused.h"
#include "core/kernels/plain.h"
#include "kernels_support.h"  // LibTorch before Qt, whose macros it does not survive
#include "support/test_main.h"

namespace vitrine::test {
namespace {

namespace plain = kernels::plain;

class RowsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { at::manual_seed(11); }

    // Rounding in between is part of the definition: leaving one out would change far more than a percent of the
    // elements.
    void rms_norm_is_the_plain_one() {
        const at::InferenceMode inference;
        with_threads([](const std::string& threads) {
            for (const auto type : kernel_types)
                for (const std::int64_t n : {1, 7, 8, 16, 31, 100, 1024, 2560})
                    for (const std::int64_t rows : {1, 5, 64}) {
                        const at::Tensor x = normal({rows, n}, type) * 3, weight = normal({n}, type);
                        const at::Tensor found = kernels::rms_norm(x, weight, 1e-6),
                                         expected = plain::rms_norm(x, weight, 1e-6);
                        VERIFY_SAME(differs(found, expected, 2, threads + " rms_norm " + std::to_string(n)));
                        if (type != at::kFloat && found.numel() > 1000) QVERIFY(share_unequal(found, expected) < 0.01);
                    }
        });
    }

    void rms_norm_rounds_before_the_weight() {
        const at::InferenceMode inference;
        const at::Tensor x = normal({4, 256}, at::kBFloat16), weight = normal({256}, at::kBFloat16);
        const at::Tensor wide = x.to(at::kFloat);
        const at::Tensor normed = (wide / (wide.square().mean(-1, true) + 1e-6).sqrt()).to(at::kBFloat16);
        QVERIFY(share_unequal(plain::rms_norm(x, weight, 1e-6), normed * weight) < 0.01);
        QVERIFY(share_unequal(kernels::rms_norm(x, weight, 1e-6), normed * weight) < 0.01);
    }

    void norm_rope_is_the_plain_one() {
        const at::InferenceMode inference;
        with_threads([](const std::string& threads) {
            for (const auto type : kernel_types)
                for (const std::int64_t dim : {2, 8, 20, 64, 128})
                    for (const std::int64_t angles_of : {1, 3})
                        for (const bool norm : {true, false}) {
                            const at::Tensor fused =
                                normal({3, 9, 7, dim}, type);  // heads 1 to 5 are taken, as from a fused qkv
                            const at::Tensor x = fused.narrow(2, 1, 5);
                            const at::Tensor weight = norm ? normal({dim}, type) : at::Tensor();
                            const at::Tensor angles = at::rand({angles_of, 9, dim}) * 6;
                            const at::Tensor cos = angles.cos(), sin = angles.sin();
                            const at::Tensor found = kernels::norm_rope(x, weight, 1e-6, cos, sin);
                            const at::Tensor expected = plain::norm_rope(x, weight, 1e-6, cos, sin);
                            QVERIFY(found.is_contiguous());
                            VERIFY_SAME(differs(found, expected, 2, threads + " norm_rope " + std::to_string(dim)));
                            if (type != at::kFloat && found.numel() > 1000)
                                QVERIFY(share_unequal(found, expected) < 0.01);
                        }
        });
    }

    // Turning pairs (i, i + D/2) by the same angle keeps lengths, and turns (1, 0) into (cos, sin).
    void norm_rope_turns_pairs_of_halves() {
        for (const auto& rope : {kernels::norm_rope, plain::norm_rope}) {
            const at::Tensor x = at::tensor({1.0F, 0.0F, 0.0F, 2.0F}).reshape({1, 1, 1, 4});
            const at::Tensor angles = at::tensor({0.5F, 0.25F, 0.5F, 0.25F}).reshape({1, 1, 4});
            const at::Tensor found = rope(x, {}, 1e-6, angles.cos(), angles.sin()).flatten();
            const at::Tensor expected =
                at::tensor({std::cos(0.5), -2 * std::sin(0.25), std::sin(0.5), 2 * std::cos(0.25)});
            VERIFY_SAME(differs(found, expected, 4, "turned"));
        }
    }

    void activations_are_the_plain_ones() {
        const at::InferenceMode inference;
        with_threads([](const std::string& threads) {
            for (const auto type : kernel_types)
                for (const std::int64_t n : {1, 7, 16, 33, 3072, 50000}) {
                    const at::Tensor x = normal({2, n}, type) * 4, up = normal({2, n}, type);
                    const std::string what = threads + " " + c10::toString(type) + " " + std::to_string(n);
                    VERIFY_SAME(differs(kernels::silu_mul(x, up), plain::silu_mul(x, up), 2, "silu_mul " + what));
                    VERIFY_SAME(differs(kernels::gelu(x, true), plain::gelu(x, true), 2, "tanh gelu " + what));
                    VERIFY_SAME(differs(kernels::gelu(x, false), plain::gelu(x, false), 2, "exact gelu " + what));
                }
        });
    }

    void activations_hold_at_the_ends() {
        const at::InferenceMode inference;
        const at::Tensor x =
            at::tensor({-1e30F, -1000.0F, -100.0F, -20.0F, -0.0F, 1e-30F, 20.0F, 100.0F, 1000.0F, 30000.0F});
        VERIFY_SAME(differs(kernels::silu_mul(x, at::ones_like(x)), x.to(at::kDouble) * at::sigmoid(x.to(at::kDouble)),
                            4, "silu"));
        VERIFY_SAME(differs(kernels::gelu(x, true), at::gelu(x.to(at::kDouble), "tanh"), 4, "gelu"));
        const at::Tensor nan = at::full({11}, std::numeric_limits<float>::quiet_NaN());
        QVERIFY(at::isnan(kernels::gelu(nan, true)).all().item<bool>());
        QVERIFY(at::isnan(kernels::silu_mul(nan, at::ones_like(nan))).all().item<bool>());
        // The two forms of GELU are not the same function.
        QVERIFY(
            (kernels::gelu(at::full({1}, 2.0F), true) - kernels::gelu(at::full({1}, 2.0F), false)).abs().item<float>() >
            5e-5F);
    }
};

VITRINE_TEST(RowsTest)

}  // namespace
}  // namespace vitrine::test

#include "rows_test.moc"
