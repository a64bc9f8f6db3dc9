#include "core/train/run_report.h"

#include <nlohmann/json.hpp>

#include <array>
#include <map>

namespace vitrine {
using nlohmann::ordered_json;

std::string to_json(const StepMetrics& metrics) {
    const ordered_json json{{"step", metrics.step},
                            {"steps", metrics.steps},
                            {"loss", metrics.loss},
                            {"loss_ema", metrics.loss_ema},
                            {"learning_rate", metrics.learning_rate},
                            {"grad_norm", metrics.grad_norm},
                            {"clipped_share", metrics.clipped_share},
                            {"tokens", metrics.tokens},
                            {"samples", metrics.samples},
                            {"tokens_per_s", metrics.tokens_per_s},
                            {"samples_per_s", metrics.samples_per_s},
                            {"data_s", metrics.data_s},
                            {"vision_s", metrics.vision_s},
                            {"language_s", metrics.language_s},
                            {"optimiser_s", metrics.optimiser_s},
                            {"elapsed_s", metrics.elapsed_s},
                            {"eta_s", metrics.eta_s},
                            {"resident_bytes", metrics.resident_bytes},
                            {"peak_bytes", metrics.peak_bytes}};
    return json.dump();
}

std::string to_json(const EvaluationMetrics& metrics) {
    const ordered_json json{{"step", metrics.step},
                            {"validation_loss", metrics.loss},
                            {"shuffled_loss", metrics.shuffled_loss},
                            {"accuracy", metrics.accuracy},
                            {"best", metrics.best}};
    return json.dump();
}

void RunReport::message(const std::string& text) {
    if (!folder_) return;
    folder_->log(text);
    observer_.on_message(text);
}

void RunReport::status(std::string_view state, const RunState& run, std::int64_t steps, std::string_view reason) {
    if (folder_) folder_->status(state, run, steps, reason);
}

void RunReport::begin(const TrainingOptions& options, std::uint64_t fingerprint, bool resumed, const RunState& run,
                      std::int64_t steps) {
    if (!folder_) return;
    folder_->write_options(options, fingerprint);
    folder_->append_metrics(ordered_json{{"event", resumed ? "resume" : "start"}, {"step", run.step}}.dump());
    folder_->status("running", run, steps);
    open_board(options, run.step);
}

void RunReport::open_board(const TrainingOptions& options, std::int64_t step) {
    if (step > 0) {
        board_ = std::make_unique<TensorBoardWriter>(folder_->path(), step + 1);
        return;
    }
    board_ = std::make_unique<TensorBoardWriter>(folder_->path());
    std::map<std::string, TensorBoardWriter::HyperParameter> parameters;
    const ordered_json all = ordered_json::parse(to_json(options));
    for (const auto& item : all.items()) {
        const ordered_json& value = item.value();
        if (value.is_boolean())
            parameters[item.key()] = value.get<bool>();
        else if (value.is_number_integer())
            parameters[item.key()] = value.get<std::int64_t>();
        else if (value.is_number())
            parameters[item.key()] = value.get<double>();
        else if (value.is_string())
            parameters[item.key()] = value.get<std::string>();
    }
    board_->start_session(parameters, {"loss/train", "loss/validation", "loss/shuffled"});
}

void RunReport::opened(const SkipReport& report) {
    left_out_ = report.total();
    if (folder_) folder_->write_skipped(report);
}

void RunReport::left_out(const SkipReport& report) {
    if (!folder_ || report.total() == left_out_) return;
    opened(report);
    message("Rows left out so far: " + std::to_string(left_out_));
    for (const std::string& line : report.lines()) message("  left out, " + line);
}

void RunReport::step(const StepMetrics& metrics, const RunState& run) {
    if (!folder_) return;
    folder_->append_metrics(to_json(metrics));
    const std::array<TensorBoardWriter::Scalar, 6> scalars{{{"loss/train", metrics.loss},
                                                            {"loss/train_ema", metrics.loss_ema},
                                                            {"optimiser/learning_rate", metrics.learning_rate},
                                                            {"optimiser/grad_norm", metrics.grad_norm},
                                                            {"speed/tokens_per_s", metrics.tokens_per_s},
                                                            {"speed/samples_per_s", metrics.samples_per_s}}};
    board_->scalars(metrics.step, scalars);
    const auto now = std::chrono::steady_clock::now();
    if (now - last_status_ > std::chrono::seconds(1)) {
        folder_->status("running", run, metrics.steps);
        last_status_ = now;
    }
    observer_.on_step(metrics);
}

void RunReport::evaluation(const EvaluationMetrics& metrics) {
    if (!folder_) return;
    folder_->append_metrics(to_json(metrics));
    const std::array<TensorBoardWriter::Scalar, 3> scalars{{{"loss/validation", metrics.loss},
                                                            {"loss/shuffled", metrics.shuffled_loss},
                                                            {"accuracy/validation", metrics.accuracy}}};
    board_->scalars(metrics.step, scalars);
    if (!metrics.samples.empty()) {
        folder_->write_samples(metrics.step, metrics.samples);
        std::string table = "| picture | caption |\n|---|---|\n";
        for (const auto& [picture, caption] : metrics.samples) table += "| " + picture + " | " + caption + " |\n";
        board_->text(metrics.step, "samples", table);
    }
    observer_.on_evaluation(metrics);
}

void RunReport::end(std::string_view state, const RunState& run, std::int64_t steps, std::string_view reason,
                    bool for_good) {
    status(state, run, steps, reason);
    if (for_good && board_) board_->end_session(true);
}

}  // namespace vitrine
