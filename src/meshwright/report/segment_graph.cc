#include "meshwright/report/segment_graph.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

constexpr int32_t kForward = 1, kBackward = 2, kUpdate = 3;
constexpr int32_t kPhaseOrder[] = {kForward, 0, kBackward, kUpdate};
// Longer patterns of different layers are not looked for: networks alternate between few kinds.
constexpr size_t kLongestPattern = 8;

struct Unit {
  int32_t phase = 0;
  int64_t layer = -1, rounds = 1;
  std::vector<int32_t> members = {};  // instructions, in order
  uint64_t fingerprint = 0;
  int64_t place = -1;  // the layer that it stands at
};

void AddTo(const PlanCollective& collective, std::vector<PlanCollective>& sums) {
  const auto same = std::find_if(sums.begin(), sums.end(), [&](const PlanCollective& sum) {
    return sum.kind == collective.kind && sum.axes == collective.axes;
  });
  if (same == sums.end()) {
    sums.push_back(collective);
    sums.back().value.clear();
    return;
  }
  same->count += collective.count;
  same->bytes_per_device += collective.bytes_per_device;
  same->seconds += collective.seconds;
}

void SlowestFirst(std::vector<PlanCollective>& collectives) {
  std::stable_sort(
      collectives.begin(), collectives.end(),
      [](const PlanCollective& a, const PlanCollective& b) { return a.seconds > b.seconds; });
}

class SegmentFinder {
 public:
  SegmentFinder(const PlanPart& program, int64_t micro_batches)
      : program_(program),
        instructions_(program.instructions),
        micro_batches_(std::max<int64_t>(1, micro_batches)) {}

  SegmentGraph Find() && {
    PhasesAndLayers found = FindPhasesAndLayers(program_);
    graph_.phase_of = std::move(found.phase);
    graph_.layer_of = std::move(found.layer);
    PlaceOutputs();
    FindUnits();
    for (Unit& unit : units_) unit.fingerprint = Fingerprint(unit);
    Fold();
    AddEdges();
    return std::move(graph_);
  }

 private:
  // What is drawn: not what merely stands for data. Outputs are where they take time.
  static bool Counts(const PlanInstruction& instruction) {
    if (instruction.seconds > 0 || !instruction.collective.empty()) return true;
    return instruction.opcode != PlanOpcode::kParameter &&
           instruction.opcode != PlanOpcode::kOutput &&
           instruction.opcode != PlanOpcode::kConstant && instruction.opcode != PlanOpcode::kIota &&
           instruction.strategy != "free";
  }

  // An output belongs to where its value is made.
  void PlaceOutputs() {
    for (size_t i = 0; i < instructions_.size(); ++i) {
      const std::vector<int64_t>& operands = instructions_[i].operands;
      if (instructions_[i].opcode != PlanOpcode::kOutput || operands.empty()) continue;
      graph_.phase_of[i] = graph_.phase_of[operands[0]];
      graph_.layer_of[i] = graph_.layer_of[operands[0]];
    }
  }

  // How often the loop goes round that an operator outside of all layers is in; 1: none.
  int64_t RoundsOf(size_t instruction) const {
    if (graph_.layer_of[instruction] >= 0) return 1;
    const int32_t phase = graph_.phase_of[instruction];
    const int64_t runs = phase == kForward || phase == kBackward ? micro_batches_ : 1;
    return std::max<int64_t>(1, instructions_[instruction].executions / runs);
  }

