#ifndef MESHWRIGHT_REQUEST_ASKED_OF_RUN_H_
#define MESHWRIGHT_REQUEST_ASKED_OF_RUN_H_

#include <string>

#include "meshwright/published/runs/runs.h"
#include "meshwright/request/plan_options.h"

namespace meshwright {

// What `plan` is asked so that it costs exactly what was run, and so predicts the same seconds and
// bytes as `reproduce runs`, whether it fits or not.
struct AskedRun {
  std::string model;        // a built-in name, or "-"
  std::string description;  // what standard input holds then; else empty
  AskedOptions asked;
};
AskedRun AskedOfRun(const transformer::Run& run);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_ASKED_OF_RUN_H_
