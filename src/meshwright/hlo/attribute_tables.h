#ifndef MESHWRIGHT_HLO_ATTRIBUTE_TABLES_H_
#define MESHWRIGHT_HLO_ATTRIBUTE_TABLES_H_

#include <string_view>

#include "meshwright/hlo/opcode.h"

// What the tables of attributes share: which opcodes a row is for, and spellings by number.

namespace meshwright {

inline bool Any(Opcode) { return true; }
template <Opcode... kOpcodes>
bool Is(Opcode opcode) {
  return ((opcode == kOpcodes) || ...);
}

// Opcodes that XLA's parser takes these attributes for.
inline bool TakesDimensions(Opcode opcode) {
  return Is<Opcode::kAllGather, Opcode::kAllGatherStart, Opcode::kAllToAll, Opcode::kBroadcast,
            Opcode::kConcatenate, Opcode::kGetDimensionSize, Opcode::kMap, Opcode::kRaggedAllToAll,
            Opcode::kReduce, Opcode::kReduceScatter, Opcode::kReverse, Opcode::kScan,
            Opcode::kSetDimensionSize, Opcode::kSort, Opcode::kTranspose>(opcode);
}
inline bool TakesToApply(Opcode opcode) {
  return Is<Opcode::kAllReduce, Opcode::kAllReduceStart, Opcode::kCall, Opcode::kCustomCall,
            Opcode::kMap, Opcode::kReduce, Opcode::kReduceScatter, Opcode::kReduceWindow,
            Opcode::kScan, Opcode::kScatter, Opcode::kSort>(opcode);
}
constexpr auto IsAsync = Is<Opcode::kAsyncStart, Opcode::kAsyncUpdate, Opcode::kAsyncDone>;
constexpr auto IsDot = Is<Opcode::kDot, Opcode::kRaggedDot>;

// API versions of custom calls. The second is what XLA assumes and does not print.
inline constexpr std::string_view kApiVersions[] = {"", "", "API_VERSION_STATUS_RETURNING",
                                                    "API_VERSION_STATUS_RETURNING_UNIFIED",
                                                    "API_VERSION_TYPED_FFI"};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_ATTRIBUTE_TABLES_H_
