#include "app/cli/common.h"
#include "core/image/decode.h"

#include <unistd.h>

#include <iostream>

namespace vitrine::cli {
namespace fs = std::filesystem;

namespace {

struct ChatArguments {
    ModelFlags model;
    GenerationFlags generation;
    std::vector<fs::path> images;
    std::string system;
    std::vector<std::string> messages;
    bool think = false;
};

class StreamToTerminal : public EngineObserver {
public:
    explicit StreamToTerminal(bool on) : on_(on) {}
    void on_token(const TokenEvent& event) override {
        if (!on_) return;
        if (event.reasoning != reasoning_) std::cout << (event.reasoning ? "[thinking] " : "\n[answer] ");
        reasoning_ = event.reasoning;
        std::cout << printable(event.text) << std::flush;
    }
    void end_turn() {
        if (on_) std::cout << std::endl;
        reasoning_ = false;
    }

private:
    bool on_;
    bool reasoning_ = false;
};

ImagePtr read_picture(const fs::path& path) {
    auto image = std::make_shared<const Image>(decode_image_file(path));
    for (const std::string& note : image->notes) std::cerr << path.string() << ": " << note << '\n';
    return image;
}

// One conversation; the engine keeps keys and values between the turns.
class Chat {
public:
    Chat(const ChatArguments& arguments, Session& session, StreamToTerminal& stream)
        : arguments_(arguments), session_(session), stream_(stream), options_(arguments.generation.get()) {
        options_.thinking = arguments.think;
        if (!arguments.system.empty()) messages_.push_back({.role = Role::system, .text = arguments.system});
        for (const fs::path& path : arguments.images) pictures_.push_back(read_picture(path));
    }

    void add_picture(const fs::path& path) { pictures_.push_back(read_picture(path)); }

    FinishReason ask(const std::string& text) {
        messages_.push_back({.role = Role::user, .text = text, .pictures = std::exchange(pictures_, {})});
        const GenerationResult result = session_.generate(messages_, options_, stream_);
        stream_.end_turn();
        ++turn_;
        if (arguments_.model.json) {
            Json line{{"turn", turn_},
                      {"text", result.text},
                      {"finish", name_of(result.finish)},
                      {"tokens", result.ids.size()},
                      {"prompt_tokens", result.prompt_tokens},
                      {"cached_tokens", result.cached_tokens}};
            if (arguments_.think) line["reasoning"] = result.reasoning;
            print_line(line);
        }
        Message answer{.role = Role::assistant, .text = result.text};
        if (!result.reasoning.empty()) answer.reasoning = result.reasoning;
        messages_.push_back(std::move(answer));
        return result.finish;
    }

private:
    const ChatArguments& arguments_;
    Session& session_;
    StreamToTerminal& stream_;
    GenerationOptions options_;
    std::vector<Message> messages_;
    std::vector<ImagePtr> pictures_;  // for the next turn
    int turn_ = 0;
};

int run_scripted(Chat& chat, const ChatArguments& arguments) {
    for (const std::string& message : arguments.messages) {
        if (chat.ask(message) == FinishReason::stopped) return kStopped;
    }
    return kDone;
}

int run_interactive(Chat& chat, std::stop_token stop) {
    const bool terminal = isatty(STDIN_FILENO) != 0;
    if (terminal) std::cerr << "Type a message; /image FILE adds a picture to the next one, /quit ends.\n";
    while (!stop.stop_requested()) {
        if (terminal) std::cerr << "> " << std::flush;
        std::string line;
        if (!std::getline(std::cin, line) || line == "/quit") return kDone;
        if (line.empty()) continue;
        try {
            if (line.starts_with("/image "))
                chat.add_picture(line.substr(7));
            else if (chat.ask(line) == FinishReason::stopped)
                return kStopped;
        } catch (const InputError& error) {  // the conversation goes on
            print_error(error);
        }
    }
    return kStopped;
}

}  // namespace

Command add_chat(CLI::App& parent) {
    auto arguments = std::make_shared<ChatArguments>();
    arguments->generation.options.max_tokens = 512;
    CLI::App* app = parent.add_subcommand("chat", "Talk about pictures");
    arguments->model.add_to(*app);
    arguments->generation.add_to(*app);
    app->add_option("--image", arguments->images, "Picture of the first turn (repeatable)")->allow_extra_args(false);
    app->add_option("--system", arguments->system, "System prompt");
    app->add_option("--message", arguments->messages,
                    "One turn (repeatable); without it, turns are read from the terminal")
        ->allow_extra_args(false);
    app->add_flag("--think", arguments->think, "Let the model think before it answers");
    return {app, [arguments](std::stop_token stop) {
                StreamToTerminal stream(!arguments->model.json);
                Session session(arguments->model, stream, stop);
                if (session.stopped()) return static_cast<int>(kStopped);
                Chat chat(*arguments, session, stream);
                return arguments->messages.empty() ? run_interactive(chat, stop) : run_scripted(chat, *arguments);
            }};
}

}  // namespace vitrine::cli
