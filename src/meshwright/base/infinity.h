#ifndef MESHWRIGHT_BASE_INFINITY_H_
#define MESHWRIGHT_BASE_INFINITY_H_

#include <limits>

namespace meshwright {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_INFINITY_H_
