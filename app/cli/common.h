#pragma once

#include "core/engine.h"
#include "core/error.h"
#include "core/types.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <exception>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

// What the commands of vitrine-cli share. Results go to stdout, everything else to stderr; with --json every result is
// one JSON object on a line of its own.
namespace vitrine::cli {

enum ExitCode : int { kDone = 0, kInputFault = 1, kUsage = 2, kMachineFault = 3, kStopped = 130 };

using Json = nlohmann::ordered_json;

// One command: adds its options to `app`, and runs after parsing with the stop token that Ctrl+C fires.
struct Command {
    CLI::App* app = nullptr;
    std::function<int(std::stop_token)> run;
};

Command add_caption(CLI::App& parent);
Command add_chat(CLI::App& parent);
Command add_inspect(CLI::App& parent);
Command add_verify(CLI::App& parent);
Command add_bench(CLI::App& parent);
Command add_init(CLI::App& parent);
Command add_train(CLI::App& parent);
Command add_eval(CLI::App& parent);
Command add_export(CLI::App& parent);
Command add_scenes(CLI::App& parent);
Command add_attention(CLI::App& parent);
Command add_ground(CLI::App& parent);

// --model, --device, --dtype, --threads, --context, --json
struct ModelFlags {
    std::filesystem::path model;
    std::string device = "auto";
    std::string dtype;
    int threads = 0;
    std::int64_t context = LoadOptions{}.context;
    bool json = false;

    void add_to(CLI::App& app);
    LoadOptions load_options() const;
    std::filesystem::path model_folder() const;  // the one given, or the built-in; InputError when there is none
};

// --max-tokens, --temperature, --top-k, --top-p, --min-p, --repetition-penalty, --presence-penalty, --seed, --stop,
// --no-loop-detection
struct GenerationFlags {
    GenerationOptions options;
    bool no_loop_detection = false;

    void add_to(CLI::App& app);
    GenerationOptions get() const;
};

std::optional<DType> parse_dtype(const std::string& name);  // empty: nullopt; OptionError for an unknown name

// An engine thread with the model loaded; progress on stderr. run() waits for a job and lets Ctrl+C stop it.
class Session {
public:
    Session(const ModelFlags& flags, EngineObserver& observer, std::stop_token stop);

    const ModelSummary& summary() const { return summary_; }
    bool stopped() const { return stopped_; }  // while loading
    GenerationResult generate(std::span<const Message> messages, const GenerationOptions& options,
                              EngineObserver& observer);
    // An answer open to view: the last message, which is made first where it is a question. nullptr when stopped.
    std::shared_ptr<const Recording> record(std::vector<Message> messages, GenerationOptions options);

private:
    void run(EngineThread::Job job);

    EngineThread engine_;
    std::stop_token stop_;
    ModelSummary summary_;
    bool stopped_ = false;
};

// Pictures named by files and folders: folders are searched recursively, in the order of their names, without hidden
// files, system litter and links that lead in circles. A file named by itself is always taken.
std::vector<std::filesystem::path> find_pictures(const std::vector<std::filesystem::path>& inputs);

void print_line(const Json& json);               // stdout, flushed; ill-formed UTF-8 is replaced
void print_error(const std::exception& error);   // stderr, made printable
std::string printable(const std::string& text);  // for people: control characters other than \n and \t as \x1B
std::string fixed(double value, int decimals);   // a decimal point in every locale
void print_summary(const ModelSummary& summary, std::ostream& out);  // name, sizes, dtype, device

}  // namespace vitrine::cli
