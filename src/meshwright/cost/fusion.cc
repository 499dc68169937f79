// What XLA's GPU compiler does, in short. PriorityFusion
// (xla/service/gpu/transforms/priority_fusion.cc) takes fusible producers in the order of the time
// that fusing them saves by a cost model, and fuses each into *all* its consumers or into none: it
// is computed again in every consuming kernel, and its buffer disappears. MultiOutputFusion then
// merges kernels that read the same operand or are producer and consumer. Reductions are roots
// ("hero") of their kernels; GEMMs, convolutions, sorts, custom calls and collectives are library
// calls that read and write memory. Layout assignment and transpose folding make most reshapes and
// transposes around GEMMs free.
//
// What we do with it. Operators are taken from the last to the first, so that for each one the
// kernels that its users run in are known. One that every user can take in fuses if computing it
// again in k kernels moves no more bytes than storing it:
//
//   again  <=  in + out + k * out
//
// `out` are its bytes, `in` the fewest bytes from which it can be computed: those of its operands,
// or less where an operand can itself be recomputed from less (a convert from bf16, a broadcast of
// a row maximum). `again` is `in` for each of the kernels, without the operands that the kernel
// takes in for another operator anyway: a mask of x is computed wherever x itself is read. So a
// chain of unary operators always fuses (softmax: exp is computed in the kernel of the sum and
// again in that of the quotient, as XLA does), a residual sum of two arrays fuses into up to three
// kernels and is stored for more.
//
// Views (reshape, transpose, bitcast, copy) move nothing: whoever needs one in memory needs what it
// shows in memory. Where the order of its dimensions in memory does not suit a user, a kernel
// copies it (layout.h).
//
// Of multi-output fusion the case that optimizers are made of: an elementwise value that is stored
// (an output, the new moment) and that one elementwise kernel of the same dimensions reads is
// computed in that kernel, which writes both and reads what they share once.
//
// A kernel computes a fused operator once for each way in which its users index it: both halves of
// an interleaved concatenation compute what they are made of, each level of an associative scan
// twice what lies below. XLA (FusionNodeEvaluation, xla/service/fusion_node_indexing_evaluation.cc)
// fuses nothing that a kernel would compute more than 15 times; what it does fuse takes time, as
// the kernel is then bound by its instructions.
//
// Left out: other limits on the size of a kernel, Triton's softmax and GEMM fusions, and other
// sharing of reads between sibling kernels (multi-output fusion).

#include "meshwright/cost/fusion.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "meshwright/cost/layout.h"
#include "meshwright/hlo/element_value.h"

