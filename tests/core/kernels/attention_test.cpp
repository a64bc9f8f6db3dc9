#include "core/kernels/fused.h"
#include "core/kernels/plain.h"
#include "kernels_support.h"  // LibTorch before Qt, whose macros it does not survive
#include "support/test_main.h"

namespace vitrine::test {
namespace {

namespace plain = kernels::plain;

struct Shape {
    std::int64_t batch, heads, kv_heads, queries, keys, dim;
};

std::string name(const Shape& shape, at::ScalarType type) {
    std::string text = c10::toString(type);
    for (const auto size : {shape.batch, shape.heads, shape.kv_heads, shape.queries, shape.keys, shape.dim})
        text += " " + std::to_string(size);
    return text;
}

// Queries as norm_rope gives them; keys and values as views of a longer cache whose unused part is poison.
struct Inputs {
    at::Tensor q, k, v;

    Inputs(const Shape& shape, at::ScalarType type) {
        const auto cache = [&] {
            const at::Tensor whole = normal({shape.batch, shape.kv_heads, shape.keys + 5, shape.dim}, type);
            whole.narrow(2, shape.keys, 5).fill_(std::numeric_limits<float>::quiet_NaN());
            return whole.narrow(2, 0, shape.keys);
        };
        q = normal({shape.batch, shape.heads, shape.queries, shape.dim}, type);
        k = cache();
        v = cache();
    }
};

// One query and one head at a time, in double.
at::Tensor by_the_book(const Inputs& in, bool causal, const std::vector<std::int64_t>& starts) {
    const auto batch = in.q.size(0), heads = in.q.size(1), queries = in.q.size(2), dim = in.q.size(3),
               keys = in.k.size(2);
    const at::Tensor out = at::zeros({batch, queries, heads, dim}, at::kDouble);
    for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t h = 0; h < heads; ++h)
            for (std::int64_t t = 0; t < queries; ++t) {
                const auto kv = h / (heads / in.k.size(1));
                const auto first = starts.empty() ? 0 : starts[static_cast<std::size_t>(b)];
                const auto end = causal ? keys - queries + t + 1 : keys;
                if (first >= end) continue;
                const at::Tensor k = in.k[b][kv].slice(0, first, end).to(at::kDouble),
                                 v = in.v[b][kv].slice(0, first, end).to(at::kDouble);
                const at::Tensor weights =
                    at::softmax(at::mv(k, in.q[b][h][t].to(at::kDouble)) / std::sqrt(static_cast<double>(dim)), 0);
                out[b][t][h].copy_(at::mv(v.t(), weights));
            }
    return out.reshape({batch, queries, heads * dim});
}

class AttentionTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { at::manual_seed(13); }

    void both_ways_are_by_the_book() {
        const at::InferenceMode inference;
        for (const auto type : kernel_types)
            for (const Shape& shape :
                 {Shape{2, 4, 2, 1, 9, 16}, {2, 4, 2, 3, 9, 16}, {2, 6, 2, 7, 7, 8}, {1, 3, 3, 5, 12, 10}})
                for (const bool causal : {true, false})
                    for (const std::vector<std::int64_t>& starts : {std::vector<std::int64_t>{}, {0, 4}, {6, 2}}) {
                        const Inputs in(shape, type);
                        const at::Tensor key_start =
                            starts.empty() ? at::Tensor() : at::tensor(starts).narrow(0, 0, shape.batch);
                        const at::Tensor expected = by_the_book(in, causal, starts);
                        VERIFY_SAME(differs(kernels::attention(in.q, in.k, in.v, causal, key_start), expected, 2,
                                            "fast " + name(shape, type)));
                        VERIFY_SAME(differs(plain::attention(in.q, in.k, in.v, causal, key_start), expected, 2,
                                            "plain " + name(shape, type)));
                    }
    }

