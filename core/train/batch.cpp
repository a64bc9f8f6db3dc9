#include "core/train/batch.h"

#include "core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

namespace vitrine {
namespace {

at::Tensor int_tensor(const std::vector<std::int64_t>& values) {
    return at::tensor(at::ArrayRef<std::int64_t>(values), at::kLong);
}

TokenId control_token(const Tokenizer& tokenizer, std::string_view content) {
    if (const auto id = tokenizer.added_token(content)) return *id;
    throw TokenizerError(
        {.name = std::string(content), .expected = "a control token of that name in tokenizer.json", .found = "none"});
}

bool stands_at(const std::vector<TokenId>& ids, std::size_t at, const std::vector<TokenId>& piece) {
    return at + piece.size() <= ids.size() &&
           std::equal(piece.begin(), piece.end(), ids.begin() + static_cast<std::ptrdiff_t>(at));
}

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

std::int64_t TrainingRow::targets() const {
    return std::accumulate(is_target.begin(), is_target.end(), std::int64_t{0});
}

TrainingRow make_training_row(const Tokenizer& tokenizer, std::span<const Message> messages, int patches_per_picture) {
    // White space around an answer would merge with the template's own.
    std::vector<Message> clean(messages.begin(), messages.end());
    for (Message& message : clean) message.text = trimmed(message.text);
    Prompt prompt =
        build_prompt(tokenizer, clean, {.add_generation_prompt = false, .patches_per_picture = patches_per_picture});
    TrainingRow row{.ids = std::move(prompt.ids), .is_target = {}, .picture = std::nullopt};
    row.is_target.resize(row.ids.size());
    if (!prompt.pictures.empty()) row.picture = prompt.pictures.front();

    const TokenId start = control_token(tokenizer, "<|im_start|>"), end = control_token(tokenizer, "<|im_end|>");
    const auto template_piece = [&](std::string_view text) {
        return tokenizer.encode(text, Tokenizer::ControlTokens::recognise);
    };
    const std::vector<TokenId> header = template_piece("assistant\n");
    const std::vector<TokenId> no_thoughts = template_piece("<think>\n\n</think>\n\n");
    for (std::size_t at = 0; at < row.ids.size(); ++at) {
        if (row.ids[at] != start || !stands_at(row.ids, at + 1, header)) continue;
        at += 1 + header.size();
        if (stands_at(row.ids, at, no_thoughts)) at += no_thoughts.size();
        for (bool ended = false; at < row.ids.size() && !ended; ++at) {
            row.is_target[at] = 1;
            ended = row.ids[at] == end;
        }
        --at;
    }
    if (row.targets() == 0)
        throw InputError({.name = "conversation", .expected = "an answer to learn", .found = "none"});
    return row;
}

TrainingBatch make_batch(std::span<const TrainingRow> rows) {
    // Nothing is predicted from the last target on: those positions need not be computed.
    const auto useful = [](const TrainingRow& row) {
        const auto last = std::find(row.is_target.rbegin(), row.is_target.rend(), std::uint8_t{1});
        return static_cast<std::size_t>(row.is_target.rend() - last) - (last == row.is_target.rend() ? 0 : 1);
    };
    std::size_t length = 0;
    for (const TrainingRow& row : rows) length = std::max(length, useful(row));
    TrainingBatch batch;
    std::vector<std::int64_t> ids(rows.size() * length), padding, target_rows, target_ids, picture_rows;
    for (std::size_t b = 0; b < rows.size(); ++b) {
        const TrainingRow& row = rows[b];
        const std::size_t count = useful(row);
        const std::size_t first = length - count;
        const std::size_t base = b * length + first;
        padding.push_back(static_cast<std::int64_t>(first));
        for (std::size_t t = 0; t <= count; ++t) {
            if (t < count) ids[base + t] = row.ids[t];
            if (row.is_target[t] == 0) continue;
            target_rows.push_back(static_cast<std::int64_t>(base + t) - 1);
            target_ids.push_back(row.ids[t]);
            batch.row_of_target.push_back(static_cast<std::int64_t>(b));
        }
        if (row.picture)
            for (std::int64_t patch = 0; patch < row.picture->count; ++patch)
                picture_rows.push_back(static_cast<std::int64_t>(base) + row.picture->begin + patch);
        batch.tokens += count;
    }
    batch.ids = int_tensor(ids).view({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(length)});
    batch.padding = int_tensor(padding);
    batch.target_rows = int_tensor(target_rows);
    batch.target_ids = int_tensor(target_ids);
    batch.picture_rows = int_tensor(picture_rows);
    return batch;
}

}  // namespace vitrine
