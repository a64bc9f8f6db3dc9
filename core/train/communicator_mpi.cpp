#include "core/error.h"
#include "core/train/communicator_plug_in.h"

#include <ATen/ATen.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <vector>

namespace vitrine {
namespace {

constexpr char kKillTimeout[] = "OMPI_MCA_odls_base_sigkill_timeout";  // how Open MPI hands its --mca on
constexpr std::int64_t kPiece = 1 << 24;  // numbers at a time: MPI counts in int, and buffers as much again

// Who a process is, so that others on its host can see whether it lives.
struct Identity {
    std::uint64_t host = 0;  // of the machine since its start and, in a container, of the process ids seen there
    std::int64_t process = 0;
    bool operator==(const Identity&) const = default;
};

Identity identity() {
    std::string host;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), host);
    std::error_code ignored;
    host += std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
    return {std::hash<std::string>{}(host), getpid()};
}

bool is_dead(pid_t process) {
    if (kill(process, 0) != 0) return errno == ESRCH;
    // Dead it may still have a number, until its parent takes note.
    std::string stat;  // "id (name) state ..."
    std::getline(std::ifstream("/proc/" + std::to_string(process) + "/stat"), stat);
    const std::size_t name_end = stat.rfind(')');
    return name_end != std::string::npos && stat.compare(name_end, 3, ") Z") == 0;
}

std::string text_of(int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return {text, static_cast<std::size_t>(length)};
}

class Mpi final : public Communicator {
public:
    explicit Mpi(const PlugInRequest& request) : request_(request) {
        int before = 0, provided = 0, size = 0, rank = 0;
        MPI_Initialized(&before);
        if (before != 0) throw TrainingError({.name = "MPI", .expected = "one run a program", .found = "a second one"});
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (size != request.size || rank != request.rank)
            throw TrainingError({.name = "MPI",
                                 .expected = std::to_string(request.size) + " processes",
                                 .found = std::to_string(size),
                                 .advice = "This program is built with another MPI than the mpirun that started it."});
        processes_.resize(static_cast<std::size_t>(size));
        const Identity self = identity();
        const int code =
            MPI_Allgather(&self, sizeof self, MPI_BYTE, processes_.data(), sizeof self, MPI_BYTE, MPI_COMM_WORLD);
        if (code != MPI_SUCCESS) fail(text_of(code));
    }

    // Finalizing waits for the others. Where that may be in vain this process just ends, and its launcher ends them.
    ~Mpi() override {
        if (whole_ && met_ && std::uncaught_exceptions() == 0) MPI_Finalize();
    }

    int rank() const override { return request_.rank; }
    int size() const override { return request_.size; }

    std::string remark() const override {
        if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr || std::getenv(kKillTimeout) != nullptr) return {};
        return "mpirun kills all processes a second after it told them to stop. Where a step takes longer, its --mca "
               "odls_base_sigkill_timeout 10 gives them the time to save the last step.";
    }

    // Open MPI sums along a fixed schedule that depends on the counts alone, and sends the same bits to everyone.
    bool sum(at::Tensor values) override {
        TORCH_INTERNAL_ASSERT(values.is_contiguous() && values.scalar_type() == at::kFloat);
        if (!whole_) return false;
        at::Tensor here = values.to(at::kCPU);
        for (std::int64_t first = 0; first < here.numel(); first += kPiece) {
            const auto count = static_cast<int>(std::min(kPiece, here.numel() - first));
            if (!sum_piece(here, here.data_ptr<float>() + first, count)) return false;
        }
        if (!here.is_same(values)) values.copy_(here);
        met_ = true;
        return true;
    }

private:
    bool sum_piece(const at::Tensor& owner, float* values, int count) {
        MPI_Request request = MPI_REQUEST_NULL;
        int code = MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
        std::string missing;
        const auto done = [&] {
            int flag = 0;
            if (code == MPI_SUCCESS) code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            return code != MPI_SUCCESS || flag != 0;
        };
        const Waited waited = wait_for_others(request_, done, [&] { return !(missing = dead_process()).empty(); });
        if (waited == Waited::done && code == MPI_SUCCESS) return true;
        // What was begun may still be written by the others: the memory stays until the process ends.
        static std::vector<at::Tensor> abandoned;
        abandoned.push_back(owner);
        whole_ = false;
        // After a stop it is for the first process to say how the run ended.
        if (waited == Waited::stopped || (request_.rank != 0 && request_.stop.stop_requested())) return false;
        fail(missing.empty() ? text_of(code) : missing);
    }

    std::string dead_process() const {
        const auto rank = static_cast<std::size_t>(request_.rank);
        for (std::size_t i = 0; i < processes_.size(); ++i) {
            const auto process = static_cast<pid_t>(processes_[i].process);
            if (i != rank && processes_[i].host == processes_[rank].host && is_dead(process))
                return "process " + std::to_string(i) + " (id " + std::to_string(process) + ") is gone";
        }
        return {};
    }

    [[noreturn]] void fail(const std::string& found) {
        whole_ = false;
        throw TrainingError({.name = "process " + std::to_string(request_.rank),
                             .expected = "all " + std::to_string(request_.size) + " processes at work",
                             .found = found,
                             .advice = "The run can be resumed from its last checkpoint, with any number of "
                                       "processes."});
    }

    PlugInRequest request_;
    std::vector<Identity> processes_;
    bool whole_ = true;  // all are there, as far as this one knows
    bool met_ = false;   // and came to a sum
};

}  // namespace
}  // namespace vitrine

extern "C" vitrine::Communicator* vitrine_communicator(const vitrine::PlugInRequest& request) {
    return new vitrine::Mpi(request);
}
