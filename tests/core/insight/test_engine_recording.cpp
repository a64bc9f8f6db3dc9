#include "core/engine.h"
#include "core/error.h"
#include "core/insight/recording.h"
#include "insight_reference.h"
#include "support/pictures.h"
#include "support/test_main.h"

#include <cmath>

using namespace vitrine;
using test::flat_picture;

namespace {

class Keeper : public EngineObserver {
public:
    void on_recording(const std::shared_ptr<const Recording>& begun) override {
        recording = begun;
        tokens_before = tokens;
    }
    void on_token(const TokenEvent& event) override {
        if (event.id < 0) return;
        ++tokens;
        // While the answer is being made, what is known of it can be asked.
        if (recording && tokens == 3) live = recording->row(0, 0, recording->layout().length - 1);
    }
    std::shared_ptr<const Recording> recording;
    std::vector<float> live;
    int tokens = 0;
    int tokens_before = -1;
};

double difference(const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size()) return INFINITY;
    double worst = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, static_cast<double>(std::abs(a[i] - b[i])));
    return worst;
}

}  // namespace

// Recordings as the engine makes them: live, afterwards, beside each other.
class TestEngineRecording : public QObject {
    Q_OBJECT

    static GenerationOptions recorded(int max_tokens) {
        return {.max_tokens = max_tokens, .detect_loops = false, .record = true};
    }
    static std::vector<Message> about(const ImagePtr& picture, const char* question) {
        return {{.role = Role::user, .text = question, .pictures = {picture}}};
    }
    static void load(Engine& engine) {
        Keeper quiet;
        const test::InsightReference reference("tiny", "one");
        QVERIFY(engine.load(reference.model_folder(), {.device = "cpu", .dtype = DType::float32}, quiet));
    }

private Q_SLOTS:
    void an_answer_is_open_from_its_first_token_on() {
        Engine engine;
        load(engine);
        Keeper keeper;
        const GenerationResult result =
            engine.generate(about(flat_picture(200, 10, 10), "What is this?"), recorded(12), keeper);
        QVERIFY(keeper.recording);
        QCOMPARE(keeper.tokens_before, 0);
        QCOMPARE(keeper.recording->question(), std::string("What is this?"));
        const InsightLayout layout = keeper.recording->layout();
        QCOMPARE(layout.answer_begin, std::int64_t{result.prompt_tokens});
        QCOMPARE(layout.length, result.prompt_tokens + static_cast<std::int64_t>(result.ids.size()));
        const std::vector<InsightToken> answer = keeper.recording->tokens(layout.answer_begin);
        QCOMPARE(answer.size(), result.ids.size());
        for (std::size_t i = 0; i < answer.size(); ++i) QCOMPARE(answer[i].id, result.ids[i]);
        QVERIFY(result.ids.size() > 3);
        QCOMPARE(keeper.live, keeper.recording->row(0, 0, layout.answer_begin + 2));

        Keeper none;
        engine.generate(about(flat_picture(200, 10, 10), "What is this?"), {.max_tokens = 2}, none);
        QVERIFY(!none.recording);
    }

    void an_answer_from_before_is_opened_as_it_was() {
        Engine engine;
        load(engine);
        Keeper keeper;
        std::vector<Message> messages = about(flat_picture(10, 200, 10), "Colour?");
        const GenerationResult result = engine.generate(messages, recorded(8), keeper);
        messages.push_back({.role = Role::assistant, .text = result.text});

        Engine other;
        load(other);
        const auto opened = other.record(messages, keeper);
        QVERIFY(opened);
        const InsightLayout layout = opened->layout();
        QCOMPARE(layout.answer_begin, keeper.recording->layout().answer_begin);
        const std::vector<InsightToken> theirs = opened->tokens(layout.answer_begin);
        const std::vector<InsightToken> ours = keeper.recording->tokens(layout.answer_begin);
        // The text may fall into other tokens than it was made of; up to there everything is the same.
        std::size_t same = 0;
        while (same < std::min(theirs.size(), ours.size()) && theirs[same].id == ours[same].id) ++same;
        QVERIFY(same > 0);
        for (std::size_t i = 0; i < same; ++i) {
            const std::int64_t position = layout.answer_begin + static_cast<std::int64_t>(i);
            QVERIFY(difference(opened->row(1, 1, position), keeper.recording->row(1, 1, position)) < 1e-5);
            QVERIFY(std::abs(theirs[i].log_prob - ours[i].log_prob) < 1e-3F);
            QCOMPARE(theirs[i].alternatives.size(), ours[i].alternatives.size());
        }
    }

    void recordings_outlive_what_the_engine_does_next() {
        Engine engine;
        load(engine);
        Keeper first, second, third;
        std::vector<Message> messages = about(flat_picture(10, 10, 200), "What?");
        const GenerationResult result = engine.generate(messages, recorded(6), first);
        const std::int64_t last = first.recording->layout().length - 1;
        const std::vector<float> before = first.recording->row(1, 0, last);

        // The same conversation goes on: the past is shared and grows.
        messages.push_back({.role = Role::assistant, .text = result.text});
        messages.push_back({.role = Role::user, .text = "And then? Tell me more, please."});
        const GenerationResult more = engine.generate(messages, recorded(300), second);
        QVERIFY(more.cached_tokens > 0);
        QCOMPARE(first.recording->row(1, 0, last), before);
        const std::int64_t end = second.recording->layout().length - 1;
        const std::vector<float> later = second.recording->row(0, 1, end);

        // Another one takes the engine over: both keep theirs.
        engine.generate(about(flat_picture(250, 250, 0), "Something else"), recorded(6), third);
        QCOMPARE(first.recording->row(1, 0, last), before);
        QCOMPARE(second.recording->row(0, 1, end), later);
        QVERIFY(difference(third.recording->row(1, 0, 20), first.recording->row(1, 0, 20)) > 1e-6);

        engine.unload();
        QCOMPARE(first.recording->row(1, 0, last), before);
    }

    void what_cannot_be_opened_is_refused() {
        Engine engine;
        Keeper keeper;
        std::vector<Message> messages = about(flat_picture(1, 2, 3), "What?");
        messages.push_back({.role = Role::assistant, .text = "This."});
        QVERIFY_EXCEPTION_THROWN(engine.record(messages, keeper), InputError);  // nothing is loaded
        load(engine);
        QVERIFY_EXCEPTION_THROWN(engine.record(std::span(messages).first(1), keeper), InputError);
        messages.back().text.clear();
        QVERIFY_EXCEPTION_THROWN(engine.record(messages, keeper), InputError);
        messages.back().text = "This.";
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(!engine.record(messages, keeper, stop.get_token()));
        const auto opened = engine.record(messages, keeper);  // and the engine is none the worse
        QVERIFY(opened && opened->layout().length > opened->layout().answer_begin);
    }
};

VITRINE_TEST(TestEngineRecording)
#include "test_engine_recording.moc"
