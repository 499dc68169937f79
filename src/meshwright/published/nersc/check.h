#ifndef MESHWRIGHT_PUBLISHED_NERSC_CHECK_H_
#define MESHWRIGHT_PUBLISHED_NERSC_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "meshwright/published/nersc/nersc.h"

// What the model can be asked, bounded so that no integer overflows and no sum is infinite.

namespace meshwright::transformer::nersc {

inline constexpr int64_t kMostSize = int64_t{1} << 30;  // of any dimension, degree or batch

// "<what> is <value>, expected an integer from <least> to <most>".
absl::Status CheckInteger(std::string_view what, int64_t value, int64_t least, int64_t most);

// The model and the system as well.
absl::Status CheckConfig(const Model& model, const System& system, Strategy strategy,
                         const Config& config, int64_t global_batch);

}  // namespace meshwright::transformer::nersc

#endif  // MESHWRIGHT_PUBLISHED_NERSC_CHECK_H_
