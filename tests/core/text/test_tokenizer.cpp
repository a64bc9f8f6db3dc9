#include "core/text/tokenizer.h"
#include "reference_data.h"
#include "support/test_main.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace vitrine;
using namespace vitrine::test;
using Mode = Tokenizer::ControlTokens;

namespace {

std::string show(std::string_view text) {
    return QByteArray(text.data(), static_cast<qsizetype>(std::min<std::size_t>(text.size(), 200)))
        .toPercentEncoding(" <>|'")
        .toStdString();
}

std::string show(const std::vector<TokenId>& ids) {
    std::string out;
    for (std::size_t i = 0; i < std::min<std::size_t>(ids.size(), 40); ++i) out += std::to_string(ids[i]) + " ";
    return out;
}

const Tokenizer& qwen() {
    static const Tokenizer tokenizer = Tokenizer::from_file(qwen_tokenizer);
    return tokenizer;
}

Tokenizer tokenizer_named(const std::string& name) {
    return Tokenizer::from_file(name == "qwen3" ? qwen_tokenizer : text_reference / (name + ".json"));
}

// A length that UTF-8 allows at the end of a streamed piece: no lead byte waits for more.
bool ends_whole(std::string_view text) {
    std::size_t tail = 0;
    while (tail < text.size() && tail < 4 && (static_cast<unsigned char>(text[text.size() - 1 - tail]) & 0xC0) == 0x80)
        ++tail;
    if (tail == text.size()) return text.empty();
    const auto lead = static_cast<unsigned char>(text[text.size() - 1 - tail]);
    return tail == (lead < 0x80 ? 0U : lead < 0xE0 ? 1U : lead < 0xF0 ? 2U : 3U);
}

}  // namespace

