#include "app/cli/common.h"
#include "core/train/model_writer.h"

#include <iostream>

namespace vitrine::cli {

Command add_export(CLI::App& parent) {
    struct Arguments {
        std::filesystem::path model, out;
        std::string dtype = "bf16";
        std::string name, about;
    };
    auto arguments = std::make_shared<Arguments>();
    CLI::App* app = parent.add_subcommand("export", "Copy a model, all of its parts, into one folder to give away");
    app->add_option("model", arguments->model, "Model folder, for example RUN/model")->required();
    app->add_option("--out", arguments->out, "Folder to write: new or empty")->required();
    app->add_option("--dtype", arguments->dtype, "Of the towers' weights: fp32, bf16 or fp16")->capture_default_str();
    app->add_option("--name", arguments->name, "Name of the copy");
    app->add_option("--about", arguments->about, "What it can and cannot do, for people");
    return {app, [arguments](std::stop_token) {
                ModelFolder model = ModelFolder::open(arguments->model);
                if (!arguments->name.empty()) model.name = arguments->name;
                if (!arguments->about.empty()) model.about = arguments->about;
                export_model(model, parse_dtype(arguments->dtype).value_or(DType::bfloat16),
                             arguments->out.lexically_normal());
                std::cerr << "Wrote " << arguments->out.string() << '\n';
                return static_cast<int>(kDone);
            }};
}

}  // namespace vitrine::cli
