#ifndef MESHWRIGHT_HLO_OPCODE_H_
#define MESHWRIGHT_HLO_OPCODE_H_

#include <optional>
#include <string_view>

namespace meshwright {

// What opcodes have in common that tell no more.
enum class OpcodeClass {
  // All operands and the result have the same dimensions, each element by itself.
  kElementwise,
  kCollective,  // with start and done forms
  kOther,
};

// Every opcode of XLA (xla/hlo/ir/hlo_opcode.h): enumerator, HLO spelling, number of operands
// (-1: any number), class. New ones come last: fingerprints of profile databases have their
// numbers.
#define MESHWRIGHT_OPCODES(V)                                             \
  V(kAbs, "abs", 1, kElementwise)                                         \
  V(kAcos, "acos", 1, kElementwise)                                       \
  V(kAcosh, "acosh", 1, kElementwise)                                     \
  V(kAdd, "add", 2, kElementwise)                                         \
  V(kAddDependency, "add-dependency", 2, kOther)                          \
  V(kAfterAll, "after-all", -1, kOther)                                   \
  V(kAllGather, "all-gather", -1, kCollective)                            \
  V(kAllGatherDone, "all-gather-done", 1, kCollective)                    \
  V(kAllGatherStart, "all-gather-start", -1, kCollective)                 \
  V(kAllReduce, "all-reduce", -1, kCollective)                            \
  V(kAllReduceDone, "all-reduce-done", 1, kCollective)                    \
  V(kAllReduceStart, "all-reduce-start", -1, kCollective)                 \
  V(kAllToAll, "all-to-all", -1, kCollective)                             \
  V(kAnd, "and", 2, kElementwise)                                         \
  V(kAsin, "asin", 1, kElementwise)                                       \
  V(kAsinh, "asinh", 1, kElementwise)                                     \
  V(kAsyncDone, "async-done", 1, kOther)                                  \
  V(kAsyncStart, "async-start", -1, kOther)                               \
  V(kAsyncUpdate, "async-update", 1, kOther)                              \
  V(kAtan2, "atan2", 2, kElementwise)                                     \
  V(kAtanh, "atanh", 1, kElementwise)                                     \
  V(kBatchNormGrad, "batch-norm-grad", 5, kOther)                         \
  V(kBatchNormInference, "batch-norm-inference", 5, kOther)               \
  V(kBatchNormTraining, "batch-norm-training", 3, kOther)                 \
  V(kBitcast, "bitcast", 1, kOther)                                       \
  V(kBitcastConvert, "bitcast-convert", 1, kOther)                        \
  V(kBroadcast, "broadcast", 1, kOther)                                   \
  V(kCall, "call", -1, kOther)                                            \
  V(kCbrt, "cbrt", 1, kElementwise)                                       \
  V(kCeil, "ceil", 1, kElementwise)                                       \
  V(kCholesky, "cholesky", 1, kOther)                                     \
  V(kClamp, "clamp", 3, kElementwise)                                     \
  V(kClz, "count-leading-zeros", 1, kElementwise)                         \
  V(kCollectiveBroadcast, "collective-broadcast", -1, kCollective)        \
  V(kCollectivePermute, "collective-permute", -1, kCollective)            \
  V(kCollectivePermuteDone, "collective-permute-done", 1, kCollective)    \
  V(kCollectivePermuteStart, "collective-permute-start", -1, kCollective) \
  V(kCompare, "compare", 2, kElementwise)                                 \
  V(kComplex, "complex", 2, kElementwise)                                 \
  V(kConcatenate, "concatenate", -1, kOther)                              \
  V(kConditional, "conditional", -1, kOther)                              \
  V(kConstant, "constant", 0, kOther)                                     \
  V(kConvert, "convert", 1, kElementwise)                                 \
  V(kConvolution, "convolution", 2, kOther)                               \
  V(kCopy, "copy", 1, kElementwise)                                       \
  V(kCopyDone, "copy-done", 1, kOther)                                    \
  V(kCopyStart, "copy-start", 1, kOther)                                  \
  V(kCos, "cosine", 1, kElementwise)                                      \
  V(kCosh, "cosh", 1, kElementwise)                                       \
  V(kCustomCall, "custom-call", -1, kOther)                               \
  V(kDivide, "divide", 2, kElementwise)                                   \
  V(kDomain, "domain", 1, kOther)                                         \
  V(kDot, "dot", 2, kOther)                                               \
  V(kDynamicReshape, "dynamic-reshape", -1, kOther)                       \
  V(kDynamicSlice, "dynamic-slice", -1, kOther)                           \
  V(kDynamicUpdateSlice, "dynamic-update-slice", -1, kOther)              \
  V(kErf, "erf", 1, kElementwise)                                         \
  V(kExp, "exponential", 1, kElementwise)                                 \
  V(kExpm1, "exponential-minus-one", 1, kElementwise)                     \
  V(kFft, "fft", 1, kOther)                                               \
  V(kFloor, "floor", 1, kElementwise)                                     \
  V(kFusion, "fusion", -1, kOther)                                        \
  V(kGather, "gather", 2, kOther)                                         \
  V(kGetDimensionSize, "get-dimension-size", 1, kOther)                   \
  V(kGetTupleElement, "get-tuple-element", 1, kOther)                     \
  V(kImag, "imag", 1, kElementwise)                                       \
  V(kInfeed, "infeed", 1, kOther)                                         \
  V(kIota, "iota", 0, kOther)                                             \
  V(kIsFinite, "is-finite", 1, kElementwise)                              \
  V(kLog, "log", 1, kElementwise)                                         \
  V(kLog1p, "log-plus-one", 1, kElementwise)                              \
  V(kLogistic, "logistic", 1, kElementwise)                               \
  V(kMap, "map", -1, kElementwise)                                        \
  V(kMaximum, "maximum", 2, kElementwise)                                 \
  V(kMinimum, "minimum", 2, kElementwise)                                 \
  V(kMultiply, "multiply", 2, kElementwise)                               \
  V(kNegate, "negate", 1, kElementwise)                                   \
  V(kNot, "not", 1, kElementwise)                                         \
  V(kOptimizationBarrier, "opt-barrier", 1, kOther)                       \
  V(kOr, "or", 2, kElementwise)                                           \
  V(kOutfeed, "outfeed", 2, kOther)                                       \
  V(kPad, "pad", 2, kOther)                                               \
  V(kParameter, "parameter", 0, kOther)                                   \
  V(kPartitionId, "partition-id", 0, kOther)                              \
  V(kPopulationCount, "popcnt", 1, kElementwise)                          \
  V(kPower, "power", 2, kElementwise)                                     \
  V(kRaggedAllToAll, "ragged-all-to-all", -1, kCollective)                \
  V(kRaggedDot, "ragged-dot", 3, kOther)                                  \
  V(kReal, "real", 1, kElementwise)                                       \
  V(kRecv, "recv", -1, kOther)                                            \
  V(kRecvDone, "recv-done", 1, kOther)                                    \
  V(kReduce, "reduce", -1, kOther)                                        \
  V(kReducePrecision, "reduce-precision", 1, kElementwise)                \
  V(kReduceScatter, "reduce-scatter", -1, kCollective)                    \
  V(kReduceWindow, "reduce-window", -1, kOther)                           \
  V(kRemainder, "remainder", 2, kElementwise)                             \
  V(kReplicaId, "replica-id", 0, kOther)                                  \
  V(kReshape, "reshape", 1, kOther)                                       \
  V(kReverse, "reverse", 1, kOther)                                       \
  V(kRng, "rng", -1, kOther)                                              \
  V(kRngBitGenerator, "rng-bit-generator", 1, kOther)                     \
  V(kRngGetAndUpdateState, "rng-get-and-update-state", 0, kOther)         \
  V(kRoundNearestAfz, "round-nearest-afz", 1, kElementwise)               \
  V(kRoundNearestEven, "round-nearest-even", 1, kElementwise)             \
  V(kRsqrt, "rsqrt", 1, kElementwise)                                     \
  V(kScan, "scan", -1, kOther)                                            \
  V(kScatter, "scatter", -1, kOther)                                      \
  V(kSelect, "select", 3, kElementwise)                                   \
  V(kSelectAndScatter, "select-and-scatter", 3, kOther)                   \
  V(kSend, "send", -1, kOther)                                            \
  V(kSendDone, "send-done", 1, kOther)                                    \
  V(kSetDimensionSize, "set-dimension-size", 2, kOther)                   \
  V(kShiftLeft, "shift-left", 2, kElementwise)                            \
  V(kShiftRightArithmetic, "shift-right-arithmetic", 2, kElementwise)     \
  V(kShiftRightLogical, "shift-right-logical", 2, kElementwise)           \
  V(kSign, "sign", 1, kElementwise)                                       \
  V(kSin, "sine", 1, kElementwise)                                        \
  V(kSinh, "sinh", 1, kElementwise)                                       \
  V(kSlice, "slice", 1, kOther)                                           \
  V(kSort, "sort", -1, kOther)                                            \
  V(kSqrt, "sqrt", 1, kElementwise)                                       \
  V(kStochasticConvert, "stochastic-convert", 2, kElementwise)            \
  V(kSubtract, "subtract", 2, kElementwise)                               \
  V(kTan, "tan", 1, kElementwise)                                         \
  V(kTanh, "tanh", 1, kElementwise)                                       \
  V(kTopK, "topk", 1, kOther)                                             \
  V(kTranspose, "transpose", 1, kOther)                                   \
  V(kTriangularSolve, "triangular-solve", 2, kOther)                      \
  V(kTuple, "tuple", -1, kOther)                                          \
  V(kWhile, "while", 1, kOther)                                           \
  V(kXor, "xor", 2, kElementwise)                                         \
  V(kMulhi, "mulhi", 2, kElementwise)

enum class Opcode {
#define MESHWRIGHT_OPCODE_ENUM(name, text, arity, opcode_class) name,
  MESHWRIGHT_OPCODES(MESHWRIGHT_OPCODE_ENUM)
#undef MESHWRIGHT_OPCODE_ENUM
};

#define MESHWRIGHT_OPCODE_COUNT(name, text, arity, opcode_class) +1
inline constexpr int kOpcodeCount = 0 MESHWRIGHT_OPCODES(MESHWRIGHT_OPCODE_COUNT);
#undef MESHWRIGHT_OPCODE_COUNT

// HLO's spelling, e.g. "dynamic-slice".
std::string_view OpcodeName(Opcode opcode);
// Inverse of OpcodeName. The printed async forms `X-start`, `X-update` and `X-done` that have no
// opcode of their own (`fusion-start`, `all-to-all-done`, ...) are not found here: the reader maps
// them to kAsyncStart, kAsyncUpdate and kAsyncDone.
std::optional<Opcode> OpcodeFromName(std::string_view name);
// Fixed number of operands, or -1.
int OpcodeArity(Opcode opcode);
// One operand in, same dimensions out, each element by itself (abs, convert, negate, ...).
bool IsElementwiseUnary(Opcode opcode);
// All operands and the result have the same dimensions, each element by itself, any number of
// operands (add, select, clamp with arrays, map over dimension 0..n-1, ...). Includes the unary
// ones.
bool IsElementwise(Opcode opcode);
// all-reduce, all-gather, reduce-scatter, all-to-all, collective-permute, collective-broadcast,
// ragged-all-to-all and their start and done forms.
bool IsCollective(Opcode opcode);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_OPCODE_H_
