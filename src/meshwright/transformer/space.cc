#include "meshwright/transformer/space.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace meshwright::transformer {
namespace {

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

}  // namespace

Space::Space(const Model& model, const Workload& workload, int64_t gpus, const Fixes& fixes,
             Precision precision)
    : workload_(workload),
      gpus_(gpus),
      fixes_(fixes),
      precision_(precision),
      layers_(model.layers()) {
  for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    if (Allows(fixes.recompute, recompute)) recomputes_.push_back(recompute);
  }
  const auto add_attention = [&](const Attention& attention) {
    AddOnce(attention.heads, tensor_sizes_);
    AddOnce(attention.kv_heads, kv_heads_);
  };
  for (const Stack& stack : model.stacks) {
    for (const Layer& layer : stack.kinds) {
      add_attention(layer.attention);
      if (layer.cross_attention.has_value()) add_attention(*layer.cross_attention);
      if (layer.mlp.has_value()) AddOnce(layer.mlp->ffn, tensor_sizes_);
      if (!layer.moe.has_value()) continue;
      AddOnce(layer.moe->shared.ffn, tensor_sizes_);
      AddOnce(layer.moe->experts, experts_);
      AddOnce(layer.moe->expert.ffn, expert_sizes_);
    }
  }
}

bool Space::TensorDegreeFits(int64_t tp) const {
  return DividesAll(tp, tensor_sizes_) &&
         std::all_of(kv_heads_.begin(), kv_heads_.end(),
                     [&](int64_t heads) { return heads % tp == 0 || tp % heads == 0; });
}

std::vector<Space::Degrees> Space::AllDegrees() const {
  std::vector<Degrees> all;
  for (const int64_t tp : Divisors(gpus_)) {
    if (!Allows(fixes_.tp, tp) || !TensorDegreeFits(tp)) continue;
    for (const int64_t cp : Divisors(gpus_ / tp)) {
      if (!Allows(fixes_.cp, cp) || (cp > 1 && workload_.sequence % (2 * cp) != 0)) continue;
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

std::vector<int64_t> Space::VirtualStages(const Degrees& degrees, int64_t micro_batches) const {
  std::vector<int64_t> all;
  if (degrees.pp == 1 || micro_batches < degrees.pp) return all;
  for (int64_t vp = 2; vp * degrees.pp <= layers_; ++vp) {
    if (!Allows(fixes_.virtual_stages, vp)) continue;
    for (int64_t counted = layers_; counted <= layers_ + 2; ++counted) {
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
  if (recomputes_.empty() || shardings.empty()) return families;
  const std::vector<std::pair<int64_t, int64_t>> expert_degrees = ExpertDegrees(degrees);
  const int64_t replica_batch = workload_.global_batch / degrees.dp;
  Configuration family{.tp = degrees.tp,
                       .cp = degrees.cp,
                       .dp = degrees.dp,
                       .pp = degrees.pp,
                       .zero = shardings.front().zero,
                       .shard = shardings.front().shard,
                       .recompute = recomputes_.front(),
                       .precision = precision_};
  for (const int64_t micro_batch : Divisors(replica_batch)) {
    if (!Allows(fixes_.micro_batch, micro_batch)) continue;
    family.micro_batch = micro_batch;
    std::vector<std::pair<PipelineKind, int64_t>> schedules = {{PipelineKind::k1F1B, 1}};
    if (degrees.pp > 1) schedules.emplace_back(PipelineKind::kZeroBubble, 1);
    for (const int64_t vp : VirtualStages(degrees, replica_batch / micro_batch)) {
      schedules.emplace_back(PipelineKind::kInterleaved, vp);
    }
    for (const auto& [schedule, virtual_stages] : schedules) {
      if (!Allows(fixes_.schedule, schedule)) continue;
      if (!Allows(fixes_.virtual_stages, virtual_stages)) continue;
      family.schedule = schedule;
      family.virtual_stages = virtual_stages;
      for (const auto& [ep, etp] : expert_degrees) {
        family.ep = ep;
        family.etp = etp;
        for (const bool sequence_parallel : {false, true}) {
          if (!Allows(fixes_.sequence_parallel, sequence_parallel)) continue;
          if (sequence_parallel &&
              (degrees.tp == 1 || workload_.sequence % (degrees.tp * degrees.cp) != 0)) {
            continue;
          }
          if (!sequence_parallel && degrees.tp > 1 && ep > 1) continue;
          family.sequence_parallel = sequence_parallel;
          families.push_back(family);
        }
      }
    }
  }
  return families;
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
    count += std::ssize(Families(degrees)) * std::ssize(Shardings(degrees));
  }
  return count * std::ssize(recomputes_);
}

std::vector<Configuration> Space::All() const {
  std::vector<Configuration> all;
  ForEach([&](const Configuration& configuration) { all.push_back(configuration); });
  return all;
}

}  // namespace meshwright::transformer
