#include "app/cli/common.h"

#include <pthread.h>

#include <clocale>
#include <csignal>
#include <iostream>
#include <thread>

namespace {

// Ctrl+C asks for a stop; what runs ends within one token and says what it has. A second Ctrl+C ends the program at
// once.
class Interrupt {
public:
    Interrupt() {
        sigemptyset(&signals_);
        sigaddset(&signals_, SIGINT);
        sigaddset(&signals_, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &signals_, nullptr);  // before any other thread, so that all inherit it
        watcher_ = std::jthread([this](std::stop_token quit) {
            const timespec interval{0, 50'000'000};
            while (!quit.stop_requested()) {
                if (sigtimedwait(&signals_, nullptr, &interval) < 0) continue;
                if (!source_.request_stop()) std::_Exit(vitrine::cli::kStopped);
            }
        });
    }
    std::stop_token token() const { return source_.get_token(); }

private:
    sigset_t signals_{};
    std::stop_source source_;
    std::jthread watcher_;
};

}  // namespace

int main(int argc, char** argv) {
    using namespace vitrine;
    CLI::App app{"Vitrine: a see-through vision-language model"};
    app.set_version_flag("--version", "vitrine-cli " VITRINE_VERSION);
    app.require_subcommand(1);
    app.failure_message(CLI::FailureMessage::help);
    const std::vector<cli::Command> commands{cli::add_caption(app), cli::add_chat(app),      cli::add_inspect(app),
                                             cli::add_verify(app),  cli::add_bench(app),     cli::add_init(app),
                                             cli::add_scenes(app),  cli::add_train(app),     cli::add_eval(app),
                                             cli::add_export(app),  cli::add_attention(app), cli::add_ground(app)};
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error, std::cout, std::cerr) == 0 ? cli::kDone : cli::kUsage;
    }

    Interrupt interrupt;
    try {
        for (const cli::Command& command : commands) {
            if (command.app->parsed()) return command.run(interrupt.token());
        }
    } catch (const OptionError& error) {
        cli::print_error(error);
        return cli::kUsage;
    } catch (const InputError& error) {
        cli::print_error(error);
        return cli::kInputFault;
    } catch (const Error& error) {
        cli::print_error(error);
        return cli::kMachineFault;
    } catch (const std::bad_alloc&) {
        std::cerr << "vitrine-cli: not enough memory\n";
        return cli::kMachineFault;
    } catch (const std::exception& error) {
        cli::print_error(error);
        return cli::kInputFault;
    }
    return cli::kUsage;
}
