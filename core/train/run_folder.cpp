#include "core/train/run_folder.h"

#include "core/error.h"
#include "core/weights/file.h"
#include "core/weights/json_file.h"
#include "core/weights/safetensors.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

namespace vitrine {
namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

constexpr std::string_view kStepPrefix = "step-";

[[noreturn]] void fail(const fs::path& path, const std::string& expected, const std::string& found,
                       const std::string& advice = {}) {
    throw FileError(
        {.name = "run folder", .where = path.string(), .expected = expected, .found = found, .advice = advice});
}

// In one write, so that a killed run leaves whole lines; a line cut by an earlier kill is ended first.
int open_lines(const fs::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor < 0) fail(path, "a file that can be written", std::strerror(errno));
    const off_t end = ::lseek(descriptor, 0, SEEK_END);
    char last = '\n';
    if (end > 0 && ::pread(descriptor, &last, 1, end - 1) == 1 && last != '\n' && ::write(descriptor, "\n", 1) != 1)
        fail(path, "a file that can be written", std::strerror(errno));
    return descriptor;
}

void append(int descriptor, const fs::path& path, std::string line) {
    line += '\n';
    std::string_view rest = line;
    while (!rest.empty()) {
        const ssize_t count = ::write(descriptor, rest.data(), rest.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(path, "room for another line", std::strerror(errno), "Make room on the disk, then resume.");
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text.data();
}

std::optional<std::int64_t> step_of(const fs::path& path) {
    const std::string name = path.filename().string();
    if (!name.starts_with(kStepPrefix)) return std::nullopt;
    std::int64_t step = 0;
    const char* const end = name.data() + name.size();
    const auto result = std::from_chars(name.data() + kStepPrefix.size(), end, step);
    if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
    return step;
}

std::vector<std::int64_t> checkpoint_steps(const fs::path& folder) {
    std::vector<std::int64_t> steps;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        if (const auto step = step_of(entry.path())) steps.push_back(*step);
    std::sort(steps.begin(), steps.end());
    return steps;
}

void point_link(const fs::path& link, const fs::path& target) {
    const fs::path fresh = link.string() + ".part";
    std::error_code error;
    fs::remove(fresh, error);
    fs::create_directory_symlink(target, fresh, error);
    if (!error) fs::rename(fresh, link, error);
    if (error) fail(link, "a link that can be made", error.message());
}

TensorView view_of(const char* name, const at::Tensor& values) {
    return {name, "F32", {values.numel()}, {static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes()}};
}

ordered_json to_json(const RunState& state) {
    return {{"step", state.step},           {"samples", state.samples},
            {"loss_ema", state.loss_ema},   {"elapsed_s", state.elapsed_s},
            {"clipped", state.clipped},     {"best_loss", state.best_loss},
            {"best_step", state.best_step}, {"without_improvement", state.without_improvement}};
}

RunState state_from(const nlohmann::json& json) {
    return {.step = json.at("step"),
            .samples = json.at("samples"),
            .loss_ema = json.at("loss_ema"),
            .elapsed_s = json.at("elapsed_s"),
            .clipped = json.at("clipped"),
            .best_loss = json.at("best_loss"),
            .best_step = json.at("best_step"),
            .without_improvement = json.at("without_improvement")};
}

}  // namespace

RunFolder::RunFolder(fs::path path) : path_(std::move(path)) {
    std::error_code error;
    for (const char* inner : {"checkpoints", "samples"}) fs::create_directories(path_ / inner, error);
    if (error) fail(path_, "a folder that can be written", error.message());
    const fs::path lock = path_ / "lock";
    lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) fail(lock, "a file that can be written", std::strerror(errno));
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
        ::close(std::exchange(lock_, -1));
        fail(path_, "a run that nobody is training", "another process that trains it",
             "Stop that one first, or start a new run in another folder.");
    }
    metrics_ = open_lines(path_ / "metrics.jsonl");
    log_ = open_lines(path_ / "log.txt");
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      metrics_(std::exchange(other.metrics_, -1)),
      log_(std::exchange(other.log_, -1)) {}

