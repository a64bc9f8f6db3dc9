#include "app/cli/common.h"
#include "core/eval/metrics.h"
#include "core/scenes/language.h"
#include "core/scenes/scene.h"
#include "core/train/dataset.h"
#include "core/train/scenes_dataset.h"

#include <unistd.h>

#include <fstream>
#include <iostream>

namespace vitrine::cli {
namespace fs = std::filesystem;

namespace {

struct EvalArguments {
    ModelFlags model;
    GenerationFlags generation;
    fs::path data;
    DatasetOptions dataset;
    bool scenes = false;
    std::uint64_t scenes_seed = 2;
    std::uint64_t limit = 0;
    fs::path predictions;
};

// What one picture is asked, with all that may be answered.
struct Item {
    std::string prompt;
    std::vector<std::string> references;
};

bool ends_as_question(const std::string& text) {
    const auto last = text.find_last_not_of(" \t\r\n");
    return last != std::string::npos && text[last] == '?';
}

std::vector<std::string> kinds_of(const std::string& prompt, const EvalArguments& arguments, std::uint64_t row) {
    std::vector<std::string> kinds;
    if (const auto kind = scenes::kind_of(prompt)) kinds.emplace_back(name_of(*kind));
    if (arguments.scenes && kinds.empty()) {
        const std::size_t objects = scenes::make_scene(arguments.scenes_seed, row).objects.size();
        kinds.push_back(std::to_string(objects) + (objects == 1 ? " object" : " objects"));
    }
    return kinds;
}

std::unique_ptr<Dataset> open(const EvalArguments& arguments, std::stop_token stop) {
    if (!arguments.scenes) return open_dataset(arguments.data, arguments.dataset, {}, stop);
    return make_scenes_dataset({.seed = arguments.scenes_seed,
                                .count = arguments.limit > 0 ? arguments.limit : 2000,
                                .what = ScenesDatasetOptions::What::mixed,
                                .turns = 5,
                                .caption_share = 1.0});
}

// Rows that follow each other about one picture make one visit: the picture is looked at once, and texts with one
// prompt are references of one item. Every prompt is asked by itself, in a conversation of its own.
class Evaluation {
public:
    Evaluation(const EvalArguments& arguments, Session& session, const Dataset& dataset, std::stop_token stop)
        : arguments_(arguments), session_(session), dataset_(dataset), stop_(std::move(stop)) {
        if (!arguments.predictions.empty()) {
            predictions_.open(arguments.predictions, std::ios::trunc);
            if (!predictions_)
                throw FileError({.name = "--predictions",
                                 .where = arguments.predictions.string(),
                                 .expected = "a file that can be written",
                                 .found = "none"});
        }
    }

    int run() {
        const std::uint64_t rows =
            arguments_.limit > 0 ? std::min<std::uint64_t>(arguments_.limit, dataset_.size()) : dataset_.size();
        for (std::uint64_t row = 0; row < rows && !stop_.stop_requested();) {
            const Sample first = dataset_.sample(row);
            std::vector<Item> items;
            const std::uint64_t begin = row;
            for (Sample sample = first;; sample = dataset_.sample(row)) {
                if (sample.picture != first.picture) break;
                collect(sample, items);
                if (++row >= rows) break;
            }
            visit(first, items, begin);
            if (isatty(STDERR_FILENO) != 0) std::cerr << "\r" << row << " of " << rows << " rows" << std::flush;
        }
        if (isatty(STDERR_FILENO) != 0) std::cerr << "\r\033[K";
        if (stop_.stop_requested()) return kStopped;
        for (const Metric& metric : metrics_.values()) {
            if (arguments_.model.json)
                print_line(
                    {{"metric", metric.metric}, {"split", metric.split}, {"value", metric.value}, {"n", metric.n}});
            else
                std::cout << metric.split << "  " << metric.metric << "  " << fixed(metric.value, 4) << "  ("
                          << metric.n << ")\n";
        }
        if (failed_ > 0) std::cerr << failed_ << " pictures could not be read\n";
        return kDone;
    }

private:
    static void collect(const Sample& sample, std::vector<Item>& items) {
        for (std::size_t i = 0; i + 1 < sample.messages.size(); ++i) {
            if (sample.messages[i].role != Role::user || sample.messages[i + 1].role != Role::assistant) continue;
            const std::string& prompt = sample.messages[i].text;
            const auto same =
                std::find_if(items.begin(), items.end(), [&](const Item& item) { return item.prompt == prompt; });
            if (same != items.end())
                same->references.push_back(sample.messages[i + 1].text);
            else
                items.push_back({prompt, {sample.messages[i + 1].text}});
        }
    }

