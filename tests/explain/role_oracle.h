#ifndef TESTS_EXPLAIN_ROLE_ORACLE_H_
#define TESTS_EXPLAIN_ROLE_ORACLE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/plan/make/plan_program.h"

namespace meshwright {

// What every axis of the mesh is to a weight, by the definitions of parallelism.h but from the
// program itself: dimension numbers of the product that uses it, and the planner's own strategies.
// Nothing of the plan document is looked at.
//
// For programs whose activations have the batch before the sequence.
class RoleOracle {
 public:
  explicit RoleOracle(const PlannedProgram& planned);

  // By axis, in the words of AxisRoleName; nullopt: `parameter` (position in graph.parameters) is
  // not used by a matmul, so that this does not judge it.
  std::optional<std::vector<std::string>> RolesOf(size_t parameter) const;

 private:
  struct Product {
    OpId op;
    size_t operand;
  };
  std::optional<Product> FirstProduct(ValueId weight) const;
  std::string RoleOf(size_t parameter, const Product& product, AxisIndex axis) const;
  bool StateIsCut(size_t parameter, AxisIndex axis) const;

  const PlannedProgram& planned_;
  const Graph& graph_;
};

// Expects that JudgeParameters says the same of all weights that a matmul uses; returns how
// many there are, by kind.
std::map<std::string, int> ExpectAsOracle(const PlannedProgram& planned);

}  // namespace meshwright

#endif  // TESTS_EXPLAIN_ROLE_ORACLE_H_
