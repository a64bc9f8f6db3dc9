#include "core/error.h"
#include "core/text/tokenizer.h"
#include "reference_data.h"
#include "support/test_main.h"

#include <QTemporaryDir>

#include <nlohmann/json.hpp>

#include <functional>

using namespace vitrine;
using namespace vitrine::test;
using nlohmann::json;

class TestBrokenTokenizers : public QObject {
    Q_OBJECT

private:
    // Each is the small tokenizer with one thing changed, and words that the message must hold.
    struct Fault {
        const char* name;
        std::function<void(json&)> change;
        std::vector<std::string> says;
    };

    static std::vector<Fault> faults() {
        const auto set = [](const char* pointer, json value) {
            return [=](json& t) { t[json::json_pointer(pointer)] = value; };
        };
        const auto drop = [](const char* key) { return [=](json& t) { t.erase(key); }; };
        const char* split = "/pre_tokenizer/pretokenizers/0/pattern/Regex";
        return {
            {"no model", drop("model"), {"model", "none"}},
            {"model of another kind", set("/model", 3), {"model", "3"}},
            {"WordPiece",
             set("/model", {{"type", "WordPiece"}, {"vocab", {{"a", 0}}}}),
             {"model.type", "BPE", "WordPiece"}},
            {"Unigram",
             set("/model", {{"type", "Unigram"}, {"vocab", {{"a", 0.5}}}}),
             {"model.type", "BPE", "Unigram"}},
            {"no vocabulary", [](json& t) { t["model"].erase("vocab"); }, {"model.vocab", "null"}},
            {"no merges", [](json& t) { t["model"].erase("merges"); }, {"model.merges", "null"}},
            {"vocabulary a list", set("/model/vocab", json::array({1})), {"model.vocab", "[1]"}},
            {"dropout", set("/model/dropout", 0.1), {"model.dropout", "0.1"}},
            {"unknown token", set("/model/unk_token", "<unk>"), {"model.unk_token", "<unk>"}},
            {"subword prefix", set("/model/continuing_subword_prefix", "##"), {"continuing_subword_prefix", "##"}},
            {"end of word", set("/model/end_of_word_suffix", "</w>"), {"end_of_word_suffix", "</w>"}},
            {"byte fallback", set("/model/byte_fallback", true), {"model.byte_fallback", "true"}},
            {"ignore_merges a word", set("/model/ignore_merges", "yes"), {"model.ignore_merges", "yes"}},
            {"normalizer NFKC", set("/normalizer", {{"type", "NFKC"}}), {"normalizer.type", "NFC", "NFKC"}},
            {"normalizer a number", set("/normalizer", 1), {"normalizer"}},
            {"no pre-tokenizer", set("/pre_tokenizer", nullptr), {"pre_tokenizer.type", "Sequence", "null"}},
            {"whitespace pre-tokenizer",
             set("/pre_tokenizer", {{"type", "Whitespace"}}),
             {"pre_tokenizer.type", "Whitespace"}},
            {"another regex", set(split, "\\w+|\\W+"), {"pre_tokenizer.pretokenizers.0.pattern.Regex", "\\\\w+"}},
            {"pattern a string",
             set("/pre_tokenizer/pretokenizers/0/pattern", {{"String", " "}}),
             {"pattern.Regex", "null"}},
            {"split removed",
             set("/pre_tokenizer/pretokenizers/0/behavior", "Removed"),
             {"behavior", "Isolated", "Removed"}},
            {"split inverted", set("/pre_tokenizer/pretokenizers/0/invert", true), {"invert", "true"}},
            {"prefix space",
             set("/pre_tokenizer/pretokenizers/1/add_prefix_space", true),
             {"add_prefix_space", "true"}},
            {"GPT-2 regex too", set("/pre_tokenizer/pretokenizers/1/use_regex", true), {"use_regex", "true"}},
            {"a third step",
             [](json& t) {
                 t["pre_tokenizer"]["pretokenizers"].push_back({{"type", "Digits"}});
             },
             {"pretokenizers.2", "Digits"}},
            {"template processing",
             set("/post_processor", {{"type", "TemplateProcessing"}}),
             {"post_processor.type", "TemplateProcessing"}},
            {"no decoder", set("/decoder", nullptr), {"decoder.type", "ByteLevel", "null"}},
            {"WordPiece decoder", set("/decoder", {{"type", "WordPiece"}}), {"decoder.type", "WordPiece"}},
            {"truncation", set("/truncation", {{"max_length", 8}}), {"truncation", "max_length"}},
            {"padding", set("/padding", {{"pad_id", 0}}), {"padding", "pad_id"}},
            {"merge of unknown tokens",
             [](json& t) {
                 t["model"]["merges"][3] = {"Ġ", "中文"};
             },
             {"model.merges[3]", "中文"}},
            {"merge of an unknown token",
             [](json& t) {
                 t["model"]["merges"][3] = {"Ġ", "zzzz"};
             },
             {"model.merges[3]", "zzzz"}},
            {"merge into an unknown token",
             [](json& t) {
                 t["model"]["merges"][3] = {"q", "q"};
             },
             {"model.merges[3]", "qq"}},
            {"merge of three", [](json& t) { t["model"]["merges"][0] = "a b c"; }, {"model.merges[0]", "a b c"}},
            {"merge list of three",
             [](json& t) {
                 t["model"]["merges"][0] = {"a", "b", "c"};
             },
             {"']'"}},
            {"merge a number", [](json& t) { t["model"]["merges"][0] = 5; }, {"'\"'", "5"}},
            {"hole", [](json& t) { t["model"]["vocab"]["Ġhole"] = 905; }, {"model.vocab", "no token 900"}},
            {"id twice", [](json& t) { t["model"]["vocab"]["zzz"] = 40; }, {"model.vocab", "id 40"}},
            {"negative id", [](json& t) { t["model"]["vocab"]["zzz"] = -1; }, {"zzz", "-1"}},
            {"wild id", [](json& t) { t["model"]["vocab"]["zzz"] = 1LL << 40; }, {"zzz", "1099511627776"}},
            {"id a word", [](json& t) { t["model"]["vocab"]["zzz"] = "one"; }, {"whole number", "one"}},
            {"id with a fraction", [](json& t) { t["model"]["vocab"]["zzz"] = 902.5; }, {"'}'", ".5"}},
            {"token of no bytes", [](json& t) { t["model"]["vocab"]["中"] = 902; }, {"model.vocab", "中"}},
            {"a byte missing", [](json& t) { rename(t["model"]["vocab"], "Ā", "qqq"); }, {"256", "byte 0"}},
            {"added token of another id",
             [](json& t) { t["added_tokens"][0]["id"] = 902; },
             {"added_tokens: <|endoftext|>", "902"}},
            {"added token takes an id",
             [](json& t) {
                 t["added_tokens"].push_back({{"id", 100}, {"content", "<x>"}});
             },
             {"<x>", "902", "100"}},
            {"added tokens with a hole",
             [](json& t) {
                 t["added_tokens"].push_back({{"id", 903}, {"content", "<x>"}});
             },
             {"<x>", "902", "903"}},
            {"added token before the end of the vocabulary",
             [](json& t) { t["model"]["vocab"]["zzz"] = 902; },
             {"model.vocab", "no token 900"}},
            {"added token of a single byte",
             [](json& t) {
                 t["added_tokens"].push_back({{"id", t["model"]["vocab"]["!"]}, {"content", "!"}});
             },
             {"single byte"}},
            {"added token without content",
             [](json& t) { t["added_tokens"][0].erase("content"); },
             {"added_tokens", "content"}},
            {"added token empty", [](json& t) { t["added_tokens"][0]["content"] = ""; }, {"added_tokens", "content"}},
            {"added token strips", [](json& t) { t["added_tokens"][0]["lstrip"] = true; }, {"<|endoftext|>", "lstrip"}},
            {"added token a single word",
             [](json& t) { t["added_tokens"][0]["single_word"] = true; },
             {"<|endoftext|>", "single_word"}},
            {"added tokens an object", set("/added_tokens", json::object({{"a", 1}})), {"added_tokens", "list"}},
        };
    }