    void visit(const Sample& sample, const std::vector<Item>& items, std::uint64_t row) {
        ImagePtr picture;
        try {
            if (!sample.picture.empty()) picture = std::make_shared<const Image>(dataset_.picture(sample.picture));
        } catch (const InputError& error) {
            ++failed_;
            print_error(error);
            return;
        }
        for (const Item& item : items) {
            if (stop_.stop_requested()) return;
            Message question{.role = Role::user, .text = item.prompt, .pictures = {}, .reasoning = {}};
            if (picture) question.pictures.push_back(picture);
            const std::vector<Message> messages{question};
            const GenerationResult result = session_.generate(messages, options_, silent_);
            const bool is_question =
                arguments_.scenes ? scenes::kind_of(item.prompt).has_value() : ends_as_question(item.prompt);
            metrics_.add({.candidate = result.text,
                          .references = item.references,
                          .question = is_question,
                          .kinds = kinds_of(item.prompt, arguments_, row)});
            if (predictions_.is_open())
                predictions_ << Json{{"row", row},
                                     {"picture", sample.picture},
                                     {"prompt", item.prompt},
                                     {"answer", result.text},
                                     {"references", item.references}}
                                    .dump(-1, ' ', false, Json::error_handler_t::replace)
                             << '\n';
        }
    }

    const EvalArguments& arguments_;
    Session& session_;
    const Dataset& dataset_;
    std::stop_token stop_;
    EngineObserver silent_;
    GenerationOptions options_ = arguments_.generation.get();
    CaptionMetrics metrics_;
    std::ofstream predictions_;
    std::uint64_t failed_ = 0;
};

int run_eval(const EvalArguments& arguments, std::stop_token stop) {
    if (arguments.scenes == !arguments.data.empty())
        throw OptionError(
            {.name = "--data", .expected = "a data set, or --scenes", .found = arguments.scenes ? "both" : "neither"});
    const auto dataset = open(arguments, stop);
    if (!dataset) return kStopped;
    if (dataset->skipped().total() > 0)
        std::cerr << dataset->skipped().total() << " rows of the data set are left out\n";
    EngineObserver silent;
    Session session(arguments.model, silent, stop);
    if (session.stopped()) return kStopped;
    return Evaluation(arguments, session, *dataset, stop).run();
}

}  // namespace

Command add_eval(CLI::App& parent) {
    auto arguments = std::make_shared<EvalArguments>();
    arguments->generation.options.max_tokens = 64;
    CLI::App* app = parent.add_subcommand("eval", "Score a model's captions and answers against a data set");
    arguments->model.add_to(*app);
    arguments->generation.add_to(*app);
    app->add_option("--data", arguments->data, "Data set in any format that training reads");
    app->add_option("--format", arguments->dataset.format, "Its format")->capture_default_str();
    app->add_option("--pictures", arguments->dataset.pictures, "Folder of its pictures");
    app->add_flag("--scenes", arguments->scenes, "Drawn scenes instead: a caption and four questions each");
    app->add_option("--scenes-seed", arguments->scenes_seed, "Of the scenes; training uses 1")->capture_default_str();
    app->add_option("--limit", arguments->limit, "Rows to look at; 0: all, 2000 scenes");
    app->add_option("--predictions", arguments->predictions, "File for the answers, JSON lines");
    return {app, [arguments](std::stop_token stop) { return run_eval(*arguments, stop); }};
}

}  // namespace vitrine::cli
