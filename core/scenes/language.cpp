#include "core/scenes/language.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace vitrine::scenes {
namespace {

constexpr std::array<std::string_view, 6> kCaptionPrompts{"Describe this picture.",
                                                          "Describe the image.",
                                                          "What is in this picture?",
                                                          "What do you see?",
                                                          "Write a caption for this picture.",
                                                          "What does the image show?"};
constexpr std::array<std::string_view, kQuestionKinds> kKindNames{"colour",     "shape",  "count",
                                                                  "background", "exists", "where"};
constexpr std::array<std::string_view, kMaxObjects + 1> kNumbers{"zero", "one", "two", "three"};

// Wordings. "{}" stands for what is spoken of, "{a}" for the same with its article. Written in lower case throughout
// they include every wording of the easy-VQA questions.
constexpr std::array<std::string_view, 4> kColourWordings{"What colour is {}?", "What color is {}?",
                                                          "What is the colour of {}?", "What is the color of {}?"};
constexpr std::array<std::string_view, 4> kShapeWordings{"What is the {} shape?", "What shape is the {} object?",
                                                         "What shape is {}?", "Which shape is {}?"};
constexpr std::size_t kShapeWordingsWithSize = 2;  // the first of them read well with "large red"
constexpr std::array<std::string_view, 5> kOnlyShapeWordings{
    "What shape is in the image?", "What shape does the image contain?", "What shape is present?",
    "What shape is in the picture?", "What shape is this?"};
constexpr std::array<std::string_view, 4> kCountWordings{"How many {} are there?", "How many {} are in the picture?",
                                                         "How many {} are there in the image?",
                                                         "How many {} do you see?"};
constexpr std::array<std::string_view, 4> kBackgroundWordings{
    "What colour is the background?", "What color is the background?", "What is the background colour?",
    "What is the color of the background?"};
constexpr std::array<std::string_view, 7> kPresenceWordings{
    "Is there {a}?",   "Is there {a} in the image?",  "Is there {a} in the picture?",
    "Is {a} present?", "Does the image contain {a}?", "Does the picture contain {a}?",
    "Do you see {a}?"};
constexpr std::array<std::string_view, 4> kAbsenceWordings{"Is there not {a}?", "Is there not {a} in the image?",
                                                           "Does the image not contain {a}?", "Is no {} present?"};
constexpr std::array<std::string_view, 2> kWhereWordings{"Where is {} relative to {b}?",
                                                         "Where is {} compared to {b}?"};

std::string with_article(const std::string& phrase) {
    const bool vowel = std::string_view("aeiou").find(phrase.front()) != std::string_view::npos;
    return (vowel ? "an " : "a ") + phrase;
}

void replace(std::string& text, std::string_view mark, const std::string& phrase) {
    if (const std::size_t at = text.find(mark); at != std::string::npos) text.replace(at, mark.size(), phrase);
}

std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
}

// A wording with its gap filled; every second one without its capital letter.
std::string word(std::string_view wording, const std::string& phrase, Random& random) {
    std::string text(wording);
    replace(text, "{a}", phrase.empty() ? phrase : with_article(phrase));
    replace(text, "{}", phrase);
    if (random.chance(0.5)) text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
    return text;
}

// Some of size, colour and shape: what is said about an object.
struct Description {
    std::optional<Size> size;
    std::optional<Colour> colour;
    std::optional<Shape> shape;

    bool fits(const SceneObject& object) const {
        return (!size || *size == object.size) && (!colour || *colour == object.colour) &&
               (!shape || *shape == object.shape);
    }
    // Also what a person might think fits: a square is a rectangle.
    bool might_fit(const SceneObject& object) const {
        Description other = *this;
        if (shape == Shape::rectangle && object.shape == Shape::square) other.shape = Shape::square;
        return other.fits(object);
    }
    std::size_t count(const Scene& scene) const {
        return static_cast<std::size_t>(
            std::ranges::count_if(scene.objects, [&](const SceneObject& object) { return fits(object); }));
    }
    std::size_t highest_count(const Scene& scene) const {
        return static_cast<std::size_t>(
            std::ranges::count_if(scene.objects, [&](const SceneObject& object) { return might_fit(object); }));
    }
    bool names_one(const Scene& scene) const { return count(scene) == 1 && highest_count(scene) == 1; }

    std::string adjectives() const {
        std::string text;
        if (size) text += name_of(*size);
        if (colour) text += (text.empty() ? "" : " ") + std::string(name_of(*colour));
        return text;
    }
    std::string phrase(std::string_view noun = "shape") const {
        const std::string before = adjectives();
        return (before.empty() ? "" : before + " ") + std::string(shape ? name_of(*shape) : noun);
    }
    std::string plural(std::string_view noun) const { return phrase(noun) + (shape == Shape::cross ? "es" : "s"); }
};

std::string_view noun(Random& random) {
    return random.chance(0.6) ? "shape" : "object";
}

// The first of the descriptions that names one object and no other.
std::optional<Description> first_clear(const Scene& scene, std::initializer_list<Description> descriptions) {
    for (const Description& description : descriptions) {
        if (description.names_one(scene)) return description;
    }
    return std::nullopt;
}

