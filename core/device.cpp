#include "core/device.h"

#include "core/error.h"
#include "core/kernels/linear.h"
#include "core/kernels/thread_pool.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <mutex>
#include <sstream>

namespace vitrine {
namespace {

// Loads LibTorch's CUDA half once; afterwards its operators are registered. Returns why it cannot be used, or nothing.
const std::string& cuda_fault() {
    static std::string fault;
    static std::once_flag once;
    std::call_once(once, [] {
        if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL) == nullptr) {
            fault = "no NVIDIA driver is installed";
        } else if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
            const char* reason = dlerror();
            fault = std::string("LibTorch's CUDA libraries do not load: ") +
                    (reason != nullptr ? reason : "unknown reason");
        } else if (!at::hasCUDA() || at::detail::getCUDAHooks().deviceCount() == 0) {
            fault = "the driver sees no GPU";
        }
    });
    return fault;
}

std::uint64_t field_of(const char* file, std::string_view key) {  // "MemAvailable:   123 kB" -> bytes
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        if (!line.starts_with(key)) continue;
        std::istringstream words(line.substr(key.size()));
        words.imbue(std::locale::classic());
        std::uint64_t kilobytes = 0;
        words >> kilobytes;
        return kilobytes * 1024;
    }
    return 0;
}

std::uint64_t number_in(const char* file) {  // 0 when absent or "max"
    std::ifstream stream(file);
    stream.imbue(std::locale::classic());
    std::uint64_t value = 0;
    return stream >> value ? value : 0;
}

DeviceMemory machine_memory() {
    DeviceMemory memory{field_of("/proc/meminfo", "MemTotal:"), field_of("/proc/meminfo", "MemAvailable:")};
    const std::uint64_t limit = number_in("/sys/fs/cgroup/memory.max");
    if (limit != 0 && limit < memory.total) {
        const std::uint64_t used = number_in("/sys/fs/cgroup/memory.current");
        memory.total = limit;
        memory.available = std::min(memory.available, limit > used ? limit - used : 0);
    }
    return memory;
}

}  // namespace

std::string name_of(Device device) {
    return device.kind == Device::Kind::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

Device choose_device(std::string_view wanted) {
    if (wanted == "cpu") return {};
    if (wanted == "auto") return cuda_fault().empty() ? Device{Device::Kind::cuda, 0} : Device{};
    int index = 0;
    const std::string_view digits = wanted.starts_with("cuda:") ? wanted.substr(5) : "";
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    const bool numbered =
        !digits.empty() && parsed.ec == std::errc{} && parsed.ptr == digits.data() + digits.size() && index >= 0;
    if (wanted != "cuda" && !numbered) {
        throw OptionError({.name = "--device", .expected = "auto, cpu, cuda or cuda:N", .found = std::string(wanted)});
    }
    if (!cuda_fault().empty()) {
        throw DeviceError({.name = "--device " + std::string(wanted),
                           .expected = "a usable NVIDIA GPU",
                           .found = cuda_fault(),
                           .advice = "Use --device cpu, or install the driver and run the installer again."});
    }
    const int count = at::detail::getCUDAHooks().deviceCount();
    if (index >= count) {
        throw DeviceError({.name = "--device " + std::string(wanted),
                           .expected = "an index below " + std::to_string(count),
                           .found = std::to_string(index),
                           .advice = "This machine has " + std::to_string(count) + " GPU(s)."});
    }
    return {Device::Kind::cuda, index};
}

DeviceMemory memory_of(Device device) {
    if (device.kind == Device::Kind::cpu) return machine_memory();
    // The CUDA run time is a dependency of torch_cpu, so its symbols are at hand without linking it.
    using SetDevice = int (*)(int);
    using MemGetInfo = int (*)(std::size_t*, std::size_t*);
    const auto set_device = reinterpret_cast<SetDevice>(dlsym(RTLD_DEFAULT, "cudaSetDevice"));
    const auto mem_get_info = reinterpret_cast<MemGetInfo>(dlsym(RTLD_DEFAULT, "cudaMemGetInfo"));
    std::size_t available = 0;
    std::size_t total = 0;
    if (set_device == nullptr || mem_get_info == nullptr || set_device(device.index) != 0 ||
        mem_get_info(&available, &total) != 0) {
        throw DeviceError({.name = name_of(device),
                           .expected = "an answer to how much memory is free",
                           .found = "an error of the CUDA run time"});
    }
    return {total, available};
}

void use_threads(int threads) {
    if (threads > 0) kernels::set_num_threads(threads);
    at::set_num_threads(kernels::available() ? 1 : kernels::num_threads());
}

std::uint64_t resident_bytes() {
    return field_of("/proc/self/status", "VmRSS:");
}
std::uint64_t peak_resident_bytes() {
    return field_of("/proc/self/status", "VmHWM:");
}

std::string size_text(std::uint64_t bytes) {
    constexpr std::array<const char*, 5> units{"B", "kB", "MB", "GB", "TB"};
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < units.size()) {
        value /= 1000.0;
        ++unit;
    }
    std::array<char, 32> digits{};
    const int precision = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, precision);
    return std::string(digits.data(), end.ptr) + " " + units[unit];
}

}  // namespace vitrine
