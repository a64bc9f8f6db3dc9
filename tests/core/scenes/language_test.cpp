#include "core/scenes/language.h"
#include "core/error.h"
#include "core/train/scenes_dataset.h"
#include "support/test_main.h"

#include <QRegularExpression>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <thread>

namespace vitrine::scenes {
namespace {

constexpr std::uint64_t kSeed = 40;

std::vector<std::string> words_of(const std::string& text) {
    std::string plain;
    for (const char c : text)
        plain += std::isalpha(static_cast<unsigned char>(c)) ? static_cast<char>(std::tolower(c)) : ' ';
    std::istringstream stream(plain);
    return {std::istream_iterator<std::string>(stream), {}};
}

// What a text says about objects, read by its words alone.
struct Mention {
    std::string size, colour, shape;

    explicit Mention(const std::vector<std::string>& words) {
        for (const std::string& word : words) {
            if (word == "small" || word == "large") size = word;
            for (std::size_t i = 0; i < kColours; ++i) {
                if (name_of(static_cast<Colour>(i)) == word) colour = word;
            }
            for (std::size_t i = 0; i < kShapes; ++i) {
                const std::string name(name_of(static_cast<Shape>(i)));
                if (word == name || word == name + "s" || word == name + "es") shape = name;
            }
        }
    }
    // The objects that fit, where a square either is a rectangle or is none.
    std::vector<const SceneObject*> find(const Scene& scene, bool square_is_rectangle) const {
        std::vector<const SceneObject*> found;
        for (const SceneObject& object : scene.objects) {
            const bool shape_fits = shape.empty() || shape == name_of(object.shape) ||
                                    (square_is_rectangle && shape == "rectangle" && object.shape == Shape::square);
            if (shape_fits && (size.empty() || size == name_of(object.size)) &&
                (colour.empty() || colour == name_of(object.colour)))
                found.push_back(&object);
        }
        return found;
    }
};

std::string direction(const SceneObject& a, const SceneObject& b) {
    const double dx = a.centre.x - b.centre.x;
    const double dy = a.centre.y - b.centre.y;
    if (std::abs(dx) > 1.5 * std::abs(dy)) return dx < 0 ? "to the left" : "to the right";
    if (std::abs(dy) > 1.5 * std::abs(dx)) return dy < 0 ? "above" : "below";
    return "unclear";
}

std::string only(const std::vector<const SceneObject*>& found, auto answer) {
    return found.size() == 1 ? std::string(answer(*found[0])) : "ambiguous";
}

// The answer, found from the words of the question and the objects.
std::string answer_to(const std::string& text, const Scene& scene, bool square_is_rectangle) {
    const std::vector<std::string> words = words_of(text);
    const auto has = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
    if (has("background")) return std::string(name_of(scene.background));
    if (has("where")) {
        const auto middle = std::ranges::find_if(
            words, [](const std::string& word) { return word == "relative" || word == "compared"; });
        const auto a = Mention({words.begin(), middle}).find(scene, square_is_rectangle);
        const auto b = Mention({middle, words.end()}).find(scene, square_is_rectangle);
        return a.size() == 1 && b.size() == 1 ? direction(*a[0], *b[0]) : "ambiguous";
    }
    const auto found = Mention(words).find(scene, square_is_rectangle);
    if (has("how")) return std::array{"zero", "one", "two", "three"}.at(found.size());
    if (has("colour") || has("color"))
        return only(found, [](const SceneObject& object) { return name_of(object.colour); });
    if (has("what") || has("which"))
        return only(found, [](const SceneObject& object) { return name_of(object.shape); });
    return found.empty() == (has("not") || has("no")) ? "yes" : "no";
}

template <class Visit>
void for_scenes(std::uint64_t count, Visit visit) {
    for (std::uint64_t i = 0; i < count && !QTest::currentTestFailed(); ++i)
        visit(make_scene(kSeed, i), Random(kSeed, i, Stream::words));
}

// The wordings of the easy-VQA questions; S is a shape, C a colour.
constexpr std::array kEasyWordings{"is a C shape present?",
                                   "is there a C shape?",
                                   "does the image not contain a C shape?",
                                   "is there not a C shape?",
                                   "is there not a C shape in the image?",
                                   "does the image contain a C shape?",
                                   "is no C shape present?",
                                   "is there a C shape in the image?",
                                   "what color is the shape?",
                                   "what color is the S?",
                                   "what shape is in the image?",
                                   "what is the color of the S?",
                                   "what is the color of the shape?",
                                   "what shape does the image contain?",
                                   "what shape is present?",
                                   "what is the C shape?",
                                   "is no S present?",
                                   "is there not a S?",
                                   "does the image not contain a S?",
                                   "is there a S?",
                                   "is there not a S in the image?",
                                   "is a S present?",
                                   "does the image contain a S?",
                                   "is there a S in the image?"};

}  // namespace

class TestLanguage : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void every_answer_is_right() {
        std::map<QuestionKind, int> kinds;
        for_scenes(6000, [&](const Scene& scene, Random random) {
            const std::vector<Question> questions = ask(scene, random, 6);
            QCOMPARE(questions.size(), std::size_t{6});
            for (const Question& question : questions) {
                const std::string place = question.text + " | " + question.answer + " | " + caption(scene);
                QVERIFY2(answer_to(question.text, scene, false) == question.answer, place.c_str());
                QVERIFY2(answer_to(question.text, scene, true) == question.answer, place.c_str());
                QVERIFY2(kind_of(question.text) == question.kind, place.c_str());
                ++kinds[question.kind];
            }
        });
        QCOMPARE(kinds.size(), kQuestionKinds);
    }

