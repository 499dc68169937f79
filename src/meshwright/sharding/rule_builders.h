#ifndef MESHWRIGHT_SHARDING_RULE_BUILDERS_H_
#define MESHWRIGHT_SHARDING_RULE_BUILDERS_H_

#include "meshwright/sharding/rule_builder.h"

// The functions the rule table names, one per family of operators; each states the factors of
// the builder's operator. Their notation and remarks stand in the table (rule_table.cc).

namespace meshwright::rules {

// elementwise.cc
void Elementwise(RuleBuilder& builder);  // every operand of the result's dimensions, or a scalar
void LinearSum(RuleBuilder& builder);    // elementwise, and sums unreduced operands unreduced
void Forward(RuleBuilder& builder);      // results are the operands, moved or marked

// contraction.cc
void Dot(RuleBuilder& builder);
void RaggedDot(RuleBuilder& builder);
void Convolution(RuleBuilder& builder);

// reduction.cc
void Reduce(RuleBuilder& builder);
void ReduceWindow(RuleBuilder& builder);
void SelectAndScatter(RuleBuilder& builder);

// shape.cc
void Broadcast(RuleBuilder& builder);
void Transpose(RuleBuilder& builder);
void Reshape(RuleBuilder& builder);
void Bitcast(RuleBuilder& builder);
void BitcastConvert(RuleBuilder& builder);

// slicing.cc
void Slice(RuleBuilder& builder);
void DynamicSlice(RuleBuilder& builder);
void DynamicUpdateSlice(RuleBuilder& builder);
void Pad(RuleBuilder& builder);
void Concatenate(RuleBuilder& builder);
void Reverse(RuleBuilder& builder);
void SetDimensionSize(RuleBuilder& builder);

// indexing.cc
void Gather(RuleBuilder& builder);
void Scatter(RuleBuilder& builder);

// batched.cc: operators that work on whole rows, columns or features of a batch
void Sort(RuleBuilder& builder);
void TopK(RuleBuilder& builder);
void Scan(RuleBuilder& builder);
void Cholesky(RuleBuilder& builder);
void TriangularSolve(RuleBuilder& builder);
void Fft(RuleBuilder& builder);
void BatchNormTraining(RuleBuilder& builder);
void BatchNormInference(RuleBuilder& builder);
void BatchNormGrad(RuleBuilder& builder);

// fused_attention.cc: cuDNN's
void FusedAttention(RuleBuilder& builder);
void FusedAttentionBackward(RuleBuilder& builder);

// library_calls.cc
void LibraryGemm(RuleBuilder& builder);
void LibraryConvolution(RuleBuilder& builder);
void TransformerEngineGemm(RuleBuilder& builder);
void TransformerEngineAttention(RuleBuilder& builder);
void BatchedMatrices(RuleBuilder& builder);

// stated.cc
void Stated(RuleBuilder& builder);  // the rule that the program itself states for a call

// source.cc
void Source(RuleBuilder& builder);      // results out of nothing that depends on other elements
void Sink(RuleBuilder& builder);        // operands only
void Join(RuleBuilder& builder);        // the result is one of the operands
void Whole(RuleBuilder& builder);       // known to need every element in one place
void CustomCall(RuleBuilder& builder);  // by target
void Unknown(RuleBuilder& builder);     // no rule

}  // namespace meshwright::rules

#endif  // MESHWRIGHT_SHARDING_RULE_BUILDERS_H_
