#ifndef MESHWRIGHT_INTRA_PROBLEM_COSTS_H_
#define MESHWRIGHT_INTRA_PROBLEM_COSTS_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/intra/candidates.h"
#include "meshwright/intra/edge_costs.h"
#include "meshwright/intra/problem_builder.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

// What a move of a value, which takes x seconds of a step by itself, counts for in a problem:
// share * (x - discount * min(x, most_hidden)).
struct MoveTerms {
  double share = 1;
  double discount = 0;
  double most_hidden = std::numeric_limits<double>::infinity();  // seconds
  bool combined = false;  // x is by the second cost model, of collectives that are combined
  friend bool operator==(const MoveTerms&, const MoveTerms&) = default;
};

// The moves of a problem: how parameters are gathered for their users, and edges. Empty: moves
// count as they are.
struct MovePricing {
  std::vector<MoveTerms> nodes;  // by NodeId; of those that are no parameters nothing is read
  std::vector<MoveTerms> edges;  // by index into PlanningProblem::edges
};

// Costs of a planning problem's nodes and edges. Keeps what it prices, for the next pricing of the
// same problem.
class ProblemCosts {
 public:
  // `combined`: prices of collectives where MoveTerms::combined says so; may be null where none
  // does. All must outlive the object.
  ProblemCosts(const ProblemInputs& inputs, const CandidateSets& sets, const CostModel* combined,
               double ticks);

  // Fills the costs of problem->nodes and problem->edges; usages stay. With `break_ties` equals
  // that are stored smaller are preferred (TieBreakTicks).
  void Fill(const PlanningProblem& planning, const MovePricing& pricing, bool break_ties,
            solve::Problem* problem);
  // Whether a cost that is possible was too large for the problem's integers.
  bool overflowed() const { return costs_.overflowed(); }

 private:
  using SharedMatrix = std::shared_ptr<const solve::Matrix>;
  double NodeCost(const PlanningNode& node, const MoveTerms& terms, int32_t strategy);
  int64_t TieBreakTicks(const PlanningNode& node, int32_t strategy) const;
  SharedMatrix Discounted(const SharedMatrix& matrix, const MoveTerms& terms);

  const ProblemInputs& in_;
  const CandidateSets& sets_;
  const CostModel* combined_;
  const double ticks_;
  EdgeCosts costs_;
  std::unique_ptr<EdgeCosts> combined_costs_;
  // By set of a parameter and whether combined: seconds of its strategies' gathering.
  absl::flat_hash_map<std::pair<const CandidateSet*, bool>, std::vector<double>> gathering_;
  struct DiscountKey {
    SharedMatrix matrix;
    double share, discount, most_hidden;
    friend bool operator==(const DiscountKey&, const DiscountKey&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const DiscountKey& key) {
      return H::combine(std::move(h), key.matrix.get(), key.share, key.discount, key.most_hidden);
    }
  };
  absl::flat_hash_map<DiscountKey, SharedMatrix> discounted_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_PROBLEM_COSTS_H_