    void kinds_and_answers_are_balanced() {
        std::map<QuestionKind, int> kinds;
        std::map<QuestionKind, std::map<std::string, int>> answers;
        std::map<bool, std::map<std::string, int>> exists;  // by whether the question says no or not
        int questions = 0;
        for_scenes(8000, [&](const Scene& scene, Random random) {
            for (const Question& question : ask(scene, random, 4)) {
                ++questions;
                ++kinds[question.kind];
                ++answers[question.kind][question.answer];
                if (question.kind != QuestionKind::exists) continue;
                const std::vector<std::string> words = words_of(question.text);
                const bool negated =
                    std::ranges::any_of(words, [](const std::string& word) { return word == "no" || word == "not"; });
                ++exists[negated][question.answer];
            }
        });
        for (const auto& [kind, count] : kinds) {
            const double share = static_cast<double>(count) / questions;
            const bool twice = kind == QuestionKind::exists;
            QVERIFY2(share > (twice ? 0.25 : 0.07) && share < (twice ? 0.36 : 0.18), name_of(kind).data());
        }
        for (const bool negated : {false, true}) {
            const double yes = exists[negated]["yes"];
            const double all = yes + exists[negated]["no"];
            QVERIFY(all > 1500);
            QVERIFY2(yes / all > 0.45 && yes / all < 0.55, qPrintable(QString::number(yes / all)));
        }
        QCOMPARE(answers[QuestionKind::colour].size(), kColours);
        QCOMPARE(answers[QuestionKind::shape].size(), kShapes);
        QCOMPARE(answers[QuestionKind::background].size(), kBackgrounds);
        QCOMPARE(answers[QuestionKind::count].size(), std::size_t{4});
        QCOMPARE(answers[QuestionKind::where].size(), std::size_t{4});
        for (const auto& [answer, count] : answers[QuestionKind::where])
            QVERIFY2(count > kinds[QuestionKind::where] / 6, answer.c_str());
    }

    // Nobody can answer from the words alone: what is asked for in vain is mostly half there.
    void things_asked_for_in_vain_are_near_misses() {
        int misses = 0, near = 0;
        for_scenes(4000, [&](const Scene& scene, Random random) {
            for (const Question& question : ask(scene, random, 4)) {
                if (question.kind != QuestionKind::exists) continue;
                const Mention mention(words_of(question.text));
                if (mention.shape.empty() || mention.colour.empty() || !mention.find(scene, true).empty()) continue;
                ++misses;
                Mention shape_alone = mention;
                shape_alone.colour = shape_alone.size = "";
                Mention colour_alone = mention;
                colour_alone.shape = colour_alone.size = "";
                near += !shape_alone.find(scene, true).empty() || !colour_alone.find(scene, true).empty();
            }
        });
        QVERIFY(misses > 500);
        QVERIFY2(near > 0.95 * misses, qPrintable(QString("%1 of %2").arg(near).arg(misses)));
    }

