#ifndef MESHWRIGHT_SOLVE_MATRIX_POOL_H_
#define MESHWRIGHT_SOLVE_MATRIX_POOL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/solve/min_plus.h"
#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Matrix operations with memory: equal matrices are one object, and an operation on the same
// objects is done once. Networks repeat layers and compilers emit the same cost matrix for every
// copy of an operator, so the work of reductions grows with the number of *different* edges (and of
// what becomes of them), not with depth.
//
// Results are the same as without the pool. What is remembered is dropped when it exceeds
// `max_bytes`. Not thread-safe; a pool belongs to one reduction,
// or to several of models that are much alike, one after another.
class MatrixPool {
 public:
  explicit MatrixPool(int64_t max_bytes = int64_t{256} << 20) : max_bytes_(max_bytes) {}
  MatrixPool(const MatrixPool&) = delete;
  MatrixPool& operator=(const MatrixPool&) = delete;

  // The one object equal to `m`.
  MatrixRef Intern(MatrixRef m);
  MatrixRef Intern(Matrix m) { return Intern(std::make_shared<const Matrix>(std::move(m))); }
  // Vectors are kept as 1 x n matrices.
  MatrixRef InternVector(std::vector<Number> v);

  // For all of these the arguments must be interned; so are the results.
  MatrixRef Transposed(const MatrixRef& m);
  MatrixRef Sum(const MatrixRef& a, const MatrixRef& b);
  MatrixRef MinPlusOf(const MatrixRef& a, const MatrixRef& cost, const MatrixRef& b);
  // Rows `index` of m, in that order (repetitions allowed); indices as a vector.
  MatrixRef SelectRows(const MatrixRef& m, const MatrixRef& index);
  MatrixRef DominanceOf(const MatrixRef& m);  // k x k

  struct SplitRef {
    MatrixRef rest;  // null if it is zero
    MatrixRef row, col;
    bool unchanged = false;  // nothing could be split off
  };
  SplitRef SplitOf(const MatrixRef& m);

 private:
  enum class Op : uint8_t { kTransposed, kSum, kMinPlus, kSelectRows, kDominance };
  struct Key {
    Op op;
    std::array<const Matrix*, 3> arguments;
    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.op, k.arguments);
    }
  };
  template <typename Compute>
  MatrixRef Cached(Op op, std::array<MatrixRef, 3> arguments, Compute compute);
  void Account(const Matrix& m);

  struct Entry {
    std::array<MatrixRef, 3> arguments;  // kept alive, or their addresses might be used again
    MatrixRef result;
  };
  int64_t max_bytes_, bytes_ = 0;
  absl::flat_hash_map<size_t, std::vector<MatrixRef>> interned_;
  absl::flat_hash_map<Key, Entry> operations_;
  absl::flat_hash_map<const Matrix*, std::pair<MatrixRef, SplitRef>> splits_;
};

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_MATRIX_POOL_H_
