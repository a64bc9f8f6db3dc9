#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

struct Device {
    enum class Kind : std::uint8_t { cpu, cuda };
    Kind kind = Kind::cpu;
    int index = 0;
    bool operator==(const Device&) const = default;
};
std::string name_of(Device device);  // "cpu", "cuda:0"

// "auto" (the first GPU where one can be used, else the CPU), "cpu", "cuda" or "cuda:N". The CUDA half of LibTorch is
// loaded here, the first time a GPU is asked for and a driver is present; nothing links against it. Throws OptionError
// for another word, DeviceError when the GPU cannot be used, saying why.
Device choose_device(std::string_view wanted);

struct DeviceMemory {
    std::uint64_t total = 0;
    std::uint64_t available = 0;  // what a new allocation may take without pushing others out
};
// Of the machine (or of the control group this process lives in), or of the GPU.
DeviceMemory memory_of(Device device);

// How many CPU threads the model may use; 0: as many as this process has cores. The hand-written kernels take all of
// them; LibTorch's own operations stay on the calling thread where those kernels run (its threads spin, and would fight
// with them).
void use_threads(int threads);

// Resident memory of this process, file pages included, in bytes: now and at its peak.
std::uint64_t resident_bytes();
std::uint64_t peak_resident_bytes();

std::string size_text(std::uint64_t bytes);  // "1.24 GB", decimal point in every locale

}  // namespace vitrine
