#include "core/model/verify.h"

#include "app/cli/common.h"
#include "core/device.h"

#include <iomanip>
#include <iostream>

namespace vitrine::cli {
namespace {

struct VerifyArguments {
    ModelFlags model;
    std::filesystem::path reference;
};

std::string scientific(double value) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << std::scientific << std::setprecision(2) << value;
    return text.str();
}

void print_stage(const StageComparison& stage, bool json) {
    if (json) {
        Json line{{"stage", stage.stage}, {"max_abs", stage.max_abs}, {"mean_abs", stage.mean_abs}, {"ok", stage.ok}};
        if (stage.tolerance > 0.0) line["tolerance"] = stage.tolerance;
        if (stage.agreement >= 0.0) {
            line["argmax_agreement"] = stage.agreement;
            line["sure_positions"] = stage.sure_positions;
        }
        print_line(line);
        return;
    }
    std::cout << std::left << std::setw(28) << stage.stage << "max " << scientific(stage.max_abs) << "  mean "
              << scientific(stage.mean_abs);
    if (stage.tolerance > 0.0) std::cout << "  of " << scientific(stage.tolerance);
    if (stage.agreement >= 0.0)
        std::cout << "  same argmax " << fixed(stage.agreement * 100.0, 1) << " % of " << stage.sure_positions;
    std::cout << (stage.ok ? "  ok" : "  DIFFERS") << std::endl;
}

int run_verify(const VerifyArguments& arguments) {
    use_threads(arguments.model.threads);
    const Device device = choose_device(arguments.model.device);
    const WeightTarget target{scalar_type(parse_dtype(arguments.model.dtype).value_or(DType::float32)),
                              torch_device(device)};
    const Verification verification =
        verify(arguments.model.model_folder(), arguments.reference, target,
               [&](const StageComparison& stage) { print_stage(stage, arguments.model.json); });
    if (arguments.model.json) {
        print_line({{"ok", verification.ok()},
                    {"worst", verification.worst},
                    {"first_difference", verification.first_difference}});
    } else if (verification.ok()) {
        std::cout << "All " << verification.stages.size() << " stages agree; the furthest off is " << verification.worst
                  << '\n';
    } else {
        std::cout << "The first stage that differs is " << verification.first_difference << '\n';
    }
    return verification.ok() ? kDone : kInputFault;
}

}  // namespace

Command add_verify(CLI::App& parent) {
    auto arguments = std::make_shared<VerifyArguments>();
    CLI::App* app = parent.add_subcommand("verify", "Hold a model against reference activations, stage by stage");
    arguments->model.add_to(*app);
    app->add_option("--reference", arguments->reference, "safetensors file with inputs and activations")->required();
    return {app, [arguments](std::stop_token) { return run_verify(*arguments); }};
}

}  // namespace vitrine::cli