    static void rename(json& object, const char* from, const char* to) {
        object[to] = object[from];
        object.erase(from);
    }

    static void expect_refusal(const std::string& text, const std::vector<std::string>& says) {
        QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "tokenizer.json";
        std::ofstream(file, std::ios::binary) << text;
        try {
            Tokenizer::from_file(file);
            QFAIL("loaded");
        } catch (const TokenizerError& error) {
            QVERIFY2(error.parts().where.starts_with(file.string()), error.what());
            for (const std::string& words : says)
                QVERIFY2(std::string(error.what()).find(words) != std::string::npos, error.what());
        }
    }

private Q_SLOTS:
    void one_fault_each_data() {
        QTest::addColumn<int>("index");
        int index = 0;
        for (const Fault& fault : faults()) QTest::newRow(fault.name) << index++;
    }
    void one_fault_each() {
        QFETCH(int, index);
        const Fault fault = faults()[static_cast<std::size_t>(index)];
        json tokenizer = json::parse(read_file(text_reference / "small.json"));
        fault.change(tokenizer);
        expect_refusal(tokenizer.dump(), fault.says);
    }

    void a_missing_file() {
        QVERIFY_THROWS_EXCEPTION(FileError, Tokenizer::from_file(text_reference / "absent.json"));
        QVERIFY_THROWS_EXCEPTION(FileError, Tokenizer::from_file(text_reference));  // a folder
    }