class TestTokenizer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void every_tokenizer_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("at_least");
        QTest::newRow("qwen3") << "qwen3" << 20000;
        for (const char* name : {"small", "small-nfc-text-merges", "small-ignore-merges", "small-odd-words",
                                 "small-normalised", "small-words-added"})
            QTest::newRow(name) << name << 3000;
    }

    void encodes_as_the_library_data() { every_tokenizer_data(); }
    void encodes_as_the_library() {
        QFETCH(QString, name);
        QFETCH(int, at_least);
        const Tokenizer tokenizer = tokenizer_named(name.toStdString());
        Records records(text_reference / ("cases-" + name.toStdString() + ".bin"));
        int count = 0, wrong = 0;
        while (records.more()) {
            const std::string_view text = records.text();
            for (const Mode mode : {Mode::as_text, Mode::recognise}) {
                const auto expected = records.numbers();
                const auto found = tokenizer.encode(text, mode);
                if (found == expected || ++wrong > 5) continue;
                qWarning("string %d %s: %s\n expected %s\n found    %s", count,
                         mode == Mode::as_text ? "as text" : "recognised", show(text).c_str(), show(expected).c_str(),
                         show(found).c_str());
            }
            ++count;
        }
        QCOMPARE(wrong, 0);
        QVERIFY2(count >= at_least, std::to_string(count).c_str());
    }

    void as_text_never_gives_an_added_token_data() { every_tokenizer_data(); }
    void as_text_never_gives_an_added_token() {
        QFETCH(QString, name);
        const Tokenizer tokenizer = tokenizer_named(name.toStdString());
        Records records(text_reference / ("cases-" + name.toStdString() + ".bin"));
        std::vector<bool> is_added(static_cast<std::size_t>(tokenizer.vocab_size()));
        for (int id = 0; id < tokenizer.vocab_size(); ++id)
            is_added[static_cast<std::size_t>(id)] = tokenizer.added_token(tokenizer.token_bytes(id)) == id;
        QVERIFY(std::count(is_added.begin(), is_added.end(), true) >= 16);
        int recognised = 0;
        while (records.more()) {
            const std::string_view text = records.text();
            for (const TokenId id : tokenizer.encode(text, Mode::as_text))
                QVERIFY2(!is_added[static_cast<std::size_t>(id)], show(text).c_str());
            for (const TokenId id : tokenizer.encode(text, Mode::recognise))
                recognised += is_added[static_cast<std::size_t>(id)];
            records.numbers(), records.numbers();
        }
        QVERIFY(recognised > 50);
    }

    void decodes_as_the_library_data() { every_tokenizer_data(); }
    void decodes_as_the_library() {
        QFETCH(QString, name);
        const Tokenizer tokenizer = tokenizer_named(name.toStdString());
        Records records(text_reference / ("decode-" + name.toStdString() + ".bin"));
        while (records.more()) {
            const auto ids = records.numbers();
            for (const bool skip_special : {true, false}) {
                const std::string expected(records.text());
                const std::string whole = tokenizer.decode(ids, skip_special);
                QVERIFY2(whole == expected, (show(ids) + "\n" + show(expected) + "\n" + show(whole)).c_str());

                StreamingDecoder stream(tokenizer, skip_special);
                std::string streamed;
                for (const TokenId id : ids) {
                    const std::string visible = stream.push(id);
                    QVERIFY2(ends_whole(visible), show(visible).c_str());
                    streamed += visible;
                }
                QVERIFY(streamed.size() <= whole.size());
                streamed += stream.flush();
                QCOMPARE(streamed, whole);
                QCOMPARE(stream.flush(), std::string());
            }
        }
    }

    void a_split_character_is_held_back() {
        const auto ids = qwen().encode("\U00012345", Mode::as_text);
        QVERIFY(ids.size() > 1);
        StreamingDecoder stream(qwen());
        for (std::size_t i = 0; i + 1 < ids.size(); ++i) QCOMPARE(stream.push(ids[i]), std::string());
        QCOMPARE(stream.push(ids.back()), std::string("\U00012345"));
    }

    void tells_what_it_knows() {
        QCOMPARE(qwen().vocab_size(), 151669);
        QCOMPARE(qwen().added_token("<|im_start|>").value_or(-1), 151644);
        QCOMPARE(qwen().added_token("</think>").value_or(-1), 151668);
        QVERIFY(!qwen().added_token("the"));
        QVERIFY(qwen().is_special(151645));
        QVERIFY(!qwen().is_special(151667) && !qwen().is_special(0) && !qwen().is_special(-1) &&
                !qwen().is_special(1 << 30));
        QVERIFY(qwen().token_bytes(151645) == "<|im_end|>");
        QVERIFY(qwen().token_bytes(220) == " ");
        QVERIFY(qwen().token_bytes(-1).empty() && qwen().token_bytes(151669).empty());
        QVERIFY(qwen().encode("", Mode::recognise).empty());
        std::vector<TokenId> ids = {7};
        qwen().encode_to(ids, "Hi<|im_end|>", Mode::recognise);
        QCOMPARE(ids, (std::vector<TokenId>{7, 13048, 151645}));
    }

    void one_tokenizer_serves_many_threads() {
        const Tokenizer shared = Tokenizer::from_file(qwen_tokenizer);  // fresh: nothing is known of any word yet
        std::string text;
        for (Records records(text_reference / "cases-qwen3.bin"); text.size() < 300'000;
             records.numbers(), records.numbers())
            text += records.text();
        const auto expected = qwen().encode(text, Mode::recognise);
        std::vector<std::vector<TokenId>> found(4);
        std::vector<std::thread> threads;
        for (auto& ids : found) threads.emplace_back([&] { shared.encode_to(ids, text, Mode::recognise); });
        for (std::thread& thread : threads) thread.join();
        for (const auto& ids : found) QVERIFY(ids == expected);
    }

    // Quadratic work would take minutes.
    void long_words_take_no_longer_than_short_ones() {
        for (const std::string unit : {"a", "qzj", "漢字", " ", "\u0301", "\u1100\u1161", "<", "<|im_end|"}) {
            std::string word;
            while (word.size() < 1'000'000) word += unit;
            const auto start = std::chrono::steady_clock::now();
            const auto ids = qwen().encode(word, Mode::recognise);
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
            QVERIFY(!ids.empty());
            QVERIFY2(taken.count() < 10, (unit + ": " + std::to_string(taken.count()) + " s").c_str());
        }
    }
};

VITRINE_TEST(TestTokenizer)
#include "test_tokenizer.moc"
