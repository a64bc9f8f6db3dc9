#pragma once

#include <cstdint>
#include <functional>

// The threads of the hand-written kernels. LibTorch's OpenMP threads spin for milliseconds after every parallel region,
// which makes two busy programs on one machine slow each other tenfold; these wait for some ten microseconds, then
// sleep.
namespace vitrine::kernels {

// How many threads a region may use, the calling one included; at least 1. At the start: as many as this process has
// cores.
void set_num_threads(int threads);
int num_threads();

// Calls body(first, last) for pieces that together make up [begin, end), none smaller than grain unless it is the last,
// on up to num_threads() threads, and returns when all are done. Pieces are dealt out as threads become free. The first
// exception of a body is thrown again here. One region runs at a time: a call from inside a body, or while another
// thread is in a region, does all its work on the calling thread.
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace vitrine::kernels