  void FindUnits() {
    std::map<std::tuple<int32_t, int64_t, int64_t>, int32_t> number;
    unit_of_.assign(instructions_.size(), -1);
    for (size_t i = 0; i < instructions_.size(); ++i) {
      if (!Counts(instructions_[i])) continue;
      const std::tuple key = {graph_.phase_of[i], graph_.layer_of[i], RoundsOf(i)};
      const auto [it, inserted] = number.try_emplace(key, static_cast<int32_t>(units_.size()));
      if (inserted) {
        units_.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key)});
      }
      unit_of_[i] = it->second;
      units_[it->second].members.push_back(static_cast<int32_t>(i));
    }
  }

  // The same for units whose operators and connections are the same, in whatever order: an
  // operator's hash goes over all that it is made from within the unit.
  uint64_t Fingerprint(const Unit& unit) {
    std::vector<uint64_t> all;
    for (const int32_t i : unit.members) {
      const PlanInstruction& op = instructions_[i];
      // The strategy of an output is the name of what it replaces.
      uint64_t hash = absl::HashOf(op.opcode, op.type.dtype, op.type.shape, op.spec,
                                   op.opcode == PlanOpcode::kOutput ? std::string() : op.strategy,
                                   op.pending_axes, op.executions);
      for (const int64_t operand : op.operands) {
        hash = absl::HashOf(hash, OperandHash(unit, i, operand));
      }
      for (const PlanCollective& one : op.collective) {
        hash = absl::HashOf(hash, one.kind, one.axes, one.bytes_per_device, one.count);
      }
      if (hashes_.empty()) hashes_.resize(instructions_.size());
      hashes_[i] = hash;
      all.push_back(hash);
    }
    std::sort(all.begin(), all.end());
    return absl::HashOf(unit.phase, unit.rounds, all);
  }

  // A loop-parameter also reads what stands after it.
  uint64_t OperandHash(const Unit& unit, int32_t reader, int64_t operand) const {
    if (operand >= reader) return 0;
    if (unit_of_[operand] == unit_of_[reader]) return hashes_[operand];
    const PlanInstruction& op = instructions_[operand];
    return absl::HashOf(op.opcode == PlanOpcode::kParameter, op.type.dtype, op.type.shape, op.spec);
  }

  // Layers are numbered as data goes through them, and backward runs the other way. What belongs to
  // no layer is what they share, before them, or comes of it, behind them; loops are where they
  // begin.
  void Fold() {
    graph_.node_of.assign(instructions_.size(), -1);
    PlaceLoops();
    for (const int32_t phase : kPhaseOrder) {
      std::vector<int32_t> row;  // units
      for (size_t u = 0; u < units_.size(); ++u) {
        if (units_[u].phase == phase) row.push_back(static_cast<int32_t>(u));
      }
      const bool up = phase == kForward || phase == 0;
      std::stable_sort(row.begin(), row.end(), [&](int32_t a, int32_t b) {
        const int64_t left = units_[a].place, right = units_[b].place;
        return phase == kUpdate ? static_cast<uint64_t>(left) < static_cast<uint64_t>(right)
               : up             ? left < right
                                : left > right;
      });
      FoldRow(row);
    }
  }

  // Units are in the order of their first operators.
  void PlaceLoops() {
    std::map<int32_t, int64_t> reached;  // by phase: the layer that stands before
    for (Unit& unit : units_) {
      unit.place = unit.layer;
      if (unit.layer >= 0) {
        const auto [it, first] = reached.try_emplace(unit.phase, unit.layer);
        if (!first) {
          it->second = unit.phase == kBackward ? std::min(it->second, unit.layer)
                                               : std::max(it->second, unit.layer);
        }
      } else if (unit.rounds > 1) {
        const auto it = reached.find(unit.phase);
        if (it != reached.end()) unit.place = it->second;
      }
    }
  }

  // Turns every run of a repeated pattern into the pattern's nodes: the pattern that covers most of
  // what follows, of several such the shortest.
  void FoldRow(const std::vector<int32_t>& row) {
    const auto same = [&](size_t a, size_t b) {
      return units_[row[a]].fingerprint == units_[row[b]].fingerprint;
    };
    for (size_t first = 0; first < row.size();) {
      size_t pattern = 1, covered = 1;
      for (size_t length = 1; length <= kLongestPattern; ++length) {
        size_t end = first + length;
        while (end < row.size() && same(end, end - length)) ++end;
        const size_t whole = (std::min(end, row.size()) - first) / length * length;
        if (whole >= 2 * length && whole > covered) {
          pattern = length;
          covered = whole;
        }
      }
      ++blocks_;
      for (size_t k = 0; k < pattern; ++k) AddNode(row, first + k, pattern, first + covered);
      first += covered;
    }
  }

  void AddNode(const std::vector<int32_t>& row, size_t first, size_t step, size_t end) {
    SegmentNode node;
    node.segment = SegmentOf(units_[row[first]]);
    node.block = blocks_ - 1;
    for (size_t k = first; k < end; k += step) {
      node.layers.push_back(units_[row[k]].layer);
      ++repetitions_[node.segment];
      for (const int32_t i : units_[row[k]].members) {
        graph_.node_of[i] = static_cast<int32_t>(graph_.nodes.size());
        graph_.segments[node.segment].seconds += instructions_[i].seconds;
      }
    }
    graph_.nodes.push_back(std::move(node));
  }

  static std::string LabelOf(const Unit& unit) {
    const std::string phase = PhaseText(unit.phase);
    if (unit.layer >= 0) return absl::StrCat(phase, phase.empty() ? "" : " ", "layer");
    return absl::StrCat(phase, phase.empty() ? "" : ", ",
                        unit.rounds > 1 ? absl::StrCat("in a loop of ", unit.rounds, " rounds")
                                        : "outside the layers");
  }

  int32_t SegmentOf(const Unit& unit) {
    const auto [it, inserted] =
        segments_.try_emplace(unit.fingerprint, static_cast<int32_t>(graph_.segments.size()));
    if (inserted) {
      DrawnSegment segment;
      segment.phase = unit.phase;
      segment.rounds = unit.rounds;
      segment.label = LabelOf(unit);
      segment.operators = static_cast<int64_t>(unit.members.size());
      graph_.segments.push_back(std::move(segment));
      first_unit_.push_back(unit_of_[unit.members[0]]);
      repetitions_.push_back(0);
    }
    return it->second;
  }

  void AddEdges() {
    absl::flat_hash_map<std::string, int32_t> by_name;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      by_name[instructions_[i].name] = static_cast<int32_t>(i);
    }
    std::map<std::pair<int32_t, int32_t>, SegmentEdge> edges;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      const int32_t node = graph_.node_of[i];
      if (node < 0) continue;
      for (const int64_t operand : instructions_[i].operands) {
        const int32_t from = graph_.node_of[operand];
        if (from >= 0 && from != node) ++edges[{from, node}].values;
      }
      for (const PlanCollective& collective : instructions_[i].collective) {
        AddCollective(static_cast<int32_t>(i), collective, by_name, edges);
      }
    }
    for (auto& [ends, edge] : edges) {
      std::tie(edge.from, edge.to) = ends;
      SlowestFirst(edge.collectives);
      graph_.edges.push_back(std::move(edge));
    }
    for (size_t s = 0; s < graph_.segments.size(); ++s) {
      SlowestFirst(graph_.segments[s].collectives);
      graph_.segments[s].seconds /= static_cast<double>(repetitions_[s]);
      graph_.segments[s].communication_seconds /= static_cast<double>(repetitions_[s]);
    }
  }

  void AddCollective(int32_t instruction, const PlanCollective& collective,
                     const absl::flat_hash_map<std::string, int32_t>& by_name,
                     std::map<std::pair<int32_t, int32_t>, SegmentEdge>& edges) {
    const int32_t node = graph_.node_of[instruction];
    const int32_t segment = graph_.nodes[node].segment;
    graph_.segments[segment].communication_seconds += collective.seconds;
    const auto value = by_name.find(collective.value);
    const int32_t from = value == by_name.end() ? -1 : graph_.node_of[value->second];
    if (from >= 0 && from != node) {
      AddTo(collective, edges[{from, node}].collectives);
    } else if (unit_of_[instruction] == first_unit_[segment]) {
      AddTo(collective, graph_.segments[segment].collectives);
    }
  }

  const PlanPart& program_;
  const std::vector<PlanInstruction>& instructions_;
  const int64_t micro_batches_;
  std::vector<int32_t> unit_of_;  // by instruction
  std::vector<uint64_t> hashes_;  // by instruction
  std::vector<Unit> units_;       // in the order of their first operators
  absl::flat_hash_map<uint64_t, int32_t> segments_;
  std::vector<int32_t> first_unit_;   // by segment: the one that stands for all
  std::vector<int64_t> repetitions_;  // by segment
  int32_t blocks_ = 0;
  SegmentGraph graph_;
};

}  // namespace

std::string LayersText(const SegmentNode& node, const LayerLabels& labels) {
  std::vector<int64_t> layers = node.layers;
  std::sort(layers.begin(), layers.end());
  return layers.empty() || layers[0] < 0 ? "" : labels.Text(layers);
}

SegmentGraph SegmentsOf(const PlanPart& program, int64_t micro_batches) {
  return SegmentFinder(program, micro_batches).Find();
}

}  // namespace meshwright
