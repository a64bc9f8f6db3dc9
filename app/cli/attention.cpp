#include "app/cli/common.h"
#include "core/image/decode.h"
#include "core/insight/map_file.h"
#include "core/insight/recording.h"
#include "core/insight/spoken.h"

#include <iostream>

namespace vitrine::cli {
namespace fs = std::filesystem;

namespace {

struct AttentionArguments {
    ModelFlags model;
    GenerationFlags generation;
    fs::path picture;
    std::string prompt = "Describe this picture.";
    std::string answer;
    std::string word;
    int token = -1;
    MapRequest request;
    std::string tower = "language";
    std::string method = "attention";
    bool heads = false;
    fs::path out;
    std::string colours = "magma";
    std::string scale = "map";
    std::string transform = "linear";
    bool smooth = false;
    bool sinks = false;
};

// The tokens to explain: those named by the command line, or the whole answer.
std::vector<InsightToken> chosen_tokens(const AttentionArguments& arguments, const std::vector<InsightToken>& answer) {
    if (!arguments.word.empty()) {
        const auto times = tokens_of(answer, arguments.word);
        if (!times.empty()) return times.front();
        std::string said;
        for (const InsightToken& token : answer) said += token.text;
        throw OptionError({.name = "--word",
                           .expected = "a word of the answer, \"" + said + "\"",
                           .found = arguments.word,
                           .advice = "With --answer the model is given the words instead of choosing them."});
    }
    if (arguments.token < 0) return answer;
    if (arguments.token >= static_cast<int>(answer.size()))
        throw OptionError({.name = "--token",
                           .expected = "less than " + std::to_string(answer.size()) + ", the tokens of the answer",
                           .found = std::to_string(arguments.token)});
    return {answer[static_cast<std::size_t>(arguments.token)]};
}

ValueScale scale_for(const AttentionArguments& arguments, std::span<const float> values, std::int64_t keys,
                     bool several) {
    const ScaleTransform transform = arguments.transform == "log"    ? ScaleTransform::log
                                     : arguments.transform == "clip" ? ScaleTransform::clip99
                                                                     : ScaleTransform::linear;
    if (arguments.scale == "uniform" && keys > 0) return uniform_scale(1.0 / static_cast<double>(keys), transform);
    return scale_of(several ? ScaleKind::global : ScaleKind::per_map, transform, values);
}

class Explanation {
public:
    Explanation(const AttentionArguments& arguments, const Recording& recording, MapProvenance provenance)
        : arguments_(arguments), recording_(recording), provenance_(std::move(provenance)) {
        style_.colours = *colour_map_from_name(arguments.colours);
        style_.smooth = arguments.smooth;
    }

    void heads(const InsightToken& token) {
        const HeadMaps maps = recording_.heads(request_for(token));
        for (int layer = 0; layer < maps.layers; ++layer) {
            for (int head = 0; head < maps.heads; ++head) {
                const auto index = static_cast<std::size_t>(layer * maps.heads + head);
                AttentionMap map{.request = maps.request, .entropy = static_cast<double>(maps.entropy[index])};
                map.request.layer = layer;
                map.request.head = head;
                map.grid = {
                    maps.rows, maps.columns, {maps.map(layer, head), maps.map(layer, head) + maps.rows * maps.columns}};
                if (!maps.masses.empty()) map.masses = maps.masses[index];
                print({.token = token.text, .map = std::move(map), .panel = {}});
            }
        }
        if (arguments_.out.empty()) return;
        style_.scale = scale_for(arguments_, maps.values, token.position, true);
        write_head_maps(arguments_.out, maps, token.text, provenance_, style_);
    }

    void maps(const std::vector<InsightToken>& tokens) {
        std::vector<TokenMap> all;
        std::vector<float> values;
        const std::optional<Sinks> sinks =
            arguments_.sinks ? std::optional(recording_.sinks(arguments_.request.tower, arguments_.request.picture))
                             : std::nullopt;
        for (const InsightToken& token : tokens) {
            TokenMap map{.token = token.text, .map = recording_.map(request_for(token)), .panel = {}};
            map.panel.picture = &recording_.picture(arguments_.request.picture);
            if (sinks) map.panel.sinks = sinks->patches;
            if (arguments_.request.patch != kAll) map.panel.chosen = arguments_.request.patch;
            print(map);
            values.insert(values.end(), map.map.grid.values.begin(), map.map.grid.values.end());
            all.push_back(std::move(map));
        }
        if (arguments_.out.empty()) return;
        style_.scale = scale_for(arguments_, values, all.front().map.keys, all.size() > 1);
        write_map(arguments_.out, all, provenance_, style_);
    }

private:
    MapRequest request_for(const InsightToken& token) const {
        MapRequest request = arguments_.request;
        request.position = token.position;
        return request;
    }

    void print(const TokenMap& map) const {
        if (arguments_.model.json) return print_line(map_json(map));
        std::cout << (map.token.empty() ? std::string("patch") : printable(map.token));
        if (map.map.masses)
            std::cout << "  picture " << fixed(map.map.masses->picture * 100.0, 1) << " %  first token "
                      << fixed(map.map.masses->first * 100.0, 1) << " %  prompt "
                      << fixed(map.map.masses->prompt * 100.0, 1) << " %  answer "
                      << fixed(map.map.masses->answer * 100.0, 1) << " %";
        std::cout << std::endl;
    }