    void is_the_plain_one_whatever_the_shape() {
        const at::InferenceMode inference;
        with_threads([](const std::string& threads) {
            for (const auto type : kernel_types)
                for (const std::int64_t queries : {1, 2, 3, 4, 5, 7, 33, 130})
                    for (const std::int64_t past : {0, 1, 50, 300})
                        for (const Shape& heads : {Shape{1, 4, 2, 0, 0, 128},
                                                   {2, 8, 2, 0, 0, 64},
                                                   {1, 2, 2, 0, 0, 72},
                                                   {3, 3, 1, 0, 0, 20}}) {
                            Shape shape = heads;
                            shape.queries = queries;
                            shape.keys = queries + past;
                            const Inputs in(shape, type);
                            const bool causal = shape.heads != shape.kv_heads;
                            VERIFY_SAME(differs(kernels::attention(in.q, in.k, in.v, causal),
                                                plain::attention(in.q, in.k, in.v, causal), 2,
                                                threads + " " + name(shape, type)));
                        }
        });
    }

    void left_padding_is_never_seen() {
        const at::InferenceMode inference;
        for (const auto type : kernel_types)
            for (const std::int64_t queries : {1, 4, 40, 300}) {
                const Shape shape{3, 4, 2, queries, queries + 20, 32};
                const Inputs in(shape, type);
                const at::Tensor key_start = at::tensor({std::int64_t{0}, std::int64_t{13}, shape.keys - 1});
                const at::Tensor found = kernels::attention(in.q, in.k, in.v, true, key_start);
                VERIFY_SAME(differs(found, plain::attention(in.q, in.k, in.v, true, key_start), 2, name(shape, type)));
                // The padded rows of a batch are what the sequence alone gives.
                const at::Tensor alone =
                    kernels::attention(in.q.narrow(0, 1, 1), in.k.narrow(0, 1, 1).narrow(2, 13, shape.keys - 13),
                                       in.v.narrow(0, 1, 1).narrow(2, 13, shape.keys - 13), true);
                VERIFY_SAME(differs(found.narrow(0, 1, 1), alone, 2, "alone " + name(shape, type)));
            }
    }

    void queries_that_see_nothing_give_zeros() {
        const at::InferenceMode inference;
        for (const std::int64_t queries : {3, 30}) {
            const Inputs in({1, 4, 2, queries, queries, 32}, at::kBFloat16);
            const at::Tensor key_start = at::tensor({std::int64_t{2}});
            for (const auto& attention : {kernels::attention, plain::attention}) {
                const at::Tensor out = attention(in.q, in.k, in.v, true, key_start);
                QVERIFY(at::isfinite(out).all().item<bool>());
                QCOMPARE(out.narrow(1, 0, 2).abs().max().item<float>(), 0.0F);
                QVERIFY(out.narrow(1, 2, 1).abs().max().item<float>() > 0.0F);
            }
        }
    }

    void large_scores_do_not_overflow() {
        const at::InferenceMode inference;
        for (const std::int64_t queries : {1, 50}) {
            Inputs in({1, 2, 2, queries, 400, 64}, at::kFloat);
            in.q = in.q * 60;
            VERIFY_SAME(
                differs(kernels::attention(in.q, in.k, in.v, false), by_the_book(in, false, {}), 40000, "sharp"));
            in.q.fill_(-1000);
            in.k.fill_(1000);
            VERIFY_SAME(differs(kernels::attention(in.q, in.k, in.v, false), by_the_book(in, false, {}), 200,
                                "all very negative"));
        }
    }

    void the_guard_takes_the_plain_way() {
        const at::InferenceMode inference;
        const Inputs in({1, 4, 2, 60, 100, 64}, at::kFloat);
        const at::Tensor expected = plain::attention(in.q, in.k, in.v, true);
        QVERIFY(share_unequal(kernels::attention(in.q, in.k, in.v, true), expected) > 0.0);
        const kernels::PlainGuard guard;
        QCOMPARE(share_unequal(kernels::attention(in.q, in.k, in.v, true), expected), 0.0);
    }
};

VITRINE_TEST(AttentionTest)

}  // namespace
}  // namespace vitrine::test

#include "attention_test.moc"
