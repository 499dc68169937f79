#ifndef MESHWRIGHT_PLAN_ANNOTATE_PLANNED_TEXTS_H_
#define MESHWRIGHT_PLAN_ANNOTATE_PLANNED_TEXTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/plan/annotate/movements.h"
#include "meshwright/sharding/rule.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

// What a plan says of the operations of a program's StableHLO text, in Shardy's notation. Refers to
// all that it is made of.
class PlannedTexts {
 public:
  // As AnnotateStablehlo; the mesh has the name `mesh_name` in the text.
  PlannedTexts(const StablehloSource& source, const Graph& graph, const Mesh& mesh,
               const std::vector<Sharding>& values, const Movements& movements, bool marks_calls,
               std::string mesh_name);

  // How an operand is needed, where that is not how what stands in the text is sharded: what it
  // goes through and, last, where it ends.
  struct Operand {
    ValueId value;
    std::vector<std::string> shardings;
  };

  // What the plan says of the text's operations.
  struct Texts {
    // The shardings of each result, one after the other; none where there is nothing to say.
    std::vector<std::vector<std::vector<std::string>>> results;
    // Of conditionals, by result: the operator that joins what the branches hand on.
    std::vector<std::vector<OpId>> joins;
    // How each operation needs its operands; nothing where that is as they are kept, none at all
    // if it needs no operand otherwise.
    std::vector<std::vector<std::optional<Operand>>> operands;
    std::vector<std::string> marks;  // attributes of the first constraint behind each operation
    std::vector<ValueId> values;     // that each operation makes first; invalid: none of its own
  };

  Texts FindTexts() const;

  std::string Text(const Sharding& sharding) const;
  // How what stands for `value` in the text is sharded, which may be otherwise than it is kept.
  const Sharding& Seen(ValueId value) const { return seen_[value.index()]; }
  std::string SeenText(ValueId value) const;
  // The specs of path `k` of `paths`, which are empty or one for each.
  std::vector<std::string> PathTexts(const std::vector<Movements::Path>& paths, size_t k) const;
  // Nothing if `value` is needed as it is seen. `paths`: of several operands, of which it is number
  // `k`.
  std::optional<Operand> OperandTo(ValueId value, const Sharding& needed,
                                   const std::vector<Movements::Path>& paths, size_t k) const;

 private:
  void FindPending();
  std::string PartialText(Sharding sharding, const AxisList& axes) const;
  const Sharding& Carried(const Carry& carry) const;
  std::vector<std::string> Steps(ValueId value, const Sharding& needed,
                                 const std::vector<Movements::Path>& paths, size_t k) const;
  bool MakesResult(const Op& op, const StablehloSource::Result& result) const;
  const Sharding& Needed(OpId op, size_t k) const;
  std::string Mark(OpId id) const;
  bool CutsJointly(const Rule& rule, OpId id) const;

  const StablehloSource& source_;
  const Graph& graph_;
  const std::vector<bool> free_;  // by ValueId: recomputed wherever it is needed
  const Mesh& mesh_;
  const std::vector<Sharding>& values_;
  const Movements& movements_;
  const bool marks_calls_;
  const std::string mesh_name_;
  std::vector<Sharding> seen_;     // by ValueId
  std::vector<AxisList> pending_;  // of movements_, what can be said
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_ANNOTATE_PLANNED_TEXTS_H_