namespace meshwright {
namespace {

// Kernels that one operator may be duplicated into, and one that reads no more than it writes (a
// convert from bf16 to f32, which XLA duplicates into all).
constexpr size_t kMaxKernels = 8;
constexpr size_t kMaxKernelsOfCheap = 64;
// How far back a value is looked for in what a kernel reads.
constexpr int kMostSteps = 4;
constexpr size_t kMostSources = 4;

// Operators that a kernel has time to compute for each element while memory is read and written:
// four bytes take as long as 60 flops.
constexpr double kHidden = 32;

// Times that one kernel may compute an operator (kAllowedCodeDuplication).
constexpr double kMaxTimes = 15;

// What an operator is to fusion.
enum class Role : uint8_t {
  kMemory,     // reads and writes memory: library calls, loops, everything not below
  kSource,     // no operands, made from nothing: constant, iota
  kView,       // its operand's buffer, seen differently
  kFusible,    // computed inside its users' kernels
  kReduction,  // takes its operands in, writes its result
  kInPlace,    // updates operand 0 in memory, takes the others in
  kPart,       // fusible; needs only some elements of operand 0
};

struct RoleRow {
  Opcode opcode;
  Role role;
};

constexpr RoleRow kRoles[] = {
    {Opcode::kConstant, Role::kSource},
    {Opcode::kIota, Role::kSource},
    {Opcode::kReshape, Role::kView},
    {Opcode::kTranspose, Role::kView},
    {Opcode::kBitcast, Role::kView},
    {Opcode::kCopy, Role::kView},
    {Opcode::kBroadcast, Role::kFusible},
    {Opcode::kPad, Role::kFusible},
    {Opcode::kConcatenate, Role::kFusible},
    {Opcode::kReverse, Role::kFusible},
    {Opcode::kReducePrecision, Role::kFusible},
    {Opcode::kSlice, Role::kPart},
    {Opcode::kDynamicSlice, Role::kPart},
    {Opcode::kGather, Role::kPart},
    {Opcode::kReduce, Role::kReduction},
    {Opcode::kReduceWindow, Role::kReduction},
    {Opcode::kDynamicUpdateSlice, Role::kInPlace},
    {Opcode::kScatter, Role::kInPlace},
};

// A conversion of bits between types of one width is elementwise, as IsElementwise of XLA's
// HloInstruction has it; between other types dimensions come or go.
bool KeepsDimensions(const Graph& graph, const Op& op) {
  return op.instruction->opcode == Opcode::kBitcastConvert && op.operands.size() == 1 &&
         graph[op.operands[0]].shape.dims == graph[op.result()].shape.dims;
}

Role RoleOf(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::kInstruction || op.instruction == nullptr || op.results.size() != 1) {
    // Reductions of several values at once (arg max) have several results.
    const bool variadic_reduce = op.kind == OpKind::kInstruction && op.instruction != nullptr &&
                                 op.instruction->opcode == Opcode::kReduce;
    return variadic_reduce ? Role::kReduction : Role::kMemory;
  }
  if (IsShardingRequest(op)) return Role::kView;
  // A reduction over dimensions of one element: XLA makes a reshape of it.
  if (op.instruction->opcode == Opcode::kReduce &&
      graph[op.operands[0]].shape.elements() == graph[op.result()].shape.elements())
    return Role::kView;
  for (const RoleRow& row : kRoles) {
    if (row.opcode == op.instruction->opcode) return row.role;
  }
  const bool fusible = IsElementwise(op.instruction->opcode) || KeepsDimensions(graph, op);
  return fusible ? Role::kFusible : Role::kMemory;
}

// Can operand `operand` be computed inside the kernel of an operator of this role?
bool TakesIn(Role role, size_t operand) {
  switch (role) {
    case Role::kFusible:
    case Role::kPart:
    case Role::kView:
    case Role::kReduction:
      return true;
    case Role::kInPlace:
      return operand > 0;
    case Role::kMemory:
    case Role::kSource:
      break;
  }
  return false;
}

class FusionAnalysis {
 public:
  explicit FusionAnalysis(const Graph& graph) : graph_(graph) {
    for (const Op& op : graph.ops) roles_.push_back(RoleOf(graph, op));
    const size_t values = graph.values.size();
    info_.materialized.assign(values, false);
    info_.free.assign(values, false);
    info_.kernel.assign(graph.ops.size(), false);
    info_.traffic.resize(graph.ops.size());
    cheapest_.assign(values, 0);
    sources_.resize(values);
    operators_.assign(values, 0);
    share_.assign(values, 0);
    forced_.assign(values, false);
    places_.resize(values);
  }

  FusionInfo Run() {
    MarkFree();
    layout_copies_ = FindLayoutCopies(graph_, info_.free);
    for (const Carry& carry : graph_.carries) {
      Force(carry.init);
      Force(carry.next);
    }
    for (size_t i = graph_.ops.size(); i-- > 0;) Decide(OpId(i));
    if (StoreWhatIsComputedTooOften()) {
      places_.assign(places_.size(), {});
      taken_in_.clear();
      for (size_t i = graph_.ops.size(); i-- > 0;) Decide(OpId(i));
    }
    MergeIntoReaders();
    for (size_t i = 0; i < graph_.ops.size(); ++i) Charge(OpId(i));
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (merged_into_[i].valid()) info_.kernel[i] = false;
    }
    return std::move(info_);
  }

