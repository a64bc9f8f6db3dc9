#include "app/cli/common.h"
#include "core/scenes/export.h"

#include <unistd.h>

#include <iostream>

namespace vitrine::cli {
namespace {

// A line that rewrites itself on a terminal; nothing in a log.
void show_progress(std::uint64_t done, std::uint64_t total) {
    static const bool terminal = isatty(STDERR_FILENO) == 1;
    if (!terminal || (done % 100 != 0 && done != total)) return;
    std::cerr << "\rDrawing " << done << " of " << total << (done == total ? "\r\033[K" : "") << std::flush;
}

}  // namespace

Command add_scenes(CLI::App& parent) {
    struct Arguments {
        scenes::ExportOptions options;
        std::string format = std::string(name_of(scenes::ExportOptions{}.format));
        bool json = false;
    };
    auto arguments = std::make_shared<Arguments>();
    scenes::ExportOptions& options = arguments->options;
    CLI::App* app = parent.add_subcommand("scenes", "Draw pictures of coloured shapes with captions and questions");
    app->add_option("--count", options.count, "Number of pictures")->required();
    app->add_option("--seed", options.seed, "Seed of the scenes")->capture_default_str();
    app->add_option("--size", options.size, "Width and height in pixels")->capture_default_str();
    app->add_option("--turns", options.turns, "Questions about each picture")->capture_default_str();
    const auto names = scenes::export_format_names();
    app->add_option("--format", arguments->format, "How captions and questions are written")
        ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())))
        ->capture_default_str();
    app->add_option("--out", options.folder, "Folder to write: new or empty")->required();
    app->add_flag("--json", arguments->json, "Say what was written as JSON");
    return {app, [arguments](std::stop_token stop) {
                scenes::ExportOptions& chosen = arguments->options;
                chosen.format = scenes::export_format_by_name(arguments->format);
                if (!scenes::export_scenes(chosen, show_progress, stop)) {
                    std::cerr << "Stopped; nothing was written\n";
                    return static_cast<int>(kStopped);
                }
                std::cerr << "Wrote " << chosen.count << " scenes to " << chosen.folder.string() << '\n';
                if (arguments->json) print_line({{"written", chosen.count}, {"seed", chosen.seed}});
                return static_cast<int>(kDone);
            }};
}

}  // namespace vitrine::cli
