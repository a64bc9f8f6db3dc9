#include "app/cli/common.h"
#include "core/device.h"
#include "core/insight/past.h"
#include "core/kernels/plain.h"
#include "core/kernels/thread_pool.h"
#include "core/model/projector.h"
#include "core/model/qwen3.h"
#include "core/model/random_model.h"
#include "core/model/siglip.h"
#include "core/text/tokenizer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

namespace vitrine::cli {
namespace fs = std::filesystem;

namespace {

struct BenchArguments {
    std::string shape = "demo";
    std::vector<std::string> dtypes{"fp32", "bf16"};
    std::vector<std::string> figures{"decode", "prefill", "recording", "tower", "tokenizer", "load", "memory"};
    std::int64_t context = 220;
    std::int64_t tokens = 64;
    int repeats = 5;
    int threads = 0;
    fs::path tokenizer;
    fs::path text;
    bool json = false;
};

double seconds(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct TemporaryFolder {
    fs::path path = fs::temp_directory_path() / ("vitrine-bench-" + std::to_string(getpid()));
    TemporaryFolder() = default;
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

// The JSON lines of this program with other arguments, in a process of its own.
std::vector<Json> run_itself(const std::string& arguments) {
    const std::string command = "exec /proc/" + std::to_string(getpid()) + "/exe " + arguments;
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::vector<Json> lines;
    std::string line;
    for (int c = 0; pipe && (c = std::fgetc(pipe.get())) != EOF;) {
        if (c != '\n') {
            line += static_cast<char>(c);
            continue;
        }
        if (Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false); json.is_object())
            lines.push_back(std::move(json));
        line.clear();
    }
    return lines;
}

class Bench {
public:
    Bench(const BenchArguments& arguments, std::stop_token stop) : arguments_(arguments), stop_(std::move(stop)) {}

    int run() {
        const auto wanted = [&](const char* figure) {
            return std::find(arguments_.figures.begin(), arguments_.figures.end(), figure) != arguments_.figures.end();
        };
        for (const std::string& name : arguments_.dtypes) {
            dtype_ = parse_dtype(name).value();
            if (wanted("decode") || wanted("prefill") || wanted("recording"))
                bench_language(wanted("decode"), wanted("prefill"), wanted("recording"));
            if (wanted("tower")) bench_tower();
            if (wanted("train")) bench_train();
            if (wanted("load") || wanted("memory")) bench_folder(wanted("load"), wanted("memory"));
        }
        if (wanted("tokenizer")) bench_tokenizer();
        return stop_.stop_requested() ? kStopped : kDone;
    }

private:
    // Measures `work` and, in turn with it, the same work by LibTorch's own operations: a machine that drifts, drifts
    // for both. value turns seconds into the figure.
    void measure(const std::string& figure, const char* unit, const std::function<double(double)>& value,
                 const std::function<void()>& work) {
        std::vector<double> ours;
        std::vector<double> plain;
        const auto plainly = [&] {
            const kernels::PlainGuard guard;
            at::set_num_threads(kernels::num_threads());
            work();
            use_threads(0);
        };
        work();
        for (int i = 0; i < arguments_.repeats && !stop_.stop_requested(); ++i) {
            ours.push_back(value(seconds(work)));
            plain.push_back(value(seconds(plainly)));
        }
        report(figure, unit, std::move(ours));
        report(figure + "_libtorch", unit, std::move(plain));
    }

    void report(const std::string& figure, const char* unit, std::vector<double> values) const {
        if (values.empty()) return;
        std::sort(values.begin(), values.end());
        const double median = values[values.size() / 2];
        if (arguments_.json) {
            print_line({{"figure", figure},
                        {"unit", unit},
                        {"shape", arguments_.shape},
                        {"dtype", name_of(dtype_)},
                        {"threads", kernels::num_threads()},
                        {"min", values.front()},
                        {"median", median},
                        {"max", values.back()},
                        {"n", values.size()}});
        } else {
            std::cout << figure << ' ' << name_of(dtype_) << ": " << fixed(median, 2) << ' ' << unit << " ("
                      << fixed(values.front(), 2) << " to " << fixed(values.back(), 2) << ", " << values.size()
                      << " runs, " << kernels::num_threads() << " threads)" << std::endl;
        }
    }

    void bench_language(bool decode, bool prefill, bool recording) {
        const c10::InferenceMode inference;
        const ModelShape shape = shape_by_name(arguments_.shape);
        const DeviceMemory memory = memory_of({});
        Qwen3Model model = Qwen3Model::from_config(shape.language);
        const auto bytes = static_cast<std::uint64_t>(model.num_parameters()) * bytes_per_element(dtype_);
        if (bytes + bytes / 8 > memory.available) {
            throw MemoryError({.name = arguments_.shape + " in " + std::string(name_of(dtype_)),
                               .expected = "at most " + size_text(memory.available),
                               .found = size_text(bytes)});
        }
        randomise_parameters(model.parameters(), {scalar_type(dtype_), at::kCPU}, 0);
        const std::int64_t context =
            std::min(arguments_.context, shape.language.max_position_embeddings - arguments_.tokens);
        const at::Tensor ids = at::arange(context, at::kLong).remainder(shape.language.vocab_size).unsqueeze(0);
        KvCache cache(shape.language, 1, context + arguments_.tokens, model.options());
        at::Tensor next;
        const auto run_prefill = [&] {
            cache.truncate(0);
            const at::Tensor hidden = model.forward({.inputs_embeds = model.embed(ids), .cache = &cache});
            next = model.logits(hidden.narrow(1, context - 1, 1)).argmax(-1);
        };
        const auto per_second = [](std::int64_t count) {
            return [count](double time) { return static_cast<double>(count) / time; };
        };
        run_prefill();
        if (prefill) measure("prefill", "tokens/s", per_second(context), run_prefill);
        const auto run_decode = [&](ForwardObserver* observer) {
            cache.truncate(context);
            for (std::int64_t i = 0; i < arguments_.tokens && !stop_.stop_requested(); ++i)
                next = model
                           .logits(model.forward(
                               {.inputs_embeds = model.embed(next), .cache = &cache, .observer = observer}))
                           .argmax(-1);
        };
        if (decode) measure("decode", "tokens/s", per_second(arguments_.tokens), [&] { run_decode(nullptr); });
        if (!recording) return;

        // With and without in turn; the memory is what the queries of the whole conversation take beside the cache.
        const std::uint64_t before = resident_bytes();
        QueryRecorder recorder(shape.language, context + arguments_.tokens, model.options());
        cache.truncate(0);
        model.forward({.inputs_embeds = model.embed(ids), .cache = &cache, .observer = &recorder});
        std::vector<double> recorded, ratios;
        for (int i = 0; i < arguments_.repeats && !stop_.stop_requested(); ++i) {
            const double off = seconds([&] { run_decode(nullptr); });
            recorder.truncate(context);
            const double on = seconds([&] { run_decode(&recorder); });
            recorded.push_back(static_cast<double>(arguments_.tokens) / on);
            ratios.push_back(on / off);
        }
        report("decode_recorded", "tokens/s", std::move(recorded));
        report("recording_slowdown", "ratio", std::move(ratios));
        report("recording_memory", "MiB", {static_cast<double>(resident_bytes() - before) / (1024.0 * 1024.0)});
    }

    void bench_tower() {
        const c10::InferenceMode inference;
        const SiglipConfig config = shape_by_name(arguments_.shape).vision;
        VisionTransformer tower = VisionTransformer::from_config(config);
        randomise_parameters(tower.parameters(), {scalar_type(dtype_), at::kCPU}, 0);
        const at::Tensor pixels = at::zeros({1, 3, config.image_size, config.image_size}, at::kFloat);
        measure(
            "tower", "ms", [](double time) { return time * 1000.0; }, [&] { tower.forward(pixels); });
    }

    // A model folder on disk, loaded in this process (warm file cache), and captioned with in a process of its own.
    void bench_folder(bool load, bool memory) {
        const TemporaryFolder temporary;
        const fs::path& folder = temporary.path;
        write_random_model(shape_by_name(arguments_.shape), dtype_, 0, folder);
        if (load) {
            std::vector<double> times;
            EngineObserver silent;
            Engine engine;
            for (int i = 0; i < arguments_.repeats && !stop_.stop_requested(); ++i) {
                engine.unload();
                times.push_back(seconds([&] {
                    engine.load(folder, {.device = "cpu", .dtype = dtype_, .threads = arguments_.threads}, silent,
                                stop_);
                }));
            }
            report("load", "s", std::move(times));
        }
        if (memory) {
            const auto file_bytes = static_cast<double>(fs::file_size(folder / "language" / "model.safetensors") +
                                                        fs::file_size(folder / "vision" / "model.safetensors"));
            std::vector<double> peaks;
            for (int i = 0; i < arguments_.repeats && !stop_.stop_requested(); ++i)
                peaks.push_back(peak_of_caption(folder));
            std::vector<double> ratios;
            for (const double peak : peaks) ratios.push_back(peak / file_bytes);
            for (double& peak : peaks) peak /= 1024.0 * 1024.0;
            report("memory", "MiB", std::move(peaks));
            report("memory_per_weight_file", "ratio", std::move(ratios));
        }
    }

    // The child says itself what its peak was: what the system reports for it may be ours, from before it became
    // another program.
    double peak_of_caption(const fs::path& folder) const {  // bytes
        const std::vector<Json> lines =
            run_itself("caption '" + (folder / "sample.png").string() + "' --model '" + folder.string() + "' --dtype " +
                       std::string(name_of(dtype_)) + " --device cpu --max-tokens 16 --json");
        if (lines.size() != 1 || !lines[0].contains("peak_rss_bytes")) {
            throw Error(
                {.name = "memory", .expected = "a caption by a process of its own", .found = "a failure of it"});
        }
        return lines[0]["peak_rss_bytes"].get<double>();
    }

    // Steps of training the projector: batch 4, a picture and 38 tokens of text in each row, 24 of them learned;
    // features are in the cache from the third step on.
    void bench_train() {
        constexpr int batch = 4, pictures = 2 * batch, warm_up = 2;
        const TemporaryFolder temporary;
        const fs::path& folder = temporary.path;
        std::string caption = "a";
        for (int i = 0; i < 22; ++i) caption += " a";
        write_random_model(shape_by_name(arguments_.shape), dtype_, 0, folder, {caption});
        std::ofstream data(folder / "data.jsonl");
        for (int i = 0; i < pictures; ++i) {
            const std::string name = std::to_string(i) + ".png";
            fs::copy_file(folder / "sample.png", folder / name);
            data << Json{{"image", name}, {"text", caption}}.dump() << '\n';
        }
        data.close();
        const std::string quoted = "'" + folder.string();
        const std::vector<Json> lines =
            run_itself("train --json --model " + quoted + "' --data " + quoted + "/data.jsonl' --run " + quoted +
                       "/run' --set cache=" + quoted + "/cache' --device cpu --set data.prompts='[\"a\"]'" +
                       " --set validation_samples=0 --batch " + std::to_string(batch) + " --dtype " +
                       std::string(name_of(dtype_)) + " --threads " + std::to_string(arguments_.threads) + " --steps " +
                       std::to_string(arguments_.repeats + warm_up) + " 2>/dev/null");
        std::vector<double> times;
        double peak = 0.0;
        for (const Json& line : lines) {
            if (!line.contains("samples_per_s")) continue;
            peak = std::max(peak, line["peak_bytes"].get<double>() / (1024.0 * 1024.0));
            if (line["step"].get<int>() > warm_up) times.push_back(batch / line["samples_per_s"].get<double>());
        }
        if (times.empty())
            throw Error({.name = "train", .expected = "steps by a process of its own", .found = "a failure of it"});
        report("train_step", "s", std::move(times));
        report("train_peak_rss", "MiB", {peak});
    }

    void bench_tokenizer() {
        if (arguments_.tokenizer.empty() || arguments_.text.empty()) {
            std::cerr << "tokenizer: not measured; name --tokenizer FILE (tokenizer.json) and --text FILE\n";
            return;
        }
        std::ifstream stream(arguments_.text, std::ios::binary);
        std::stringstream buffer;
        buffer << stream.rdbuf();
        const std::string text = buffer.str();
        if (text.empty())
            throw FileError(
                {.name = "--text", .where = arguments_.text.string(), .expected = "a text", .found = "nothing"});
        const double megabytes = static_cast<double>(text.size()) / 1e6;
        std::vector<double> load;
        for (int i = 0; i < arguments_.repeats; ++i)
            load.push_back(seconds([&] { Tokenizer::from_file(arguments_.tokenizer); }));
        const Tokenizer tokenizer = Tokenizer::from_file(arguments_.tokenizer);
        std::vector<TokenId> ids = tokenizer.encode(text, Tokenizer::ControlTokens::as_text);
        std::vector<double> encode;
        std::vector<double> decode;
        for (int i = 0; i < arguments_.repeats && !stop_.stop_requested(); ++i) {
            encode.push_back(megabytes /
                             seconds([&] { ids = tokenizer.encode(text, Tokenizer::ControlTokens::as_text); }));
            decode.push_back(megabytes / seconds([&] { tokenizer.decode(ids, false); }));
        }
        report("tokenizer_load", "s", std::move(load));
        report("tokenizer_encode", "MB/s", std::move(encode));
        report("tokenizer_decode", "MB/s", std::move(decode));
    }

    const BenchArguments& arguments_;
    std::stop_token stop_;
    DType dtype_ = DType::float32;
};

}  // namespace

Command add_bench(CLI::App& parent) {
    auto arguments = std::make_shared<BenchArguments>();
    CLI::App* app = parent.add_subcommand("bench", "Measure speed and memory with random weights");
    std::vector<std::string> names(shape_names().begin(), shape_names().end());
    app->add_option("--shape", arguments->shape, "Sizes of the model")
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    app->add_option("--dtype", arguments->dtypes, "fp32, bf16, fp16 (repeatable)")
        ->check(CLI::IsMember({"fp32", "bf16", "fp16"}))
        ->delimiter(',')
        ->capture_default_str();
    app->add_option("--figures", arguments->figures, "What to measure")
        ->check(CLI::IsMember({"decode", "prefill", "recording", "tower", "tokenizer", "load", "memory", "train"}))
        ->delimiter(',')
        ->capture_default_str();
    app->add_option("--context", arguments->context, "Positions before the first generated token")
        ->check(CLI::Range(1, 32768))
        ->capture_default_str();
    app->add_option("--tokens", arguments->tokens, "Tokens to generate")
        ->check(CLI::Range(1, 8192))
        ->capture_default_str();
    app->add_option("--repeats", arguments->repeats, "Runs of each figure")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app->add_option("--threads", arguments->threads, "CPU threads; 0: all cores")->check(CLI::Range(0, 1024));
    app->add_option("--tokenizer", arguments->tokenizer, "tokenizer.json to measure");
    app->add_option("--text", arguments->text, "Text to tokenise");
    app->add_flag("--json", arguments->json, "One JSON object per figure");
    return {app, [arguments](std::stop_token stop) {
                use_threads(arguments->threads);
                return Bench(*arguments, stop).run();
            }};
}

}  // namespace vitrine::cli
