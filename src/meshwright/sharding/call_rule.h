#ifndef MESHWRIGHT_SHARDING_CALL_RULE_H_
#define MESHWRIGHT_SHARDING_CALL_RULE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/sharding/rule_builder.h"

// How all calls of one target are sharded and what they cost, in Shardy's notation of sharding
// rules, with the sizes of factors left to the shapes of each call:
//
//   ([b, s, h, d], [b, t, h, d], [b, t, h, d])->([b, s, h, d], [b, h, s]) need_replication={t, d}
//   flops=4*b*h*s*t*d
//
// Factors are letters, with a number behind `_` where letters do not suffice; those of one
// dimension stand together, major to minor (`[gr, d]`). Beyond Shardy's notation:
//
//  * `...` first in a tensor: any dimensions, the same ones in all tensors that begin so, which a
//    kind names `...` and an expression `rows` (their product);
//  * `_` for a tensor: any shape, replicated; `...` as the last tensor: any more of these;
//  * a dimension of size 1 whose factors are longer has none of them (a bias for all heads);
//  * a factor in `reduction` that a result has shards this result; the results without it are
//    partial sums (the gradient of an operand that other devices have too);
//  * `flops=`, `bytes=` (read and written in device memory; without it, operands and results) and
//    `memory=` (scratch, in bytes) are arithmetic with the sizes of factors; `kernel=attention`,
//    `attention_backward` or `matmul` says by which curve flops become seconds; else those of
//    elementwise loops do.
//
// A factor that only operands have, or only results, is replicated unless it is reduced: a part of
// it gives no part of a result.

namespace meshwright {

struct CallRule {
  struct Dimension {
    std::vector<int16_t> factors;  // positions in `names`
    friend bool operator==(const Dimension&, const Dimension&) = default;
  };
  struct Tensor {
    bool any = false;      // `_`
    bool leading = false;  // `...` before its dimensions
    std::vector<Dimension> dims;
    friend bool operator==(const Tensor&, const Tensor&) = default;
  };

  std::vector<std::string> names;  // of factors
  std::vector<int64_t> sizes;      // by factor; -1: that of the call
  std::vector<Tensor> operands, results;
  bool more_operands = false, more_results = false;  // `...` as the last tensor
  bool reduces_leading = false;                      // `...` in reduction
  std::vector<int16_t> reduction, need_replication, permutation, blocked_propagation;
  std::string flops, bytes, memory;  // expressions; empty: none is stated
  KernelClass kernel = KernelClass::kLoop;
  friend bool operator==(const CallRule&, const CallRule&) = default;
};

// Reads a rule that is all of `text` from `position` on. Errors: `file:line:column: what was found,
// what would be valid`, with the line of `position` in `text`.
absl::StatusOr<CallRule> ParseCallRule(std::string_view text, std::string_view file_name,
                                       size_t position = 0);

// Why `rule` is not one for the call of `builder`, in one line; empty if it is, and `builder` has
// its factors.
std::string ApplyCallRule(const CallRule& rule, RuleBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_CALL_RULE_H_