using Asked = std::optional<Question>;

Asked ask_colour(const Scene& scene, Random& random) {
    const SceneObject& object = random.pick(scene.objects);
    const Description with_size{.size = object.size, .shape = object.shape};
    const Description without{.shape = object.shape};
    const double lot = random.uniform();
    const auto named = lot < 0.4    ? first_clear(scene, {Description{}, without, with_size})
                       : lot < 0.55 ? first_clear(scene, {with_size})
                                    : first_clear(scene, {without, with_size});
    if (!named) return std::nullopt;
    const std::string phrase = "the " + named->phrase(noun(random));
    return Question{QuestionKind::colour, word(random.pick(kColourWordings), phrase, random),
                    std::string(name_of(object.colour))};
}

Asked ask_shape(const Scene& scene, Random& random) {
    const SceneObject& object = random.pick(scene.objects);
    const std::string answer(name_of(object.shape));
    if (scene.objects.size() == 1 && random.chance(0.6))
        return Question{QuestionKind::shape, word(random.pick(kOnlyShapeWordings), "", random), answer};
    const auto named = first_clear(scene, {{.colour = object.colour}, {.size = object.size, .colour = object.colour}});
    if (!named) return std::nullopt;
    const std::size_t wordings = named->size ? kShapeWordingsWithSize : kShapeWordings.size();
    return Question{QuestionKind::shape, word(kShapeWordings[random.below(wordings)], named->adjectives(), random),
                    answer};
}

Asked ask_count(const Scene& scene, Random& random) {
    const SceneObject& object = random.pick(scene.objects);
    const double lot = random.uniform();
    Description counted;
    if (lot < 0.3) {
        counted.shape = random.chance(0.75) ? object.shape : static_cast<Shape>(random.below(kShapes));
    } else if (lot < 0.55) {
        counted.colour = random.chance(0.75) ? object.colour : static_cast<Colour>(random.below(kColours));
    } else if (lot < 0.7) {
        counted.size = random.chance(0.5) ? Size::small : Size::large;
    }
    const std::size_t count = counted.count(scene);
    if (count != counted.highest_count(scene)) return std::nullopt;
    return Question{QuestionKind::count, word(random.pick(kCountWordings), counted.plural(noun(random)), random),
                    std::string(kNumbers[count])};
}

Asked ask_background(const Scene& scene, Random& random) {
    return Question{QuestionKind::background, word(random.pick(kBackgroundWordings), "", random),
                    std::string(name_of(scene.background))};
}

// Something that is not there but nearly: a part of what an object is, the rest from elsewhere.
Description missing(const Description& present, const Scene& scene, Random& random) {
    Description other = present;
    const SceneObject& second = random.pick(scene.objects);
    const auto change_shape = [&] {
        other.shape = second.shape != *present.shape ? second.shape : static_cast<Shape>(random.below(kShapes));
    };
    const auto change_colour = [&] {
        other.colour = second.colour != *present.colour ? second.colour : static_cast<Colour>(random.below(kColours));
    };
    if (present.size && random.chance(0.4)) {
        other.size = *present.size == Size::small ? Size::large : Size::small;
    } else if (present.shape && present.colour) {
        random.chance(0.5) ? change_shape() : change_colour();
    } else if (present.shape) {
        other.shape = static_cast<Shape>(random.below(kShapes));
    } else {
        other.colour = static_cast<Colour>(random.below(kColours));
        const bool of_background = random.chance(0.3);  // that colour is to be seen, but no object has it
        for (std::size_t i = 0; of_background && i < kColours; ++i) {
            if (name_of(static_cast<Colour>(i)) == name_of(scene.background)) other.colour = static_cast<Colour>(i);
        }
    }
    return other;
}

Asked ask_exists(const Scene& scene, Random& random) {
    const bool wanted = random.chance(0.5);
    const bool negated = random.chance(0.35);
    const bool there = wanted != negated;
    for (int attempt = 0; attempt < 20; ++attempt) {
        const SceneObject& object = random.pick(scene.objects);
        const double lot = random.uniform();
        Description named;
        if (lot < 0.7) named.shape = object.shape;
        if (lot >= 0.35) named.colour = object.colour;
        if (lot >= 0.62 && lot < 0.7) named.size = object.size;
        if (!there) named = missing(named, scene, random);
        if ((named.count(scene) > 0) != there || (named.highest_count(scene) > 0) != there) continue;
        const std::string_view wording = negated ? random.pick(kAbsenceWordings) : random.pick(kPresenceWordings);
        return Question{QuestionKind::exists, word(wording, named.phrase(noun(random)), random), wanted ? "yes" : "no"};
    }
    return std::nullopt;
}

