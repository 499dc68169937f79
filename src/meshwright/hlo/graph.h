#ifndef MESHWRIGHT_HLO_GRAPH_H_
#define MESHWRIGHT_HLO_GRAPH_H_

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/base/id.h"
#include "meshwright/hlo/module.h"

// A Graph is what planning sees of a module: one flat list of operators over array values. Calls
// are inlined, tuples dissolved, while loops and conditionals opened:
//
//  * `call`, and `fusion` (kLoop, kInput, kOutput, kCustom): the callee's instructions take its
//  place.
//  * `tuple`, `get-tuple-element`: gone; users name the element's value itself. `opt-barrier`,
//    `after-all`, `add-dependency`, `domain`, and a `custom-call` to "Sharding" stay out of the way
//    the same way where they only forward a value, except that a Sharding custom call (and any
//    `sharding=` on an instruction) is kept in Value::sharding. A Sharding custom call that asks
//    for another sharding than its operand already has stays as an op: the program reshards there.
//  * what XLA's algebraic simplifier takes away (identity.h): x + 0, x * 1 and the like are x.
//  * asynchronous pairs: `X-start` is the op and its results are X's (then contexts, if any);
//    `X-update` and `X-done` forward. `async-start` gives way to the computation it calls.
//  * `while`: body and condition are inlined once, with Op::multiplicity multiplied by the trip
//    count. A loop-carried value appears as `kLoopParameter` ops in the body; Graph::carries says
//    which values it joins: init (before), parameter (in the body), next (end of body), and exit
//    (what users after the loop see).
//  * `conditional`: every branch is inlined; `kBranchParameter` is not needed because branches read
//    their operands directly; results are joined by a `kSelectBranch` op a leaf.
//
// What XLA drops is not there: operators on which neither an output nor an effect depends, also
// results of calls and conditionals that nobody reads and what loops carry for nobody
// (dead_code.h).
//
// Ops are in execution order: operands are defined before use (loop bodies between init and exit).

namespace meshwright {

struct OpTag {};
struct ValueTag {};
using OpId = Id<OpTag>;
using ValueId = Id<ValueTag>;

struct Value {
  Shape shape;  // an array (or token/opaque)
  OpId producer;
  int32_t result = 0;       // which result of the producer
  std::vector<OpId> users;  // each user once, in order
  bool carried = false;     // init or next of a Carry: a loop reads it too, beside its users
  std::string
      sharding;  // annotation in the program for just this value, canonical text; usually empty

  // Its only reader; invalid if there is none, if there are several, or if a loop carries it.
  OpId only_user() const { return users.size() == 1 && !carried ? users[0] : OpId(); }
  bool is_read() const { return carried || !users.empty(); }
};

enum class OpKind {
  kInstruction,    // one HLO instruction
  kLoopParameter,  // one carried leaf at the start of a loop body; no operands, one result
  kLoopExit,       // one carried leaf after the loop; no operands (see Graph::carries), one result
  kSelectBranch,   // a conditional's result leaf; operands: that leaf of each branch
  kOutput,         // a leaf of the entry's result; one operand, no result
};

struct Op {
  OpKind kind = OpKind::kInstruction;
  // The instruction it stands for; for kLoop* and kSelectBranch the while/conditional, for kOutput
  // the root. Valid as long as the module is alive.
  const Instruction* instruction = nullptr;
  const Computation* computation = nullptr;  // where the instruction stands
  std::string
      name;  // unique in the graph: instruction name, prefixed by call sites where inlined twice
  std::vector<ValueId> operands;  // leaves in order (a tuple operand is spread)
  std::vector<ValueId> results;   // leaves in order
  double multiplicity = 1;        // executions per step: product of enclosing trip counts
  int32_t loop = -1;              // innermost Graph::loops entry it is inside, or -1
  int32_t branch = -1;            // number of the innermost branch of a conditional, or -1
  int64_t parameter = -1;         // entry parameters: number of the parameter
  std::vector<int64_t> leaf;  // entry parameters and outputs: index path of the leaf inside a tuple
  // kLoop* and kSelectBranch: which leaf of the instruction's value it is. Others may be dead.
  int32_t leaf_number = 0;
  ValueId predicate;  // kSelectBranch: which branch is taken; it is no operand

  // The result of an operator that has exactly one, as its kind or opcode tells the caller. Calls
  // and conditionals that are made for their effects have none, variadic operators several: code
  // that takes any operator goes through `results`.
  ValueId result() const {
    if (results.size() != 1) std::abort();
    return results[0];
  }
};

// Whether `op` is a request to the partitioner: it hands its operand on, perhaps sharded otherwise.
// Code that judges what an operator costs or how it is fused looks through those.
bool IsShardingRequest(const Op& op);

struct Loop {
  int32_t parent = -1;  // enclosing loop
  double trip_count = 1;
  bool trip_count_known = false;  // else trip_count is an assumption (1) and a warning was made
  OpId begin, end;                // ops [begin, end) belong to the body and condition
  ValueId condition;              // whether the loop goes on
  std::string name;               // of the `while`, with the prefix of its call site
};

// A `conditional` of which something is left.
struct Conditional {
  const Instruction* instruction = nullptr;
  ValueId predicate;  // which branch is taken
  OpId begin, end;    // ops [begin, end) are those of the branches, then the kSelectBranch ops
};

// One loop-carried leaf. Parameter, next and exit must have one sharding; init may be resharded.
struct Carry {
  int32_t loop = 0;
  ValueId init, parameter, next, exit;
  bool invariant = false;  // next is parameter itself: the loop only reads it
};

struct Graph {
  std::string name;
  const Module* module = nullptr;  // what the graph was built from; outlives it
  std::vector<Op> ops;
  std::vector<Value> values;
  std::vector<Loop> loops;
  std::vector<Carry> carries;  // those of a loop follow each other, in the order of their leaves
  std::vector<Conditional> conditionals;
  std::vector<OpId> parameters;  // entry parameter leaves (ops of opcode kParameter), in order
  std::vector<OpId> outputs;     // kOutput ops, leaves of the root in order
  std::vector<int32_t>
      output_alias;  // per output: index into `parameters` it shares its buffer with, or -1
  // E.g. a loop whose trip count cannot be derived, sizes that are only bounded.
  std::vector<std::string> warnings;

  const Op& operator[](OpId id) const { return ops[id.index()]; }
  Op& operator[](OpId id) { return ops[id.index()]; }
  const Value& operator[](ValueId id) const { return values[id.index()]; }
  Value& operator[](ValueId id) { return values[id.index()]; }
};

inline constexpr int64_t kMaxInlinedInstructions = int64_t{1} << 22;

// Builds the graph of `module`'s entry computation. `module` must outlive it.
// Errors: recursion, an instruction that refers to a missing computation, tuples that do not fit
// together, a program that grows beyond reason (kMaxInlinedInstructions) when its calls are
// inlined.
absl::StatusOr<Graph> BuildGraph(const Module& module);

// The first value with a dimension of which only a bound is known (`<=` in HLO text), as
// `"p" f32[<=64,32]`; empty if all sizes are known. Such a program is planned as if sizes were
// always their bounds; under JAX it cannot be run.
std::string FindBoundedSize(const Graph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_GRAPH_H_
