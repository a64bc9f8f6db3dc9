#include "core/kernels/fused.h"
#include "core/model/layers.h"
#include "core/model/qwen3.h"
#include "core/model/random_model.h"
#include "support/test_main.h"

#include <ATen/ATen.h>

#include <cmath>
#include <sstream>

using namespace vitrine;

namespace {

double max_difference(const at::Tensor& a, const at::Tensor& b) {
    return (a - b).abs().max().item<double>();
}

}  // namespace

class TestLayers : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void swiglu_counts_its_parameters() {
        QCOMPARE(SwiGLUFeedForward(512, 1365).num_parameters(), 2'096'640);
        QCOMPARE(SwiGLUFeedForward(512, 1365, /*bias=*/true).num_parameters(), 2'096'640 + 2 * 1365 + 512);
        SwiGLUFeedForward block(24, 40, true);
        ParameterList list;
        block.parameters("mlp.", list);
        QCOMPARE(count_elements(list), block.num_parameters());
        QCOMPARE(list.front().name, std::string("mlp.gate_proj.weight"));
    }

    void swiglu_is_the_gated_product_data() {
        QTest::addColumn<int>("activation");
        QTest::newRow("SwiGLU") << static_cast<int>(Activation::silu);
        QTest::newRow("ReGLU") << static_cast<int>(Activation::relu);
        QTest::newRow("GeGLU") << static_cast<int>(Activation::gelu);
        QTest::newRow("GeGLU, tanh") << static_cast<int>(Activation::gelu_tanh);
    }

    void swiglu_is_the_gated_product() {
        QFETCH(int, activation);
        SwiGLUFeedForward block(16, 44, /*bias=*/true, static_cast<Activation>(activation));
        block.reset_parameters(3);
        block.gate_proj.bias.fill_(0.3);
        block.down_proj.bias.fill_(-0.2);
        const at::Tensor x = at::linspace(-2.0, 2.0, 5 * 16).view({5, 16});
        const at::Tensor gate = at::matmul(x, block.gate_proj.weight.t()) + 0.3;
        const at::Tensor up = at::matmul(x, block.up_proj.weight.t()) + block.up_proj.bias;
        at::Tensor opened;
        switch (static_cast<Activation>(activation)) {
            case Activation::silu: opened = gate * at::sigmoid(gate); break;
            case Activation::relu: opened = gate.clamp_min(0.0); break;
            case Activation::gelu: opened = gate * 0.5 * (1.0 + at::erf(gate / std::sqrt(2.0))); break;
            case Activation::gelu_tanh:
                opened = gate * 0.5 * (1.0 + at::tanh(std::sqrt(2.0 / M_PI) * (gate + 0.044715 * gate.pow(3))));
                break;
        }
        const at::Tensor expected = at::matmul(opened * up, block.down_proj.weight.t()) - 0.2;
        QVERIFY(max_difference(block(x), expected) < 1e-5);
    }

    void swiglu_takes_a_vector_a_batch_and_a_sequence() {
        SwiGLUFeedForward block(16, 44);
        block.reset_parameters(5);
        const at::Tensor sequence = at::linspace(-1.0, 1.0, 2 * 3 * 16).view({2, 3, 16});
        const at::Tensor whole = block(sequence);
        QCOMPARE(whole.sizes(), sequence.sizes());
        QVERIFY(max_difference(block(sequence[1]), whole[1]) < 1e-6);
        const at::Tensor vector = block(sequence[1][2]);
        QCOMPARE(vector.dim(), 1);
        QVERIFY(max_difference(vector, whole[1][2]) < 1e-6);
    }

    void xavier_gives_the_promised_spread() {
        SwiGLUFeedForward block(512, 1365);
        block.reset_parameters(1);
        const double expected = std::sqrt(2.0 / (512 + 1365));
        for (const at::Tensor* weight : {&block.gate_proj.weight, &block.up_proj.weight, &block.down_proj.weight}) {
            QVERIFY(std::abs(weight->std().item<double>() / expected - 1.0) < 0.01);
            QVERIFY(std::abs(weight->mean().item<double>()) < 0.01 * expected);
        }
        QVERIFY(max_difference(block.gate_proj.weight, block.up_proj.weight) > expected);
    }

    void random_weights_come_back_from_their_seed() {
        SwiGLUFeedForward first(64, 96);
        SwiGLUFeedForward second(64, 96);
        first.reset_parameters(9);
        second.reset_parameters(9);
        QVERIFY(first.up_proj.weight.equal(second.up_proj.weight));
        second.reset_parameters(10);
        QVERIFY(!first.up_proj.weight.equal(second.up_proj.weight));
    }

    void rms_norm_rounds_before_it_weighs() {
        RMSNorm norm(64, 1e-6);
        norm.weight = at::linspace(0.5, 1.5, 64).to(at::kBFloat16);
        const at::Tensor x = at::linspace(-3.0, 5.0, 64).to(at::kBFloat16).view({1, 64});
        const at::Tensor wide = x.to(at::kFloat);
        const at::Tensor expected =
            norm.weight * (wide * at::rsqrt(wide.pow(2).mean(-1, true) + 1e-6)).to(at::kBFloat16);
        QVERIFY(norm(x).equal(expected));
    }

    void gradients_reach_the_input_through_frozen_weights() {
        SwiGLUFeedForward block(16, 44);
        block.reset_parameters(2);
        at::Tensor x = at::linspace(-1.0, 1.0, 32).view({2, 16}).clone().requires_grad_(true);
        block(x).sum().backward();
        QVERIFY(x.grad().defined());
        const double step = 1e-2;
        const at::Tensor nudge = at::zeros({2, 16}).index_put_({at::tensor({1}), at::tensor({7})}, at::tensor({static_cast<float>(step)}));
        const double numeric =
            ((block(x.detach() + nudge) - block(x.detach() - nudge)).sum() / (2 * step)).item<double>();
        QVERIFY(std::abs(numeric - x.grad()[1][7].item<double>()) < 1e-2 * std::max(1.0, std::abs(numeric)));
    }

    void qwen3_prints_itself() {
        std::ostringstream text;
        text << Qwen3Model::from_config(shape_by_name("qwen3-0.6b").language);
        QCOMPARE(text.str(), std::string("Qwen3Model(28 layers, hidden 1024, heads 16/8 x 128, MLP 3072, vocab 151936, "
                                         "tied head): 596,049,920 parameters"));
        // 4.02 billion, as its authors state
        QCOMPARE(Qwen3Model::from_config(shape_by_name("qwen3-4b").language).num_parameters() / 10'000'000, 402);
    }
};

VITRINE_TEST(TestLayers)
#include "test_layers.moc"