    void the_caption_says_what_the_scene_is() {
        std::map<std::string, std::vector<std::string>> seen;
        const QRegularExpression one("^an? (small|large) (\\w+) (\\w+)$");
        for_scenes(4000, [&](const Scene& scene, Random) {
            QString text = QString::fromStdString(caption(scene));
            const QString ground = QString::fromUtf8(name_of(scene.background).data());
            const QString end =
                QString(" on a%1 %2 background").arg(QString("aeiou").contains(ground[0]) ? "n" : "").arg(ground);
            QVERIFY2(text.endsWith(end), qPrintable(text));
            text.chop(end.size());
            QStringList parts;
            if (scene.objects.size() == 3) {
                QVERIFY(text.endsWith(" from left to right"));
                text.chop(19);
                parts = text.split(QRegularExpression(", | and "));
            } else if (scene.objects.size() == 2) {
                const std::string way = direction(scene.objects[0], scene.objects[1]);
                parts = text.split(way == "to the left" ? " to the left of " : " above ");
                QVERIFY(way == "to the left" || way == "above");
            } else {
                parts = {text};
            }
            QCOMPARE(parts.size(), static_cast<qsizetype>(scene.objects.size()));
            for (qsizetype i = 0; i < parts.size(); ++i) {
                const QRegularExpressionMatch match = one.match(parts[i]);
                const SceneObject& object = scene.objects[static_cast<std::size_t>(i)];
                QVERIFY2(match.hasMatch(), qPrintable(parts[i]));
                QCOMPARE(match.captured(1).toStdString(), std::string(name_of(object.size)));
                QCOMPARE(match.captured(2).toStdString(), std::string(name_of(object.colour)));
                QCOMPARE(match.captured(3).toStdString(), std::string(name_of(object.shape)));
            }
        });
    }

    void the_vocabulary_is_small_and_answers_are_lower_case() {
        std::set<std::string> vocabulary;
        for_scenes(8000, [&](const Scene& scene, Random random) {
            for (const Message& message : converse(scene, random, {.turns = 6, .caption_share = 0.5})) {
                if (message.role == Role::assistant)
                    QVERIFY(std::ranges::none_of(message.text, [](char c) { return c >= 'A' && c <= 'Z'; }));
                for (std::string& word : words_of(message.text)) vocabulary.insert(std::move(word));
            }
        });
        QVERIFY2(vocabulary.size() > 80 && vocabulary.size() <= 150, qPrintable(QString::number(vocabulary.size())));
    }

