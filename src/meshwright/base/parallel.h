#ifndef MESHWRIGHT_BASE_PARALLEL_H_
#define MESHWRIGHT_BASE_PARALLEL_H_

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace meshwright {

// Calls work(i) for i in [0, n), each once, on `threads` threads including this one; in no
// particular order.
template <typename Work>
void ForEachParallel(size_t n, int threads, const Work& work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i = next++; i < n; i = next++) work(i);
  };
  std::vector<std::thread> helpers;
  for (int t = 1; t < threads && static_cast<size_t>(t) < n; ++t) helpers.emplace_back(run);
  run();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_PARALLEL_H_
