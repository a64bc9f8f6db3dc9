#include "core/error.h"
#include "core/train/batch.h"
#include "training_support.h"

using namespace vitrine;

// Rows are what transformers builds of the same conversations, and what is learned of them is every answer.
class TestRows : public QObject {
    Q_OBJECT

    nlohmann::json rows_;
    std::optional<Tokenizer> tokenizer_;

    static std::vector<Message> messages_of(const nlohmann::json& row) {
        std::vector<Message> messages;
        for (const nlohmann::json& turn : row["messages"]) {
            const std::string role = turn["role"];
            Message& message = messages.emplace_back();
            message.role = role == "user" ? Role::user : role == "system" ? Role::system : Role::assistant;
            message.text = turn["text"];
            if (turn["picture"]) message.pictures = {std::make_shared<const Image>()};
        }
        return messages;
    }
    TrainingRow row_of(const nlohmann::json& row) const {
        return make_training_row(*tokenizer_, messages_of(row), rows_["patches"]);
    }

private Q_SLOTS:
    void initTestCase() {
        rows_ = test::read_json(test::training_reference() / "rows.json");
        tokenizer_ = Tokenizer::from_file(test::training_reference() / "model" / "language" / "tokenizer.json");
        QVERIFY(rows_["rows"].size() >= 20);
    }

    void ids_and_labels_equal_the_reference_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < rows_["rows"].size(); ++i)
            QTest::newRow(rows_["rows"][i]["name"].get<std::string>().c_str()) << static_cast<int>(i);
    }

    void ids_and_labels_equal_the_reference() {
        QFETCH(int, index);
        const nlohmann::json& expected = rows_["rows"][static_cast<std::size_t>(index)];
        const TrainingRow row = row_of(expected);
        QCOMPARE(row.ids, expected["ids"].get<std::vector<TokenId>>());
        QCOMPARE(row.is_target, expected["targets"].get<std::vector<std::uint8_t>>());

        const TokenId pad = *tokenizer_->added_token("<|image_pad|>");
        const auto pads = std::count(row.ids.begin(), row.ids.end(), pad);
        QCOMPARE(row.picture.has_value(), pads > 0);
        if (!row.picture) return;
        QCOMPARE(row.picture->count, pads);
        QCOMPARE(row.ids[static_cast<std::size_t>(row.picture->begin)], pad);
        QCOMPARE(row.ids[static_cast<std::size_t>(row.picture->begin + pads - 1)], pad);
    }

    void a_batch_keeps_every_row_in_its_place() {
        std::vector<TrainingRow> rows;
        for (const nlohmann::json& row : rows_["rows"]) rows.push_back(row_of(row));
        const TrainingBatch batch = make_batch(rows);
        const std::int64_t length = batch.ids.size(1);
        QCOMPARE(batch.ids.size(0), static_cast<std::int64_t>(rows.size()));
        const at::Tensor flat = batch.ids.flatten();
        std::int64_t target = 0, patch = 0, longest = 0;
        std::uint64_t tokens = 0;
        for (std::size_t b = 0; b < rows.size(); ++b) {
            // What stands from the last target on predicts nothing and is left out.
            const auto last = std::find(rows[b].is_target.rbegin(), rows[b].is_target.rend(), std::uint8_t{1});
            const std::int64_t count = rows[b].is_target.rend() - last - 1;
            longest = std::max(longest, count);
            QCOMPARE(batch.padding[static_cast<std::int64_t>(b)].item<std::int64_t>(), length - count);
            const std::int64_t first = static_cast<std::int64_t>(b + 1) * length - count;
            for (std::int64_t t = 0; t <= count; ++t) {
                if (t < count) QCOMPARE(flat[first + t].item<std::int64_t>(), rows[b].ids[static_cast<std::size_t>(t)]);
                if (rows[b].is_target[static_cast<std::size_t>(t)] == 0) continue;
                QCOMPARE(batch.target_rows[target].item<std::int64_t>(), first + t - 1);
                QCOMPARE(batch.target_ids[target].item<std::int64_t>(), rows[b].ids[static_cast<std::size_t>(t)]);
                QCOMPARE(batch.row_of_target[static_cast<std::size_t>(target++)], static_cast<std::int64_t>(b));
            }
            for (std::int64_t i = 0; rows[b].picture && i < rows[b].picture->count; ++i)
                QCOMPARE(batch.picture_rows[patch++].item<std::int64_t>(), first + rows[b].picture->begin + i);
            tokens += static_cast<std::uint64_t>(count);
        }
        QCOMPARE(length, longest);
        QCOMPARE(batch.target_ids.numel(), target);
        QCOMPARE(batch.picture_rows.numel(), patch);
        QCOMPARE(batch.tokens, tokens);
    }

    void nothing_to_learn_is_an_error() {
        const std::vector<Message> question{{.role = Role::user, .text = "What?"}};
        QVERIFY_EXCEPTION_THROWN(make_training_row(*tokenizer_, question, 4), InputError);
        QVERIFY_EXCEPTION_THROWN(make_training_row(*tokenizer_, {}, 4), InputError);
    }
};

VITRINE_TEST(TestRows)
#include "test_rows.moc"
