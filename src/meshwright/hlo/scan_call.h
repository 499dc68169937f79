#ifndef MESHWRIGHT_HLO_SCAN_CALL_H_
#define MESHWRIGHT_HLO_SCAN_CALL_H_

#include <string_view>

namespace meshwright {

// `chlo.scan` has no counterpart in HLO and is read as a call, of which this is kept in
// `backend_config`, as MLIR writes attributes: the dimension that is scanned, and whether its body
// works element by element.
inline constexpr std::string_view kScanCall = "chlo.scan";
inline constexpr std::string_view kScanDimension = "dimension";
inline constexpr std::string_view kScanIsElementwise = "is_elementwise";

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SCAN_CALL_H_