RunFolder::~RunFolder() {
    for (const int descriptor : {metrics_, log_, lock_})
        if (descriptor >= 0) ::close(descriptor);
}

RunFolder RunFolder::create(const fs::path& folder) {
    std::error_code error;
    if (fs::exists(folder, error) && !fs::is_empty(folder, error))
        fail(folder, "a new or empty folder", "files in it",
             "Name another folder, or give --resume to go on with the run that is there.");
    fs::create_directories(folder, error);
    if (error) fail(folder, "a folder that can be written", error.message());
    return RunFolder(folder);
}

RunFolder RunFolder::open(const fs::path& folder) {
    if (!fs::exists(folder / "run.json"))
        fail(folder, "a run, with its run.json", "none", "Start one without --resume first.");
    RunFolder run(folder);
    std::error_code error;  // what a killed process was writing
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / "checkpoints", error))
        if (entry.path().extension() == ".part") fs::remove_all(entry.path(), error);
    return run;
}

void RunFolder::write_options(const TrainingOptions& options, std::uint64_t fingerprint) {
    ordered_json json = ordered_json::parse(vitrine::to_json(options));
    json["_program"] = "vitrine " VITRINE_VERSION;
    if (fingerprint != 0) json["_data_fingerprint"] = fingerprint;
    write_file(path_ / "run.json", json.dump(2) + "\n");
}

TrainingOptions RunFolder::read_options() const {
    const fs::path file = path_ / "run.json";
    return training_options_from_json(ReadOnlyFile(file).read_all(), file.string());
}

std::optional<std::uint64_t> RunFolder::read_fingerprint() const {
    const nlohmann::json json = read_json_file(path_ / "run.json");
    const auto found = json.find("_data_fingerprint");
    if (found == json.end() || !found->is_number_unsigned()) return std::nullopt;
    return found->get<std::uint64_t>();
}

void RunFolder::append_metrics(const std::string& json_line) {
    append(metrics_, path_ / "metrics.jsonl", json_line);
}

void RunFolder::log(std::string_view text) {
    append(log_, path_ / "log.txt", utc_now() + "  " + std::string(text));
}

