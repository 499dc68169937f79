#ifndef MESHWRIGHT_INTER_LAYERS_UNIT_GRAPH_H_
#define MESHWRIGHT_INTER_LAYERS_UNIT_GRAPH_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/batch.h"

namespace meshwright {

// One op, or a loop with all that is in it and its exits: the outermost that is not opened.
struct Unit {
  OpId op;             // of a loop: its first
  int32_t loop = -1;   // in Graph::loops
  bool heavy = false;  // a matmul, a convolution and the like, or a loop with one
  double flops = 0;    // per step; of ops other than heavy ones an estimate
  // What it takes from other units; of a loop the initial values of what it carries; of a
  // conditional's result also what chooses the branch.
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  BatchRole role = BatchRole::kConstant;  // the strongest of what is in it: kSplit before
                                          // kStatistic, kAccumulated, kAfter and kConstant
};

// A program as units in an order in which producers come before users.
struct UnitGraph {
  std::vector<Unit> units;
  std::vector<int32_t> of_op;               // by OpId
  std::vector<int32_t> of_value;            // by ValueId: the producer
  std::vector<std::vector<int32_t>> users;  // by ValueId: units that take it, each once
};
// `opened`: by loop: what is in it are units of their own. The loops around it must be opened too;
// none if empty. What such a loop carries comes from before it; after it, from its last iteration
// too.
UnitGraph BuildUnitGraph(const Graph& graph, const BatchSplit& batch,
                         const std::vector<bool>& opened = {});

// Whether the work of such an op dwarfs that of the ops around it.
bool IsHeavy(const Op& op);

bool IsParameter(const Graph& graph, const Unit& unit);  // of the entry

// By unit: it depends on no data, but on an array among the entry parameters.
std::vector<bool> DependOnWeights(const Graph& graph, const UnitGraph& units);

// By unit: it is computed from data inputs and constants by light ops alone, without weights.
std::vector<bool> PrepareData(const Graph& graph, const UnitGraph& units);

// Whether a unit runs for every micro-batch.
inline bool IsPerMicroBatch(const Unit& unit) {
  return unit.role != BatchRole::kConstant && unit.role != BatchRole::kAfter;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_UNIT_GRAPH_H_
