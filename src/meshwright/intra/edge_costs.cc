#include "meshwright/intra/edge_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/intra/problem_builder.h"

namespace meshwright {

bool WantedBefore(const ShardingLists& lists, const PlanningEdge& edge, size_t i,
                  int32_t strategy) {
  const Sharding& wanted = lists[edge.also[i]][strategy];
  if (lists[edge.to.list][strategy] == wanted) return true;
  return std::any_of(edge.also.begin(), edge.also.begin() + static_cast<int64_t>(i),
                     [&](ShardingListId earlier) { return lists[earlier][strategy] == wanted; });
}

int64_t EdgeCosts::Ticks(double cost) const {
  // Well below what means forbidden, as edges and nodes add up a few costs.
  constexpr double kMost = static_cast<double>(solve::kForbidden) / 64;
  const double ticks = std::round(cost * ticks_);
  if (ticks < kMost) return static_cast<int64_t>(ticks);
  if (std::isfinite(cost)) overflowed_ = true;
  return solve::kForbidden;
}

EdgeCosts::PriceKey EdgeCosts::PriceKeyOf(const Shape& shape, const Sharding& from,
                                          const Sharding& to) const {
  // Between the parts of a key; no axis has such a number.
  constexpr uint16_t kNext = 0xffff, kUneven = 0xfffe;
  const auto append_number = [](int64_t number, auto* key) {
    for (int bits = 0; bits < 64; bits += 16)
      key->push_back(static_cast<uint16_t>(static_cast<uint64_t>(number) >> bits));
  };
  const int64_t devices = cost_model_.mesh().devices();
  absl::InlinedVector<absl::InlinedVector<uint16_t, 8>, 4> dims;
  for (size_t d = 0; d < from.dims.size(); ++d) {
    if (from.dims[d].empty() && to.dims[d].empty()) continue;
    auto& dim = dims.emplace_back(from.dims[d].begin(), from.dims[d].end());
    dim.push_back(kNext);
    dim.insert(dim.end(), to.dims[d].begin(), to.dims[d].end());
    if (shape.dims[d] % devices != 0) {
      dim.push_back(kUneven);
      append_number(shape.dims[d], &dim);
    }
  }
  std::sort(dims.begin(), dims.end());
  PriceKey key;
  append_number(shape.bytes(), &key);
  key.push_back(static_cast<uint16_t>(from.reduction));
  key.push_back(static_cast<uint16_t>(to.reduction));
  key.insert(key.end(), from.unreduced.begin(), from.unreduced.end());
  key.push_back(kNext);
  key.insert(key.end(), to.unreduced.begin(), to.unreduced.end());
  for (const auto& dim : dims) {
    key.push_back(kNext);
    key.insert(key.end(), dim.begin(), dim.end());
  }
  return key;
}

std::vector<double> EdgeCosts::Prices(const Shape& shape, const Sharding& from,
                                      const std::vector<Sharding>& to,
                                      const std::vector<int32_t>& columns) {
  std::vector<double> prices(columns.size(), 0);
  std::vector<Sharding> unknown;
  std::vector<std::pair<size_t, size_t>> later;  // of `columns` and of `unknown`
  absl::flat_hash_map<PriceKey, size_t> asked;
  for (size_t i = 0; i < columns.size(); ++i) {
    const Sharding& end = to[columns[i]];
    if (from == end) continue;
    PriceKey key = PriceKeyOf(shape, from, end);
    if (const auto known = prices_.find(key); known != prices_.end()) {
      prices[i] = known->second;
      continue;
    }
    const auto [it, inserted] = asked.try_emplace(std::move(key), unknown.size());
    if (inserted) unknown.push_back(end);
    later.emplace_back(i, it->second);
  }
  if (unknown.empty()) return prices;
  const std::vector<double> found = cost_model_.ReshardSeconds(shape, from, unknown);
  for (const auto& [i, at] : later) prices[i] = found[at];
  for (auto& [key, at] : asked) prices_.emplace(key, found[at]);
  return prices;
}

std::shared_ptr<const solve::Matrix> EdgeCosts::MatrixFor(const Shape& shape,
                                                          const PlanningEdge& edge,
                                                          const std::vector<int32_t>& rows,
                                                          const std::vector<int32_t>& columns) {
  const std::string shape_key =
      StrCat(ElementTypeName(shape.type), "[", absl::StrJoin(shape.dims, ","), "]");
  const std::vector<Sharding>& from = lists_[edge.from.list];
  const std::vector<Sharding>& to = lists_[edge.to.list];
  std::string key = StrCat(shape_key, "|", edge.from.list.value, "|", edge.to.list.value, "|",
                           edge.multiplicity, "|", edge.must_equal);
  for (ShardingListId list : edge.also) StrAppend(&key, "|also:", list.value);
  if (edge.kept.has_value()) {
    StrAppend(&key, "|kept:");
    for (const AxisList& axes : edge.kept->dims) StrAppend(&key, absl::StrJoin(axes, "."), ",");
  }
  if (rows.size() != from.size()) StrAppend(&key, "|rows:", absl::StrJoin(rows, ","));
  if (columns.size() != to.size()) StrAppend(&key, "|columns:", absl::StrJoin(columns, ","));
  std::shared_ptr<const solve::Matrix>& matrix = matrices_[key];
  if (matrix != nullptr) return matrix;
  auto fresh = std::make_shared<solve::Matrix>();
  fresh->rows = static_cast<int32_t>(rows.size());
  fresh->cols = static_cast<int32_t>(columns.size());
  fresh->cost.reserve(rows.size() * columns.size());
  for (int32_t r : rows) {
    // A follower that cannot work in the sharding of its operand at all (a slice across it) takes
    // the operand resharded.
    const bool follows =
        edge.must_equal &&
        std::any_of(columns.begin(), columns.end(), [&](int32_t c) { return from[r] == to[c]; });
    if (follows) {
      for (int32_t c : columns) fresh->cost.push_back(from[r] == to[c] ? 0 : solve::kForbidden);
      continue;
    }
    // Moving the copy, or the value itself for those who do not want the copy.
    const auto prices_of = [&](const std::vector<Sharding>& wanted) {
      std::vector<double> found =
          Prices(shape, edge.kept.has_value() ? *edge.kept : from[r], wanted, columns);
      for (size_t c = 0; c < columns.size(); ++c) {
        if (wanted[columns[c]] == from[r]) found[c] = 0;
      }
      return found;
    };
    std::vector<double> prices = prices_of(to);
    for (size_t i = 0; i < edge.also.size(); ++i) {
      const std::vector<double> more = prices_of(lists_[edge.also[i]]);
      for (size_t c = 0; c < columns.size(); ++c) {
        if (!WantedBefore(lists_, edge, i, columns[c])) prices[c] += more[c];
      }
    }
    for (double price : prices) fresh->cost.push_back(Ticks(price * edge.multiplicity));
  }
  matrix = std::move(fresh);
  return matrix;
}

}  // namespace meshwright
