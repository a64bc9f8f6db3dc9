#include "core/error.h"
#include "core/train/communicator_plug_in.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

namespace vitrine {
namespace {

std::string variable(const char* name) {
    const char* const text = std::getenv(name);
    if (text == nullptr || *text == '\0')
        throw TrainingError({.name = name,
                             .where = "the environment",
                             .expected = "what torchrun puts there",
                             .found = "nothing",
                             .advice = "Start the processes with torchrun --no-python."});
    return text;
}

// Where the processes find one another. torchrun holds a store open itself; where it does not, the first process does.
c10::intrusive_ptr<c10d::Store> meeting_place(const PlugInRequest& request) {
    const std::string port = variable("MASTER_PORT");
    const char* const of_agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
    const bool agent = of_agent != nullptr && std::string_view(of_agent) == "True";
    c10d::TCPStoreOptions options;
    const auto parsed = std::from_chars(port.data(), port.data() + port.size(), options.port);
    if (parsed.ec != std::errc{} || parsed.ptr != port.data() + port.size())
        throw TrainingError({.name = "MASTER_PORT", .where = "the environment", .expected = "a port", .found = port});
    options.isServer = !agent && request.rank == 0;
    options.numWorkers = static_cast<std::size_t>(request.size);
    auto store = c10::make_intrusive<c10d::TCPStore>(variable("MASTER_ADDR"), options);
    // A second attempt of torchrun must not meet the keys of the first.
    const char* const attempt = std::getenv("TORCHELASTIC_RESTART_COUNT");
    return c10::make_intrusive<c10d::PrefixStore>(std::string("vitrine/") + (attempt != nullptr ? attempt : "0"),
                                                  std::move(store));
}

class Nccl final : public Communicator {
public:
    explicit Nccl(const PlugInRequest& request) : request_(request) {
        // LibTorch's own answer to a lost process is to abort this one, without a checkpoint. Here it only takes note.
        setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 1);
        setenv("TORCH_NCCL_ENABLE_MONITORING", "0", 1);
        auto options = c10d::ProcessGroupNCCL::Options::create();
        options->timeout = std::chrono::hours(24 * 365);  // a paused run is waited for
        try {
            group_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(meeting_place(request), request.rank, request.size,
                                                                 std::move(options));
        } catch (const c10::Error& error) {
            fail(error.what_without_backtrace());
        }
    }

    ~Nccl() override {
        try {
            if (whole_ && std::uncaught_exceptions() == 0)
                group_->shutdown();
            else if (group_)
                group_->abort();
        } catch (const std::exception&) {  // the process is about to end, and has its checkpoint
        }
    }

    int rank() const override { return request_.rank; }
    int size() const override { return request_.size; }

    bool sum(at::Tensor values) override {
        TORCH_INTERNAL_ASSERT(values.is_contiguous() && values.scalar_type() == at::kFloat);
        if (!whole_) return false;
        try {
            std::vector<at::Tensor> here{values.to(request_.device)};
            const auto work = group_->allreduce(here);
            const auto done = [&] { return work->isCompleted(); };
            const Waited waited = wait_for_others(request_, done, [&] { return work->exception() != nullptr; });
            if (const auto exception = work->exception()) std::rethrow_exception(exception);
            if (waited != Waited::done) {
                whole_ = false;
                return false;
            }
            work->wait();  // orders what follows on this thread's stream behind the sum
            if (!here.front().is_same(values)) values.copy_(here.front());
            return true;
        } catch (const c10::Error& error) {
            fail(error.what_without_backtrace());
        }
    }

private:
    [[noreturn]] void fail(const std::string& found) {
        whole_ = false;
        throw TrainingError({.name = "NCCL, process " + std::to_string(request_.rank),
                             .expected = "all " + std::to_string(request_.size) + " processes at work",
                             .found = found,
                             .advice = "The run can be resumed from its last checkpoint, with any number of "
                                       "processes."});
    }

    PlugInRequest request_;
    c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
    bool whole_ = true;
};

}  // namespace
}  // namespace vitrine

extern "C" vitrine::Communicator* vitrine_communicator(const vitrine::PlugInRequest& request) {
    return new vitrine::Nccl(request);
}
