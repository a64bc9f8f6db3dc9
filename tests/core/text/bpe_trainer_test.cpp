#include "core/text/bpe_trainer.h"
#include "core/model/random_model.h"
#include "core/text/tokenizer.h"
#include "support/folders.h"
#include "support/test_main.h"

#include <QTemporaryDir>

namespace vitrine::test {
namespace {

using Merges = std::vector<std::pair<std::string, std::string>>;

class BpeTrainerTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // "ab" stands four times, "abc" three: counted by hand.
    void the_most_frequent_pair_is_joined_first() {
        const Merges merges = learn_merges({"ab", "abc", "abc", "abc", "xc"}, 2);
        const Merges expected{{"a", "b"}, {"ab", "c"}};
        QCOMPARE(merges, expected);
    }

    void ties_go_to_the_lower_bytes() {
        const Merges merges = learn_merges({"yz", "ab"}, 1);
        QCOMPARE(merges, (Merges{{"a", "b"}}));
    }

    void it_ends_when_every_piece_is_one_token() {
        QCOMPARE(learn_merges({"aaaa", " aaaa"}, 1000).size(), std::size_t{3});  // aa, aaaa, " aaaa"
        QVERIFY(learn_merges({}, 10).empty());
        QVERIFY(learn_merges({"a", "b"}, 10).empty());
    }

    void a_model_made_with_texts_knows_their_words_as_single_tokens() {
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath("model").toStdString();
        const std::vector<std::string> texts{"a large red circle above a small teal star", "naïve 圆 circle"};
        write_random_model(shape_by_name("demo"), DType::float32, 0, path, texts);
        const Tokenizer tokenizer = Tokenizer::from_file(path / "language" / "tokenizer.json");
        for (const std::string& text : texts) {
            const auto ids = tokenizer.encode(text, Tokenizer::ControlTokens::as_text);
            const auto words = std::count(text.begin(), text.end(), ' ') + 1;
            QCOMPARE(ids.size(), static_cast<std::size_t>(words));
            QCOMPARE(tokenizer.decode(ids, false), text);
        }
        QCOMPARE(tokenizer.encode("assistant", Tokenizer::ControlTokens::as_text).size(), std::size_t{1});
        const std::string unseen = "Zebra \xF0\x9F\xA6\x93";  // every byte has a token
        QCOMPARE(tokenizer.decode(tokenizer.encode(unseen, Tokenizer::ControlTokens::as_text), false), unseen);
        QCOMPARE(static_cast<std::size_t>(*tokenizer.added_token("<|im_end|>")) + 24,
                 static_cast<std::size_t>(tokenizer.vocab_size()));
    }
};

VITRINE_TEST(BpeTrainerTest)

}  // namespace
}  // namespace vitrine::test

#include "bpe_trainer_test.moc"
