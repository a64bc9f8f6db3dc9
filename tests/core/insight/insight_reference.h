#pragma once

#include "core/text/chat_template.h"
#include "core/weights/safetensors.h"

#include <ATen/ATen.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace vitrine::test {

// One conversation with a small model, and what transformers sees inside while it goes on. make_insight.py says which
// tensors there are and what they mean.
class InsightReference {
public:
    // Models: tiny, tiny_untied (talks one and two), real_heads (one). Talk two is about two pictures.
    InsightReference(const std::string& model, const std::string& talk)
        : folder_(std::filesystem::path(VITRINE_REFERENCE_DIR) / "insight" / model),
          file_(SafetensorsFile::open(folder_ / (talk + ".safetensors"))) {}

    const std::filesystem::path& model_folder() const { return folder_; }
    std::filesystem::path picture(int index) const { return folder_ / ("picture_" + std::to_string(index) + ".png"); }

    at::Tensor tensor(const std::string& name) const {
        const TensorInfo* const info = file_.find(name);
        if (info == nullptr) throw std::runtime_error(file_.path().string() + " has no " + name);
        const auto bytes = file_.bytes(*info);
        const auto type = info->dtype == "I64" ? at::kLong : at::kFloat;
        return at::from_blob(const_cast<std::byte*>(bytes.data()), info->shape, type).clone();
    }
    std::vector<std::int64_t> integers(const std::string& name) const {
        const at::Tensor values = tensor(name);
        return {values.const_data_ptr<std::int64_t>(), values.const_data_ptr<std::int64_t>() + values.numel()};
    }
    std::int64_t integer(const std::string& name) const { return integers(name).at(0); }

    // The ids up to the answer, and the neutral prompt about the same pictures. The spans carry no picture.
    Prompt prompt() const {
        Prompt prompt = prompt_of("input_ids", "picture_begin");
        prompt.ids.resize(static_cast<std::size_t>(integer("answer_begin")));
        return prompt;
    }
    Prompt neutral_prompt() const { return prompt_of("relative.input_ids", "relative.picture_begin"); }
    std::vector<TokenId> answer() const {
        const std::vector<std::int64_t> ids = integers("input_ids");
        return {ids.begin() + integer("answer_begin"), ids.end()};
    }

private:
    Prompt prompt_of(const std::string& ids_name, const std::string& begin_name) const {
        const std::vector<std::int64_t> ids = integers(ids_name);
        Prompt prompt{.ids = {ids.begin(), ids.end()}};
        for (const std::int64_t begin : integers(begin_name)) {
            prompt.pictures.push_back({.begin = begin, .count = integer("picture_count")});
        }
        return prompt;
    }

    std::filesystem::path folder_;
    SafetensorsFile file_;
};

}  // namespace vitrine::test
