#include "core/text/tokenizer_file.h"

#include "core/error.h"
#include "core/text/json_cursor.h"
#include "core/text/pretokenizer.h"
#include "core/text/text_file.h"
#include "core/text/utf8.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace vitrine {
namespace {

using nlohmann::json;

constexpr TokenId id_limit = 1 << 24;  // far beyond any vocabulary, so that a wild id does not become an allocation

// The byte alphabet of GPT-2: printable Latin-1 stands for itself, the other bytes for U+0100 and what follows.
constexpr auto byte_of_letter = [] {
    std::array<short, 0x144> table{};
    short next = 0x100;
    table.fill(-1);
    for (short byte = 0; byte < 0x100; ++byte) {
        const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
        table[static_cast<std::size_t>(printable ? byte : next++)] = byte;
    }
    return table;
}();

// Appends the bytes that a token's letters stand for; false when one is outside the alphabet.
bool append_bytes(std::string& out, std::string_view letters) {
    for (std::size_t at = 0; at < letters.size();) {
        const auto [letter, length] = utf8::decode(letters.data() + at);
        if (letter >= byte_of_letter.size() || byte_of_letter[letter] < 0) return false;
        out += static_cast<char>(byte_of_letter[letter]);
        at += length;
    }
    return true;
}

std::string brief(const json& value) {
    std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    std::size_t end = 117;
    if (text.size() <= end) return text;
    while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not within a character
    return text.substr(0, end) + "...";
}

std::string show(std::string_view text) {
    return brief(json(text));
}

class Reader {
public:
    explicit Reader(const std::filesystem::path& file) : path_(file), text_(read_text_file(file)) {}

    TokenizerFile read() {
        std::string buffer;
        if (utf8::repaired(text_, buffer).data() != text_.data()) fail("encoding", "UTF-8", "ill-formed bytes");
        sections_ = json::object();
        JsonCursor cursor(text_, path_);
        cursor.members([&](std::string_view key) {
            if (key == "model" && cursor.peek() == '{') {
                read_model(cursor);
            } else {
                sections_[std::string(key)] = small(key, cursor.raw());
            }
        });
        cursor.end();

        check_sections();
        join_added_tokens();
        return std::move(result_);
    }

private:
    [[noreturn]] void fail(std::string name, std::string expected, std::string found, std::string advice = {}) const {
        throw TokenizerError(
            {std::move(name), path_.string(), std::move(expected), std::move(found), std::move(advice)});
    }

    json small(std::string_view name, std::string_view text) const {
        json value = json::parse(text, nullptr, false);
        if (value.is_discarded()) fail(std::string(name), "well-formed JSON", show(text));
        return value;
    }

    // The options become a small document; the two huge parts go straight into tables, the merges after the vocabulary.
    void read_model(JsonCursor& cursor) {
        json& model = sections_["model"] = json::object();
        std::optional<JsonCursor> early_merges;
        bool has_vocab = false, has_merges = false;
        cursor.members([&](std::string_view key) {
            if (key == "vocab" && cursor.peek() == '{') {
                has_vocab = true;
                read_vocabulary(cursor);
            } else if (key == "merges" && cursor.peek() == '[') {
                has_merges = true;
                if (has_vocab) return read_merges(cursor);
                early_merges = cursor;
                cursor.raw();
            } else {
                model[std::string(key)] = small(key, cursor.raw());
                if (key == "type") expect("/model/type", {"BPE"});  // what follows is only known for this one
            }
        });
        expect("/model/type", {"BPE"});
        if (!has_vocab) fail("model.vocab", "an object of tokens and ids", brief(model.value("vocab", json())));
        if (!has_merges) fail("model.merges", "a list of pairs", brief(model.value("merges", json())));
        if (early_merges) read_merges(*early_merges);
    }

    // ---- what kind of tokenizer it is -------------------------------------------------------------------------------

    // The value at a JSON pointer must be one of those listed; an absent one counts as null.
    void expect(const char* pointer, const json& allowed) const {
        const json::json_pointer where(pointer);
        const json found = sections_.contains(where) ? sections_.at(where) : json();
        if (std::find(allowed.begin(), allowed.end(), found) != allowed.end()) return;
        std::string list;
        for (const json& value : allowed) list += (list.empty() ? "" : " or ") + value.dump();
        std::string name(pointer + 1);
        std::replace(name.begin(), name.end(), '/', '.');
        fail(std::move(name), std::move(list), brief(found),
             "Vitrine reads byte-level BPE tokenizers of the Qwen kind.");
    }

