#ifndef MESHWRIGHT_TESTS_PUBLISHED_NERSC_SAMPLES_H_
#define MESHWRIGHT_TESTS_PUBLISHED_NERSC_SAMPLES_H_

#include "meshwright/published/nersc/nersc.h"

namespace meshwright::transformer::nersc {

inline Model SmallModel() {
  return {.sequence = 1024, .embedding = 1536, .heads = 12, .layers = 6, .hidden = 4096};
}

inline System SmallSystem(int64_t nvlink_size = 4) {
  System system = *PublishedSystem("A100", nvlink_size);
  system.hbm_gb = 2;
  return system;
}

inline constexpr Strategy kStrategies[] = {Strategy::k1d, Strategy::kSumma, Strategy::kSequence};

}  // namespace meshwright::transformer::nersc

#endif  // MESHWRIGHT_TESTS_PUBLISHED_NERSC_SAMPLES_H_
