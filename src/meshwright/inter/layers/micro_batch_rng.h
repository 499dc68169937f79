#ifndef MESHWRIGHT_INTER_LAYERS_MICRO_BATCH_RNG_H_
#define MESHWRIGHT_INTER_LAYERS_MICRO_BATCH_RNG_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "meshwright/base/words.h"

namespace meshwright {

// Which random bits a micro-batch gets where a program draws those of all samples at once.
enum class MicroBatchRng : uint8_t {
  kExact,        // its samples' part of the whole batch's
  kIndependent,  // of a generator that cannot make a part (rng-bit-generator): bits of its own, by
                 // a key of its own
};
template <>
inline constexpr auto kWords<MicroBatchRng> = std::to_array<std::string_view>({"exact",
                                                                               "independent"});

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_MICRO_BATCH_RNG_H_
