// A value occupies memory from the kernel that writes it to the last kernel that reads it, itself
// or through fused operators and views (readers.h). What differs from that:
//
//  * Loops. A value made outside a loop and read inside is needed in every iteration: it lives to
//    the loop's end.
//  * Loop-carried values. XLA gives init, the parameter of the body, its next value and the result
//    of the loop one buffer. We let the *parameter* stand for it, from the loop's begin to the last
//    use of the exit, because init may be sharded differently. init ends where the loop begins,
//    unless something reads it later: then XLA copies it, and there are two buffers. In a nested
//    loop whose init is the outer loop's carry, all of it is the outer carry's buffer. The next
//    value has a buffer of its own if the parameter is still read when it is made; else it is
//    written in place. A carry that the loop only reads is no buffer at all: init lives through the
//    loop.
//  * In-place updates. A dynamic-update-slice or scatter writes into its operand if nothing reads
//    that later; the operand then stands for both. An elementwise kernel may write over one operand
//    of its result's size that it is the last to read.
//  * Zeros that are written into. XLA has one array of zeros of a shape, and as each scatter and
//  each
//    loop writes into its own, all copies are made by one kernel, before the first of them.
//  * Entry parameters live from 0 to the end; donated ones to their last use. XLA lets nothing but
//    the aliased output into a donated buffer, so the parameter is held until the output takes
//    over. Outputs live to the end.
//
// Left out: scratch memory of library calls, buffers of resharding, alignment and fragmentation.

#include "meshwright/cost/liveness.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "meshwright/cost/readers.h"
#include "meshwright/hlo/uniform.h"

namespace meshwright {
namespace {

class LivenessAnalysis {
 public:
  LivenessAnalysis(const Graph& graph, const FusionInfo& fusion, const Schedule& schedule)
      : graph_(graph),
        fusion_(fusion),
        schedule_(schedule),
        end_(static_cast<int32_t>(graph.ops.size())) {
    const size_t values = graph.values.size();
    last_.assign(values, -1);
    holder_.resize(values);
    taken_.assign(values, false);
    MeasureLoops();
  }

  std::vector<Interval> Run() {
    FindLastReads();
    ShareUpdates();
    ShareCarries();
    std::vector<Interval> intervals = Intervals();
    FillZerosTogether(&intervals);
    HandOverDonated(&intervals);
    WriteOver(&intervals);
    return intervals;
  }

 private:
  int32_t TimeOf(OpId op) const { return schedule_.time[op.index()]; }
  const Op& Producer(ValueId v) const { return graph_[graph_[v].producer]; }
  bool InMemory(ValueId v) const { return fusion_.materialized[v.index()]; }
  bool IsParameter(ValueId v) const { return Producer(v).parameter >= 0; }

  // What a chain of views shows; v itself if it is no view or has no buffer behind it.
  ValueId Base(ValueId v) const {
    while (!InMemory(v) && !fusion_.free[v.index()] && Producer(v).operands.size() == 1)
      v = Producer(v).operands[0];
    return v;
  }

  void MeasureLoops() {
    loop_begin_.assign(graph_.loops.size(), end_);
    loop_end_.assign(graph_.loops.size(), 0);
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const int32_t time = TimeOf(OpId(i));
      for (int32_t loop = graph_.ops[i].loop; loop >= 0; loop = graph_.loops[loop].parent) {
        loop_begin_[loop] = std::min(loop_begin_[loop], time);
        loop_end_[loop] = std::max(loop_end_[loop], time);
      }
    }
  }

  bool Inside(int32_t loop, int32_t outer) const {
    for (; loop >= 0; loop = graph_.loops[loop].parent) {
      if (loop == outer) return true;
    }
    return outer < 0;
  }

  // Last time at which something inside `reader_loop`, reading at `time`, needs a value made inside
  // `maker_loop`: the end of the outermost loop that the reader is in and the maker is not.
  int32_t NeededUntil(int32_t time, int32_t reader_loop, int32_t maker_loop) const {
    for (int32_t loop = reader_loop; loop >= 0 && !Inside(maker_loop, loop);
         loop = graph_.loops[loop].parent) {
      time = std::max(time, loop_end_[loop]);
    }
    return time;
  }

