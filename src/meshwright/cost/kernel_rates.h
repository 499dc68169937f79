#ifndef MESHWRIGHT_COST_KERNEL_RATES_H_
#define MESHWRIGHT_COST_KERNEL_RATES_H_

#include "meshwright/cost/cost_model.h"
#include "meshwright/sharding/rule.h"

namespace meshwright {

// What a kernel of matrix products reaches of a device's peak: `efficiency` in one that is large in
// every direction, half of that at the sizes given.
struct KernelRate {
  double efficiency = 1;
  double half_m = 0, half_n = 0, half_k = 0;

  // Of the peak, for this device's share of the work.
  double Fraction(const Work& work) const;
};

// Of fused attention, forward or backward; others have curves of their own in each cost model.
KernelRate AttentionRate(KernelClass kernel);
inline bool IsAttention(KernelClass kernel) {
  return kernel == KernelClass::kAttention || kernel == KernelClass::kAttentionBackward;
}

// Atomic operations a second on values of this type in device memory.
double AtomicRate(ElementType type);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_KERNEL_RATES_H_
