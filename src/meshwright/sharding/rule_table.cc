#include "meshwright/sharding/rule_table.h"

#include <utility>

#include "meshwright/sharding/rule_builders.h"

namespace meshwright {
namespace {

// Operators of the graph that stand for no single instruction.
void BuildStructural(OpKind kind, RuleBuilder& builder) {
  switch (kind) {
    case OpKind::kLoopParameter:
    case OpKind::kLoopExit:
      return rules::Source(builder);
    case OpKind::kSelectBranch:
      return rules::Join(builder);
    case OpKind::kOutput:
      return rules::Sink(builder);
    case OpKind::kInstruction:
      break;
  }
  rules::Unknown(builder);
}

}  // namespace

const std::vector<RuleRow>& RuleTable() {
  // Sorted by enumerator; the test of the table checks that no opcode is missing or out of place.
  static const auto* const table = new std::vector<RuleRow>{
      {Opcode::kAbs, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kAcos, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kAcosh, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kAdd, rules::LinearSum, "([i,j]+,[i,j]+)->[i,j]+",
       "unreduced operands give an unreduced result"},
      {Opcode::kAddDependency, rules::Forward, "([i,j],[])->[i,j]", ""},
      {Opcode::kAfterAll, rules::Whole, "(...)->[]", ""},
      {Opcode::kAllGather, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kAllGatherDone, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kAllGatherStart, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kAllReduce, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kAllReduceDone, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kAllReduceStart, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kAllToAll, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kAnd, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kAsin, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kAsinh, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kAsyncDone, rules::Unknown, "", "part of a compiled schedule"},
      {Opcode::kAsyncStart, rules::Unknown, "", "part of a compiled schedule"},
      {Opcode::kAsyncUpdate, rules::Unknown, "", "part of a compiled schedule"},
      {Opcode::kAtan2, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kAtanh, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kBatchNormGrad, rules::BatchNormGrad, "([W,c],[c],[c],[c],[W,c])->([W,c],[c],[c])",
       ""},
      {Opcode::kBatchNormInference, rules::BatchNormInference, "([i,c],[c],[c],[c],[c])->[i,c]",
       ""},
      {Opcode::kBatchNormTraining, rules::BatchNormTraining, "([W,c],[c],[c])->([W,c],[c],[c])",
       ""},
      {Opcode::kBitcast, rules::Bitcast, "([i j,k])->[i,j k]",
       "a reshape of the dimensions as they lie in memory"},
      {Opcode::kBitcastConvert, rules::BitcastConvert, "([i,j])->[i,j,W]",
       "W: what one element splits into"},
      {Opcode::kBroadcast, rules::Broadcast, "([i])->[i,j]", ""},
      {Opcode::kCall, rules::Unknown, "", "opened when the graph is built"},
      {Opcode::kCbrt, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kCeil, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kCholesky, rules::Cholesky, "([b,W,W])->[b,W,W]", ""},
      {Opcode::kClamp, rules::Elementwise, "([i,j],[i,j],[i,j])->[i,j]",
       "the bounds may be scalars"},
      {Opcode::kClz, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kCollectiveBroadcast, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kCollectivePermute, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kCollectivePermuteDone, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kCollectivePermuteStart, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kCompare, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kComplex, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kConcatenate, rules::Concatenate, "([i,W],[i,W],...)->[i,W]", ""},
      {Opcode::kConditional, rules::Unknown, "", "opened when the graph is built"},
      {Opcode::kConstant, rules::Source, "()->[i,j]", ""},
      {Opcode::kConvert, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kConvolution, rules::Convolution, "([b,g i,H],[i,g o,K])->[b,g o,H]  i:sum",
       "g: feature or batch groups; 1x1 windows shard space, windows as large as the "
       "input contract it"},
      {Opcode::kCopy, rules::Forward, "([i,j])->[i,j]", ""},
      {Opcode::kCopyDone, rules::Unknown, "", "part of a compiled schedule"},
      {Opcode::kCopyStart, rules::Unknown, "", "part of a compiled schedule"},
      {Opcode::kCos, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kCosh, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kCustomCall, rules::CustomCall, "([i,j])->[i,j]",
       "by the sdy.sharding_rule that comes with it, else by its target (below)"},
      {Opcode::kDivide, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kDomain, rules::Forward, "([i,j])->[i,j]", ""},
      {Opcode::kDot, rules::Dot, "([b,m,k],[b,k,n])->[b,m,n]  k:sum",
       "any number of dimensions of each kind"},
      {Opcode::kDynamicReshape, rules::Reshape, "([i j,k],...)->[i,j k]", ""},
      {Opcode::kDynamicSlice, rules::DynamicSlice, "([i,W],[],...)->[i,W]", "i: taken whole"},
      {Opcode::kDynamicUpdateSlice, rules::DynamicUpdateSlice, "([i,W],[i,W],[],...)->[i,W]",
       "i: replaced whole"},
      {Opcode::kErf, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kExp, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kExpm1, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kFft, rules::Fft, "([i,W])->[i,W]", "W: transformed"},
      {Opcode::kFloor, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kFusion, rules::Unknown, "", "opened when the graph is built"},
      {Opcode::kGather, rules::Gather, "([b,v,o],[b,i,W])->[b,i,o]  v:sum",
       "v: indexed one element at a time, looked up where it is"},
      {Opcode::kGetDimensionSize, rules::Whole, "([W])->[]", ""},
      {Opcode::kGetTupleElement, rules::Unknown, "", "opened when the graph is built"},
      {Opcode::kImag, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kInfeed, rules::Unknown, "", "talks to the host or to one other device"},
      {Opcode::kIota, rules::Source, "()->[i,j]", "each device counts from its own offset"},
      {Opcode::kIsFinite, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kLog, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kLog1p, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kLogistic, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kMap, rules::Elementwise, "([i,j],...)->[i,j]", ""},
      {Opcode::kMaximum, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kMinimum, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kMultiply, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kNegate, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kNot, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kOptimizationBarrier, rules::Forward, "([i,j])->[i,j]", ""},
      {Opcode::kOr, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kOutfeed, rules::Unknown, "", "talks to the host or to one other device"},
      {Opcode::kPad, rules::Pad, "([i,W],[])->[i,W]", "i: not padded"},
      {Opcode::kParameter, rules::Source, "()->[i,j]", ""},
      {Opcode::kPartitionId, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kPopulationCount, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kPower, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kRaggedAllToAll, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kRaggedDot, rules::RaggedDot, "([b,m,k],[b,g,k,n],[W])->[b,m,n]  k:sum g:sum",
       "groups of rows; groups of what is contracted: ([b,m,k],[b,k,n],[W])->[g,b,m,n]  k:sum; of "
       "a "
       "batch: dot's"},
      {Opcode::kReal, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kRecv, rules::Unknown, "", "talks to the host or to one other device"},
      {Opcode::kRecvDone, rules::Unknown, "", "talks to the host or to one other device"},
      {Opcode::kReduce, rules::Reduce, "([i,k],[])->[i]  k:sum, product, max, min, and, or",
       "k stays replicated for any other body"},
      {Opcode::kReducePrecision, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kReduceScatter, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kReduceWindow, rules::ReduceWindow, "([i,W],[])->[i,W]", "i: window of size 1"},
      {Opcode::kRemainder, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kReplicaId, rules::Unknown, "", "the program is partitioned already"},
      {Opcode::kReshape, rules::Reshape, "([i j,k])->[i,j k]",
       "dimensions split and merge; sizes without a common divisor stay replicated"},
      {Opcode::kReverse, rules::Reverse, "([i,W])->[i,W]", ""},
      {Opcode::kRng, rules::Source, "([],[])->[i,j]", ""},
      {Opcode::kRngBitGenerator, rules::Whole, "([S])->([S],[W])",
       "bits depend on their place in the whole array"},
      {Opcode::kRngGetAndUpdateState, rules::Whole, "()->[S]", ""},
      {Opcode::kRoundNearestAfz, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kRoundNearestEven, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kRsqrt, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kScan, rules::Scan, "([W,i],...,[i],...)->([W,i],...,[i],...)",
       "a body of elementwise operators"},
      {Opcode::kScatter, rules::Scatter,
       "([b,v,o],[b,i,W],[b,i,o])->[b,v,o]  i:sum, max, min, and, or",
       "i: into zeros for a sum; v: updates dropped where they do not belong"},
      {Opcode::kSelect, rules::Elementwise, "([i,j],[i,j],[i,j])->[i,j]",
       "the predicate may be a scalar"},
      {Opcode::kSelectAndScatter, rules::SelectAndScatter, "([i,W],[i,W],[])->[i,W]",
       "i: window of size 1"},
      {Opcode::kSend, rules::Unknown, "", "talks to the host or to one other device"},
      {Opcode::kSendDone, rules::Unknown, "", "talks to the host or to one other device"},
      {Opcode::kSetDimensionSize, rules::SetDimensionSize, "([i,W],[])->[i,W]", ""},
      {Opcode::kShiftLeft, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kShiftRightArithmetic, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kShiftRightLogical, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kSign, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kSin, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kSinh, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kSlice, rules::Slice, "([i,W])->[i,W]", "i: taken whole"},
      {Opcode::kSort, rules::Sort, "([i,W],...)->[i,W]", ""},
      {Opcode::kSqrt, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kStochasticConvert, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kSubtract, rules::LinearSum, "([i,j]+,[i,j]+)->[i,j]+",
       "unreduced operands give an unreduced result"},
      {Opcode::kTan, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kTanh, rules::Elementwise, "([i,j])->[i,j]", ""},
      {Opcode::kTopK, rules::TopK, "([i,W])->([i,W],[i,W])", ""},
      {Opcode::kTranspose, rules::Transpose, "([i,j])->[j,i]", ""},
      {Opcode::kTriangularSolve, rules::TriangularSolve, "([b,W,W],[b,W,n])->[b,W,n]", ""},
      {Opcode::kTuple, rules::Unknown, "", "opened when the graph is built"},
      {Opcode::kWhile, rules::Unknown, "", "opened when the graph is built"},
      {Opcode::kXor, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
      {Opcode::kMulhi, rules::Elementwise, "([i,j],[i,j])->[i,j]", ""},
  };
  return *table;
}

Rule RuleFor(const Graph& graph, const Op& op) {
  RuleBuilder builder(graph, op);
  if (op.kind == OpKind::kInstruction) {
    RuleTable()[static_cast<size_t>(op.instruction->opcode)].build(builder);
  } else {
    BuildStructural(op.kind, builder);
  }
  return std::move(builder).Build();
}

}  // namespace meshwright
