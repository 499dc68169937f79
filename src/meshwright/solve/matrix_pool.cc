#include "meshwright/solve/matrix_pool.h"

#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

void MatrixPool::Account(const Matrix& m) {
  bytes_ += static_cast<int64_t>(m.cost.size() * sizeof(Number) + sizeof(Entry) + sizeof(Matrix));
  if (bytes_ <= max_bytes_) return;
  // Forgetting everything costs no correctness: matrices in use live on through their references,
  // and later ones are merely no longer recognised as equal to them.
  bytes_ = 0;
  interned_.clear();
  operations_.clear();
  splits_.clear();
}

MatrixRef MatrixPool::Intern(MatrixRef m) {
  const absl::string_view bytes(reinterpret_cast<const char*>(m->cost.data()),
                                m->cost.size() * sizeof(Number));
  const size_t hash = absl::HashOf(m->rows, m->cols, bytes);
  if (auto it = interned_.find(hash); it != interned_.end()) {
    for (const MatrixRef& other : it->second) {
      if (other == m || *other == *m) return other;
    }
  }
  Account(*m);
  interned_[hash].push_back(m);
  return m;
}

MatrixRef MatrixPool::InternVector(std::vector<Number> v) {
  const auto n = static_cast<int32_t>(v.size());
  return Intern(Matrix{1, n, std::move(v)});
}

template <typename Compute>
MatrixRef MatrixPool::Cached(Op op, std::array<MatrixRef, 3> arguments, Compute compute) {
  const Key key{op, {arguments[0].get(), arguments[1].get(), arguments[2].get()}};
  if (auto it = operations_.find(key); it != operations_.end()) return it->second.result;
  MatrixRef result = Intern(Matrix(compute()));
  operations_.try_emplace(key, Entry{std::move(arguments), result});
  return result;
}

MatrixRef MatrixPool::Transposed(const MatrixRef& m) {
  return Cached(Op::kTransposed, {m, nullptr, nullptr}, [&] { return Transpose(*m); });
}

MatrixRef MatrixPool::Sum(const MatrixRef& a, const MatrixRef& b) {
  return Cached(Op::kSum, {a, b, nullptr}, [&] { return AddMatrices(*a, *b); });
}

MatrixRef MatrixPool::MinPlusOf(const MatrixRef& a, const MatrixRef& cost, const MatrixRef& b) {
  return Cached(Op::kMinPlus, {a, cost, b}, [&] { return MinPlus(*a, cost->cost, *b); });
}

MatrixRef MatrixPool::SelectRows(const MatrixRef& m, const MatrixRef& index) {
  return Cached(Op::kSelectRows, {m, index, nullptr}, [&] {
    Matrix selected{index->cols, m->cols, {}};
    selected.cost.reserve(static_cast<size_t>(index->cols) * m->cols);
    for (Number row : index->cost) {
      const auto begin = m->cost.begin() + static_cast<int64_t>(row) * m->cols;
      selected.cost.insert(selected.cost.end(), begin, begin + m->cols);
    }
    return selected;
  });
}

MatrixRef MatrixPool::DominanceOf(const MatrixRef& m) {
  return Cached(Op::kDominance, {m, nullptr, nullptr}, [&] {
    return Matrix{m->rows, m->rows, Dominance(*m)};
  });
}

MatrixPool::SplitRef MatrixPool::SplitOf(const MatrixRef& m) {
  if (auto it = splits_.find(m.get()); it != splits_.end()) return it->second.second;
  Split split = SplitOffUnary(*m);
  SplitRef ref;
  if (!split.rest_is_zero) ref.rest = Intern(std::move(split.rest));
  ref.row = InternVector(std::move(split.row));
  ref.col = InternVector(std::move(split.col));
  ref.unchanged = ref.rest == m;
  return splits_.try_emplace(m.get(), m, std::move(ref)).first->second.second;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
