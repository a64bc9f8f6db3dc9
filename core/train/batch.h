#pragma once

#include "core/text/chat_template.h"
#include "core/text/tokenizer.h"
#include "core/types.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// From conversations to what a step of training computes with. B rows, T positions, N target tokens.
namespace vitrine {

// One conversation as ids, with what is to be learned: every answer and the <|im_end|> behind it.
struct TrainingRow {
    std::vector<TokenId> ids;             // [T]
    std::vector<std::uint8_t> is_target;  // [T]: 1 where ids[t] is to be predicted from what stands before it
    std::optional<PictureSpan> picture;
    std::int64_t targets() const;
};

// The same ids as inference builds (build_prompt). Answers are found in them by the control tokens of the template, so
// text of a person can never shift a label. Throws InputError where there is nothing to learn.
TrainingRow make_training_row(const Tokenizer& tokenizer, std::span<const Message> messages, int patches_per_picture);

// Rows filled up on the left, as tensors, without what stands behind the position that predicts the last target.
struct TrainingBatch {
    at::Tensor ids;                           // [B, T] int64; padding is id 0 and never seen
    at::Tensor padding;                       // [B] int64: positions at the left of each row that are not there
    at::Tensor target_rows;                   // [N] int64 into [B * T]: the position before each target
    at::Tensor target_ids;                    // [N] int64
    at::Tensor picture_rows;                  // [P of all pictures] int64 into [B * T], picture after picture
    std::vector<std::int64_t> row_of_target;  // [N]
    std::uint64_t tokens = 0;                 // without padding
};
TrainingBatch make_batch(std::span<const TrainingRow> rows);

}  // namespace vitrine
