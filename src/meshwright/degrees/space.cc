#include "meshwright/degrees/space.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "meshwright/degrees/degree_table.h"
#include "meshwright/degrees/layer_partition.h"
#include "meshwright/degrees/rank_order.h"
#include "meshwright/model/recurrence.h"

namespace meshwright::transformer {
namespace {

// Columns of a panel, below which a matmul reaches little of the peak.
constexpr int64_t kNarrowestPanel = 128;

std::vector<int64_t> Divisors(int64_t number) {
  std::vector<int64_t> low, high;
  for (int64_t i = 1; i * i <= number; ++i) {
    if (number % i != 0) continue;
    low.push_back(i);
    if (i * i != number) high.push_back(number / i);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

template <typename T>
bool Allows(const std::optional<T>& fix, T value) {
  return !fix.has_value() || *fix == value;
}

bool DividesAll(int64_t divisor, const std::vector<int64_t>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](int64_t number) { return number % divisor == 0; });
}

void AddOnce(int64_t number, std::vector<int64_t>& numbers) {
  if (number > 0 && std::find(numbers.begin(), numbers.end(), number) == numbers.end()) {
    numbers.push_back(number);
  }
}

// Nodes of a unit, 0 where `nodes` are not several whole ones.
int64_t UnitsOf(int64_t nodes, int64_t unit) {
  return unit > 0 && unit < nodes && nodes % unit == 0 ? unit : 0;
}

struct Sides {
  int64_t columns, rows, cp, dp, pp;
};

// Every way to make `whole` of a divisor of each of `sides`, with most of the first ones first.
template <typename Visit>
void ForEachPlacement(const Sides& sides, int64_t whole, const Visit& visit) {
  std::vector<int64_t> divisors = Divisors(whole);
  std::reverse(divisors.begin(), divisors.end());
  for (const int64_t columns : divisors) {
    if (sides.columns % columns != 0) continue;
    for (const int64_t rows : divisors) {
      if (sides.rows % rows != 0 || whole / columns % rows != 0) continue;
      const int64_t tp = columns * rows;
      for (const int64_t cp : divisors) {
        if (sides.cp % cp != 0 || whole / tp % cp != 0) continue;
        for (const int64_t dp : divisors) {
          if (sides.dp % dp != 0 || whole / tp / cp % dp != 0) continue;
          const int64_t pp = whole / tp / cp / dp;
          if (sides.pp % pp == 0) visit(Placement{tp, cp, dp, pp, rows});
        }
      }
    }
  }
}

// The most layers of a group.
int64_t LargestGroup(const LayerPartition& partition) {
  int64_t most = 0;
  for (const GroupContent& content : partition.contents)
    most = std::max(most, content.all_layers());
  return most;
}

}  // namespace

Space::Space(const Model& model, const Workload& workload, int64_t gpus, const Fixes& fixes,
             Precision precision, std::optional<int64_t> node, std::optional<int64_t> unit)
    : workload_(workload),
      gpus_(gpus),
      fixes_(fixes),
      precision_(precision),
      node_(std::min(node.value_or(gpus), gpus)),
      unit_(UnitsOf(gpus / node_, unit.value_or(0))),
      layers_(model.layers()) {
  for (const int64_t pp : Divisors(gpus)) {
    if (pp > layers_) continue;
    const LayerPartition with = PartitionLayers(model, pp, true),
                         without = PartitionLayers(model, pp, false);
    largest_group_[{pp, true}] = LargestGroup(with);
    largest_group_[{pp, false}] = LargestGroup(without);
    if (pp > 1 && !with.Equals(without)) other_partitions_.push_back(pp);
  }
  for (const Recompute recompute :
       {Recompute::kNone, Recompute::kSelective, Recompute::kModules, Recompute::kFull}) {
    const bool searched =
        recompute != Recompute::kModules || fixes.single_modules || fixes.recompute.has_value();
    if (searched && Allows(fixes.recompute, recompute)) recomputes_.push_back(recompute);
  }
  for (const bool optimizer : {false, true}) {
    for (const bool activations : {false, true}) {
      if (!Allows(fixes.offload_optimizer, optimizer)) continue;
      if (Allows(fixes.offload_activations, activations)) {
        offloads_.push_back({optimizer, activations});
      }
    }
  }
  bool plain = true;  // every layer has attention of heads and an MLP only
  const auto add_attention = [&](const Attention& attention) {
    AddOnce(attention.heads, tensor_sizes_);
    AddOnce(attention.heads, heads_);
    AddOnce(attention.kv_heads, kv_heads_);
  };
  for (const Stack& stack : model.stacks) {
    for (const Layer& layer : stack.kinds) {
      if (layer.attends()) add_attention(layer.attention);
      if (layer.recurrence.has_value()) {
        recurs_ = true;
        AddOnce(SplitOver(*layer.recurrence), tensor_sizes_);
        if (layer.recurrence->groups > 0) AddOnce(layer.recurrence->groups, kv_heads_);
      }
      if (layer.cross_attention.has_value()) add_attention(*layer.cross_attention);
      if (layer.mlp.has_value()) AddOnce(layer.mlp->ffn, tensor_sizes_);
      AddOnce(layer.attention.heads * layer.attention.v_head_dim, inner_sizes_);
      if (layer.mlp.has_value()) AddOnce(layer.mlp->ffn, inner_sizes_);
      plain = plain && layer.attends() && layer.mlp.has_value() &&
              !layer.cross_attention.has_value() && !layer.attention.latent.has_value();
      if (!layer.moe.has_value()) continue;
      AddOnce(layer.moe->shared.ffn, tensor_sizes_);
      AddOnce(layer.moe->experts, experts_);
      AddOnce(layer.moe->expert.ffn, expert_sizes_);
    }
  }
  AddOnce(model.hidden, inner_sizes_);
  if (!plain || model.mtp.modules > 0) inner_sizes_.clear();
}

bool Space::TensorDegreeFits(int64_t tp) const {
  return DividesAll(tp, tensor_sizes_) &&
         std::all_of(kv_heads_.begin(), kv_heads_.end(),
                     [&](int64_t heads) { return heads % tp == 0 || tp % heads == 0; });
}

std::vector<Space::Grid> Space::Grids(int64_t tp, int64_t cp) const {
  std::vector<Grid> grids;
  const auto add = [&](int64_t tp2, int64_t panels) {
    if (Allows(fixes_.tp2, tp2) && Allows(fixes_.panels, panels)) grids.push_back({tp2, panels});
  };
  if (TensorDegreeFits(tp) && Allows(fixes_.grid, false)) add(1, 0);
  if (inner_sizes_.empty() || !Allows(fixes_.grid, true)) return grids;
  if (!Allows(fixes_.sequence_parallel, true)) return grids;
  const int64_t least_size = *std::min_element(inner_sizes_.begin(), inner_sizes_.end());
  for (const int64_t tp2 : Divisors(tp)) {
    const int64_t tp1 = tp / tp2;
    if (tp2 == 1 || !TensorDegreeFits(tp1) || workload_.sequence % (2 * tp2 * cp) != 0) continue;
    for (int64_t panels = std::lcm(tp1, tp2); DividesAll(panels, inner_sizes_); panels *= 2) {
      if (panels > std::lcm(tp1, tp2) && least_size / panels < kNarrowestPanel) break;
      add(tp2, panels);
    }
  }
  return grids;
}

std::vector<ContextKind> Space::Contexts(const Degrees& degrees, int64_t tp2) const {
  std::vector<ContextKind> all;
  const auto add = [&](ContextKind kind) {
    if (Allows(fixes_.context, kind)) all.push_back(kind);
  };
  add(ContextKind::kRing);
  if (degrees.cp == 1) return all;
  add(ContextKind::kAllGather);
  const int64_t split = degrees.tp / tp2 * degrees.cp;
  if (tp2 == 1 && DividesAll(split, heads_) && DividesAll(split, kv_heads_)) {
    add(ContextKind::kUlysses);
  }
  return all;
}

std::vector<Space::Degrees> Space::AllDegrees() const {
  std::vector<Degrees> all;
  for (const int64_t tp : Divisors(gpus_)) {
    if (!Allows(fixes_.tp, tp)) continue;
    for (const int64_t cp : Divisors(gpus_ / tp)) {
      if (Grids(tp, cp).empty()) continue;
      if (!Allows(fixes_.cp, cp) || (cp > 1 && workload_.sequence % (2 * cp) != 0)) continue;
      if (cp > 1 && recurs_) continue;
      for (const int64_t pp : Divisors(gpus_ / tp / cp)) {
        const int64_t dp = gpus_ / tp / cp / pp;
        if (!Allows(fixes_.pp, pp) || pp > layers_) continue;
        if (!Allows(fixes_.dp, dp) || workload_.global_batch % dp != 0) continue;
        all.push_back({tp, cp, pp, dp});
      }
    }
  }
  return all;
}

void Space::AddUnits(const Degrees& degrees, int64_t tp2, const Placement& inside,
                     std::vector<Layout>& all) const {
  const auto add = [&](const Placement& unit) {
    if (Allows(fixes_.tp_unit, unit.tp) && Allows(fixes_.tp2_unit, unit.tp2) &&
        Allows(fixes_.cp_unit, unit.cp) && Allows(fixes_.dp_unit, unit.dp) &&
        Allows(fixes_.pp_unit, unit.pp)) {
      all.push_back({inside, unit});
    }
  };
  if (unit_ == 0 || inside.in_order()) return add({});
  ForEachPlacement({.columns = degrees.tp / tp2 / (inside.tp / inside.tp2),
                    .rows = tp2 / inside.tp2,
                    .cp = degrees.cp / inside.cp,
                    .dp = degrees.dp / inside.dp,
                    .pp = degrees.pp / inside.pp},
                   unit_, add);
}

// Where units are told apart but do not divide the nodes, only what is in order is known.
void Space::AddOtherOrder(const Degrees& degrees, int64_t tp2, std::vector<Layout>& all) const {
  Configuration c{
      .tp = degrees.tp, .tp2 = tp2, .cp = degrees.cp, .dp = degrees.dp, .pp = degrees.pp};
  const std::optional<NumberedPlacements> other =
      NumberedInOrder(c, RankOrder::kPipelineThenData, node_, unit_);
  if (!other.has_value()) return;
  c.inside = other->inside;
  c.unit = other->unit;
  if (RankOrderOf(c) == RankOrder::kPipelineThenData) all.push_back({c.inside, c.unit});
}

// Ranks in order fill a node with as much of tp as goes in, then of cp, dp and pp; that is first
// here. Where they do not fill it without a rest, they are one more placement.
std::vector<Space::Layout> Space::Placements(const Degrees& degrees, int64_t tp2) const {
  std::vector<Layout> all;
  const auto add = [&](const Placement& one) {
    if (Allows(fixes_.tp_inside, one.tp) && Allows(fixes_.tp2_inside, one.tp2) &&
        Allows(fixes_.cp_inside, one.cp) && Allows(fixes_.dp_inside, one.dp) &&
        Allows(fixes_.pp_inside, one.pp)) {
      AddUnits(degrees, tp2, one, all);
    }
  };
  int64_t left = node_;
  bool aligned = true;
  const int64_t tp1 = degrees.tp / tp2;
  for (const int64_t degree : {tp1, tp2, degrees.cp, degrees.dp, degrees.pp}) {
    const int64_t inside = std::min(degree, left);
    aligned = aligned && degree % inside == 0 && left % inside == 0;
    left /= inside;
  }
  const bool one_node = node_ == gpus_;
  const bool in_order = fixes_.in_order.value_or(one_node || !aligned);
  if (in_order) add(Placement{});
  if (one_node) return all;
  if (fixes_.in_order.value_or(false)) {
    if (fixes_.both_rank_orders) AddOtherOrder(degrees, tp2, all);
    return all;
  }
  ForEachPlacement(
      {.columns = tp1, .rows = tp2, .cp = degrees.cp, .dp = degrees.dp, .pp = degrees.pp}, node_,
      add);
  return all;
}

std::vector<int64_t> Space::VirtualStages(const Degrees& degrees, int64_t micro_batches) const {
  std::vector<int64_t> all;
  if (degrees.pp == 1 || micro_batches < degrees.pp) return all;
  for (int64_t vp = 2; vp * degrees.pp <= layers_ + kEndsAsLayers; ++vp) {
    if (!Allows(fixes_.virtual_stages, vp)) continue;
    for (int64_t counted = layers_; counted <= layers_ + kMostBesideLayers; ++counted) {
      if (counted % (vp * degrees.pp) != 0) continue;
      all.push_back(vp);
      break;
    }
  }
  return all;
}

std::vector<std::pair<int64_t, int64_t>> Space::ExpertDegrees(const Degrees& degrees) const {
  std::vector<std::pair<int64_t, int64_t>> all;
  const int64_t group = degrees.tp * degrees.cp * degrees.dp;
  const std::vector<int64_t> ones = {1};
  for (const int64_t ep : experts_.empty() ? ones : Divisors(group)) {
    if (!Allows(fixes_.ep, ep) || !DividesAll(ep, experts_)) continue;
    for (const int64_t etp : experts_.empty() ? ones : Divisors(group / ep)) {
      if (Allows(fixes_.etp, etp) && DividesAll(etp, expert_sizes_)) all.emplace_back(ep, etp);
    }
  }
  return all;
}

std::vector<Configuration> Space::Families(const Degrees& degrees) const {
  std::vector<Configuration> families;
  const std::vector<Sharding> shardings = Shardings(degrees);
  if (recomputes_.empty() || shardings.empty() || offloads_.empty()) return families;
  Configuration family{.tp = degrees.tp,
                       .cp = degrees.cp,
                       .dp = degrees.dp,
                       .pp = degrees.pp,
                       .zero = shardings.front().zero,
                       .shard = shardings.front().shard,
                       .recompute = recomputes_.front(),
                       .precision = precision_};
  // A degree that has one value here has the one that is fixed.
  for (const Degree& degree : DegreeTable()) {
    const std::optional<int64_t> fix = degree.fix(fixes_);
    if (degree.set != nullptr && fix.has_value()) degree.set(family, *fix);
  }
  for (const Grid& grid : Grids(degrees.tp, degrees.cp)) {
    const std::vector<Layout> layouts = Placements(degrees, grid.tp2);
    if (layouts.empty()) continue;
    family.inside = layouts.front().inside;
    family.unit = layouts.front().unit;
    family.tp2 = grid.tp2;
    family.panels = grid.panels;
    for (const ContextKind context : Contexts(degrees, grid.tp2)) {
      family.context = context;
      AddExpertsAndSchedules(degrees, family, families);
    }
  }
  return families;
}

void Space::AddExpertsAndSchedules(const Degrees& degrees, Configuration family,
                                   std::vector<Configuration>& families) const {
  const std::vector<std::pair<int64_t, int64_t>> expert_degrees = ExpertDegrees(degrees);
  const int64_t replica_batch = workload_.global_batch / degrees.dp;
  for (const int64_t micro_batch : Divisors(replica_batch)) {
    if (!Allows(fixes_.micro_batch, micro_batch)) continue;
    family.micro_batch = micro_batch;
    std::vector<std::pair<PipelineKind, int64_t>> schedules = {{PipelineKind::k1F1B, 1}};
    if (degrees.pp > 1) schedules.emplace_back(PipelineKind::kZeroBubble, 1);
    for (const int64_t vp : VirtualStages(degrees, replica_batch / micro_batch)) {
      schedules.emplace_back(PipelineKind::kInterleaved, vp);
    }
    for (const auto& [ep, etp] : expert_degrees) {
      family.ep = ep;
      family.etp = etp;
      for (const bool sequence_parallel : {false, true}) {
        if (!Allows(fixes_.sequence_parallel, sequence_parallel)) continue;
        // Grids spread everything, by rows and columns.
        if (sequence_parallel && family.tp2 == 1 &&
            (degrees.tp == 1 || workload_.sequence % (degrees.tp * degrees.cp) != 0)) {
          continue;
        }
        if (!sequence_parallel && (family.tp2 > 1 || (degrees.tp > 1 && ep > 1))) continue;
        family.sequence_parallel = sequence_parallel;
        AddSchedules(schedules, family, families);
      }
    }
  }
}

// Ends are outside, so that what is costed once for all schedules comes in a row.
void Space::AddSchedules(const std::vector<std::pair<PipelineKind, int64_t>>& schedules,
                         Configuration family, std::vector<Configuration>& families) const {
  for (const bool ends_as_layers : {false, true}) {
    if (!Allows(fixes_.ends_as_layers, ends_as_layers)) continue;
    if (ends_as_layers &&
        !std::binary_search(other_partitions_.begin(), other_partitions_.end(), family.pp)) {
      continue;
    }
    family.ends_as_layers = ends_as_layers;
    for (const auto& [schedule, virtual_stages] : schedules) {
      if (!Allows(fixes_.schedule, schedule)) continue;
      if (!Allows(fixes_.virtual_stages, virtual_stages)) continue;
      // Embedding and head can be stages of their own where they count.
      if (!ends_as_layers && family.pp * virtual_stages > layers_) continue;
      if (ends_as_layers && schedule == PipelineKind::kInterleaved &&
          (layers_ + kEndsAsLayers) % (family.pp * virtual_stages) != 0) {
        continue;
      }
      family.schedule = schedule;
      family.virtual_stages = virtual_stages;
      if (TakeRecomputeRange(family) && TakeOffload(family)) families.push_back(family);
    }
  }
}

int64_t Space::LargestStage(const Configuration& family) const {
  const int64_t group = largest_group_.at({family.pp, family.ends_as_layers});
  return (group + family.virtual_stages - 1) / family.virtual_stages;
}

std::vector<Space::RecomputeRange> Space::RecomputeRanges(const Configuration& family,
                                                          Recompute recompute) const {
  std::vector<RecomputeRange> all;
  if (recompute == Recompute::kNone) {
    if (Allows(fixes_.recompute_layers, int64_t{0}) && Allows(fixes_.recompute_stages, int64_t{0}))
      all.push_back({0, 0});
    return all;
  }
  const int64_t layers = recompute == Recompute::kFull ? LargestStage(family) : 1;
  for (int64_t stages = 0; stages < family.pp; ++stages) {
    if (!Allows(fixes_.recompute_stages, stages)) continue;
    for (int64_t some = 0; some < layers; ++some) {
      if (Allows(fixes_.recompute_layers, some)) all.push_back({some, stages});
    }
  }
  return all;
}

// Without a fix all recomputations have one.
bool Space::TakeRecomputeRange(Configuration& family) const {
  if (!fixes_.recompute_layers.has_value() && !fixes_.recompute_stages.has_value()) return true;
  for (const Recompute recompute : recomputes_) {
    const std::vector<RecomputeRange> ranges = RecomputeRanges(family, recompute);
    if (ranges.empty()) continue;
    family.recompute = recompute;
    family.recompute_layers = ranges.front().layers;
    family.recompute_stages = ranges.front().stages;
    return true;
  }
  return false;
}

Space::Amounts Space::AmountsOf(const Configuration& family, const Offload& offload) const {
  Amounts amounts;
  for (int64_t percent = kOffloadStep; offload.optimizer && percent < 100;
       percent += kOffloadStep) {
    if (Allows(fixes_.offload_percent, percent)) amounts.percents.push_back(percent);
  }
  if (Allows(fixes_.offload_percent, int64_t{0})) amounts.percents.push_back(0);
  const int64_t stage = offload.activations ? LargestStage(family) : 0;
  for (int64_t layers = 1; layers < stage; ++layers) {
    if (Allows(fixes_.offload_layers, layers)) amounts.layers.push_back(layers);
  }
  if (Allows(fixes_.offload_layers, int64_t{0})) amounts.layers.push_back(0);
  return amounts;
}

bool Space::TakeOffload(Configuration& family) const {
  for (const Offload& offload : offloads_) {
    const Amounts amounts = AmountsOf(family, offload);
    if (amounts.count() == 0) continue;
    family.offload_optimizer = offload.optimizer;
    family.offload_activations = offload.activations;
    family.offload_percent = amounts.percents.front();
    family.offload_layers = amounts.layers.front();
    return true;
  }
  return false;
}

std::vector<Space::Sharding> Space::Shardings(const Degrees& degrees) const {
  std::vector<Sharding> all;
  const int64_t replicas = degrees.dp * degrees.cp;
  // The whole group is spelt 0.
  const std::optional<int64_t> shard =
      fixes_.shard.has_value() && *fixes_.shard == replicas ? 0 : fixes_.shard;
  for (int zero = 0; zero <= (replicas > 1 ? 3 : 0); ++zero) {
    if (!Allows(fixes_.zero, int64_t{zero})) continue;
    if (Allows(shard, int64_t{0})) all.push_back({zero, 0});
    if (zero == 0) continue;
    for (const int64_t group : Divisors(replicas)) {
      if (group > 1 && group < replicas && Allows(shard, group)) all.push_back({zero, group});
    }
  }
  return all;
}

int64_t Space::Count() const {
  int64_t count = 0;
  for (const Degrees& degrees : AllDegrees()) {
    int64_t members = 0;
    for (const Configuration& family : Families(degrees)) {
      int64_t ranges = 0;
      for (const Recompute recompute : recomputes_) {
        ranges += std::ssize(RecomputeRanges(family, recompute));
      }
      int64_t amounts = 0;
      for (const Offload& offload : offloads_) amounts += AmountsOf(family, offload).count();
      members += ranges * amounts * std::ssize(Placements(degrees, family.tp2));
    }
    count += members * std::ssize(Shardings(degrees));
  }
  return count;
}

std::vector<Configuration> Space::All() const {
  std::vector<Configuration> all;
  ForEach([&](const Configuration& configuration) { all.push_back(configuration); });
  return all;
}

}  // namespace meshwright::transformer
