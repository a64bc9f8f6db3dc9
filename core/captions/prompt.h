#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

// Prompts for captions: variables and presets. Any thread.
namespace vitrine::captions {

constexpr int kDefaultLength = 20;  // words: about the 125 characters that screen readers like alt text to stay below

// {name} becomes the picture's file name without its ending, {folder} the name of its folder, {length} the number. Any
// other {x} stays as it is; "{{" is a brace, and so is the "}}" that closes it.
std::string expand_prompt(std::string_view prompt, const std::filesystem::path& picture, int length = kDefaultLength);

struct Preset {
    std::string name;    // stable, for settings and the command line
    std::string prompt;  // all the model is asked: nothing is added behind the scenes
};
std::span<const Preset> presets();  // "caption", "detailed", "tags", "alt text"

}  // namespace vitrine::captions
