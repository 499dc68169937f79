#ifndef MESHWRIGHT_TESTS_SHARDING_ELEMENT_POSITIONS_H_
#define MESHWRIGHT_TESTS_SHARDING_ELEMENT_POSITIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "meshwright/hlo/module.h"
#include "tests/sharding/tensor.h"

// Where operators find elements: in windows, in memory, by arrays of indices, in pieces.

namespace meshwright {

// Position in an input of what window element `w` of output element `o` reads; -1 if that is
// padding.
inline int64_t WindowPosition(const WindowDimension& window, int64_t o, int64_t w, int64_t input) {
  int64_t p = o * window.stride + w * window.window_dilation - window.padding_low;
  if (p < 0 || p % window.base_dilation != 0 || p / window.base_dilation >= input) return -1;
  return p / window.base_dilation;
}

inline std::vector<int64_t> WindowSizes(const Instruction& instruction) {
  std::vector<int64_t> sizes;
  for (const WindowDimension& window : instruction.window) sizes.push_back(window.size);
  return sizes;
}

// Elements in the order of memory under the layout of `shape`.
inline std::vector<Index> MemoryOrder(const Shape& shape, const std::vector<int64_t>& dims) {
  std::vector<int64_t> sizes;
  for (size_t i = dims.size(); i-- > 0;) sizes.push_back(dims[shape.minor_to_major[i]]);
  std::vector<Index> order;
  ForEachIndex(sizes, [&](const Index& major_first) {
    Index at(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) {
      at[shape.minor_to_major[dims.size() - 1 - i]] = major_first[i];
    }
    order.push_back(at);
  });
  return order;
}

// The index vector of a gather or scatter for one position of the batch.
inline Index IndexVector(const Tensor& indices, const Index& batch, int64_t vector_dim,
                         size_t count) {
  Index vector;
  for (size_t k = 0; k < count; ++k) {
    Index at;
    size_t next = 0;
    for (size_t d = 0; d < indices.dims.size(); ++d) {
      at.push_back(static_cast<int64_t>(d) == vector_dim ? static_cast<int64_t>(k) : batch[next++]);
    }
    vector.push_back(static_cast<int64_t>(At(indices, at)));
  }
  return vector;
}

// Of the batch dimensions of an index array, the position of its dimension `d`.
inline size_t BatchPosition(int64_t d, int64_t vector_dim) {
  return static_cast<size_t>(d > vector_dim ? d - 1 : d);
}

// Turns global coordinates into ones of the piece. False if they lie outside of it.
inline bool ToLocal(const Placement& place, Index& at) {
  for (size_t d = 0; d < at.size(); ++d) {
    at[d] -= place.offset[d];
    if (at[d] < 0 || at[d] >= place.size[d]) return false;
  }
  return true;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_SHARDING_ELEMENT_POSITIONS_H_
