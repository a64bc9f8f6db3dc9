#pragma once

#include "core/text/bpe.h"

#include <filesystem>
#include <string>
#include <vector>

namespace vitrine {

struct AddedToken {
    TokenId id = -1;
    std::string content;
    bool special = false;
    bool normalized = false;  // looked for in the text after NFC, else before
};

// A tokenizer.json, read and found to be of the one kind that is implemented.
struct TokenizerFile {
    bool nfc = false;
    bool ignore_merges = false;
    std::vector<AddedToken> added;
    Vocabulary vocabulary;           // with the added tokens; indexed, ids without holes, all 256 bytes present
    std::vector<Bpe::Merge> merges;  // in the order of their rank
};

// Throws FileError when the file cannot be read, TokenizerError naming the part that is broken or not supported.
TokenizerFile read_tokenizer_file(const std::filesystem::path& file);

}  // namespace vitrine