    const AttentionArguments& arguments_;
    const Recording& recording_;
    MapProvenance provenance_;
    MapStyle style_;
};

int run_attention(const AttentionArguments& arguments, std::stop_token stop) {
    if (!arguments.out.empty()) map_format_of(arguments.out);  // a wrong ending is found before the work
    const auto picture = std::make_shared<const Image>(decode_image_file(arguments.picture));
    struct Quiet : EngineObserver {
    } quiet;
    Session session(arguments.model, quiet, stop);
    if (session.stopped()) return kStopped;

    std::vector<Message> messages{{.role = Role::user, .text = arguments.prompt, .pictures = {picture}}};
    if (!arguments.answer.empty()) messages.push_back({.role = Role::assistant, .text = arguments.answer});
    const auto recording = session.record(messages, arguments.generation.get());
    if (!recording) return kStopped;
    const std::vector<InsightToken> answer = recording->tokens(recording->layout().answer_begin);
    std::string said;
    for (const InsightToken& token : answer) said += token.text;
    std::cerr << "Answer: " << printable(said) << '\n';

    Explanation explanation(arguments, *recording,
                            {.model = session.summary().name,
                             .prompt = arguments.prompt,
                             .answer = said,
                             .picture = arguments.picture.string(),
                             .seed = arguments.generation.options.sampling.seed});
    std::vector<InsightToken> tokens;
    if (arguments.request.tower == Tower::vision)
        tokens.emplace_back();
    else
        tokens = chosen_tokens(arguments, answer);
    if (tokens.empty())
        throw InputError({.name = "answer", .expected = "at least one word to explain", .found = "an empty answer"});
    if (!arguments.heads) {
        explanation.maps(tokens);
    } else if (tokens.size() > 1) {
        throw OptionError({.name = "--heads",
                           .expected = "one token, chosen by --word or --token",
                           .found = std::to_string(tokens.size()) + " tokens"});
    } else {
        explanation.heads(tokens.front());
    }
    if (!arguments.out.empty()) std::cerr << "Wrote " << arguments.out.string() << '\n';
    return kDone;
}

}  // namespace

Command add_attention(CLI::App& parent) {
    auto arguments = std::make_shared<AttentionArguments>();
    MapRequest& request = arguments->request;
    CLI::App* app = parent.add_subcommand("attention", "Show where the model looks while it speaks");
    app->add_option("picture", arguments->picture, "The picture")->required();
    arguments->model.add_to(*app);
    arguments->generation.add_to(*app);
    app->add_option("--prompt", arguments->prompt, "What to ask")->capture_default_str();
    app->add_option("--answer", arguments->answer, "Words to put into the model's mouth instead of its own");
    auto* word = app->add_option("--word", arguments->word, "Explain this word of the answer; default: all of them");
    app->add_option("--token", arguments->token, "Explain this token of the answer, counted from 0")
        ->check(CLI::NonNegativeNumber)
        ->excludes(word);
    app->add_option("--tower", arguments->tower, "language, or vision for patches that look at patches")
        ->check(CLI::IsMember({"language", "vision"}))
        ->capture_default_str();
    app->add_option("--method", arguments->method,
                    "attention, value-norm, relative, relevance or lens (language); attention, value-norm or rollout "
                    "(vision)")
        ->check(CLI::IsMember({"attention", "value-norm", "relative", "relevance", "lens", "rollout"}))
        ->capture_default_str();
    app->add_option("--layer", request.layer, "Counted from 0; default: the mean of all")
        ->check(CLI::NonNegativeNumber);
    app->add_option("--head", request.head, "Counted from 0; default: all together")->check(CLI::NonNegativeNumber);
    app->add_option("--patch", request.patch, "With --tower vision: the patch that looks; default: the mean of all")
        ->check(CLI::NonNegativeNumber);
    app->add_flag("--heads", arguments->heads, "Every layer and head of one token, instead of one map");
    app->add_option("--out", arguments->out, "Also write a file: .png, .svg, .npy, .npz or .json");
    app->add_option("--colours", arguments->colours, "Of the picture: magma, viridis or cividis")
        ->check(CLI::IsMember({"magma", "viridis", "cividis"}))
        ->capture_default_str();
    app->add_option("--scale", arguments->scale,
                    "map: up to the largest value; uniform: up to ten times even attention")
        ->check(CLI::IsMember({"map", "uniform"}))
        ->capture_default_str();
    app->add_option("--transform", arguments->transform, "linear, log, or clip: the top hundredth is cut off")
        ->check(CLI::IsMember({"linear", "log", "clip"}))
        ->capture_default_str();
    app->add_flag("--smooth", arguments->smooth, "Fade between patches instead of blocks");
    app->add_flag("--sinks", arguments->sinks, "Hatch patches that collect attention without meaning");
    return {app, [arguments](std::stop_token stop) {
                arguments->request.tower = arguments->tower == "vision" ? Tower::vision : Tower::language;
                arguments->request.method = *map_method_from_name(arguments->method);
                return run_attention(*arguments, stop);
            }};
}

}  // namespace vitrine::cli
