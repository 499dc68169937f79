// XLA runs three memory schedulers and keeps the order with the lowest simulated peak
// (xla/hlo/transforms/simplifiers/hlo_memory_scheduler.cc: DefaultMemoryScheduler). So do we:
//
//  * Post order: the order of the program.
//  * Depth first: from the sinks, operands with the largest subgraphs first, so that big
//    temporaries are made and consumed before small ones pile up.
//  * List: of all that is ready, what frees most bytes net of what it allocates; among equals, the
//    first of the program. Greedy; good at running optimizer updates as soon as a gradient is
//    there.
//
// Only what runs by itself is scheduled; fused operators and views take no time and stand right
// before the first kernel that needs them. A loop is one node of its region, its body a region of
// its own, so that bodies stay in one piece. n log n in the size of the graph (times the readers of
// a value).

#include <algorithm>
#include <set>
#include <utility>

#include "meshwright/cost/liveness.h"
#include "meshwright/cost/readers.h"

namespace meshwright {
namespace {

// The ops of one loop body (or of the entry) as a graph of units: ops that run by themselves, and
// inner loops whole.
struct Region {
  struct Unit {
    OpId op;                            // an op, or
    int32_t loop = -1;                  // an inner loop
    std::vector<int32_t> needs, feeds;  // units, ascending; each once
    std::vector<int32_t> reads;         // buffers of this region it reads, each once
    std::vector<int32_t> writes;        // buffers it makes
  };
  struct Buffer {
    int64_t bytes = 0;
    std::vector<int32_t> readers;  // units
    bool kept = false;             // read outside the region or by loops' ends: never freed here
  };
  std::vector<Unit> units;  // in program order
  std::vector<Buffer> buffers;
  std::vector<OpId> fused;  // ops that do not run by themselves, in program order
};

class Scheduler {
 public:
  Scheduler(const Graph& graph, const FusionInfo& fusion)
      : graph_(graph), fusion_(fusion), readers_(Readers(graph, fusion)) {
    BuildRegions();
  }

  using Order = std::vector<int32_t> (*)(const Region&);

  // The whole graph with every region in the order that `order` gives it.
  Schedule Run(Order order) const {
    std::vector<std::vector<int32_t>> orders;
    for (const Region& region : regions_) orders.push_back(order(region));
    Schedule schedule;
    schedule.order.reserve(graph_.ops.size());
    schedule.time.assign(graph_.ops.size(), -1);
    Emit(kEntry, orders, &schedule);
    return schedule;
  }

 private:
  static constexpr int32_t kEntry = -1;
  static size_t RegionOf(int32_t loop) { return static_cast<size_t>(int64_t{loop} + 1); }

  // The unit of region `region_loop` in which op `id` runs, or -1 if it is outside the region.
  int32_t UnitIn(int32_t region_loop, OpId id) const {
    int32_t loop = graph_[id].loop;
    if (loop == region_loop) return unit_of_op_[id.index()];
    while (loop >= 0 && graph_.loops[loop].parent != region_loop) loop = graph_.loops[loop].parent;
    return loop < 0 ? -1 : unit_of_loop_[loop];
  }

  void BuildRegions() {
    regions_.resize(graph_.loops.size() + 1);
    unit_of_op_.assign(graph_.ops.size(), -1);
    unit_of_loop_.assign(graph_.loops.size(), -1);
    buffer_of_.assign(graph_.values.size(), -1);
    MarkParameters();
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const OpId id(i);
      for (int32_t loop = graph_.ops[i].loop; loop >= 0 && unit_of_loop_[loop] < 0;
           loop = graph_.loops[loop].parent) {
        unit_of_loop_[loop] = AddUnit(graph_.loops[loop].parent, OpId(), loop);
      }
      if (RunsByItself(graph_, fusion_, id)) {
        unit_of_op_[i] = AddUnit(graph_.ops[i].loop, id, -1);
      } else {
        regions_[RegionOf(graph_.ops[i].loop)].fused.push_back(id);
      }
    }
    for (size_t v = 0; v < graph_.values.size(); ++v) AddValue(ValueId(v));
    inits_.resize(graph_.loops.size());
    for (const Carry& carry : graph_.carries) {
      inits_[carry.loop].push_back(carry.init);
      AddCarry(carry);
    }
    for (Region& region : regions_) {
      for (Region::Unit& unit : region.units) {
        for (std::vector<int32_t>* list : {&unit.needs, &unit.feeds, &unit.reads}) SortUnique(list);
      }
      for (Region::Buffer& buffer : region.buffers) SortUnique(&buffer.readers);
    }
  }

