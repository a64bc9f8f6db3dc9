#include "core/train/communicator.h"

#include "core/error.h"
#include "core/train/communicator_plug_in.h"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

namespace vitrine {
namespace fs = std::filesystem;

namespace {

class Alone final : public Communicator {
public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    bool sum(at::Tensor) override { return true; }
};

// What starts several processes, the variables in which it tells each which one it is, and what then serves it.
struct Launcher {
    const char* name;
    const char* size;
    const char* rank;
    const char* local_rank;
    const char* plug_in;
    bool on_gpus;
};

constexpr Launcher kLaunchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", kMpiPlugIn, false},
    {"mpiexec", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", kMpiPlugIn, false},
    {"torchrun", "WORLD_SIZE", "RANK", "LOCAL_RANK", kNcclPlugIn, true},
};

std::optional<int> number_in(const char* variable) {
    const char* const text = std::getenv(variable);
    if (text == nullptr || *text == '\0') return std::nullopt;
    int number = 0;
    const auto parsed = std::from_chars(text, text + std::strlen(text), number);
    if (parsed.ec != std::errc{} || *parsed.ptr != '\0' || number < 0)
        throw TrainingError(
            {.name = variable, .where = "the environment", .expected = "a whole number", .found = text});
    return number;
}

const Launcher* launcher() {
    for (const Launcher& candidate : kLaunchers)
        if (number_in(candidate.size).value_or(1) > 1) return &candidate;
    return nullptr;
}

std::unique_ptr<Communicator> load_plug_in(const Launcher& by, const PlugInRequest& request) {
    const fs::path file = fs::read_symlink("/proc/self/exe").parent_path() / by.plug_in;
    if (!fs::exists(file))
        throw TrainingError({.name = by.name,
                             .expected = std::string(by.plug_in) + " beside the program",
                             .found = "none: it was built without",
                             .advice = by.on_gpus ? "Install the CUDA build of LibTorch with its NCCL headers, and "
                                                    "run the installer again."
                                                  : "Install libopenmpi-dev and openmpi-bin, and run the installer "
                                                    "again; or start one process only."});
    // MPI is made of plug-ins itself, and these look for its symbols among the global ones.
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* const entry = library != nullptr ? dlsym(library, kPlugInEntry) : nullptr;
    if (entry == nullptr) {
        const char* const reason = dlerror();
        throw TrainingError({.name = by.name,
                             .where = file.string(),
                             .expected = "a library that loads",
                             .found = reason != nullptr ? reason : "unknown reason"});
    }
    return std::unique_ptr<Communicator>(reinterpret_cast<PlugInEntry>(entry)(request));
}

}  // namespace

std::unique_ptr<Communicator> make_communicator(const at::Device& device, std::stop_token stop) {
    const Launcher* const by = launcher();
    if (by == nullptr) return std::make_unique<Alone>();
    const int size = *number_in(by->size);
    const std::optional<int> rank = number_in(by->rank);
    if (!rank || *rank >= size)
        throw TrainingError({.name = by->rank,
                             .where = "the environment",
                             .expected = "a number below " + std::to_string(size) + " (" + by->size + ')',
                             .found = rank ? std::to_string(*rank) : "none"});
    if (by->on_gpus && !device.is_cuda())
        throw TrainingError({.name = by->name,
                             .expected = "a GPU for each of the " + std::to_string(size) + " processes",
                             .found = "a run on the CPU",
                             .advice = "On CPU hosts start them with mpirun -n " + std::to_string(size) + "."});
    return load_plug_in(*by, {.rank = *rank, .size = size, .device = device, .stop = std::move(stop)});
}

int local_rank() {
    const Launcher* const by = launcher();
    return by != nullptr ? number_in(by->local_rank).value_or(0) : 0;
}

}  // namespace vitrine
