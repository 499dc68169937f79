#ifndef MESHWRIGHT_SHARDING_SHARDING_H_
#define MESHWRIGHT_SHARDING_SHARDING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/shape.h"

namespace meshwright {

// How partial values along an axis combine. kNone: there are none.
enum class Reduction : uint8_t { kNone, kSum, kProduct, kMax, kMin, kAnd, kOr, kOther };

// "sum", "product", "max", ...
std::string_view ReductionName(Reduction reduction);

// How an array is laid over a mesh. Every dimension takes a list of axes, major to minor (the first
// axis cuts the dimension into the largest pieces); axes that appear nowhere replicate the array.
// Along an `unreduced` axis each device holds a partial value, to be combined by `reduction`.
// An axis appears at most once in the whole value. No axis of size 1 is ever listed.
struct Sharding {
  absl::InlinedVector<AxisList, 5> dims;
  AxisList unreduced;                      // ascending
  Reduction reduction = Reduction::kNone;  // kNone iff unreduced is empty

  static Sharding Replicated(int64_t rank);
  bool is_replicated() const;              // nothing sharded, nothing unreduced
  int64_t shards(const Mesh& mesh) const;  // number of different pieces: product over all dims
  std::string ToString(const Mesh& mesh) const;  // "[x,_,(y,z)]", "[_,y]{sum:x}"

  friend bool operator==(const Sharding&, const Sharding&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Sharding& s) {
    return H::combine(std::move(h), s.dims, s.unreduced, s.reduction);
  }
};

// Bytes one device holds of an array of `shape` under `sharding`; uneven dimensions are padded up.
int64_t BytesPerDevice(const Shape& shape, const Sharding& sharding, const Mesh& mesh);

// True if every dimension is divisible by the number of its shards.
bool DividesEvenly(const Shape& shape, const Sharding& sharding, const Mesh& mesh);

// "[x,_,(y,z)]", "[_,y]{sum:x}", "[x, None]", "P('x', None)", "[]" or "replicated" for an array of
// rank `rank`. `_` and None: not sharded; missing trailing dimensions are not sharded; axes of size
// 1 are dropped. Errors: unknown axis (names those there are), axis used twice, more entries than
// dimensions.
absl::StatusOr<Sharding> ParseSharding(std::string_view text, const Mesh& mesh, int64_t rank);

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_SHARDING_H_
