#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "core/error.h"
#include "core/generate/stop.h"
#include "support/test_main.h"

namespace vitrine {
namespace {

struct Outcome {
    std::string shown;
    std::string matched;
    bool operator==(const Outcome&) const = default;
};

Outcome feed(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
    StopStrings watch(stops);
    Outcome outcome;
    for (const std::string& piece : pieces) outcome.shown += watch.push(piece);
    if (!watch.matched()) outcome.shown += watch.flush();
    outcome.matched = watch.matched().value_or("");
    return outcome;
}

std::vector<std::string> characters(const std::string& text) {
    std::vector<std::string> pieces;
    for (const char byte : text) {
        const bool continues = (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
        if (continues) {
            pieces.back() += byte;
        } else {
            pieces.emplace_back(1, byte);
        }
    }
    return pieces;
}

// The definition: the first end at which any stop string stands, the longest of those.
Outcome by_search(const std::vector<std::string>& stops, const std::string& text) {
    for (std::size_t end = 1; end <= text.size(); ++end) {
        std::string best;
        for (const std::string& stop : stops) {
            if (text.substr(0, end).ends_with(stop) && stop.size() > best.size()) best = stop;
        }
        if (!best.empty()) return {text.substr(0, end - best.size()), best};
    }
    return {text, ""};
}

nlohmann::json reference(const char* name) {
    std::ifstream file(std::string(VITRINE_REFERENCE_DIR) + "/sampling/" + name);
    return nlohmann::json::parse(file);
}

}  // namespace

class TestStop : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void shows_everything_without_stop_strings() { QCOMPARE(feed({}, {"a", "", "bc"}), (Outcome{"abc", ""})); }

    void ends_before_the_stop_string() {
        QCOMPARE(feed({"END"}, {"one EN", "D two", " three"}), (Outcome{"one ", "END"}));
        QCOMPARE(feed({"END"}, {"one ENDED"}), (Outcome{"one ", "END"}));
        QCOMPARE(feed({"END"}, {"E", "N", "E", "N", "D"}), (Outcome{"EN", "END"}));
        QCOMPARE(feed({"a"}, {"a"}), (Outcome{"", "a"}));
    }

    void holds_back_only_what_may_become_one() {
        StopStrings watch({"\n\nUser:"});
        QCOMPARE(watch.push("Hello\n"), std::string("Hello"));
        QCOMPARE(watch.push("\n"), std::string(""));
        QCOMPARE(watch.push("\n"), std::string("\n"));
        QCOMPARE(watch.push("Us"), std::string(""));
        QCOMPARE(watch.push("age"), std::string("\n\nUsage"));
        QCOMPARE(watch.push("\n\nUser"), std::string(""));
        QVERIFY(!watch.matched());
        QCOMPARE(watch.flush(), std::string("\n\nUser"));
        QCOMPARE(watch.flush(), std::string(""));
    }

    void gives_nothing_after_a_match() {
        StopStrings watch({"x"});
        QCOMPARE(watch.push("1x2"), std::string("1"));
        QCOMPARE(watch.push("3"), std::string(""));
        QCOMPARE(watch.flush(), std::string(""));
        QCOMPARE(*watch.matched(), std::string("x"));
    }

    void first_complete_wins_and_the_longer_of_two() {
        QCOMPARE(feed({"abcd", "bc"}, {"abcd"}), (Outcome{"a", "bc"}));
        QCOMPARE(feed({"c", "abc"}, {"xabc"}), (Outcome{"x", "abc"}));
        QCOMPARE(feed({"abc", "c"}, {"xa", "b", "c"}), (Outcome{"x", "abc"}));
    }

    void keeps_characters_whole() {
        // "é" and "è" share their first byte, and so do the two emoji their first three.
        QCOMPARE(feed({"é"}, characters("père né")), (Outcome{"père n", "é"}));
        StopStrings watch({"\U0001F600!"});
        QCOMPARE(watch.push("\U0001F601"), std::string("\U0001F601"));
        QCOMPARE(watch.push("\U0001F600"), std::string(""));
        QCOMPARE(watch.push("\U0001F601"), std::string("\U0001F600\U0001F601"));
    }

