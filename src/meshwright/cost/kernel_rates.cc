// Fused attention. In terms of a matrix product (KernelClass): m queries, n the depth of a head. A
// block of queries stays in registers while
// blocks of keys and values pass by, so the rate hangs on two sizes:
//
//  * the depth of a head: softmax and its rescaling cost the same for every score, however deep the
//    products are. Half of the rate is reached at n = 48: on an H100 FlashAttention-3 (Shah et al.
//    2024, figures 5 and 6) has 497, 648 and 756 TFLOP/s forward at depths of 64, 128 and 256,
//    which is 0.50, 0.66 and 0.76 of the peak, and 474 and 561 backward at 64 and 128;
//  * the keys that pass by, on average over the queries (of a causal mask half of all): each block
//    has a prologue and an epilogue, which is longer backward, where gradients of queries are
//    converted and gradients of keys and values written out. They follow from the work itself, as
//    operands of calls come in several orders. With these sizes eight calls of cuDNN (H200, JAX
//    0.11.2, 512 to 32,768 keys, heads of 64 and 128) come out within 15 % forward (mean 6 %) and
//    within 6 % backward (mean 3 %).
//
// Atomics. A million rows of 256 elements, added to a hundred thousand at random, took one H200
// (JAX 0.11.2, beyond copying the operand) 787 us in f32, 1,609 in s32 and 1,970 in bf16 and f16,
// whose operations XLA makes of ones on words of 32 bits; maxima as long as sums. Rows of 64 take
// up to a third less each, runs of equal indices up to three times as long, which no program tells.
//
// Sorts and scans, on the same device: 16,384 rows of 2,048 keys took 1.79 ms to sort in f32
// and 1.57 in bf16, one of 4 million 0.22, of 32 million 1.17, with their indices as long (1.80,
// 0.29); their 8 largest 1.04 and 0.92; their cumulative sums 0.23 and 0.20, products too (0.22).
// Rows of 128 keys take half as long as that, the 64 largest of 131,072 twice as long.
//
// Convolutions of one feature a group (7 x 7 over 64 x 56 x 56 x 256 in bf16) took 0.35 ms forward,
// 0.37 and 0.30 for their gradients: a quarter of the rate of plain units. Those over one dimension
// (4 taps over 16 x 2,048 x 2,048) took 2.38, 2.39 and 1.85 ms, and the gradient of a filter of 7 x
// 7 over images of 7 x 7 (128 x 768 of them) 2.09 ms: 0.23 TFLOP/s. Products of f32 at the highest
// precision took 2.70 ms (4,096 each way) and 0.77 (16,384 x 1,024 x 1,024): 51 and 44 TFLOP/s.
//
// Gradients of filters of transposed and of dilated convolutions are no backward convolutions to
// XLA (conv_rewriter.cc) but forward ones with a window of a whole image and a few places of
// result, so that few blocks work, each for long: 2, 2, 2, 2 and 64 features over 128^3, 64^3,
// 32^3, 16^3 and 56^2 places took 466, 56, 6.9, 1.1 and 1.73 ms. Cut into what a place and what a
// product takes, that is 0.22 us and 5.5 ns.
//
// Of a causal mask the pairs count that meet. The dispatch of a call is no part of it.

#include "meshwright/cost/kernel_rates.h"

#include "meshwright/hlo/element_value.h"

namespace meshwright {
namespace {

double Saturation(int64_t size, double half) {
  return static_cast<double>(size) / (static_cast<double>(size) + half);
}

}  // namespace

double AttentionFraction(const Work& work) {
  const bool backward = work.kernel == KernelClass::kAttentionBackward;
  // Of a pair of a query and a key: two products of a head's depth, backward five.
  const double pairs = work.flops / (backward ? 10 : 4) / static_cast<double>(work.n);
  const double keys = pairs / static_cast<double>(work.m) / static_cast<double>(work.batch);
  const double efficiency = backward ? 0.753 : 0.88, half_keys = backward ? 476 : 320;
  return efficiency * Saturation(work.m, 32) * Saturation(work.n, 48) * keys / (keys + half_keys);
}

double WindowSeconds(const Work& work) {
  constexpr double kPlace = 0.22e-6, kProduct = 5.5e-9;
  return work.window > 0 ? work.window * kPlace + static_cast<double>(work.k) * kProduct : 0;
}

double UnitRate(KernelClass kernel, ElementType type) {
  switch (kernel) {
    case KernelClass::kSort:
      return 2e10;
    case KernelClass::kTopK:
      return 3.3e10;
    case KernelClass::kScan:
      return 1.5e11;
    default:
      break;
  }
  if (ElementBytes(type) < 4) return 1.3e11;
  return IsFloating(type) ? 3.7e11 : 1.7e11;
}

}  // namespace meshwright
