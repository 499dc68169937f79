#ifndef MESHWRIGHT_SOLVE_LOCAL_STATE_H_
#define MESHWRIGHT_SOLVE_LOCAL_STATE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "meshwright/solve/model.h"
#include "meshwright/solve/row_slack.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// A model with the edges listed by node, for searches that change a few nodes at a time.
class Neighbourhoods {
 public:
  struct Link {
    int32_t other;
    const Matrix* matrix;
    bool row;  // the node itself is the rows
    Number at(int32_t mine, int32_t theirs) const {
      return row ? matrix->at(mine, theirs) : matrix->at(theirs, mine);
    }
  };

  explicit Neighbourhoods(const Model& model);
  std::span<const Link> of(int32_t v) const {
    return std::span(links_).subspan(first_[v], first_[v + 1] - first_[v]);
  }
  // Nodes with usage by row.
  std::span<const int32_t> users(int32_t row) const {
    return std::span(users_).subspan(first_user_[row], first_user_[row + 1] - first_user_[row]);
  }

 private:
  std::vector<size_t> first_, first_user_;
  std::vector<Link> links_;
  std::vector<int32_t> users_;
};

// A choice with its cost and what it leaves of the rows, kept up to date while nodes change.
class LocalState {
 public:
  LocalState(const Model& model, const Neighbourhoods& near, Choice choice);

  const Choice& choice() const { return choice_; }
  Int128 cost() const { return cost_; }  // forbidden entries count kInf
  bool Feasible() const;
  const std::vector<Number>& slack() const { return slack_.slack(); }

  // Cost of v's strategies given its neighbours, with the edges.
  void CostsOf(int32_t v, std::vector<Number>* costs) const;
  void Set(int32_t v, int32_t s);

  // Sets `nodes` to `strategies` if that is cheaper and fits; else leaves all as they were.
  bool ImproveWith(std::span<const int32_t> nodes, std::span<const int32_t> strategies);

 private:
  const Model& model_;
  const Neighbourhoods& near_;
  Choice choice_;
  Int128 cost_;
  RowSlack slack_;
};

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_LOCAL_STATE_H_