 private:
  // A kernel that computes a fused value, for the users in it that do not take it element by
  // element (or are what takes it so in the end): once for each time that such a user is computed.
  struct Place {
    OpId kernel;
    double times = 0;     // in the kernel's code
    double elements = 0;  // that it computes
    absl::InlinedVector<OpId, 2> indexing;
  };
  using Places = absl::InlinedVector<Place, 2>;

  // That a kernel with this root goes over.
  double Elements(const Op& root) const {
    int64_t most = 0;
    for (ValueId v : root.results) most = std::max(most, graph_[v].shape.elements());
    if (RoleOf(graph_, root) == Role::kReduction)
      most = std::max(most, graph_[root.operands[0]].shape.elements());
    return static_cast<double>(most);
  }

  double Bytes(ValueId v) const { return static_cast<double>(graph_[v].shape.bytes()); }
  Role RoleOfProducer(ValueId v) const { return roles_[graph_[v].producer.index()]; }
  bool IsFree(ValueId v) const { return info_.free[v.index()]; }

  void Force(ValueId v) {
    if (v.valid()) forced_[v.index()] = true;
  }

  // Forward: which values are free, and from how few bytes the others can be computed.
  void MarkFree() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      const Role role = roles_[i];
      const bool computed = role == Role::kFusible || role == Role::kPart || role == Role::kView;
      const bool free =
          role == Role::kSource || (computed && std::all_of(op.operands.begin(), op.operands.end(),
                                                            [&](ValueId v) { return IsFree(v); }));
      if (!free) MarkSources(op, role);
      for (ValueId result : op.results) {
        info_.free[result.index()] = free;
        operators_[result.index()] = computed ? OperatorsToCompute(op, role) : 0;
        cheapest_[result.index()] = free       ? 0
                                    : computed ? std::min(Bytes(result), InputBytes(op))
                                               : Bytes(result);
      }
    }
  }

  // Forward: what a value is computed from element by element.
  void MarkSources(const Op& op, Role role) {
    if (role != Role::kFusible) {
      for (ValueId result : op.results) sources_[result.index()] = {result};
      return;
    }
    auto& sources = sources_[op.result().index()];
    for (const ValueId operand : op.operands) {
      if (IsFree(operand)) continue;
      const auto& from = sources_[operand.index()];
      for (const ValueId source : from) {
        if (std::find(sources.begin(), sources.end(), source) == sources.end())
          sources.push_back(source);
      }
      if (from.empty() || sources.size() > kMostSources) {
        sources.clear();
        return;
      }
    }
  }

  // Operators that an element of a fusible operator takes, from what is in memory anyway.
  double OperatorsToCompute(const Op& op, Role role) const {
    double sum = role == Role::kView ? 0 : 1;
    for (const ValueId v : op.operands) sum += operators_[v.index()];
    return std::min(sum, 1e6);
  }

  // Fewest bytes from which a fusible operator can be computed, without the operands that
  // `is_there`.
  double InputBytes(
      const Op& op,
      absl::FunctionRef<bool(ValueId)> is_there = [](ValueId) { return false; }) const {
    double sum = 0;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const auto here = op.operands.begin() + static_cast<int64_t>(i);
      if (std::find(op.operands.begin(), here, *here) != here) continue;  // x * x
      if (is_there(*here)) continue;
      sum += cheapest_[here->index()] * Part(op, i);
    }
    return sum;
  }

  // Memory is read in sectors of 32 bytes: how many times as much as it takes a gather reads of
  // rows that are shorter.
  double GatheredSectors(const Op& op) const {
    constexpr double kSector = 32;
    const Shape& table = graph_[op.operands[0]].shape;
    double row = ElementBytes(table.type);
    for (const int64_t size : op.instruction->gather.slice_sizes) row *= static_cast<double>(size);
    return row > 0 ? std::max(1.0, kSector / row) : 1;
  }

  // Share of the elements of operand `operand` that `op` reads. A gather reads rows as often as
  // they are indexed: a million rows of a table of a hundred thousand, 51 MB, took an H200 with 50
  // MB of cache as long as rows that are all different.
  double Part(const Op& op, size_t operand) const {
    if (operand != 0 || RoleOf(graph_, op) != Role::kPart) return 1;
    const double have = static_cast<double>(graph_[op.operands[0]].shape.elements());
    const double need = static_cast<double>(graph_[op.result()].shape.elements());
    if (have <= 0) return 1;
    if (op.instruction->opcode == Opcode::kGather) return need / have * GatheredSectors(op);
    return need < have ? need / have : 1;
  }

  // Backward: does `id` fuse into its users? Its users have been decided.
  void Decide(OpId id) {
    const Op& op = graph_[id];
    const Role role = roles_[id.index()];
    if (op.results.empty()) {  // a call for its effect runs by itself
      info_.kernel[id.index()] = op.kind == OpKind::kInstruction;
      return;
    }
    const bool may_fuse = role == Role::kFusible || role == Role::kPart || role == Role::kView;
    if (role == Role::kSource || (may_fuse && IsFree(op.result()))) {
      // Made where it is used; only an output needs it in memory.
      const std::vector<OpId>& users = graph_[op.result()].users;
      const bool output = std::any_of(users.begin(), users.end(),
                                      [&](OpId u) { return graph_[u].kind == OpKind::kOutput; });
      info_.materialized[op.result().index()] = output;
      info_.kernel[id.index()] = output;
      return;
    }
    if (!may_fuse) {
      for (ValueId result : op.results) info_.materialized[result.index()] = true;
      info_.kernel[id.index()] =
          op.kind == OpKind::kInstruction && op.instruction->opcode != Opcode::kParameter;
      if (role == Role::kReduction || role == Role::kInPlace) TakeIn(op, {Place{.kernel = id}});
      return;
    }
    const ValueId result = op.result();
    bool in_memory = forced_[result.index()];
    Places& places = places_[result.index()];
    for (OpId user : graph_[result].users) {
      if (!UserTakesIn(user, result) || graph_[user].loop != op.loop) {
        in_memory = true;
        continue;
      }
      AddPlaces(user, &places);
      share_[result.index()] = std::max(share_[result.index()], ShareFor(user, result));
    }
    for (Place& place : places) {
      for (OpId user : place.indexing) {
        const auto [times, elements] = Computed(user, place.kernel);
        place.times += times;
        place.elements += elements * Reached(user, result);
      }
    }
    const bool cheap = op.operands.size() == 1 && Bytes(op.operands[0]) <= Bytes(result);
    const bool too_many = places.size() > (cheap ? kMaxKernelsOfCheap : kMaxKernels);
    const double k = static_cast<double>(places.size());
    if (role == Role::kView) {
      if (in_memory || too_many) Force(op.operands[0]);
      return;
    }
    const double in = InputBytes(op), out = Bytes(result);
    if (in_memory || too_many || IsRepeatedTooLong(result, places) ||
        BytesToComputeIn(op, places) > in + out + k * out) {
      info_.materialized[result.index()] = true;
      info_.kernel[id.index()] = true;
      places = {Place{id, 1, Elements(op), {id}}};
    }
    TakeIn(op, places);
  }

  // What is spread out, such as indices of whole rows that are drawn at random: the kernel would
  // compute one for each element of a row.
  bool IsRepeatedTooLong(ValueId v, const Places& places) const {
    if (operators_[v.index()] <= kHidden) return false;
    const auto own = static_cast<double>(graph_[v].shape.elements());
    return std::any_of(places.begin(), places.end(), [own](const Place& place) {
      return place.elements > 2 * own * place.times;
    });
  }

  // Bytes read in order to compute a fusible operator in each of the kernels. What a kernel takes
  // in for another operator is there already.
  double BytesToComputeIn(const Op& op, const Places& places) const {
    double sum = 0;
    for (const Place& place : places) {
      sum += InputBytes(op, [&](ValueId v) { return IsIn(place.kernel, v, kMostSteps); });
    }
    return sum;
  }

  // Whether a kernel takes in a value, or all that it is computed from: in so many steps, or
  // however long the way from few sources (lgamma is a hundred operators in HLO and one in
  // StableHLO).
  bool IsIn(OpId kernel, ValueId v, int steps) const {
    if (IsFree(v) || taken_in_.contains(Key(kernel, v))) return true;
    const auto& sources = sources_[v.index()];
    if (!sources.empty() && std::all_of(sources.begin(), sources.end(), [&](ValueId source) {
          return taken_in_.contains(Key(kernel, source));
        })) {
      return true;
    }
    if (steps == 0 || RoleOfProducer(v) != Role::kFusible) return false;
    const std::vector<ValueId>& from = graph_[graph_[v].producer].operands;
    return std::all_of(from.begin(), from.end(),
                       [&](ValueId operand) { return IsIn(kernel, operand, steps - 1); });
  }

  void TakeIn(const Op& op, const Places& places) {
    for (const ValueId v : op.operands) {
      if (IsFree(v)) continue;
      for (const Place& place : places) taken_in_.insert(Key(place.kernel, v));
    }
  }

  bool UserTakesIn(OpId user, ValueId v) const {
    const std::vector<ValueId>& operands = graph_[user].operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == v && !TakesIn(roles_[user.index()], i)) return false;
    }
    return true;
  }

  // Share of the elements of `v` that `user` makes its kernels compute.
  double ShareFor(OpId user, ValueId v) const {
    const Op& op = graph_[user];
    double share = 0;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (op.operands[i] == v) share = std::max(share, Part(op, i));
    }
    return info_.kernel[user.index()] ? share : share * share_[op.result().index()];
  }

  // Adds the kernels in which `user` is computed, and what there indexes an operand of it.
  void AddPlaces(OpId user, Places* places) const {
    const auto add = [places](OpId kernel, absl::Span<const OpId> indexing) {
      auto place = std::find_if(places->begin(), places->end(),
                                [&](const Place& other) { return other.kernel == kernel; });
      if (place == places->end()) place = places->insert(place, Place{.kernel = kernel});
      for (OpId op : indexing) {
        if (std::find(place->indexing.begin(), place->indexing.end(), op) == place->indexing.end())
          place->indexing.push_back(op);
      }
    };
    if (info_.kernel[user.index()]) {
      add(user, {user});
      return;
    }
    if (places->size() > kMaxKernelsOfCheap) return;  // stored anyway
    const bool elementwise = IsElementwise(graph_[user].instruction->opcode);
    for (const Place& place : places_[graph_[user].result().index()])
      add(place.kernel,
          elementwise ? absl::Span<const OpId>(place.indexing) : absl::Span<const OpId>(&user, 1));
  }

  // How often the code of `kernel` computes an operator, and how many elements of it.
  std::pair<double, double> Computed(OpId op, OpId kernel) const {
    if (op != kernel) {
      for (const Place& place : places_[graph_[op].result().index()]) {
        if (place.kernel == kernel) return {place.times, place.elements};
      }
    }
    return {1, Elements(graph_[op])};
  }

  // Share of the elements of `user` for which it needs one of `v`.
  double Reached(OpId user, ValueId v) const {
    const Op& op = graph_[user];
    const bool pieces =
        op.instruction->opcode == Opcode::kPad || op.instruction->opcode == Opcode::kConcatenate;
    if (!pieces) return 1;
    return std::min(1.0,
                    static_cast<double>(graph_[v].shape.elements()) / std::max(1.0, Elements(op)));
  }

  // Parts kernels that would compute an operator more than kMaxTimes: XLA fuses what is largest
  // first, so kernels are as large as may be next to what they read. Returns whether there were
  // any.
  bool StoreWhatIsComputedTooOften() {
    std::vector<double> most(graph_.ops.size(), 1);  // by kernel
    for (const Places& places : places_) {
      for (const Place& place : places)
        most[place.kernel.index()] = std::max(most[place.kernel.index()], place.times);
    }
    // Operators of one kernel stay together within a factor of kMaxTimes.
    const auto part = [&](OpId op, OpId kernel) {
      return std::floor(std::log(most[kernel.index()] / Computed(op, kernel).first) /
                        std::log(kMaxTimes));
    };
    bool any = false;
    for (size_t v = 0; v < places_.size(); ++v) {
      const Value& value = graph_.values[v];
      for (const Place& place : places_[v]) {
        if (most[place.kernel.index()] <= kMaxTimes || place.kernel == value.producer) continue;
        const auto reads_from_another_part = [&](OpId user) {
          return !RunsIn(user, place.kernel) ||
                 part(user, place.kernel) > part(value.producer, place.kernel);
        };
        if (std::all_of(value.users.begin(), value.users.end(), reads_from_another_part))
          forced_[v] = any = true;
      }
    }
    return any;
  }

  bool RunsIn(OpId op, OpId kernel) const {
    if (op == kernel) return true;
    const Op& in = graph_[op];
    if (in.results.size() != 1) return false;
    const Places& places = places_[in.result().index()];
    return std::any_of(places.begin(), places.end(),
                       [&](const Place& place) { return place.kernel == kernel; });
  }

  // Multi-output fusion, from the last operator to the first.
  void MergeIntoReaders() {
    merged_into_.resize(graph_.ops.size());
    for (size_t i = graph_.ops.size(); i-- > 0;) {
      const Op& op = graph_.ops[i];
      if (!info_.kernel[i] || roles_[i] != Role::kFusible || op.results.size() != 1) continue;
      const ValueId v = op.result();
      const OpId reader = OnlyReader(v);
      if (!reader.valid() || reader == OpId(i)) continue;
      const Op& kernel = graph_[reader];
      const bool alike = roles_[reader.index()] == Role::kFusible && kernel.loop == op.loop &&
                         graph_[kernel.result()].shape.dims == graph_[v].shape.dims;
      if (alike && IsElementwise(op.instruction->opcode) &&
          IsElementwise(kernel.instruction->opcode))
        merged_into_[i] = reader;
    }
  }

  // The one kernel that reads `v`, outputs aside; invalid if there are several or none.
  OpId OnlyReader(ValueId v) const {
    Places readers;
    for (OpId user : graph_[v].users) {
      const Op& op = graph_[user];
      if (op.kind == OpKind::kOutput) continue;
      const bool view = roles_[user.index()] == Role::kView && OnlyOutputs(op.result());
      if (!view) AddPlaces(user, &readers);
    }
    return readers.size() == 1 ? readers[0].kernel : OpId();
  }

  bool OnlyOutputs(ValueId v) const {
    return std::all_of(graph_[v].users.begin(), graph_[v].users.end(),
                       [&](OpId user) { return graph_[user].kind == OpKind::kOutput; });
  }

  OpId MergedInto(OpId kernel) const {
    while (merged_into_[kernel.index()].valid()) kernel = merged_into_[kernel.index()];
    return kernel;
  }

  // Bytes that `op` moves by itself. Every kernel that it is computed in reads its operands, once
  // each.
  void Charge(OpId id) {
    const Op& op = graph_[id];
    const Role role = roles_[id.index()];
    FusionInfo::Traffic& traffic = info_.traffic[id.index()];
    traffic.operand_bytes.assign(op.operands.size(), 0);
    traffic.result_bytes.assign(op.results.size(), 0);
    traffic.copy_bytes.assign(op.operands.size(), 0);
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (layout_copies_[id.index()][i]) traffic.copy_bytes[i] = 2 * Bytes(op.operands[i]);
    }
    if (op.kind != OpKind::kInstruction || op.instruction->opcode == Opcode::kParameter) return;

    const bool alone = info_.kernel[id.index()];
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (alone) traffic.result_bytes[i] = Bytes(op.results[i]);
    }
    Places places;
    double share = 1;
    if (alone) {
      places = {Place{.kernel = id}};
    } else if (!IsFree(op.result())) {
      places = places_[op.result().index()];
      share = share_[op.result().index()];
      if (role != Role::kView) {
        for (const Place& place : places)
          info_.traffic[place.kernel.index()].repeated +=
              std::max(0.0, place.elements - Elements(graph_[place.kernel]));
      }
    }
    if (role == Role::kInPlace) {
      // Touches what it updates, unless the rest has to be filled in first.
      double update = 0;
      for (size_t i = 1; i < op.operands.size(); ++i)
        update = std::max(update, Bytes(op.operands[i]));
      const bool scatter = op.instruction->opcode == Opcode::kScatter;
      if (scatter) traffic.operand_bytes[0] = update;
      traffic.result_bytes[0] = IsFree(op.operands[0]) ? Bytes(op.result()) + update : update;
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (role == Role::kInPlace && i == 0) continue;
      const ValueId operand = op.operands[i];
      if (IsFree(operand)) continue;
      const ValueId base = Base(operand);
      // A fused operand is read where it is computed.
      if (!info_.materialized[base.index()]) continue;
      // A view that some kernel takes in is read by the view; here only what reads memory by
      // itself.
      if (base != operand && TakesIn(role, i)) continue;
      for (const Place& place : places) {
        const OpId merged = MergedInto(place.kernel);
        if (MergedInto(graph_[base].producer) == merged &&
            merged_into_[graph_[base].producer.index()].valid())
          continue;  // made in the same kernel
        // Parts of one value, such as its even and its odd rows, add up to no more than the whole.
        double& read = read_[Key(merged, base)];
        const double part = Part(op, i) * share;
        const double more = part > 1 ? part : std::min(part, 1 - read);
        if (more <= 0) continue;
        read += more;
        traffic.operand_bytes[i] += Bytes(operand) * more;
      }
    }
  }

  // What a view shows, through views of views.
  ValueId Base(ValueId v) const {
    while (RoleOfProducer(v) == Role::kView && !info_.materialized[v.index()])
      v = graph_[graph_[v].producer].operands[0];
    return v;
  }

  static uint64_t Key(OpId kernel, ValueId value) {
    return uint64_t{static_cast<uint32_t>(kernel.value)} << 32 | static_cast<uint32_t>(value.value);
  }

  const Graph& graph_;
  FusionInfo info_;
  LayoutCopies layout_copies_;
  std::vector<Role> roles_;
  std::vector<double> cheapest_;  // per value: fewest bytes it can be computed from
  // Per value: what it is computed from element by element, if that is not too much; else empty.
  std::vector<absl::InlinedVector<ValueId, kMostSources + 1>> sources_;
  std::vector<double> operators_;  // per value: that an element takes, none of them stored
  std::vector<double>
      share_;  // per fused value: largest share of it that one of its kernels computes
  std::vector<bool> forced_;       // per value: somebody needs it in memory
  std::vector<Places> places_;     // per fused value: where it is computed
  std::vector<OpId> merged_into_;  // per kernel: the one that computes it besides its own root
  absl::flat_hash_set<uint64_t> taken_in_;      // (kernel, value): an operand of what it computes
  absl::flat_hash_map<uint64_t, double> read_;  // (kernel, value): the share already charged
};

}  // namespace

FusionInfo AnalyzeFusion(const Graph& graph) { return FusionAnalysis(graph).Run(); }

}  // namespace meshwright
