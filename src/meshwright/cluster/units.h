#ifndef MESHWRIGHT_CLUSTER_UNITS_H_
#define MESHWRIGHT_CLUSTER_UNITS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

// Quantities as people write them. A number (decimal, optional fraction and exponent) and a unit,
// with or without a space between; unit letters in any case, except that a lower-case "b" behind a
// decimal prefix is refused: "Gb" (bits) and "GB" (bytes) differ by eight. Decimal prefixes (k, M,
// G, T, P) are powers of 1000, binary ones (Ki, Mi, Gi, Ti, Pi) powers of 1024. Negative, infinite
// and not-a-number values are errors.

namespace meshwright {

// "60GiB", "80GB", "1.5 TB", "123" (bytes). Fractions of a byte are rounded.
absl::StatusOr<int64_t> ParseBytes(std::string_view text);
// Bytes per second: "900GB/s", "400Gbit/s", "3.35TB/s", "5e10".
absl::StatusOr<double> ParseBandwidth(std::string_view text);
// Seconds: "30s", "3us", "2min", "1h", "10d", "1.5" (seconds).
absl::StatusOr<double> ParseDuration(std::string_view text);
// Operations per second: "989TFLOPS", "1.2 PFLOP/s", "989e12".
absl::StatusOr<double> ParseFlops(std::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLUSTER_UNITS_H_