    void a_file_cut_anywhere() {
        const std::string text = read_file(text_reference / "small.json");
        for (std::size_t size = 0; size + 2 < text.size(); size += 397) expect_refusal(text.substr(0, size), {});
        expect_refusal(text.substr(0, text.size() / 2), {"cut short", ":"});
    }

    void a_file_damaged_anywhere_does_no_harm() {
        const std::string text = read_file(text_reference / "small.json");
        QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "tokenizer.json";
        int refused = 0;
        for (std::size_t at = 0; at < text.size(); at += 181) {
            for (const char damage : {'\xFF', '"', '\\', '}', '9'}) {
                std::string damaged = text;
                damaged[at] = damage;
                std::ofstream(file, std::ios::binary | std::ios::trunc) << damaged;
                try {
                    Tokenizer::from_file(file).encode("red circle <|im_end|>", Tokenizer::ControlTokens::recognise);
                } catch (const TokenizerError&) {
                    ++refused;
                }
            }
        }
        QVERIFY(refused > 300);
    }

    void text_that_is_no_json() {
        expect_refusal("", {"JSON", "'{'"});
        expect_refusal("[]", {"JSON", "'{'"});
        expect_refusal("version https://git-lfs.github.com/spec/v1", {"JSON", "'{'", "version"});
        expect_refusal(read_file(text_reference / "small.json") + "}", {"JSON", "the end of the file"});
        expect_refusal("{\"model\": {\"vocab\": {\"\\ud800\": 1}}}", {"surrogate"});
        expect_refusal("{\"model\": {\"vocab\": {\"\\x\": 1}}}", {"escape"});
        expect_refusal("{\"version\": nul}", {"version", "nul"});
    }

    void order_of_the_parts_does_not_matter() {
        json tokenizer = json::parse(read_file(text_reference / "small.json"));
        nlohmann::ordered_json turned;
        turned["model"] = {};
        for (const char* key : {"merges", "vocab", "type"}) turned["model"][key] = tokenizer["model"][key];
        for (const auto& [key, value] : tokenizer.items())
            if (key != "model") turned[key] = value;
        QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "tokenizer.json";
        std::ofstream(file, std::ios::binary) << turned.dump(-1, ' ', true);  // all but ASCII escaped
        const auto straight = Tokenizer::from_file(text_reference / "small.json");
        for (const char* text : {"a red circle is left of the small square<|im_end|>", "naïve 日本語 😀"})
            QVERIFY(Tokenizer::from_file(file).encode(text, Tokenizer::ControlTokens::recognise) ==
                    straight.encode(text, Tokenizer::ControlTokens::recognise));
    }
};

VITRINE_TEST(TestBrokenTokenizers)
#include "test_broken_tokenizers.moc"
