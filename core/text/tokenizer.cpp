#include "core/text/tokenizer.h"

#include "core/text/bpe.h"
#include "core/text/pretokenizer.h"
#include "core/text/tokenizer_file.h"
#include "core/text/unicode.h"
#include "core/text/utf8.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace vitrine {
namespace {

// Finds added tokens in a text: the leftmost, and of those that begin there the longest.
class AddedTokenFinder {
public:
    void add(std::string content, TokenId id) {
        std::vector<Entry>& bucket = by_first_byte_[static_cast<unsigned char>(content.front())];
        bucket.push_back({std::move(content), id});
        std::stable_sort(bucket.begin(), bucket.end(),
                         [](const Entry& a, const Entry& b) { return a.content.size() > b.content.size(); });
    }

    // Calls on_text for the stretches between added tokens, on_token for these.
    template <class OnText, class OnToken>
    void split(std::string_view text, OnText on_text, OnToken on_token) const {
        std::size_t begin = 0;
        for (std::size_t at = 0; at < text.size(); ++at) {
            for (const Entry& entry : by_first_byte_[static_cast<unsigned char>(text[at])]) {
                if (!text.substr(at).starts_with(entry.content)) continue;
                if (at > begin) on_text(text.substr(begin, at - begin));
                on_token(entry.id);
                begin = at + entry.content.size();
                at = begin - 1;
                break;
            }
        }
        if (begin < text.size()) on_text(text.substr(begin));
    }

private:
    struct Entry {
        std::string content;
        TokenId id;
    };
    std::array<std::vector<Entry>, 256> by_first_byte_;
};

std::vector<bool> ids_of(const std::vector<AddedToken>& tokens, std::size_t vocab_size) {
    std::vector<bool> marks(vocab_size);
    for (const AddedToken& token : tokens) marks[static_cast<std::size_t>(token.id)] = true;
    return marks;
}

}  // namespace

struct Tokenizer::Impl {
    explicit Impl(TokenizerFile file)
        : special(file.vocabulary.size()),
          nfc(file.nfc),
          bpe(std::move(file.vocabulary), file.merges, file.ignore_merges, ids_of(file.added, special.size())) {
        std::string buffer;
        for (const AddedToken& token : file.added) {
            special[static_cast<std::size_t>(token.id)] = token.special;
            added.emplace(token.content, token.id);
            if (token.normalized) {
                in_normal_text.add(std::string(normal(token.content, buffer)), token.id);
            } else {
                in_raw_text.add(token.content, token.id);
            }
        }
    }

    std::string_view normal(std::string_view text, std::string& buffer) const {
        return nfc ? unicode::nfc(text, buffer) : text;
    }

    void encode_normal(std::vector<TokenId>& ids, std::string_view text) const {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = piece_end(text, at);
            bpe.encode(text.substr(at, end - at), ids);
            at = end;
        }
    }

    bool knows(TokenId id) const { return id >= 0 && static_cast<std::size_t>(id) < special.size(); }

    std::vector<bool> special;  // by id
    bool nfc;
    Bpe bpe;
    std::unordered_map<std::string, TokenId> added;
    AddedTokenFinder in_raw_text, in_normal_text;
};

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::from_file(const std::filesystem::path& tokenizer_json) {
    return Tokenizer(std::make_unique<const Impl>(read_tokenizer_file(tokenizer_json)));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, ControlTokens mode) const {
    std::vector<TokenId> ids;
    ids.reserve(text.size() / 3 + 1);
    encode_to(ids, text, mode);
    return ids;
}

void Tokenizer::encode_to(std::vector<TokenId>& ids, std::string_view text, ControlTokens mode) const {
    std::string repaired, composed;
    text = utf8::repaired(text, repaired);
    if (mode == ControlTokens::as_text) {
        impl_->encode_normal(ids, impl_->normal(text, composed));
        return;
    }
    const auto on_token = [&](TokenId id) { ids.push_back(id); };
    const auto on_normal = [&](std::string_view part) { impl_->encode_normal(ids, part); };
    const auto on_raw = [&](std::string_view part) {
        impl_->in_normal_text.split(impl_->normal(part, composed), on_normal, on_token);
    };
    impl_->in_raw_text.split(text, on_raw, on_token);
}

std::string_view Tokenizer::token_bytes(TokenId id) const {
    return impl_->knows(id) ? impl_->bpe.vocabulary().bytes(id) : std::string_view();
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
    std::string bytes, buffer;
    for (const TokenId id : ids) {
        if (!(skip_special && is_special(id))) bytes += token_bytes(id);
    }
    const bool well_formed = utf8::repaired(bytes, buffer).data() == bytes.data();
    return well_formed ? bytes : buffer;
}

std::optional<TokenId> Tokenizer::added_token(std::string_view content) const {
    const auto found = impl_->added.find(std::string(content));
    if (found == impl_->added.end()) return std::nullopt;
    return found->second;
}

bool Tokenizer::is_special(TokenId id) const {
    return impl_->knows(id) && impl_->special[static_cast<std::size_t>(id)];
}

int Tokenizer::vocab_size() const {
    return static_cast<int>(impl_->special.size());
}

StreamingDecoder::StreamingDecoder(const Tokenizer& tokenizer, bool skip_special)
    : tokenizer_(&tokenizer), skip_special_(skip_special) {}

std::string StreamingDecoder::push(TokenId id) {
    std::string visible;
    if (skip_special_ && tokenizer_->is_special(id)) return visible;
    held_ += tokenizer_->token_bytes(id);
    held_.erase(0, utf8::append_repaired(visible, held_));
    return visible;
}

std::string StreamingDecoder::flush() {
    std::string visible;
    if (!held_.empty()) utf8::append(visible, utf8::replacement);
    held_.clear();
    return visible;
}

}  // namespace vitrine