void RunFolder::status(std::string_view state, const RunState& run, std::int64_t steps, std::string_view reason) {
    const ordered_json json{{"state", state},    {"pid", ::getpid()},          {"step", run.step}, {"steps", steps},
                            {"time", utc_now()}, {"elapsed_s", run.elapsed_s}, {"reason", reason}};
    write_file(path_ / "status.json", json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

RunFolder::Wish RunFolder::wish() {
    const fs::path control = path_ / "control";
    std::array<char, 16> word{};
    const int descriptor = ::open(control.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return Wish::none;
    const ssize_t count = ::read(descriptor, word.data(), word.size() - 1);
    ::close(descriptor);
    const std::string_view text(word.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    if (text.starts_with("pause")) return Wish::pause;
    const Wish wish = text.starts_with("save") ? Wish::save : text.starts_with("stop") ? Wish::stop : Wish::none;
    if (wish != Wish::none) ::unlink(control.c_str());
    return wish;
}

void RunFolder::write_skipped(const SkipReport& report) {
    ordered_json reasons = ordered_json::object();
    for (const auto& [reason, what] : report.reasons)
        reasons[reason] = {{"count", what.count}, {"first", what.examples}};
    write_file(path_ / "skipped.json", reasons.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

void RunFolder::write_samples(std::int64_t step, const std::vector<std::pair<std::string, std::string>>& captions) {
    ordered_json list = ordered_json::array();
    for (const auto& [picture, caption] : captions) list.push_back({{"picture", picture}, {"caption", caption}});
    write_file(path_ / "samples" / (std::string(kStepPrefix) + std::to_string(step) + ".json"),
               list.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

fs::path RunFolder::write_checkpoint(TrainingTask& task, const FlatParameters& parameters, const AdamW& optimiser,
                                     const RunState& state, int keep) {
    const fs::path folder = path_ / "checkpoints";
    const std::string name = std::string(kStepPrefix) + std::to_string(state.step);
    const fs::path part = folder / (name + ".part"), place = folder / name;
    std::error_code error;
    fs::remove_all(part, error);
    fs::create_directories(part, error);
    if (error) fail(part, "a folder that can be written", error.message());
    try {
        const ordered_json note{{"run", path_.filename().string()}, {"step", state.step}, {"samples", state.samples}};
        task.write_model(part, note.dump());
        const at::Tensor values = parameters.values().to(at::kCPU), first = optimiser.first_moment.to(at::kCPU),
                         second = optimiser.second_moment.to(at::kCPU);
        const std::array<TensorView, 3> tensors{view_of("first_moment", first), view_of("second_moment", second),
                                                view_of("values", values)};
        ordered_json progress = to_json(state);
        progress["optimiser_steps"] = optimiser.steps;
        write_safetensors(part / "state", tensors, {{"progress", progress.dump()}});
        // A run that was resumed before this step comes here again. At no moment is there neither the old nor the new.
        if (::renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0) {
            fs::remove_all(part, error);
        } else {
            fs::remove_all(place, error);
            fs::rename(part, place);
        }
    } catch (const fs::filesystem_error& fault) {
        fs::remove_all(part, error);
        fail(place, "a folder that can be written", fault.code().message());
    } catch (...) {
        fs::remove_all(part, error);
        throw;
    }
    const bool best_is_there =
        state.best_step >= 0 && fs::exists(folder / (std::string(kStepPrefix) + std::to_string(state.best_step)));
    point_link(path_ / "model",
               fs::path("checkpoints") /
                   (std::string(kStepPrefix) + std::to_string(best_is_there ? state.best_step : state.step)));
    std::vector<std::int64_t> steps = checkpoint_steps(folder);
    for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < steps.size(); ++i)
        if (steps[i] != state.best_step && steps[i] != state.step)
            fs::remove_all(folder / (std::string(kStepPrefix) + std::to_string(steps[i])), error);
    return place;
}

std::optional<RunState> RunFolder::read_checkpoint(FlatParameters& parameters, AdamW& optimiser) {
    std::vector<std::int64_t> steps = checkpoint_steps(path_ / "checkpoints");
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
        const fs::path file = path_ / "checkpoints" / (std::string(kStepPrefix) + std::to_string(*step)) / "state";
        try {
            const SafetensorsFile state = SafetensorsFile::open(file);
            const auto read = [&](const char* name, const at::Tensor& to) {
                const TensorInfo* tensor = state.find(name);
                if (tensor == nullptr || tensor->dtype != "F32" || tensor->elements() != to.numel())
                    throw WeightsError({.name = name,
                                        .where = file.string(),
                                        .expected = std::to_string(to.numel()) + " numbers in fp32",
                                        .found = tensor == nullptr ? "none" : shape_text(tensor->shape),
                                        .advice = "The run's model or what it trains has changed since."});
                at::Tensor copy = at::empty({to.numel()}, at::kFloat);
                const auto bytes = state.bytes(*tensor);
                std::memcpy(copy.mutable_data_ptr(), bytes.data(), bytes.size());
                at::Tensor target = to;
                target.copy_(copy);
            };
            const nlohmann::json progress = parse_json(state.metadata().at("progress"), file.string());
            const RunState run = state_from(progress);
            read("values", parameters.values());
            read("first_moment", optimiser.first_moment);
            read("second_moment", optimiser.second_moment);
            optimiser.steps = progress.at("optimiser_steps");
            return run;
        } catch (const WeightsError& error) {
            if (error.parts().advice.starts_with("The run's model")) throw;
            log("Checkpoint left out: " + std::string(error.what()));
        } catch (const FileError& error) {
            log("Checkpoint left out: " + std::string(error.what()));
        } catch (const std::exception& error) {  // progress without one of its keys
            log("Checkpoint left out: " + file.string() + ": " + error.what());
        }
    }
    return std::nullopt;
}

}  // namespace vitrine
