#include "app/cli/common.h"
#include "core/model/random_model.h"
#include "core/train/dataset.h"

#include <iostream>

namespace vitrine::cli {

Command add_init(CLI::App& parent) {
    struct Arguments {
        std::string shape = "demo";
        std::string dtype = "bf16";
        std::uint64_t seed = 0;
        std::filesystem::path out;
        std::filesystem::path corpus;
    };
    auto arguments = std::make_shared<Arguments>();
    CLI::App* app = parent.add_subcommand("init", "Write a model folder with random weights");
    std::vector<std::string> names(shape_names().begin(), shape_names().end());
    app->add_option("--shape", arguments->shape, "Sizes of the model")
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    app->add_option("--dtype", arguments->dtype, "fp32, bf16 or fp16")->capture_default_str();
    app->add_option("--seed", arguments->seed, "Seed of the weights")->capture_default_str();
    app->add_option("--corpus", arguments->corpus, "Data set whose words the tokenizer learns");
    app->add_option("--out", arguments->out, "Folder to write")->required();
    return {app, [arguments](std::stop_token stop) {
                std::vector<std::string> texts;
                if (!arguments->corpus.empty()) {
                    const auto dataset = open_dataset(arguments->corpus, {}, {}, stop);
                    if (!dataset) return static_cast<int>(kStopped);
                    for (std::size_t i = 0; i < dataset->size(); ++i)
                        for (const Message& message : dataset->sample(i).messages) texts.push_back(message.text);
                }
                write_random_model(shape_by_name(arguments->shape),
                                   parse_dtype(arguments->dtype).value_or(DType::bfloat16), arguments->seed,
                                   arguments->out.lexically_normal(), texts);
                std::cerr << "Wrote " << arguments->out.string() << " (random weights)\n";
                return static_cast<int>(kDone);
            }};
}

}  // namespace vitrine::cli
