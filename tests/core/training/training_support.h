#pragma once

#include "core/model/random_model.h"
#include "core/scenes/export.h"
#include "core/training.h"
#include "core/weights/safetensors.h"
#include "support/folders.h"
#include "support/test_main.h"

#include <ATen/ATen.h>

#include <QDir>
#include <QProcess>

#include <sys/types.h>
#include <csignal>

#include <algorithm>
#include <cstring>

// What the training tests share: a model and data small enough that a step takes milliseconds, runs in this process and
// in processes of their own, and what runs leave behind.
namespace vitrine::test {

inline std::filesystem::path training_reference() {
    return std::filesystem::path(VITRINE_REFERENCE_DIR) / "training";
}

inline at::Tensor read_tensor(const SafetensorsFile& file, const std::string& name) {
    const TensorInfo* const info = file.find(name);
    if (info == nullptr) throw std::runtime_error(file.path().string() + " has no " + name);
    at::Tensor tensor = at::empty(info->shape, info->dtype == "I64" ? at::kLong : at::kFloat);
    const auto bytes = file.bytes(*info);
    std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
    return tensor;
}

inline at::Tensor read_tensor(const std::filesystem::path& file, const std::string& name) {
    return read_tensor(SafetensorsFile::open(file), name);
}

// The largest difference as a share of the largest entry expected; infinite where something is not finite.
inline double difference(const at::Tensor& found, const at::Tensor& expected) {
    if (found.sizes() != expected.sizes() || !at::isfinite(found).all().item<bool>()) return 1e300;
    const double scale = expected.abs().max().item<double>();
    return (found - expected).abs().max().item<double>() / std::max(scale, 1e-30);
}

inline std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

// A few thousand numbers: two layers on either side, 16 patches.
inline ModelShape small_shape() {
    ModelShape shape = shape_by_name("demo");
    shape.language.hidden_size = 64;
    shape.language.intermediate_size = 96;
    shape.language.num_hidden_layers = 2;
    shape.language.num_attention_heads = 4;
    shape.language.num_key_value_heads = 2;
    shape.language.head_dim = 16;
    shape.vision.hidden_size = 48;
    shape.vision.intermediate_size = 96;
    shape.vision.num_hidden_layers = 2;
    shape.vision.num_attention_heads = 4;
    shape.vision.image_size = 64;
    return shape;
}

// A folder with a small model and scenes to learn from, gone with this object.
class Workshop {
public:
    Workshop() {
        write_random_model(small_shape(), DType::float32, 7, model());
        scenes::export_scenes(
            {.seed = 5, .count = 40, .size = 64, .turns = 1, .format = scenes::ExportFormat::llava, .folder = data()});
    }
    std::filesystem::path path() const { return folder_.path().toStdString(); }
    std::filesystem::path path(const std::string& name) const { return path() / name; }
    std::filesystem::path model() const { return path("model"); }
    std::filesystem::path data() const { return path("data"); }

    TrainingOptions options() const {
        TrainingOptions options;
        options.model = model();
        options.data.path = data() / "scenes.json";
        options.validation_samples = 0;
        options.dtype = "fp32";
        options.save_dtype = "fp32";
        options.device = "cpu";
        options.threads = 2;
        options.steps = 8;
        options.batch = 4;
        options.checkpoint_every = 1000;
        options.checkpoint_minutes = 0;
        options.evaluate_every = 0;
        options.sample_pictures = 0;
        options.cache_features = false;
        options.cache = path("cache");
        return options;
    }

private:
    QTemporaryDir folder_;
};

struct Recorder : TrainingObserver {
    void on_message(std::string_view text) override { messages += std::string(text) + "\n"; }
    void on_step(const StepMetrics& metrics) override {
        steps.push_back(metrics);
        if (after_step) after_step(metrics);
    }
    void on_evaluation(const EvaluationMetrics& metrics) override { evaluations.push_back(metrics); }

    std::string messages;
    std::vector<StepMetrics> steps;
    std::vector<EvaluationMetrics> evaluations;
    std::function<void(const StepMetrics&)> after_step;
};

inline std::filesystem::path checkpoint(const std::filesystem::path& run, std::int64_t step) {
    return run / "checkpoints" / ("step-" + std::to_string(step));
}

// Everything a resumed run depends on, as bytes: values and both moments.
inline std::string trained_state(const std::filesystem::path& run, std::int64_t step) {
    const SafetensorsFile file = SafetensorsFile::open(checkpoint(run, step) / "state");
    std::string all;
    for (const char* name : {"values", "first_moment", "second_moment"}) {
        const auto bytes = file.bytes(*file.find(name));
        all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return all;
}

inline std::vector<nlohmann::json> json_lines(const std::string& text) {
    std::vector<nlohmann::json> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        if (end > at) lines.push_back(nlohmann::json::parse(text.substr(at, end - at)));
        at = end + 1;
    }
    return lines;
}

// vitrine-cli train, as a person starts it.
class TrainProcess {
public:
    explicit TrainProcess(const QStringList& arguments, const QString& shell = {}) {
        const QStringList all = QStringList{QStringLiteral("train")} + arguments;
        if (shell.isEmpty())
            process_.start(QStringLiteral(VITRINE_CLI), all);
        else
            process_.start(QStringLiteral("bash"),
                           QStringList{QStringLiteral("-c"), shell + QStringLiteral("; exec \"$@\""),
                                       QStringLiteral("bash"), QStringLiteral(VITRINE_CLI)} +
                               all);
        process_.waitForStarted();
    }
    ~TrainProcess() {
        if (process_.state() != QProcess::NotRunning) process_.kill();
        process_.waitForFinished();
    }
    void send(int signal) { ::kill(static_cast<pid_t>(process_.processId()), signal); }
    bool running() {
        process_.waitForFinished(1);
        return process_.state() != QProcess::NotRunning;
    }
    // The exit code, or minus the signal.
    int wait() {
        if (!process_.waitForFinished(120'000)) return -1000;
        err += process_.readAllStandardError();
        out += process_.readAllStandardOutput();
        return process_.exitStatus() == QProcess::NormalExit ? process_.exitCode() : -1;
    }
    template <class Condition>
    bool until(Condition condition, int milliseconds = 60'000) {
        for (int waited = 0; waited < milliseconds; waited += 5) {
            if (condition()) return true;
            if (!running()) return condition();
            QTest::qSleep(4);
        }
        return false;
    }

    QByteArray err, out;

private:
    QProcess process_;
};

}  // namespace vitrine::test
