#ifndef MESHWRIGHT_HLO_GRAPH_BUILDER_H_
#define MESHWRIGHT_HLO_GRAPH_BUILDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/hlo/flatten.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/identity.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Makes one Graph. Walks the entry computation in order and enters every computation it inlines by
// recursion; each instruction of each visit gets a *view*, the leaves its value consists of. Views
// are ranges of one list, so that taking an element out of a tuple costs nothing and the whole
// takes time linear in what is inlined.
class GraphBuilder {
 public:
  explicit GraphBuilder(const Module& module);

  // Call once.
  absl::StatusOr<Graph> Build();

 private:
  // A range of leaves_.
  struct View {
    int32_t begin = -1, count = 0;
    bool valid() const { return begin >= 0; }
  };

  // One visit of a computation.
  struct Frame {
    const Computation* computation = nullptr;
    CallSite site;
    std::string prefix;  // of the names of ops
    double multiplicity = 1;
    int32_t loop = -1;
    int32_t branch = -1;
    std::vector<View> arguments;  // by parameter number
    std::vector<View> views;      // by instruction
  };

  // Inlines `called` for `call` with the arguments; returns the view of its root.
  absl::StatusOr<View> Enter(const Frame& caller, const Instruction& call, ComputationId called,
                             std::vector<View> arguments, double multiplicity, int32_t loop,
                             int32_t branch);
  absl::StatusOr<View> Visit(Frame& frame);
  absl::StatusOr<View> Translate(const Frame& frame, const Instruction& instruction);

  // One per way of translating an instruction.
  absl::StatusOr<View> MakeOp(const Frame& frame, const Instruction& instruction);
  absl::StatusOr<View> Argument(const Frame& frame, const Instruction& instruction);
  absl::StatusOr<View> Element(const Frame& frame, const Instruction& instruction);
  absl::StatusOr<View> MakeTuple(const Frame& frame, const Instruction& instruction);
  absl::StatusOr<View> Forward(const Frame& frame, const Instruction& instruction);
  absl::StatusOr<View> AfterAll(const Frame& frame, const Instruction& instruction);
  absl::StatusOr<View> CustomCall(const Frame& frame, const Instruction& instruction);
  absl::StatusOr<View> Call(const Frame& frame, const Instruction& instruction);
  absl::StatusOr<View> While(const Frame& frame, const Instruction& instruction);
  absl::StatusOr<View> Conditional(const Frame& frame, const Instruction& instruction);
  absl::StatusOr<View> AsyncStart(const Frame& frame, const Instruction& instruction);
  absl::StatusOr<View> AllReduceStart(const Frame& frame, const Instruction& instruction);
  absl::StatusOr<View> StartOp(const Frame& frame, const Instruction& instruction);
  // The value of a start whose operation has the leaves `result`; it needs an op if invalid.
  absl::StatusOr<View> StartView(const Frame& frame, const Instruction& instruction, View result);
  absl::StatusOr<View> Done(const Frame& frame, const Instruction& instruction);

  struct Translator {
    Opcode opcode;
    absl::StatusOr<View> (GraphBuilder::*translate)(const Frame&, const Instruction&);
  };
  static const Translator kTranslators[];

  void AddEntryParameters(Frame& entry);
  void AddOutputs(const Computation& entry, View root);
  void AddAliases();

  Op& AddOp(OpKind kind, const Frame& frame, const Instruction& instruction, std::string name);
  void AddOperands(Op& op, View view);
  ValueId AddResult(Op& op, const Shape& shape);
  View AddView(absl::Span<const ValueId> leaves);
  absl::Span<const ValueId> Leaves(View view) const;
  View OperandView(const Frame& frame, const Instruction& instruction, size_t i) const;
  View ElementView(const Shape& tuple, View view, int64_t index);
  bool StandsForResults(const Frame& frame, const Instruction& instruction) const;
  void ApplySharding(const Instruction& instruction, View view);
  std::string UniqueName(std::string name);

  const Module& module_;
  Graph graph_;
  int32_t branches_ = 0;  // of all conditionals so far
  std::vector<ValueId> leaves_;
  LeafOffsets offsets_;
  std::vector<int> call_sites_;  // by computation: how many instructions inline it
  std::vector<bool> active_;     // by computation: being visited
  int depth_ = 0;
  int64_t inlined_ = 0;
  std::vector<int32_t> translator_of_;  // by opcode: index into kTranslators, or -1: MakeOp
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_map<std::string, int> next_suffix_;  // by clashing name
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_GRAPH_BUILDER_H_
