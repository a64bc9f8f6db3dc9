#pragma once

#include "core/train/communicator.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

// Between core and the libraries that speak MPI or NCCL. They stand beside the program and are loaded where a launcher
// asks for them, so that nothing else needs MPI or CUDA to be installed.
namespace vitrine {

inline constexpr char kMpiPlugIn[] = "libvitrine_mpi.so";
inline constexpr char kNcclPlugIn[] = "libvitrine_nccl.so";

struct PlugInRequest {
    int rank = 0, size = 1;  // as the launcher says
    at::Device device;
    std::stop_token stop;
};

// extern "C" in each plug-in; throws TrainingError.
using PlugInEntry = Communicator* (*)(const PlugInRequest& request);
inline constexpr char kPlugInEntry[] = "vitrine_communicator";

enum class Waited : std::uint8_t { done, stopped, gone };

// Waits for the other processes without taking a core from them. `gone` is asked ten times a second. After a stop they
// get a moment to come to the same sum, so that all end at the same step. The first process has a checkpoint to write
// before its launcher loses patience (mpirun: one second), so its moment is short; what it waits for would not be used.
template <typename Done, typename Gone>
Waited wait_for_others(const PlugInRequest& request, Done done, Gone gone) {
    using Clock = std::chrono::steady_clock;
    const auto patience = std::chrono::milliseconds(request.rank == 0 ? 400 : 30'000);
    auto next_look = Clock::now() + std::chrono::milliseconds(100);
    std::optional<Clock::time_point> stopped;
    while (!done()) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        const auto now = Clock::now();
        if (!stopped && request.stop.stop_requested()) stopped = now;
        if (now >= next_look) {
            if (gone()) return Waited::gone;
            next_look = now + std::chrono::milliseconds(100);
        }
        if (stopped && now - *stopped > patience) return Waited::stopped;
    }
    return Waited::done;
}

}  // namespace vitrine
