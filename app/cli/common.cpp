#include "app/cli/common.h"

#include "core/train/dataset_pictures.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <iostream>
#include <set>

namespace vitrine::cli {
namespace fs = std::filesystem;

namespace {

// Draws "Loading 42 %" on a terminal, nothing elsewhere.
class LoadingLine {
public:
    void update(std::uint64_t done, std::uint64_t total) {
        if (total == 0 || isatty(STDERR_FILENO) == 0) return;
        const int percent = static_cast<int>(done * 100 / total);
        if (percent == shown_) return;
        shown_ = percent;
        std::cerr << "\rLoading " << percent << " %" << std::flush;
    }
    void clear() const {
        if (shown_ >= 0) std::cerr << "\r\033[K" << std::flush;
    }

private:
    int shown_ = -1;
};

class LoadObserver : public EngineObserver {
public:
    void on_load_progress(std::uint64_t done, std::uint64_t total) override { line.update(done, total); }
    LoadingLine line;
};

void collect(const fs::path& folder, std::set<fs::path>& seen, std::vector<fs::path>& pictures) {
    std::error_code error;
    if (!seen.insert(fs::canonical(folder, error)).second) return;  // a link back to where we were
    std::vector<fs::directory_entry> entries;
    for (fs::directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end; it != end;
         it.increment(error)) {
        entries.push_back(*it);
    }
    std::sort(entries.begin(), entries.end());
    for (const fs::directory_entry& entry : entries) {
        const std::string name = entry.path().filename().string();
        if (dataset::is_junk(name)) continue;
        if (entry.is_directory(error))
            collect(entry.path(), seen, pictures);
        else if (entry.is_regular_file(error) && dataset::is_picture_name(name))
            pictures.push_back(entry.path());
    }
}

}  // namespace

void ModelFlags::add_to(CLI::App& app) {
    app.add_option("--model", model, "Model folder (with vitrine.json)")->type_name("DIR");
    app.add_option("--device", device, "auto, cpu, cuda or cuda:N")->capture_default_str();
    app.add_option("--dtype", dtype, "fp32, bf16 or fp16; default: as stored");
    app.add_option("--threads", threads, "CPU threads; 0: all cores")->check(CLI::Range(0, 1024));
    app.add_option("--context", context, "Positions a conversation may fill")
        ->check(CLI::Range(16, 1 << 20))
        ->capture_default_str();
    app.add_flag("--json", json, "One JSON object per result on stdout");
}

std::optional<DType> parse_dtype(const std::string& name) {
    if (name.empty()) return std::nullopt;
    const auto dtype = dtype_from_name(name);
    if (!dtype) throw OptionError({.name = "--dtype", .expected = "fp32, bf16 or fp16", .found = name});
    return dtype;
}

LoadOptions ModelFlags::load_options() const {
    return {.device = device, .dtype = parse_dtype(dtype), .threads = threads, .context = context};
}

fs::path ModelFlags::model_folder() const {
    if (!model.empty()) return model;
    const fs::path built_in = fs::path(VITRINE_RESOURCES) / "demo" / "model";
    if (fs::exists(built_in / "vitrine.json")) return built_in;
    throw InputError(
        {.name = "--model",
         .expected = "a model folder",
         .found = "none, and the built-in one is not where it should be: " + built_in.string(),
         .advice = "Make one with random weights to try things out: vitrine-cli init --shape demo --out DIR."});
}

void GenerationFlags::add_to(CLI::App& app) {
    SamplingOptions& sampling = options.sampling;
    app.add_option("--max-tokens", options.max_tokens, "Longest answer, in tokens")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app.add_option("--temperature", sampling.temperature, "0: always the most likely token")->capture_default_str();
    app.add_option("--top-k", sampling.top_k, "Keep the k most likely tokens; 0: off")->capture_default_str();
    app.add_option("--top-p", sampling.top_p, "Keep the most likely tokens up to this probability")
        ->capture_default_str();
    app.add_option("--min-p", sampling.min_p, "Drop tokens below this share of the most likely one")
        ->capture_default_str();
    app.add_option("--repetition-penalty", sampling.repetition_penalty, "Above 1: fewer repetitions")
        ->capture_default_str();
    app.add_option("--presence-penalty", sampling.presence_penalty, "Subtracted from tokens already said")
        ->capture_default_str();
    app.add_option("--penalty-window", sampling.penalty_window, "How many of the latest tokens the penalties look at")
        ->capture_default_str();
    app.add_option("--seed", sampling.seed, "Seed of the sampling")->capture_default_str();
    app.add_option("--stop", options.stop, "Stop before this text (repeatable)")->allow_extra_args(false);
    app.add_flag("--no-loop-detection", no_loop_detection, "Let an answer repeat itself");
}

GenerationOptions GenerationFlags::get() const {
    GenerationOptions result = options;
    result.detect_loops = !no_loop_detection;
    return result;
}

Session::Session(const ModelFlags& flags, EngineObserver& observer, std::stop_token stop) : stop_(std::move(stop)) {
    const fs::path folder = flags.model_folder();
    const LoadOptions options = flags.load_options();
    LoadObserver progress;
    run([&](Engine& engine, std::stop_token token) {
        if (auto summary = engine.load(folder, options, progress, token))
            summary_ = *summary;
        else
            stopped_ = true;
    });
    progress.line.clear();
    for (const std::string& warning : summary_.warnings) std::cerr << "Warning: " << warning << '\n';
    if (!stopped_) observer.on_stage({"load", size_text(summary_.weight_bytes), summary_.load_ms});
}

void Session::run(EngineThread::Job job) {
    EngineThread::Handle handle = engine_.submit(std::move(job));
    const std::stop_callback forward(stop_, [&] { handle.stop.request_stop(); });
    handle.finished.get();
}

GenerationResult Session::generate(std::span<const Message> messages, const GenerationOptions& options,
                                   EngineObserver& observer) {
    GenerationResult result;
    run([&](Engine& engine, std::stop_token token) { result = engine.generate(messages, options, observer, token); });
    return result;
}

std::shared_ptr<const Recording> Session::record(std::vector<Message> messages, GenerationOptions options) {
    struct Keeper : EngineObserver {
        std::shared_ptr<const Recording> recording;
        void on_recording(const std::shared_ptr<const Recording>& begun) override { recording = begun; }
    } keeper;
    if (messages.back().role != Role::assistant) {
        options.record = true;
        const GenerationResult result = generate(messages, options, keeper);
        return result.finish == FinishReason::stopped ? nullptr : keeper.recording;
    }
    std::shared_ptr<const Recording> recording;
    run([&](Engine& engine, std::stop_token token) { recording = engine.record(messages, keeper, token); });
    return recording;
}

std::vector<fs::path> find_pictures(const std::vector<fs::path>& inputs) {
    std::vector<fs::path> pictures;
    std::set<fs::path> seen;
    for (const fs::path& input : inputs) {
        if (fs::is_directory(input))
            collect(input, seen, pictures);
        else
            pictures.push_back(input);
    }
    return pictures;
}

void print_line(const Json& json) {
    std::cout << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n' << std::flush;
}

std::string printable(const std::string& text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        const bool c1 = byte == 0xC2 && next >= 0x80 && next < 0xA0;  // U+0080 to U+009F in UTF-8
        if (!c1 && (byte == '\n' || byte == '\t' || (byte >= 0x20 && byte != 0x7F))) {
            result += text[i];
            continue;
        }
        const unsigned code = c1 ? next : byte;
        result.append("\\x").append({digits[code / 16], digits[code % 16]});
        if (c1) ++i;
    }
    return result;
}

void print_error(const std::exception& error) {
    std::cerr << "vitrine-cli: " << printable(error.what()) << '\n';
}

std::string fixed(double value, int decimals) {
    std::array<char, 64> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, decimals);
    return {digits.data(), end.ptr};
}

void print_summary(const ModelSummary& summary, std::ostream& out) {
    out << "Model " << summary.name << ": vision " << fixed(static_cast<double>(summary.vision_parameters) / 1e6, 2)
        << " M, projector " << fixed(static_cast<double>(summary.projector_parameters) / 1e6, 2) << " M, language "
        << fixed(static_cast<double>(summary.language_parameters) / 1e6, 2) << " M parameters; "
        << name_of(summary.dtype) << " on " << name_of(summary.device) << ", " << summary.threads
        << " thread(s), weights " << size_text(summary.weight_bytes) << '\n';
    if (!summary.about.empty()) out << printable(summary.about) << '\n';
}

}  // namespace vitrine::cli