    void refuses_what_cannot_be_a_stop_string() {
        for (const char* bad : {"", "\xA9", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80", "a\xE2\x82"}) {
            QVERIFY_THROWS_EXCEPTION(OptionError, StopStrings({"ok", bad}));
        }
        StopStrings({"é€\U0001F600", std::string("\0", 1)});
    }

    void agrees_with_the_definition_however_it_is_cut() {
        std::mt19937_64 random(7);
        const auto letters = [&](std::size_t most) {
            std::string text(1 + random() % most, 'a');
            for (char& letter : text) letter = static_cast<char>('a' + random() % 2);
            return text;
        };
        int matches = 0;
        for (int round = 0; round < 20000; ++round) {
            std::vector<std::string> stops(1 + random() % 3);
            for (std::string& stop : stops) stop = letters(12);
            std::string text = letters(4);  // then beginnings of stop strings, where a wrong state would show
            for (int part = 0; part < 3; ++part) {
                const std::string& stop = stops[random() % stops.size()];
                text += stop.substr(0, random() % stop.size());
            }
            std::vector<std::string> pieces;
            for (std::size_t at = 0; at < text.size();) {
                pieces.push_back(text.substr(at, 1 + random() % 4));
                at += pieces.back().size();
            }
            const Outcome expected = by_search(stops, text);
            QCOMPARE(feed(stops, pieces), expected);
            matches += expected.matched.empty() ? 0 : 1;
        }
        QVERIFY(matches > 5000 && matches < 17000);
    }

    void takes_linear_time() {
        const std::string almost(20000, 'a');
        StopStrings watch({almost + "b"});
        std::size_t shown = 0;
        for (int i = 0; i < 200; ++i) shown += watch.push(almost).size();  // quadratic would be 80 billion steps
        QCOMPARE(shown + watch.flush().size(), almost.size() * 200);
    }

    void tells_loops_from_ordinary_text() {
        int loops = 0;
        for (const auto& stream : reference("streams.json")) {
            LoopDetector detector;
            std::optional<std::size_t> found;
            const auto ids = stream["ids"].get<std::vector<TokenId>>();
            for (std::size_t i = 0; i < ids.size() && !found; ++i) {
                if (detector.push(ids[i])) found = i + 1;
            }
            const auto name = stream["name"].get<std::string>();
            QVERIFY2(found.has_value() == stream["loops"].get<bool>(), name.c_str());
            if (found) QVERIFY2(*found <= 100, name.c_str());
            loops += found ? 1 : 0;
        }
        QVERIFY(loops >= 5);
    }

    void needs_both_length_and_repeats() {
        const auto pushed_until_found = [](std::size_t period, std::size_t max_period) {
            LoopDetector detector(max_period);
            for (std::size_t i = 1; i <= 1000; ++i) {
                const auto cycle = detector.push(static_cast<TokenId>(i % period));
                if (cycle && cycle->period == period && cycle->repeats == i / period) return i;
                if (cycle) return std::size_t{0};
            }
            return std::size_t{1000};
        };
        QCOMPARE(pushed_until_found(1, 64), std::size_t{80});
        QCOMPARE(pushed_until_found(2, 64), std::size_t{80});
        QCOMPARE(pushed_until_found(20, 64), std::size_t{80});
        QCOMPARE(pushed_until_found(25, 64), std::size_t{100});
        QCOMPARE(pushed_until_found(64, 64), std::size_t{256});
        QCOMPARE(pushed_until_found(65, 64), std::size_t{1000});
        QCOMPARE(pushed_until_found(3, 2), std::size_t{1000});
    }

    void starts_anew_when_a_cycle_breaks() {
        LoopDetector detector;
        for (int i = 0; i < 79; ++i) QVERIFY(!detector.push(5));
        QVERIFY(!detector.push(6));
        for (int i = 0; i < 79; ++i) QVERIFY(!detector.push(5));
        QVERIFY(detector.push(5));
    }
};

}  // namespace vitrine

using vitrine::TestStop;
VITRINE_TEST(TestStop)
#include "test_stop.moc"