  static void SortUnique(std::vector<int32_t>* list) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }

  // Entry parameters are there from the start, and outputs that take over a donated one take its
  // memory: making or reading them changes nothing.
  void MarkParameters() {
    takes_no_memory_.assign(graph_.values.size(), false);
    for (OpId parameter : graph_.parameters)
      takes_no_memory_[graph_[parameter].result().index()] = true;
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (graph_.output_alias[i] < 0) continue;
      takes_no_memory_[Base(graph_[graph_.outputs[i]].operands[0]).index()] = true;
    }
  }

  int32_t AddUnit(int32_t region_loop, OpId op, int32_t loop) {
    std::vector<Region::Unit>& units = regions_[RegionOf(region_loop)].units;
    units.emplace_back();
    units.back().op = op;
    units.back().loop = loop;
    return static_cast<int32_t>(units.size()) - 1;
  }

  void AddEdge(int32_t region_loop, int32_t from, int32_t to) {
    if (from < 0 || to < 0 || from == to) return;
    Region& region = regions_[RegionOf(region_loop)];
    region.units[to].needs.push_back(from);
    region.units[from].feeds.push_back(to);
  }

  // `v`'s buffer in the region of its producer, and the order between producer and readers.
  void AddValue(ValueId v) {
    if (!fusion_.materialized[v.index()]) return;
    const OpId producer = graph_[v].producer;
    const int32_t loop = graph_[producer].loop;
    const int32_t from = unit_of_op_[producer.index()];
    Region& region = regions_[RegionOf(loop)];
    const int32_t buffer = static_cast<int32_t>(region.buffers.size());
    region.buffers.emplace_back();
    region.buffers.back().bytes = takes_no_memory_[v.index()] ? 0 : graph_[v].shape.bytes();
    region.units[from].writes.push_back(buffer);
    for (OpId reader : readers_[v.index()]) {
      const int32_t to = UnitIn(loop, reader);
      if (graph_[reader].kind == OpKind::kOutput || to < 0) region.buffers[buffer].kept = true;
      AddRead(loop, buffer, to);
      AddEdge(loop, from, to);
    }
    buffer_of_[v.index()] = buffer;
  }

  void AddRead(int32_t loop, int32_t buffer, int32_t unit) {
    if (unit < 0) return;
    Region& region = regions_[RegionOf(loop)];
    region.units[unit].reads.push_back(buffer);
    region.buffers[buffer].readers.push_back(unit);
  }

  ValueId Base(ValueId v) const {
    while (!fusion_.materialized[v.index()] && !fusion_.free[v.index()] &&
           graph_[graph_[v].producer].operands.size() == 1) {
      v = graph_[graph_[v].producer].operands[0];
    }
    return v;
  }

  void AddCarry(const Carry& carry) {
    const int32_t outside = graph_.loops[carry.loop].parent;
    const ValueId init = Base(carry.init), next = Base(carry.next);
    const OpId maker = graph_[init].producer;
    const int32_t loop_unit = unit_of_loop_[carry.loop];
    if (fusion_.materialized[init.index()]) {
      const int32_t loop = graph_[maker].loop;
      AddEdge(loop, unit_of_op_[maker.index()],
              loop == outside ? loop_unit : UnitIn(loop, graph_.loops[carry.loop].begin));
      if (loop == outside) AddRead(outside, buffer_of_[init.index()], loop_unit);
    }
    if (fusion_.materialized[next.index()]) {
      regions_[RegionOf(graph_[graph_[next].producer].loop)]
          .buffers[buffer_of_[next.index()]]
          .kept = true;
    }
    if (fusion_.materialized[carry.exit.index()])
      AddEdge(outside, loop_unit, unit_of_op_[graph_[carry.exit].producer.index()]);
  }

  void Emit(int32_t region_loop, const std::vector<std::vector<int32_t>>& orders,
            Schedule* schedule) const {
    const Region& region = regions_[RegionOf(region_loop)];
    for (int32_t index : orders[RegionOf(region_loop)]) {
      const Region::Unit& unit = region.units[index];
      if (unit.loop < 0) {
        Place(unit.op, schedule);
        continue;
      }
      PlaceInputsOf(unit.loop, region_loop, schedule);
      Emit(unit.loop, orders, schedule);
    }
    for (OpId op : region.fused) Place(op, schedule);  // what no kernel reads
  }

  // Fused operators of `region_loop` that the body of `loop` reads (free values, views) come before
  // the body.
  void PlaceInputsOf(int32_t loop, int32_t region_loop, Schedule* schedule) const {
    for (size_t i = graph_.loops[loop].begin.index(); i < graph_.loops[loop].end.index(); ++i) {
      for (ValueId operand : graph_.ops[i].operands) {
        const OpId producer = graph_[operand].producer;
        PlaceIfFused(producer, region_loop, schedule);
      }
    }
    for (ValueId init : inits_[loop]) PlaceIfFused(graph_[init].producer, region_loop, schedule);
  }

  void PlaceIfFused(OpId op, int32_t region_loop, Schedule* schedule) const {
    if (graph_[op].loop == region_loop && !RunsByItself(graph_, fusion_, op)) Place(op, schedule);
  }

  // Appends `op` and, before it, the fused operators and views that it reads and that have no place
  // yet.
  void Place(OpId op, Schedule* schedule) const {
    std::vector<std::pair<OpId, size_t>> stack = {{op, 0}};
    if (schedule->time[op.index()] >= 0) return;
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      const std::vector<ValueId>& operands = graph_[id].operands;
      if (next < operands.size()) {
        const OpId producer = graph_[operands[next++]].producer;
        if (schedule->time[producer.index()] < 0 && !RunsByItself(graph_, fusion_, producer) &&
            graph_[producer].loop == graph_[op].loop) {
          stack.push_back({producer, 0});
        }
        continue;
      }
      if (schedule->time[id.index()] < 0) {
        schedule->time[id.index()] = static_cast<int32_t>(schedule->order.size());
        schedule->order.push_back(id);
      }
      stack.pop_back();
    }
  }

  const Graph& graph_;
  const FusionInfo& fusion_;
  const std::vector<std::vector<OpId>> readers_;
  std::vector<Region> regions_;  // the entry, then one a loop
  std::vector<int32_t> unit_of_op_, unit_of_loop_;
  std::vector<std::vector<ValueId>> inits_;  // per loop: what its carries start from
  std::vector<bool> takes_no_memory_;        // per value
  std::vector<int32_t> buffer_of_;           // per value: in its producer's region
};