    void check_sections() {
        if (!sections_.contains("model")) fail("model", "a BPE model", "none");
        if (!sections_["model"].is_object()) fail("model", "a BPE model", brief(sections_["model"]));
        const json off = {nullptr, false}, empty = {nullptr, ""};
        expect("/model/dropout", {nullptr, 0.0});
        expect("/model/unk_token", json::array({nullptr}));
        expect("/model/continuing_subword_prefix", empty);
        expect("/model/end_of_word_suffix", empty);
        expect("/model/byte_fallback", off);
        expect("/model/ignore_merges", {nullptr, false, true});

        expect("/truncation", json::array({nullptr}));
        expect("/padding", json::array({nullptr}));
        if (!sections_.value("normalizer", json()).is_null()) expect("/normalizer/type", {"NFC"});
        expect("/pre_tokenizer/type", {"Sequence"});
        expect("/pre_tokenizer/pretokenizers/0/type", {"Split"});
        expect("/pre_tokenizer/pretokenizers/0/pattern/Regex", {qwen_split_regex});
        expect("/pre_tokenizer/pretokenizers/0/behavior", {"Isolated"});
        expect("/pre_tokenizer/pretokenizers/0/invert", off);
        expect("/pre_tokenizer/pretokenizers/1/type", {"ByteLevel"});
        expect("/pre_tokenizer/pretokenizers/1/add_prefix_space", {false});
        expect("/pre_tokenizer/pretokenizers/1/use_regex", {false});
        expect("/pre_tokenizer/pretokenizers/2", json::array({nullptr}));
        if (!sections_.value("post_processor", json()).is_null()) expect("/post_processor/type", {"ByteLevel"});
        expect("/decoder/type", {"ByteLevel"});

        result_.nfc = !sections_.value("normalizer", json()).is_null();
        result_.ignore_merges = sections_["model"].value("ignore_merges", json()) == true;
    }

    // ---- tokens -----------------------------------------------------------------------------------------------------

    TokenId checked_id(std::string_view token, std::int64_t id) const {
        if (id < 0 || id >= id_limit)
            fail("id of " + std::string(token), "0 to " + std::to_string(id_limit - 1), std::to_string(id));
        return static_cast<TokenId>(id);
    }

    void read_vocabulary(JsonCursor& cursor) {
        std::string bytes;
        cursor.members([&](std::string_view token) {
            const TokenId id = checked_id(token, cursor.integer());
            bytes.clear();
            if (!append_bytes(bytes, token)) {
                outside_.emplace_back(id, token);
            } else if (!result_.vocabulary.add(id, bytes)) {
                fail("model.vocab", "each id once", "id " + std::to_string(id) + " again, for " + show(token));
            }
        });
        if (const auto twin = result_.vocabulary.index())
            fail("model.vocab", "each token once", show(result_.vocabulary.bytes(*twin)) + " twice");
    }

    // Added tokens with an entry in the vocabulary have its id. The others are numbered on from there, in their order:
    // the tokenizers library counts so, whatever ids the file gives.
    void join_added_tokens() {
        Vocabulary& vocabulary = result_.vocabulary;
        read_added_tokens();
        std::vector<const AddedToken*> others;
        for (const AddedToken& token : result_.added) {
            std::string bytes;
            const auto same = append_bytes(bytes, token.content) ? vocabulary.find(bytes) : std::nullopt;
            if (same && *same != token.id) fail_added(token, *same);
            if (std::erase(outside_, std::pair(token.id, token.content))) {
                if (!vocabulary.add(token.id, token.content))
                    fail("model.vocab", "each id once", "id " + std::to_string(token.id) + " again");
            } else if (!same) {
                others.push_back(&token);
            }
        }
        if (!outside_.empty()) fail("model.vocab", "tokens of the byte-level alphabet", show(outside_.front().second));
        if (const auto hole = vocabulary.first_hole()) {
            fail("model.vocab", "every id up to " + std::to_string(vocabulary.size() - 1),
                 "no token " + std::to_string(*hole), "Embedding rows would belong to the wrong tokens.");
        }
        for (const AddedToken* token : others) {
            const auto next = static_cast<TokenId>(vocabulary.size());
            if (token->id != next) fail_added(*token, next);
            vocabulary.add(next, token->content);
        }

        for (int byte = 0; byte < 256; ++byte) {
            const char c = static_cast<char>(byte);
            const auto id = vocabulary.find({&c, 1});
            if (!id) fail("model.vocab", "a token for each of the 256 bytes", "none for byte " + std::to_string(byte));
            // What a person typed could then neither be encoded without an added token nor with one.
            const auto is_it = [&](const AddedToken& token) { return token.id == *id; };
            if (std::any_of(result_.added.begin(), result_.added.end(), is_it))
                fail("added_tokens", "no token of a single byte", "id " + std::to_string(*id));
        }
    }