Asked ask_where(const Scene& scene, Random& random) {
    if (scene.objects.size() < 2) return std::nullopt;
    const std::size_t first = random.below(scene.objects.size());
    const std::size_t second = (first + 1 + random.below(scene.objects.size() - 1)) % scene.objects.size();
    std::array<std::string, 2> phrases;
    for (std::size_t i = 0; i < 2; ++i) {
        const SceneObject& object = scene.objects[i == 0 ? first : second];
        const Description full{.colour = object.colour, .shape = object.shape};
        const auto named =
            random.chance(0.3) ? first_clear(scene, {{.shape = object.shape}, full}) : first_clear(scene, {full});
        if (!named) return std::nullopt;
        phrases[i] = "the " + named->phrase();
    }
    std::string answer;
    switch (relation(scene.objects[first], scene.objects[second])) {
        case Relation::left: answer = "to the left"; break;
        case Relation::right: answer = "to the right"; break;
        case Relation::above: answer = "above"; break;
        case Relation::below: answer = "below"; break;
        case Relation::unclear: return std::nullopt;
    }
    std::string text = word(random.pick(kWhereWordings), phrases[0], random);
    replace(text, "{b}", phrases[1]);
    return Question{QuestionKind::where, text, answer};
}

Asked ask_one(QuestionKind kind, const Scene& scene, Random& random) {
    switch (kind) {
        case QuestionKind::colour: return ask_colour(scene, random);
        case QuestionKind::shape: return ask_shape(scene, random);
        case QuestionKind::count: return ask_count(scene, random);
        case QuestionKind::background: return ask_background(scene, random);
        case QuestionKind::exists: return ask_exists(scene, random);
        case QuestionKind::where: return ask_where(scene, random);
    }
    return std::nullopt;
}

}  // namespace

std::string_view name_of(QuestionKind kind) {
    return kKindNames[static_cast<std::size_t>(kind)];
}

std::span<const std::string_view> caption_prompts() {
    return kCaptionPrompts;
}

std::string caption(const Scene& scene) {
    std::vector<std::string> parts;
    for (const SceneObject& object : scene.objects)
        parts.push_back(with_article(Description{object.size, object.colour, object.shape}.phrase()));
    std::string text = parts[0];
    if (parts.size() == 2) {
        const bool beside = relation(scene.objects[0], scene.objects[1]) == Relation::left;
        text += (beside ? " to the left of " : " above ") + parts[1];
    } else if (parts.size() == 3) {
        text += ", " + parts[1] + " and " + parts[2] + " from left to right";
    }
    return text + " on " + with_article(std::string(name_of(scene.background))) + " background";
}

std::vector<Question> ask(const Scene& scene, Random& random, std::size_t count) {
    std::array<QuestionKind, kQuestionKinds + 1> deck{};
    for (std::size_t i = 0; i < kQuestionKinds; ++i) deck[i] = static_cast<QuestionKind>(i);
    deck.back() = QuestionKind::exists;

    std::vector<Question> questions;
    const auto asked_before = [&](const Question& question) {
        return std::ranges::any_of(
            questions, [&](const Question& other) { return lower_case(other.text) == lower_case(question.text); });
    };
    // A scene has only so many questions in it; a round that finds none after many shows that they are used up.
    for (int idle = 0; questions.size() < count && idle < 50; ++idle) {
        random.shuffle(deck);
        for (const QuestionKind kind : deck) {
            if (questions.size() == count) break;
            Asked question;
            for (int attempt = 0; attempt < 4 && !question; ++attempt) question = ask_one(kind, scene, random);
            if (!question || asked_before(*question)) continue;
            questions.push_back(std::move(*question));
            idle = 0;
        }
    }
    return questions;
}

std::optional<QuestionKind> kind_of(std::string_view question) {
    const std::string text = lower_case(question);
    const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
    if (has("background")) return QuestionKind::background;
    if (text.starts_with("where ")) return QuestionKind::where;
    if (text.starts_with("how many ")) return QuestionKind::count;
    if (has("colour") || has("color")) return QuestionKind::colour;
    if (text.starts_with("what ") || text.starts_with("which "))
        return has("shape") ? std::optional(QuestionKind::shape) : std::nullopt;
    for (const std::string_view start : {"is ", "does the ", "do you see "}) {
        if (text.starts_with(start)) return QuestionKind::exists;
    }
    return std::nullopt;
}

std::vector<Message> converse(const Scene& scene, Random& random, const ConversationOptions& options) {
    const std::size_t turns = std::max<std::size_t>(options.turns, 1);
    const bool captioned = random.chance(options.caption_share);
    std::vector<Message> messages;
    const auto say = [&](std::string user, std::string assistant) {
        messages.push_back({.role = Role::user, .text = std::move(user)});
        messages.push_back({.role = Role::assistant, .text = std::move(assistant)});
    };
    const std::vector<Question> questions = ask(scene, random, turns - (captioned ? 1 : 0));
    // People ask for the caption first, as a rule.
    const std::size_t caption_turn = random.chance(0.6) ? 0 : random.below(questions.size() + 1);
    for (std::size_t turn = 0; turn <= questions.size(); ++turn) {
        if (captioned && turn == caption_turn) {
            const bool usual = random.chance(0.6);
            say(std::string(usual ? kCaptionPrompts[0] : random.pick(kCaptionPrompts)), caption(scene));
        }
        if (turn < questions.size()) say(questions[turn].text, questions[turn].answer);
    }
    return messages;
}

}  // namespace vitrine::scenes