std::vector<int32_t> PostOrder(const Region& region) {
  std::vector<int32_t> order(region.units.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  return order;
}

std::vector<int32_t> DepthFirst(const Region& region) {
  const std::vector<Region::Unit>& units = region.units;
  // Bytes of the subgraph below each unit, shared parts counted again (as XLA's does), so in
  // floating point.
  std::vector<double> below(units.size(), 0);
  for (size_t i = 0; i < units.size(); ++i) {
    for (int32_t buffer : units[i].writes)
      below[i] += static_cast<double>(region.buffers[buffer].bytes);
    for (int32_t need : units[i].needs) below[i] += below[need];
  }
  std::vector<int32_t> order;
  std::vector<bool> seen(units.size(), false);
  for (size_t sink = 0; sink < units.size(); ++sink) {
    if (!units[sink].feeds.empty() || seen[sink]) continue;
    std::vector<std::pair<int32_t, bool>> stack = {{static_cast<int32_t>(sink), false}};
    while (!stack.empty()) {
      const auto [unit, done] = stack.back();
      stack.pop_back();
      if (done) {
        order.push_back(unit);
        continue;
      }
      if (seen[unit]) continue;
      seen[unit] = true;
      stack.push_back({unit, true});
      std::vector<int32_t> needs = units[unit].needs;
      // The stack turns the order round: the largest goes on top.
      std::stable_sort(needs.begin(), needs.end(),
                       [&](int32_t a, int32_t b) { return below[a] < below[b]; });
      for (int32_t need : needs) {
        if (!seen[need]) stack.push_back({need, false});
      }
    }
  }
  return order;
}

std::vector<int32_t> List(const Region& region) {
  const std::vector<Region::Unit>& units = region.units;
  std::vector<int32_t> waiting(units.size()), unread(region.buffers.size());
  for (size_t b = 0; b < unread.size(); ++b)
    unread[b] = static_cast<int32_t>(region.buffers[b].readers.size());
  // Bytes that running a unit now would free, less those it allocates.
  std::vector<int64_t> gain(units.size(), 0);
  for (size_t i = 0; i < units.size(); ++i) {
    waiting[i] = static_cast<int32_t>(units[i].needs.size());
    for (int32_t buffer : units[i].writes) gain[i] -= region.buffers[buffer].bytes;
    for (int32_t buffer : units[i].reads) {
      if (unread[buffer] == 1 && !region.buffers[buffer].kept)
        gain[i] += region.buffers[buffer].bytes;
    }
  }
  std::set<std::pair<int64_t, int32_t>>
      ready;  // (-gain, unit): most gain, then first in the program
  for (size_t i = 0; i < units.size(); ++i) {
    if (waiting[i] == 0) ready.insert({-gain[i], static_cast<int32_t>(i)});
  }
  std::vector<int32_t> order;
  std::vector<bool> done(units.size(), false);
  while (!ready.empty()) {
    const int32_t unit = ready.begin()->second;
    ready.erase(ready.begin());
    done[unit] = true;
    order.push_back(unit);
    for (int32_t buffer : units[unit].reads) {
      if (--unread[buffer] != 1 || region.buffers[buffer].kept) continue;
      for (int32_t reader : region.buffers[buffer].readers) {
        if (done[reader]) continue;
        const bool was_ready = ready.erase({-gain[reader], reader}) > 0;
        gain[reader] += region.buffers[buffer].bytes;
        if (was_ready) ready.insert({-gain[reader], reader});
      }
    }
    for (int32_t fed : units[unit].feeds) {
      if (--waiting[fed] == 0) ready.insert({-gain[fed], fed});
    }
  }
  return order;
}

}  // namespace

Schedule ScheduleForMemory(const Graph& graph, const FusionInfo& fusion) {
  std::vector<int64_t> bytes(graph.values.size());
  for (size_t v = 0; v < bytes.size(); ++v) bytes[v] = graph.values[v].shape.bytes();
  const Scheduler scheduler(graph, fusion);
  Schedule best;
  int64_t best_peak = -1;
  for (const Scheduler::Order order : {PostOrder, DepthFirst, List}) {
    Schedule schedule = scheduler.Run(order);
    const int64_t peak = ComputePeak(Liveness(graph, fusion, schedule), bytes).bytes;
    if (best_peak < 0 || peak < best_peak) {
      best_peak = peak;
      best = std::move(schedule);
    }
  }
  return best;
}

}  // namespace meshwright
