// native/sparse_attention/threads.h
// Items of unequal size on ATen's threads.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace opwright::sparse {

// Calls work(index, worker) for each index below `count`, in any order, on at most `threads` threads: each takes the
// next item when it is done with one, so that a long one delays little. A worker is what make() returns for a thread.
// An exception of the work is thrown here.
template <class Make, class Work>
void on_threads(int64_t threads, int64_t count, const Make& make, const Work& work) {
  std::atomic<int64_t> next{0};
  at::parallel_for(0, std::min(threads, count), 1, [&](int64_t, int64_t) {
    auto worker = make();
    for (int64_t index = next++; index < count; index = next++) work(index, worker);
  });
}

}  // namespace opwright::sparse
