#include "app/cli/caption_writer.h"
#include "app/cli/common.h"
#include "core/captions/prompt.h"
#include "core/image/decode.h"
#include "core/weights/safetensors.h"

#include <chrono>
#include <iomanip>
#include <iostream>

namespace vitrine::cli {
namespace fs = std::filesystem;

namespace {

struct CaptionArguments {
    ModelFlags model;
    GenerationFlags generation;
    std::vector<fs::path> inputs;
    std::string prompt;
    std::string preset = "caption";
    CaptionFormat format = CaptionFormat::none;
    fs::path out;
    bool only_missing = false;
    bool overwrite = false;
    bool trace = false;
};

// With --trace: a row for every stage, with the shape of what it made and the time it took.
class Trace : public EngineObserver {
public:
    explicit Trace(bool on) : on_(on) {}
    void on_stage(const StageTiming& timing) override {
        if (!on_) return;
        std::cerr << "  " << std::left << std::setw(12) << timing.stage << std::setw(20) << timing.shape << std::right
                  << std::setw(10) << fixed(timing.ms, 1) << " ms\n";
    }

private:
    bool on_;
};

std::string prompt_for(const CaptionArguments& arguments, const ModelSummary& summary) {
    if (!arguments.prompt.empty()) return arguments.prompt;
    std::string names;
    for (const auto& [name, prompt] : summary.presets) {
        if (name == arguments.preset) return prompt;
        names += (names.empty() ? "" : ", ") + name;
    }
    for (const captions::Preset& preset : captions::presets()) {
        if (preset.name == arguments.preset) return preset.prompt;
        if (names.find(preset.name) == names.npos) names += (names.empty() ? "" : ", ") + preset.name;
    }
    throw OptionError({.name = "--preset", .expected = "one of these presets: " + names, .found = arguments.preset});
}

GenerationResult caption_one(const fs::path& picture, const std::string& prompt, Session& session,
                             const GenerationOptions& options, Trace& trace) {
    const auto start = std::chrono::steady_clock::now();
    const auto image = std::make_shared<const Image>(decode_image_file(picture));
    for (const std::string& note : image->notes) std::cerr << picture.string() << ": " << note << '\n';
    trace.on_stage({"decode", shape_text(std::vector<std::int64_t>{image->height, image->width, 3}),
                    std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count()});
    const std::vector<Message> messages{{.role = Role::user, .text = prompt, .pictures = {image}}};
    return session.generate(messages, options, trace);
}

int run_caption(const CaptionArguments& arguments, std::stop_token stop) {
    const std::vector<fs::path> pictures = find_pictures(arguments.inputs);
    if (pictures.empty()) {
        throw InputError({.name = "pictures",
                          .where = arguments.inputs.front().string(),
                          .expected = "at least one picture",
                          .found = "none",
                          .advice = "Known file name endings are jpg, png, gif, webp, bmp, tif, heic and avif; any "
                                    "file can be named by itself."});
    }
    const GenerationOptions options = arguments.generation.get();
    CaptionWriter writer(arguments.format, arguments.out, arguments.overwrite);
    Trace trace(arguments.trace);
    Session session(arguments.model, trace, stop);
    if (session.stopped()) return kStopped;
    const std::string prompt = prompt_for(arguments, session.summary());
    if (arguments.trace) print_summary(session.summary(), std::cerr);

    int failed = 0;
    for (std::size_t i = 0; i < pictures.size() && !stop.stop_requested(); ++i) {
        const fs::path& picture = pictures[i];
        if (arguments.only_missing && writer.has_caption(picture)) continue;
        if (pictures.size() > 1)
            std::cerr << '[' << i + 1 << '/' << pictures.size() << "] " << picture.string() << '\n';
        try {
            writer.claim(picture);
            const std::string question = captions::expand_prompt(prompt, picture);
            const GenerationResult result = caption_one(picture, question, session, options, trace);
            if (result.finish == FinishReason::stopped) break;  // half a caption goes nowhere
            writer.write(picture, result, question, session.summary().name, options.sampling.seed);
            if (arguments.model.json) {
                print_line({{"file", picture.string()},
                            {"caption", result.text},
                            {"finish", name_of(result.finish)},
                            {"tokens", result.ids.size()},
                            {"first_token_ms", result.first_token_ms},
                            {"tokens_per_s", result.tokens_per_s},
                            {"peak_rss_bytes", peak_resident_bytes()}});
            } else {
                std::cout << (pictures.size() > 1 ? printable(picture.string()) + ": " : "") << printable(result.text)
                          << std::endl;
            }
        } catch (const OptionError&) {  // would fail for every picture
            throw;
        } catch (const InputError& error) {  // this picture fails, the others go on
            ++failed;
            print_error(error);
            if (arguments.model.json) print_line({{"file", picture.string()}, {"error", error.what()}});
        }
    }
    if (stop.stop_requested()) return kStopped;
    if (failed > 0 && pictures.size() > 1) std::cerr << failed << " of " << pictures.size() << " pictures failed\n";
    return failed > 0 ? kInputFault : kDone;
}

}  // namespace

Command add_caption(CLI::App& parent) {
    auto arguments = std::make_shared<CaptionArguments>();
    arguments->generation.options.max_tokens = 128;
    CLI::App* app = parent.add_subcommand("caption", "Describe pictures");
    app->add_option("pictures", arguments->inputs, "Files or folders")->required();
    arguments->model.add_to(*app);
    arguments->generation.add_to(*app);
    auto* prompt =
        app->add_option("--prompt", arguments->prompt,
                        "What to ask about each picture; {name} and {folder} stand for its file and its folder");
    app->add_option("--preset", arguments->preset, "One of the model's prompts, or: caption, detailed, tags, alt text")
        ->capture_default_str()
        ->excludes(prompt);
    const std::map<std::string, CaptionFormat> formats{{"txt", CaptionFormat::txt},
                                                       {"caption", CaptionFormat::caption},
                                                       {"jsonl", CaptionFormat::jsonl},
                                                       {"csv", CaptionFormat::csv}};
    app->add_option("--write", arguments->format,
                    "Also write: txt or caption (beside each picture), jsonl or csv (one file)")
        ->transform(CLI::CheckedTransformer(formats));
    app->add_option("--out", arguments->out, "File for --write jsonl or csv; default captions.jsonl or captions.csv");
    app->add_flag("--only-missing", arguments->only_missing, "Leave pictures out that have a caption already");
    app->add_flag("--overwrite", arguments->overwrite, "Replace captions that are there already");
    app->add_flag("--trace", arguments->trace, "Show every stage with its shape and time");
    return {app, [arguments](std::stop_token stop) {
                if (arguments->out.empty())
                    arguments->out = arguments->format == CaptionFormat::csv ? "captions.csv" : "captions.jsonl";
                return run_caption(*arguments, stop);
            }};
}

}  // namespace vitrine::cli
