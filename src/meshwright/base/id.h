#ifndef MESHWRIGHT_BASE_ID_H_
#define MESHWRIGHT_BASE_ID_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace meshwright {

// An index into one particular table. Ids of different tables do not mix: `Id<InstructionTag>`
// cannot be passed where `Id<ComputationTag>` is wanted. A default-constructed id is invalid (-1).
template <typename Tag>
struct Id {
  int32_t value = -1;

  constexpr Id() = default;
  constexpr explicit Id(size_t index) : value(static_cast<int32_t>(index)) {}

  constexpr bool valid() const { return value >= 0; }
  constexpr size_t index() const { return static_cast<size_t>(value); }
  friend constexpr auto operator<=>(Id, Id) = default;

  template <typename H>
  friend H AbslHashValue(H h, Id id) {
    return H::combine(std::move(h), id.value);
  }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_ID_H_
