#pragma once

#include "core/text/tokenizer.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vitrine::test {

inline const std::filesystem::path text_reference = std::filesystem::path(VITRINE_REFERENCE_DIR) / "text";
inline const std::filesystem::path qwen_tokenizer =
    std::filesystem::path(VITRINE_TEST_DATA) / "qwen3-tokenizer" / "tokenizer.json";

inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw std::runtime_error("cannot read " + path.string());
    return {std::istreambuf_iterator<char>(stream), {}};
}

// Steps through a binary file of tests/reference/make_text.py.
class Records {
public:
    explicit Records(const std::filesystem::path& path) : data_(read_file(path)) {}

    bool more() const { return at_ < data_.size(); }
    std::string_view text() {
        const std::size_t size = count();
        return std::string_view(data_).substr(skip(size), size);
    }
    std::vector<TokenId> numbers() {
        std::vector<TokenId> values(count());
        const std::size_t from = skip(values.size() * sizeof(TokenId));
        if (!values.empty()) std::memcpy(values.data(), data_.data() + from, values.size() * sizeof(TokenId));
        return values;
    }

private:
    std::size_t count() {
        std::uint32_t value = 0;
        const std::size_t from = skip(sizeof value);
        std::memcpy(&value, data_.data() + from, sizeof value);
        return value;
    }
    std::size_t skip(std::size_t bytes) {
        if (bytes > data_.size() - at_) throw std::runtime_error("reference data is cut short");
        return std::exchange(at_, at_ + bytes);
    }

    std::string data_;
    std::size_t at_ = 0;
};

}  // namespace vitrine::test
