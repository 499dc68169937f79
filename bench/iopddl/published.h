#ifndef MESHWRIGHT_BENCH_IOPDDL_PUBLISHED_H_
#define MESHWRIGHT_BENCH_IOPDDL_PUBLISHED_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace meshwright {

// What is known of a contest instance; costs in its own unit.
struct Published {
  std::optional<int64_t> best_in_contest, best, bound;
  std::string source;
};

// By name of the problem, from lines "name,best_in_contest,best_published,bound_published,source".
// Lines that start with # and the line of titles are skipped. Errors name file and line.
absl::StatusOr<std::map<std::string, Published>> ReadPublished(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_BENCH_IOPDDL_PUBLISHED_H_