    void easy_vqa_wordings_are_all_asked() {
        std::set<std::string> asked;
        for_scenes(20'000, [&](const Scene& scene, Random random) {
            for (const Question& question : ask(scene, random, 4)) asked.insert(question.text);
        });
        for (const std::string wording : kEasyWordings) {
            int found = 0, wanted = 0;
            for (const char* shape : {"circle", "rectangle", "triangle"}) {
                for (const char* colour : {"red", "green", "blue", "yellow", "black", "gray", "teal", "brown"}) {
                    std::string text = wording;
                    if (const std::size_t at = text.find('S'); at != std::string::npos) text.replace(at, 1, shape);
                    if (const std::size_t at = text.find('C'); at != std::string::npos) text.replace(at, 1, colour);
                    ++wanted;
                    found += static_cast<int>(asked.count(text));
                    QVERIFY2(kind_of(text).has_value(), text.c_str());
                }
            }
            QVERIFY2(found == wanted,
                     qPrintable(QString::fromStdString(wording) + QString(" %1/%2").arg(found).arg(wanted)));
        }
    }

    void kinds_are_known_by_their_wording() {
        QVERIFY(kind_of("what shape does the image contain?") == QuestionKind::shape);
        QVERIFY(kind_of("What is the color of the shape?") == QuestionKind::colour);
        QVERIFY(kind_of("Does the image not contain a red shape?") == QuestionKind::exists);
        QVERIFY(kind_of("What is the background colour?") == QuestionKind::background);
        for (const std::string_view prompt : caption_prompts()) QVERIFY2(!kind_of(prompt), prompt.data());
        QVERIFY(!kind_of(""));
        QCOMPARE(caption_prompts().front(), std::string_view("Describe this picture."));
    }

    void conversations_take_turns() {
        int captioned = 0, first = 0;
        std::set<std::string> prompts;
        for_scenes(2000, [&](const Scene& scene, Random random) {
            const std::vector<Message> messages = converse(scene, random, {.turns = 5, .caption_share = 0.4});
            QCOMPARE(messages.size(), std::size_t{10});
            std::set<std::string> asked;
            for (std::size_t i = 0; i < messages.size(); ++i) {
                QVERIFY(messages[i].role == (i % 2 == 0 ? Role::user : Role::assistant));
                QVERIFY(!messages[i].text.empty() && messages[i].pictures.empty());
                if (i % 2 == 0) asked.insert(messages[i].text);
                if (messages[i].role != Role::assistant || messages[i].text != caption(scene)) continue;
                ++captioned;
                first += i == 1;
                prompts.insert(messages[i - 1].text);
            }
            QCOMPARE(asked.size(), std::size_t{5});
        });
        QVERIFY(captioned > 2000 * 0.36 && captioned < 2000 * 0.44);
        QVERIFY(first > captioned / 2 && first < captioned);
        QCOMPARE(prompts.size(), caption_prompts().size());
    }

    void a_scene_runs_out_of_questions() {
        Random random(1);
        const std::vector<Question> questions = ask(make_scene(kSeed, 0), random, 100'000);
        std::set<std::string> texts;
        for (const Question& question : questions) texts.insert(question.text);
        QCOMPARE(texts.size(), questions.size());
        QVERIFY(texts.size() > 50 && texts.size() < 10'000);
    }

    void data_set_makes_samples_on_demand() {
        constexpr std::uint64_t kCount = std::uint64_t{1} << 40;
        const auto data = make_scenes_dataset({.seed = 5, .count = kCount, .size = 64, .turns = 3, .caption_share = 1});
        QCOMPARE(data->size(), static_cast<std::size_t>(kCount));
        QCOMPARE(data->format(), std::string("scenes"));
        QCOMPARE(data->skipped().reasons.size(), std::size_t{0});
        const Sample sample = data->sample(kCount - 1);
        QCOMPARE(sample.picture, "scene:5:" + std::to_string(kCount - 1));
        QCOMPARE(sample.messages.size(), std::size_t{6});
        const Image picture = data->picture(sample.picture);
        QCOMPARE(picture.width, 64);
        QVERIFY(picture.rgb == draw(make_scene(5, kCount - 1), 64, 64).rgb);
        QVERIFY(data->picture_identity(sample.picture) != data->picture_identity("scene:5:0"));
        for (const char* key : {"scene:4:0", "scene:5:1099511627776", "scene:5:", "scene:5:01", "picture.png", ""})
            QVERIFY_THROWS_EXCEPTION(FileError, data->picture(key));

        std::vector<Sample> there(200), here(200);
        const auto collect = [&](std::vector<Sample>& samples) {
            for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = data->sample(i);
        };
        std::thread other(collect, std::ref(there));
        collect(here);
        other.join();
        for (std::size_t i = 0; i < here.size(); ++i) {
            QCOMPARE(here[i].id, there[i].id);
            for (std::size_t m = 0; m < here[i].messages.size(); ++m)
                QCOMPARE(here[i].messages[m].text, there[i].messages[m].text);
        }
    }

    void data_set_asks_what_it_was_told_to() {
        using What = ScenesDatasetOptions::What;
        const auto captions = make_scenes_dataset({.seed = 5, .count = 50, .what = What::captions});
        const auto questions = make_scenes_dataset({.seed = 5, .count = 50, .what = What::questions, .turns = 1});
        for (std::size_t i = 0; i < 50; ++i) {
            const Sample caption_sample = captions->sample(i);
            QCOMPARE(caption_sample.messages.size(), std::size_t{2});
            QCOMPARE(caption_sample.messages[0].text, std::string("Describe this picture."));
            QCOMPARE(caption_sample.messages[1].text, caption(make_scene(5, i)));
            const Sample question_sample = questions->sample(i);
            QCOMPARE(question_sample.messages.size(), std::size_t{2});
            QVERIFY(kind_of(question_sample.messages[0].text).has_value());
        }
    }

    void fingerprints_follow_the_options() {
        const ScenesDatasetOptions plain{.seed = 5, .count = 50};
        std::vector<ScenesDatasetOptions> options(7, plain);
        options[1].seed = 6;
        options[2].count = 51;
        options[3].size = 64;
        options[4].what = ScenesDatasetOptions::What::questions;
        options[5].turns = 2;
        options[6].caption_share = 0.25;
        std::set<std::uint64_t> values;
        for (const ScenesDatasetOptions& one : options) values.insert(make_scenes_dataset(one)->fingerprint());
        QCOMPARE(values.size(), options.size());
        QCOMPARE(make_scenes_dataset(plain)->fingerprint(), make_scenes_dataset(plain)->fingerprint());
        QVERIFY_THROWS_EXCEPTION(OptionError, make_scenes_dataset({.count = 0}));
        QVERIFY_THROWS_EXCEPTION(OptionError, make_scenes_dataset({.count = 1, .size = 8}));
        QVERIFY_THROWS_EXCEPTION(OptionError, make_scenes_dataset({.count = 1, .turns = 0}));
        QVERIFY_THROWS_EXCEPTION(OptionError, make_scenes_dataset({.count = 1, .caption_share = 1.5}));
    }
};

}  // namespace vitrine::scenes

using vitrine::scenes::TestLanguage;
VITRINE_TEST(TestLanguage)
#include "language_test.moc"