  void Extend(ValueId v, int32_t time) { last_[v.index()] = std::max(last_[v.index()], time); }

  void FindLastReads() {
    const std::vector<std::vector<OpId>> readers = Readers(graph_, fusion_);
    for (size_t v = 0; v < readers.size(); ++v) {
      const int32_t maker_loop = Producer(ValueId(v)).loop;
      for (OpId reader : readers[v]) {
        const bool output = graph_[reader].kind == OpKind::kOutput;
        last_[v] = std::max(
            last_[v],
            output ? end_ - 1 : NeededUntil(TimeOf(reader), graph_[reader].loop, maker_loop));
      }
    }
    FindReadsOfLoops();
  }

  // Loops read too: init when they begin, a carry that never changes to their end, next at their
  // end.
  void FindReadsOfLoops() {
    for (const Carry& carry : graph_.carries) {
      const ValueId init = Base(carry.init), next = Base(carry.next);
      const int32_t outside = graph_.loops[carry.loop].parent;
      const int32_t read = carry.invariant ? loop_end_[carry.loop] : loop_begin_[carry.loop] - 1;
      Extend(init, NeededUntil(read, outside, Producer(init).loop));
      Extend(next, loop_end_[carry.loop]);
    }
  }

  void ShareCarries() {
    for (const Carry& carry : graph_.carries) {
      if (!carry.invariant) continue;
      Hold(carry.parameter, Base(carry.init));
      Hold(carry.exit, Base(carry.init));
    }
    // Inner loops first: their exits may be the next values of outer ones.
    std::vector<const Carry*> carries;
    for (const Carry& carry : graph_.carries) {
      if (!carry.invariant) carries.push_back(&carry);
    }
    std::stable_sort(carries.begin(), carries.end(), [this](const Carry* a, const Carry* b) {
      return Depth(a->loop) > Depth(b->loop);
    });
    for (const Carry* carry : carries) ShareCarry(*carry);
  }

  int Depth(int32_t loop) const {
    int depth = 0;
    for (; loop >= 0; loop = graph_.loops[loop].parent) ++depth;
    return depth;
  }

  void ShareCarry(const Carry& carry) {
    const ValueId init = Base(carry.init), next = Base(carry.next), parameter = carry.parameter;
    const Op& maker = Producer(next);
    if (maker.loop == carry.loop && !IsCarryParameter(next) && !holder_[next.index()].valid()) {
      const int32_t made = TimeOf(graph_[next].producer), read = last_[parameter.index()];
      if (read < made || (read == made && WritesOver(maker))) Hold(next, parameter);
    }
    Extend(parameter, loop_end_[carry.loop]);
    Hold(carry.exit, parameter);
    const bool outer_carry =
        IsCarryParameter(init) && Producer(init).loop == graph_.loops[carry.loop].parent;
    if (outer_carry && last_[init.index()] < loop_begin_[carry.loop] && !taken_[init.index()]) {
      taken_[init.index()] = true;
      Hold(parameter, init);
    }
  }

  bool IsCarryParameter(ValueId v) const { return Producer(v).kind == OpKind::kLoopParameter; }

  // Can a kernel with root `op` write over an operand while it reads it?
  static bool WritesOver(const Op& op) {
    if (op.kind != OpKind::kInstruction) return false;
    const Opcode opcode = op.instruction->opcode;
    return IsElementwise(opcode) || opcode == Opcode::kDynamicUpdateSlice ||
           opcode == Opcode::kScatter;
  }