    [[noreturn]] void fail_added(const AddedToken& token, TokenId expected) const {
        fail("added_tokens: " + token.content, "id " + std::to_string(expected), std::to_string(token.id));
    }

    void read_added_tokens() {
        const json list = sections_.value("added_tokens", json());
        if (!list.is_null() && !list.is_array()) fail("added_tokens", "a list", brief(list));
        for (const json& entry : list) {
            const bool complete = entry.is_object() && entry.contains("id") && entry["id"].is_number_integer() &&
                                  entry.contains("content") && entry["content"].is_string() &&
                                  !entry["content"].get<std::string>().empty();
            if (!complete) fail("added_tokens", "an id and a content", brief(entry));
            const auto flag = [&](const char* key) { return entry.value(key, json()) == true; };
            AddedToken token{
                .id = 0, .content = entry["content"], .special = flag("special"), .normalized = flag("normalized")};
            token.id = checked_id(token.content, entry["id"].get<std::int64_t>());
            for (const char* key : {"lstrip", "rstrip", "single_word"}) {
                if (flag(key)) fail("added_tokens: " + token.content, std::string(key) + " false", "true");
            }
            result_.added.push_back(std::move(token));
        }
    }

    void read_merges(JsonCursor& cursor) {
        std::string left, right, both;
        cursor.elements([&] {
            if (cursor.take_if('[')) {
                left = cursor.string();
                cursor.take(',');
                right = cursor.string();
                cursor.take(']');
            } else {
                const std::string_view pair = cursor.string();
                const std::size_t space = pair.find(' ');
                if (space == pair.npos || pair.find(' ', space + 1) != pair.npos)
                    fail(merge_name(), "two tokens with a space between", show(pair));
                left = pair.substr(0, space);
                right = pair.substr(space + 1);
            }
            both.clear();
            if (!append_bytes(both, left)) fail(merge_name(), "tokens of model.vocab", show(left));
            const std::size_t split = both.size();
            if (!append_bytes(both, right)) fail(merge_name(), "tokens of model.vocab", show(right));
            const std::string_view bytes = both;
            result_.merges.push_back({token_of(bytes.substr(0, split), left), token_of(bytes.substr(split), right),
                                      product_of(bytes, left, right)});
        });
    }

    std::string merge_name() const { return "model.merges[" + std::to_string(result_.merges.size()) + "]"; }

    TokenId token_of(std::string_view bytes, std::string_view shown) const {
        if (const auto id = result_.vocabulary.find(bytes)) return *id;
        fail(merge_name(), "tokens of model.vocab", show(shown));
    }

    // Files list merges in the order of the tokens that they make, so the next one is mostly the one looked for.
    TokenId product_of(std::string_view bytes, const std::string& left, const std::string& right) const {
        if (!result_.merges.empty()) {
            const TokenId next = result_.merges.back().product + 1;
            if (result_.vocabulary.holds(next) && result_.vocabulary.bytes(next) == bytes) return next;
        }
        return token_of(bytes, left + right);
    }

    const std::filesystem::path& path_;
    std::string text_;
    json sections_;                                         // all but the vocabulary and the merges
    std::vector<std::pair<TokenId, std::string>> outside_;  // of the byte alphabet: added tokens, or a fault
    TokenizerFile result_;
};

}  // namespace

TokenizerFile read_tokenizer_file(const std::filesystem::path& file) {
    return Reader(file).read();
}

}  // namespace vitrine
