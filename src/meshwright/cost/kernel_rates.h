#ifndef MESHWRIGHT_COST_KERNEL_RATES_H_
#define MESHWRIGHT_COST_KERNEL_RATES_H_

#include "meshwright/cost/cost_model.h"
#include "meshwright/sharding/rule.h"

namespace meshwright {

// What a kernel of fused attention, forward or backward, reaches of a device's peak, for this
// device's share of the work; other products have curves of their own in each cost model.
double AttentionFraction(const Work& work);
inline bool IsAttention(KernelClass kernel) {
  return kernel == KernelClass::kAttention || kernel == KernelClass::kAttentionBackward;
}

// Share of what plain units reach elsewhere that they reach in products and convolutions, which are
// left to them where tensor cores would be mostly empty: one feature a group, nothing contracted.
inline constexpr double kPlainProducts = 0.25;
// The same of products of f32 that are to be exact (Precision::HIGHEST), large ones.
inline constexpr double kExactProducts = 0.82;
// The same of convolutions of one feature a group for which cuDNN has no kernel of its own: those
// over one or three dimensions, and gradients of filters that XLA leaves forward convolutions.
inline constexpr double kDirectConvolutions = 3.65e-3;

// A convolution takes no less than one of its blocks, which goes through the window.
double WindowSeconds(const Work& work);

// Kernels that take a time for each operation, whatever it computes or moves: atomic operations on
// values of this type in device memory, keys that are sorted, elements that are scanned.
inline bool HasUnitRate(KernelClass kernel) {
  return kernel != KernelClass::kLoop && !IsProduct(kernel);
}
// Such operations a second.
double UnitRate(KernelClass kernel, ElementType type);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_KERNEL_RATES_H_