  void ShareUpdates() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const OpId id = schedule_.order[i];
      const Op& op = graph_[id];
      if (op.kind != OpKind::kInstruction || op.results.size() != 1) continue;
      const Opcode opcode = op.instruction->opcode;
      if (opcode != Opcode::kDynamicUpdateSlice && opcode != Opcode::kScatter) continue;
      const ValueId operand = Base(op.operands[0]), result = op.results[0];
      if (!InMemory(operand) || graph_[operand].shape.bytes() != graph_[result].shape.bytes())
        continue;
      if (last_[operand.index()] != TimeOf(id) || Producer(operand).loop != op.loop) continue;
      if (IsParameter(operand) && !Donated(operand)) continue;
      Hold(result, operand);
      Extend(operand, last_[result.index()]);
    }
  }

  // `v` has no buffer of its own: it is in that of `holder`.
  void Hold(ValueId v, ValueId holder) {
    if (v != holder) holder_[v.index()] = holder;
  }

  ValueId Holder(ValueId v) const {
    while (holder_[v.index()].valid()) v = holder_[v.index()];
    return v;
  }

  bool Donated(ValueId v) const {
    for (size_t i = 0; i < graph_.output_alias.size(); ++i) {
      if (AliasedParameter(i) == v) return true;
    }
    return false;
  }

  ValueId AliasedParameter(size_t output) const {
    const int32_t parameter = graph_.output_alias[output];
    return parameter < 0 ? ValueId() : graph_[graph_.parameters[parameter]].result();
  }

  std::vector<Interval> Intervals() {
    std::vector<Interval> intervals(graph_.values.size());
    held_last_ = last_;
    // Holders live as long as anything they hold.
    for (size_t v = 0; v < intervals.size(); ++v) {
      const ValueId holder = Holder(ValueId(v));
      held_last_[holder.index()] = std::max(held_last_[holder.index()], last_[v]);
    }
    for (size_t v = 0; v < intervals.size(); ++v) {
      if (!InMemory(ValueId(v)) || holder_[v].valid()) continue;
      const Op& producer = Producer(ValueId(v));
      if (producer.parameter >= 0) {
        intervals[v] = {0, end_};
        continue;
      }
      int32_t begin = TimeOf(graph_[ValueId(v)].producer);
      if (producer.kind == OpKind::kLoopParameter) begin = loop_begin_[producer.loop];
      intervals[v] = {begin, std::max(held_last_[v], begin) + 1};
    }
    return intervals;
  }

  // XLA scatters what is only added to something else into that.
  bool IsAddend(ValueId v) const {
    const std::vector<OpId>& users = graph_[v].users;
    const Op& user = graph_[users.empty() ? OpId(0) : users[0]];
    return users.size() == 1 && user.kind == OpKind::kInstruction &&
           user.instruction->opcode == Opcode::kAdd;
  }

  void FillZerosTogether(std::vector<Interval>* intervals) const {
    using Kernel = std::pair<int32_t, std::string>;  // the loop it runs in, what it fills
    std::vector<std::pair<Kernel, Interval*>> filled;
    const auto add = [&](ValueId zeros, ValueId buffer, int32_t loop) {
      Interval& interval = (*intervals)[Holder(buffer).index()];
      if (fusion_.free[zeros.index()] && IsZero(graph_, zeros) && interval.end > 0)
        filled.push_back({{loop, graph_[zeros].shape.ToString(false)}, &interval});
    };
    for (const Op& op : graph_.ops) {
      if (op.kind != OpKind::kInstruction || op.results.size() != 1) continue;
      const Opcode opcode = op.instruction->opcode;
      if ((opcode == Opcode::kDynamicUpdateSlice || opcode == Opcode::kScatter) &&
          !IsAddend(op.result()))
        add(op.operands[0], op.result(), op.loop);
    }
    for (const Carry& carry : graph_.carries) {
      if (!carry.invariant) add(carry.init, carry.parameter, graph_.loops[carry.loop].parent);
    }
    absl::flat_hash_map<Kernel, int32_t> first;
    for (const auto& [kernel, interval] : filled) {
      int32_t& time = first.try_emplace(kernel, interval->begin).first->second;
      time = std::min(time, interval->begin);
    }
    for (const auto& [kernel, interval] : filled) interval->begin = first.at(kernel);
  }

  void HandOverDonated(std::vector<Interval>* intervals) const {
    for (size_t i = 0; i < graph_.output_alias.size(); ++i) {
      const ValueId parameter = AliasedParameter(i);
      if (!parameter.valid() || !InMemory(parameter)) continue;
      const ValueId output = Holder(Base(graph_[graph_.outputs[i]].operands[0]));
      if (output == parameter || !InMemory(output))
        continue;  // updated in place or passed through: to the end
      const int32_t written = (*intervals)[output.index()].begin,
                    read = held_last_[parameter.index()];
      (*intervals)[parameter.index()].end = read <= written ? written : read + 1;
    }
  }

  // Elementwise kernels take over the buffer of the first operand that fits.
  void WriteOver(std::vector<Interval>* intervals) const {
    const std::vector<Interval> before = *intervals;  // an interval is cut by its last reader only
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (op.results.size() != 1 || op.kind != OpKind::kInstruction ||
          !IsElementwise(op.instruction->opcode))
        continue;
      const ValueId result = op.results[0];
      if (!InMemory(result) || holder_[result.index()].valid()) continue;
      const int32_t time = TimeOf(OpId(i));
      if (time == end_ - 1) continue;  // everything that is left lives to the end anyway
      for (ValueId operand : ReadElementwise(op)) {
        const Interval& interval = before[operand.index()];
        if (interval.end != time + 1 || interval.begin >= time || IsParameter(operand)) continue;
        if (graph_[operand].shape.bytes() != graph_[result].shape.bytes()) continue;
        (*intervals)[operand.index()].end = time;
        break;
      }
    }
  }

  // What the kernel of `op` reads from memory through nothing but elementwise operators and
  // reshapes, in the order of the operands, each once.
  std::vector<ValueId> ReadElementwise(const Op& op) const {
    std::vector<ValueId> found, stack(op.operands.rbegin(), op.operands.rend());
    absl::flat_hash_set<ValueId> seen;
    while (!stack.empty()) {
      const ValueId v = stack.back();
      stack.pop_back();
      if (fusion_.free[v.index()] || !seen.insert(v).second) continue;
      if (InMemory(v)) {
        found.push_back(v);
        continue;
      }
      const Op& fused = Producer(v);
      const Opcode opcode = fused.instruction->opcode;
      const bool in_step =
          IsElementwise(opcode) || opcode == Opcode::kReshape || opcode == Opcode::kBitcast;
      if (in_step) stack.insert(stack.end(), fused.operands.rbegin(), fused.operands.rend());
    }
    return found;
  }

  const Graph& graph_;
  const FusionInfo& fusion_;
  const Schedule& schedule_;
  const int32_t end_;
  std::vector<int32_t> last_;       // per value: last time somebody needs it, -1: nobody
  std::vector<int32_t> held_last_;  // the same, with what it holds
  std::vector<bool> taken_;         // per carry: an inner loop's carry is in its buffer
  std::vector<ValueId> holder_;     // per value: whose buffer it is in, if not its own
  std::vector<int32_t> loop_begin_,
      loop_end_;  // first and last time of each loop, inner loops included
};

}  // namespace

