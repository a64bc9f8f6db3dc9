#include "app/cli/common.h"
#include "core/training.h"
#include "core/weights/file.h"

#include <unistd.h>

#include <cmath>
#include <iostream>

namespace vitrine::cli {
namespace fs = std::filesystem;

namespace {

struct TrainArguments {
    fs::path source;  // run.json, or a run folder with --resume
    fs::path run;
    bool resume = false;
    bool json = false;
    std::vector<std::string> settings;                         // KEY=VALUE
    std::vector<std::pair<std::string, std::string>> changes;  // of the options that have a flag of their own
};

std::string duration_text(double seconds) {
    const auto whole = static_cast<std::int64_t>(std::max(0.0, seconds));
    const auto two = [](std::int64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); };
    return std::to_string(whole / 3600) + ":" + two(whole / 60 % 60) + ":" + two(whole % 60);
}

// One line that renews itself on a terminal, now and then a line elsewhere; JSON lines on stdout where wanted.
class TrainingReport : public TrainingObserver {
public:
    explicit TrainingReport(bool json) : json_(json), terminal_(isatty(STDERR_FILENO) != 0) {}

    void on_message(std::string_view text) override {
        clear();
        std::cerr << printable(std::string(text)) << '\n';
    }
    void on_step(const StepMetrics& metrics) override {
        if (json_) std::cout << to_json(metrics) << std::endl;
        const bool due = terminal_ || metrics.step == metrics.steps || metrics.elapsed_s - last_ > 15.0;
        if (!due) return;
        last_ = metrics.elapsed_s;
        clear();
        std::cerr << "step " << metrics.step << '/' << metrics.steps << "  loss " << fixed(metrics.loss_ema, 4)
                  << "  rate " << fixed(metrics.learning_rate * 1e3, 3) << "e-3  norm " << fixed(metrics.grad_norm, 2)
                  << "  " << fixed(metrics.samples_per_s, 1) << " samples/s  left " << duration_text(metrics.eta_s)
                  << (terminal_ ? "" : "\n") << std::flush;
        shown_ = terminal_;
    }
    void on_evaluation(const EvaluationMetrics& metrics) override {
        if (json_) std::cout << to_json(metrics) << std::endl;
        clear();
        std::cerr << "step " << metrics.step << "  validation " << fixed(metrics.loss, 4) << "  with other pictures "
                  << fixed(metrics.shuffled_loss, 4) << "  accuracy " << fixed(100.0 * metrics.accuracy, 1) << " %"
                  << (metrics.best ? "  (best so far)" : "") << '\n';
        for (const auto& [picture, caption] : metrics.samples)
            std::cerr << "    " << printable(picture) << ": " << printable(caption) << '\n';
    }

private:
    void clear() {
        if (shown_) std::cerr << "\r\033[K";
        shown_ = false;
    }

    bool json_, terminal_;
    bool shown_ = false;
    double last_ = -1e9;
};

std::vector<std::pair<std::string, std::string>> all_changes(const TrainArguments& arguments) {
    auto changes = arguments.changes;
    for (const std::string& setting : arguments.settings) {
        const auto equals = setting.find('=');
        if (equals == std::string::npos)
            throw OptionError({.name = "--set", .expected = "KEY=VALUE", .found = setting});
        changes.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
    return changes;
}

TrainingOptions options_of(const TrainArguments& arguments) {
    TrainingOptions options;
    if (!arguments.source.empty()) {
        options = training_options_from_json(ReadOnlyFile(arguments.source).read_all(), arguments.source.string());
        resolve_paths(options, fs::absolute(arguments.source).parent_path());
    }
    for (const auto& [key, value] : all_changes(arguments)) set_training_option(options, key, value);
    resolve_paths(options, fs::current_path());
    return options;
}

int run_train(const TrainArguments& arguments, std::stop_token stop) {
    TrainingReport report(arguments.json);
    TrainingResult result;
    if (arguments.resume) {
        const fs::path folder = arguments.run.empty() ? arguments.source : arguments.run;
        if (folder.empty()) throw OptionError({.name = "--resume", .expected = "a run folder", .found = "none"});
        auto changes = all_changes(arguments);
        result = resume_training(folder, changes, report, stop);
    } else {
        if (arguments.run.empty())
            throw OptionError({.name = "--run", .expected = "a folder for the run", .found = "none"});
        result = train(options_of(arguments), arguments.run, report, stop);
    }
    if (arguments.json)
        print_line({{"end", name_of(result.end)},
                    {"step", result.step},
                    {"best_loss", result.best_loss},
                    {"checkpoint", result.checkpoint.string()}});
    return result.end == TrainingEnd::stopped ? kStopped : kDone;
}

}  // namespace

Command add_train(CLI::App& parent) {
    auto arguments = std::make_shared<TrainArguments>();
    CLI::App* app = parent.add_subcommand("train", "Train the projector, watched or not; stop and resume at will");
    app->add_option("source", arguments->source, "run.json with the options, or a run folder with --resume");
    app->add_option("--run", arguments->run, "Folder of the run, new or empty: checkpoints, metrics, log");
    app->add_flag("--resume", arguments->resume, "Go on from the newest checkpoint of a run");
    app->add_flag("--json", arguments->json, "One JSON object a step on stdout");
    app->add_option("--set", arguments->settings, "KEY=VALUE: any option of run.json (repeatable)")
        ->allow_extra_args(false);
    const auto flag = [&](const char* name, const char* key, const char* help) {
        app->add_option_function<std::string>(
            name, [arguments, key](const std::string& value) { arguments->changes.emplace_back(key, value); }, help);
    };
    flag("--model", "model", "Model folder to start from");
    flag("--data", "data.path", "Data set: a file or folder in any known format");
    flag("--trainable", "trainable", "projector, projector+language or all");
    flag("--steps", "steps", "Steps of the run");
    flag("--batch", "batch", "Rows of a step, over all processes");
    flag("--micro-batch", "micro_batch", "Rows at a time; the result is the same, the memory is not");
    flag("--learning-rate", "learning_rate", "Peak of the learning rate");
    flag("--dtype", "dtype", "fp32, bf16 or fp16");
    flag("--device", "device", "auto, cpu, cuda or cuda:N");
    flag("--threads", "threads", "CPU threads; 0: as many as cores");
    flag("--seed", "seed", "Of the order of rows and of random weights");
    return {app, [arguments](std::stop_token stop) { return run_train(*arguments, stop); }};
}

}  // namespace vitrine::cli
