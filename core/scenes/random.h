#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace vitrine::scenes {

// What is drawn for one scene at several places must not hang together.
enum class Stream : std::uint64_t { layout, noise, words };

// SplitMix64 (Steele, Lea, Flood 2014) with its own distributions, so that a seed gives the same numbers on every
// machine; the standard library's distributions differ from one implementation to the next.
class Random {
public:
    explicit Random(std::uint64_t seed, std::uint64_t index = 0, Stream stream = Stream::layout)
        : state_(mix(mix(mix(seed) + index) + static_cast<std::uint64_t>(stream))) {}

    std::uint64_t next() { return mix(std::exchange(state_, state_ + kIncrement)); }
    std::size_t below(std::size_t count) {  // [0, count); count below 2^32
        return static_cast<std::size_t>(((next() >> 32) * count) >> 32);
    }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
    double uniform(double low, double high) { return low + (high - low) * uniform(); }
    bool chance(double probability) { return uniform() < probability; }

    template <class Items>
    const auto& pick(const Items& items) {
        return std::span(items)[below(std::size(items))];
    }
    template <class Items>
    void shuffle(Items& items) {
        for (std::size_t left = std::size(items); left > 1; --left) std::swap(items[left - 1], items[below(left)]);
    }

private:
    static constexpr std::uint64_t kIncrement = 0x9E3779B97F4A7C15;
    static constexpr std::uint64_t mix(std::uint64_t z) {
        z += kIncrement;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }

    std::uint64_t state_;
};

}  // namespace vitrine::scenes