std::vector<Interval> Liveness(const Graph& graph, const FusionInfo& fusion,
                               const Schedule& schedule) {
  return LivenessAnalysis(graph, fusion, schedule).Run();
}

PeakMemory ComputePeak(const std::vector<Interval>& intervals, const std::vector<int64_t>& bytes) {
  int32_t end = 0;
  for (const Interval& interval : intervals) end = std::max(end, interval.end);
  std::vector<int64_t> change(static_cast<size_t>(end) + 1, 0);
  for (size_t v = 0; v < intervals.size(); ++v) {
    if (intervals[v].begin >= intervals[v].end) continue;
    change[intervals[v].begin] += bytes[v];
    change[intervals[v].end] -= bytes[v];
  }
  PeakMemory peak;
  int64_t now = 0;
  for (int32_t time = 0; time < end; ++time) {
    now += change[time];
    if (now > peak.bytes) {
      peak.bytes = now;
      peak.time = time;
    }
  }
  for (size_t v = 0; v < intervals.size(); ++v) {
    if (intervals[v].begin <= peak.time && peak.time < intervals[v].end)
      peak.live.push_back(ValueId(v));
  }
  std::stable_sort(peak.live.begin(), peak.live.end(),
                   [&](ValueId a, ValueId b) { return bytes[a.index()] > bytes[b.index()]; });
  return peak;
}

}  // namespace meshwright
