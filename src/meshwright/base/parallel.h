#ifndef MESHWRIGHT_BASE_PARALLEL_H_
#define MESHWRIGHT_BASE_PARALLEL_H_

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace meshwright {

// Calls work(thread, i) for i in [0, n), each once, on `threads` threads including this one, which
// is number 0; in no particular order.
template <typename Work>
void ForEachOnThreads(size_t n, size_t threads, const Work& work) {
  std::atomic<size_t> next{0};
  const auto run = [&](size_t thread) {
    for (size_t i = next++; i < n; i = next++) work(thread, i);
  };
  std::vector<std::jthread> helpers;
  for (size_t t = 1; t < threads && t < n; ++t) helpers.emplace_back(run, t);
  run(0);
}

// The same for work that does not ask on which thread it runs.
template <typename Work>
void ForEachParallel(size_t n, int threads, const Work& work) {
  ForEachOnThreads(n, static_cast<size_t>(threads), [&](size_t, size_t i) { work(i); });
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_PARALLEL_H_
