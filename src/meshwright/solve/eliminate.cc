#include "meshwright/solve/eliminate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "meshwright/solve/elimination_order.h"

// Variable elimination in buckets (Bertele and Brioschi 1972, Dechter 1999): nodes are minimised
// out in order. The factors that mention the node are added up over all strategies of its
// neighbours, and the minimum over the node's own strategies becomes a factor over the neighbours.
// Backwards, each node takes its best strategy given its neighbours, from the factors it was
// eliminated with, so no argmin tables are kept.
//
// Time and memory are the number of table entries (times factors a node), exponential in the
// induced width of the order, which is the treewidth for the best order.

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

// A table over the strategies of `scope`, last node fastest.
struct Factor {
  std::vector<int32_t> scope;  // ascending
  std::vector<Number> cost;
};

class Bucket {
 public:
  Bucket(const Model& model, int32_t node, const std::vector<int32_t>& neighbours)
      : model_(model), node_(node), neighbours_(neighbours) {}

  void Add(const Factor* factor) {
    View view{factor->cost.data(), std::vector<int64_t>(neighbours_.size(), 0), 0};
    int64_t stride = 1;
    for (size_t i = factor->scope.size(); i-- > 0;) {
      const int32_t u = factor->scope[i];
      if (u == node_) {
        view.own = stride;
      } else {
        const auto at = std::lower_bound(neighbours_.begin(), neighbours_.end(), u);
        view.stride[at - neighbours_.begin()] = stride;
      }
      stride *= model_.strategies(u);
    }
    views_.push_back(std::move(view));
  }

  // The minimum over the node's strategies for all choices of the neighbours.
  Factor Minimise() const {
    Factor result{neighbours_, {}};
    size_t size = 1;
    for (int32_t u : neighbours_) size *= model_.strategies(u);
    result.cost.reserve(size);
    std::vector<int32_t> at(neighbours_.size(), 0);
    std::vector<int64_t> offset(views_.size(), 0);
    std::vector<Number> sum(model_.strategies(node_));
    for (size_t entry = 0; entry < size; ++entry) {
      Sum(offset, &sum);
      result.cost.push_back(*std::min_element(sum.begin(), sum.end()));
      for (size_t i = neighbours_.size(); i-- > 0;) {  // like an odometer
        const bool wraps = ++at[i] == model_.strategies(neighbours_[i]);
        for (size_t f = 0; f < views_.size(); ++f) {
          offset[f] += wraps ? -views_[f].stride[i] * (at[i] - 1) : views_[f].stride[i];
        }
        if (!wraps) break;
        at[i] = 0;
      }
    }
    return result;
  }

  // The node's best strategy given its neighbours' in `choice`, or -1 if all are forbidden.
  int32_t Best(const Choice& choice) const {
    std::vector<int64_t> offset(views_.size(), 0);
    for (size_t f = 0; f < views_.size(); ++f) {
      for (size_t i = 0; i < neighbours_.size(); ++i)
        offset[f] += views_[f].stride[i] * choice[neighbours_[i]];
    }
    std::vector<Number> sum(model_.strategies(node_));
    Sum(offset, &sum);
    const auto best = std::min_element(sum.begin(), sum.end());
    return IsInf(*best) ? -1 : static_cast<int32_t>(best - sum.begin());
  }

 private:
  struct View {
    const Number* cost;
    std::vector<int64_t> stride;  // by neighbour
    int64_t own;                  // stride of the node itself
  };

  void Sum(const std::vector<int64_t>& offset, std::vector<Number>* sum) const {
    const std::vector<Number>& own = model_.nodes[node_].cost;
    std::copy(own.begin(), own.end(), sum->begin());
    for (size_t f = 0; f < views_.size(); ++f) {
      const Number* cost = views_[f].cost + offset[f];
      const int64_t stride = views_[f].own;
      for (size_t s = 0; s < sum->size(); ++s) (*sum)[s] = AddCost((*sum)[s], cost[s * stride]);
    }
  }

  const Model& model_;
  int32_t node_;
  const std::vector<int32_t>& neighbours_;
  std::vector<View> views_;
};

}  // namespace

std::optional<Choice> EliminateExactly(const Model& model, int64_t max_entries) {
  const EliminationOrder order = OrderByWeight(model, static_cast<double>(max_entries));
  if (!order.complete || order.total_entries > static_cast<double>(max_entries))
    return std::nullopt;

  std::vector<Factor> factors;
  factors.reserve(model.edges.size() + order.steps.size());
  std::vector<std::vector<size_t>> mentions(model.size());
  const auto add = [&](Factor factor) {
    for (int32_t u : factor.scope) mentions[u].push_back(factors.size());
    factors.push_back(std::move(factor));
  };
  for (const ModelEdge& edge : model.edges) {
    const Matrix& m = *edge.matrix;
    if (edge.a < edge.b) {
      add({{edge.a, edge.b}, m.cost});
      continue;
    }
    Factor factor{{edge.b, edge.a}, {}};
    factor.cost.reserve(m.cost.size());
    for (int32_t j = 0; j < m.cols; ++j) {
      for (int32_t i = 0; i < m.rows; ++i) factor.cost.push_back(m.at(i, j));
    }
    add(std::move(factor));
  }
  std::vector<bool> used(factors.size() + order.steps.size(), false);
  std::vector<Bucket> buckets;
  buckets.reserve(order.steps.size());
  for (const EliminationOrder::Step& step : order.steps) {
    Bucket& bucket = buckets.emplace_back(model, step.node, step.neighbours);
    for (size_t f : mentions[step.node]) {
      if (used[f]) continue;
      used[f] = true;
      bucket.Add(&factors[f]);
    }
    if (!step.neighbours.empty()) add(bucket.Minimise());
  }
  Choice choice(model.size(), 0);
  for (size_t i = order.steps.size(); i-- > 0;) {
    const int32_t best = buckets[i].Best(choice);
    if (best < 0) return Choice();
    choice[order.steps[i].node] = best;
  }
  return choice;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
