#pragma once

#include "core/scenes/random.h"
#include "core/scenes/scene.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What can be said and asked about a scene. The vocabulary is small and closed; answers are lower-case.
namespace vitrine::scenes {

// The one caption a scene has. Objects come in the order of Scene::objects, each as "a SIZE COLOUR SHAPE":
//   one    A on a BACKGROUND background
//   two    A to the left of B on a BACKGROUND background      (side by side)
//          A above B on a BACKGROUND background               (one over the other)
//   three  A, B and C from left to right on a BACKGROUND background
std::string caption(const Scene& scene);

// Ways to ask for it; "Describe this picture." comes first.
std::span<const std::string_view> caption_prompts();

enum class QuestionKind : std::uint8_t {
    colour,      // What colour is the star?                            red
    shape,       // Which shape is red?                                 star
    count,       // How many circles are there?                         two  (zero to three)
    background,  // What is the background colour?                      navy
    exists,      // Is there a red circle? Is no circle present?        yes, no
    where        // Where is the star relative to the red circle?       to the left, to the right, above, below
};
inline constexpr std::size_t kQuestionKinds = 6;
std::string_view name_of(QuestionKind kind);

struct Question {
    QuestionKind kind = QuestionKind::colour;
    std::string text;
    std::string answer;
};

// Different questions about the scene, the kinds in equal shares as far as it allows ("exists", which has the most
// forms, counts twice; "where" needs two objects). Each has one right answer: what it speaks of is named so that one
// object fits, directions are clear, and nothing hangs on whether a square is a rectangle. "Yes" and "no" are equally
// frequent, and most things asked for in vain share the shape or the colour of something there.
std::vector<Question> ask(const Scene& scene, Random& random, std::size_t count);

// The kind of a question that is worded like ours or like those of the easy-VQA data set; nullopt for anything else.
std::optional<QuestionKind> kind_of(std::string_view question);

struct ConversationOptions {
    std::size_t turns = 4;       // questions with their answers; at least 1
    double caption_share = 0.5;  // of the conversations that ask for the caption in one of their turns
};

// User and assistant in turn, no pictures attached.
std::vector<Message> converse(const Scene& scene, Random& random, const ConversationOptions& options);

}  // namespace vitrine::scenes
