#ifndef MESHWRIGHT_REPORT_SEGMENT_GRAPH_H_
#define MESHWRIGHT_REPORT_SEGMENT_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/explain/layers_by_name.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/report/device_programs.h"

// A program as a few distinct segments: one layer in one phase each, however often it repeats. Of
// what belongs to no layer each loop is one, by how often it goes round. Layers are equal where
// their operators are: opcodes, types, shardings, collectives and how they are connected. Names do
// not count.

namespace meshwright {

struct DrawnSegment {
  std::string label;  // "forward layer", "update", "backward, in a loop of 32 rounds"
  int32_t phase = 0;
  int64_t rounds = 1;  // of a loop: how often it goes round in one run of the phase
  // Of one of its repetitions, as is all that follows; of times the mean, as fusion may make equal
  // operators differ.
  int64_t operators = 0;
  double seconds = 0, communication_seconds = 0;
  std::vector<PlanCollective> collectives;  // between its own operators, by kind and axes
};

// Equal segments in a row.
struct SegmentNode {
  int32_t segment = 0;
  std::vector<int64_t> layers;  // one for each repetition, in the order they run; -1: no layer
  // Nodes of one block repeat together, as often as each has layers: A B A B.
  int32_t block = 0;
};

// "layers 0-23", as users call them; "" of what belongs to no layer.
std::string LayersText(const SegmentNode& node, const LayerLabels& labels);

// Values that operators of one node make and those of another take.
struct SegmentEdge {
  int32_t from = 0, to = 0;  // nodes
  int64_t values = 0;
  std::vector<PlanCollective> collectives;  // of all repetitions, by kind and axes
};

struct SegmentGraph {
  std::vector<DrawnSegment> segments;
  std::vector<SegmentNode> nodes;  // by phase, then as they run
  std::vector<SegmentEdge> edges;
  // By instruction: its node, -1 for what neither takes time nor computes (parameters, constants,
  // what is made from these alone); and the phase and the layer by which it was put there.
  std::vector<int32_t> node_of, phase_of;
  std::vector<int64_t> layer_of;
};

// Layers are those of FindPhasesAndLayers. `micro_batches`: how often forward and backward run in a
// step. Linear in the program. Times add up: of all nodes, each as often as it has layers, they are
// those of all instructions.
SegmentGraph SegmentsOf(const PlanPart& program, int64_t micro_batches = 1);

}  // namespace meshwright

#endif  // MESHWRIGHT_REPORT_SEGMENT_GRAPH_H_
