#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

using TokenId = std::int32_t;

// Byte-level BPE as tokenizer.json describes it: NFC, the Qwen pre-tokenizer, merges by rank, added tokens.
// Immutable after loading; encode and decode may be called from any number of threads at once.
class Tokenizer {
public:
    enum class ControlTokens {
        as_text,    // "<|im_end|>" is ordinary text: for everything a user typed
        recognise,  // added tokens become their ids: for pieces of the chat template only
    };

    // Throws TokenizerError (naming the part of the file that is not supported or broken) or FileError.
    static Tokenizer from_file(const std::filesystem::path& tokenizer_json);

    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;
    ~Tokenizer();

    // UTF-8 in; ill-formed bytes are read as U+FFFD. Empty text gives no token.
    std::vector<TokenId> encode(std::string_view text, ControlTokens mode) const;
    void encode_to(std::vector<TokenId>& ids, std::string_view text, ControlTokens mode) const;  // appends

    // Bytes of one token (an added token's content as text); empty for an id outside the vocabulary.
    std::string_view token_bytes(TokenId id) const;
    // As tokenizers' decode(skip_special_tokens): ill-formed UTF-8 becomes U+FFFD.
    std::string decode(std::span<const TokenId> ids, bool skip_special) const;

    std::optional<TokenId> added_token(std::string_view content) const;  // "<|im_start|>" -> 151644
    bool is_special(TokenId id) const;                                   // flagged "special" in tokenizer.json
    int vocab_size() const;                                              // highest id + 1

private:
    struct Impl;
    explicit Tokenizer(std::unique_ptr<const Impl> impl);
    std::unique_ptr<const Impl> impl_;
};

// Turns a stream of token ids into text, holding back bytes until a UTF-8 character is whole. Linear in the stream.
class StreamingDecoder {
public:
    explicit StreamingDecoder(const Tokenizer& tokenizer, bool skip_special = true);

    std::string push(TokenId id);  // whole characters that became visible
    std::string flush();           // what was held back, ill-formed parts as U+FFFD

private:
    const Tokenizer* tokenizer_;
    bool skip_special_;
    std::string held_;
};

}  // namespace vitrine
