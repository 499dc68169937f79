#ifndef MESHWRIGHT_TESTS_SHARDING_TENSOR_H_
#define MESHWRIGHT_TESTS_SHARDING_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

// Small arrays, and the pieces of them that devices hold.

namespace meshwright {

struct Tensor {
  std::vector<int64_t> dims;
  std::vector<double> data;  // row-major
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

// A device's piece of an array: [offset, offset + size) of each dimension of `global`.
struct Placement {
  std::vector<int64_t> offset, size, global;
};
inline Placement WholePlacement(const std::vector<int64_t>& dims) {
  return {std::vector<int64_t>(dims.size(), 0), dims, dims};
}

using Index = std::vector<int64_t>;

inline int64_t ElementCount(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
}

// Calls `body` with every index of an array of `dims`, in row-major order.
inline void ForEachIndex(const std::vector<int64_t>& dims,
                         const std::function<void(const Index&)>& body) {
  Index index(dims.size(), 0);
  for (int64_t count = ElementCount(dims); count > 0; --count) {
    body(index);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
}

inline double& At(Tensor& tensor, const Index& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset = offset * tensor.dims[d] + index[d];
  return tensor.data.at(static_cast<size_t>(offset));
}

inline double At(const Tensor& tensor, const Index& index) {
  return At(const_cast<Tensor&>(tensor), index);
}

// The piece of `whole` that `placement` describes.
inline Tensor Piece(const Tensor& whole, const Placement& placement) {
  Tensor piece{placement.size, {}};
  ForEachIndex(piece.dims, [&](const Index& at) {
    Index from = at;
    for (size_t d = 0; d < at.size(); ++d) from[d] += placement.offset[d];
    piece.data.push_back(At(whole, from));
  });
  return piece;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_SHARDING_TENSOR_H_
