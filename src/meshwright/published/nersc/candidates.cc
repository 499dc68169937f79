#include "meshwright/published/nersc/candidates.h"

#include <algorithm>
#include <string>
#include <utility>

#include "meshwright/base/strings.h"

namespace meshwright::transformer::nersc {
namespace {

// Published limits on how small a GPU's part may become.
constexpr int64_t kLeastColumns = 128;  // of a weight
constexpr int64_t kLeastTokens = 128;
constexpr int64_t kLeastPanel = 512;  // columns of SUMMA's panels
// Most steps of counting: a fraction of a second.
constexpr int64_t kMostSteps = 20'000'000;

std::vector<int64_t> Divisors(int64_t n) {
  std::vector<int64_t> small, large;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    small.push_back(d);
    if (d * d != n) large.push_back(n / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

}  // namespace

CandidateSpace::CandidateSpace(const Model& model, const System& system, Strategy strategy,
                               int64_t gpus, int64_t global_batch)
    : model_(model),
      system_(system),
      strategy_(strategy),
      gpus_(gpus),
      global_batch_(global_batch),
      gpu_divisors_(Divisors(gpus)),
      batch_divisors_(Divisors(global_batch)),
      layer_divisors_(Divisors(model.layers)),
      domain_divisors_(Divisors(system.nvlink_size)) {}

std::vector<CandidateSpace::Pair> CandidateSpace::Pairs() const {
  std::vector<Pair> pairs;
  const bool one_dimension = strategy_ == Strategy::k1d;
  for (const int64_t tp1 : gpu_divisors_) {
    if (model_.heads % tp1 != 0 || model_.embedding % tp1 != 0) continue;
    const int64_t columns = (one_dimension ? 3 : 1) * model_.embedding / tp1;
    if (columns < kLeastColumns) continue;
    if (one_dimension) {
      pairs.push_back({tp1, 1});
      continue;
    }
    for (const int64_t tp2 : gpu_divisors_) {
      if (gpus_ / tp1 % tp2 != 0 || model_.sequence / tp2 < kLeastTokens) continue;
      if (strategy_ == Strategy::kSumma && model_.embedding % tp2 != 0) continue;
      pairs.push_back({tp1, tp2});
    }
  }
  return pairs;
}

std::vector<int64_t> CandidateSpace::Panels(const Pair& pair) const {
  if (strategy_ != Strategy::kSumma) return {0};
  const int64_t least = std::max(pair.tp1, pair.tp2);
  // The published code fails where there is no number of panels; we have no candidate there.
  const int64_t ratio = model_.embedding / least;
  if (ratio <= 1) return {};
  if (model_.embedding < kLeastPanel * least) return {least};
  std::vector<int64_t> panels;
  for (int64_t factor = 1; factor < ratio; factor *= 2) {
    const int64_t count = least * factor;
    if (model_.embedding % count == 0 && model_.embedding / count >= kLeastPanel) {
      panels.push_back(count);
    }
  }
  return panels;
}

// How many GPUs of each axis of tensor parallelism lie in a domain.
std::vector<Groups> CandidateSpace::GroupsOf(const Pair& pair) const {
  if (gpus_ <= system_.nvlink_size) return {{{pair.tp1, pair.tp1}, {pair.tp2, pair.tp2}}};
  std::vector<Groups> groups;
  for (const int64_t n1 : domain_divisors_) {
    if (pair.tp1 % n1 != 0) continue;
    for (const int64_t n2 : domain_divisors_) {
      if (system_.nvlink_size / n1 % n2 != 0 || pair.tp2 % n2 != 0) continue;
      groups.push_back({{pair.tp1, n1}, {pair.tp2, n2}});
    }
  }
  return groups;
}

TensorDegrees CandidateSpace::Degrees(const Pair& pair) const {
  TensorDegrees degrees{.tp1 = pair.tp1, .tp2 = pair.tp2, .panels = Panels(pair)};
  degrees.groups = GroupsOf(pair);
  // Published: what must divide the tokens of a micro-batch.
  const int64_t split = strategy_ == Strategy::kSumma ? pair.tp2 : pair.tp1 * pair.tp2;
  for (const int64_t batch : batch_divisors_) {
    if (batch * model_.sequence % split == 0) degrees.micro_batches.push_back(batch);
  }
  const int64_t rest = gpus_ / (pair.tp1 * pair.tp2);
  const int64_t most_pp = std::min(rest, model_.layers);
  for (const int64_t pp : layer_divisors_) {
    if (pp > most_pp) break;
    // Published: divisors of the smaller of the two, not all of the layers'.
    if (most_pp % pp != 0 || rest % pp != 0) continue;
    const int64_t dp = rest / pp;
    if (global_batch_ % dp != 0) continue;
    Pipeline pipeline{.pp = pp, .dp = dp};
    const bool one_domain = gpus_ <= system_.nvlink_size;
    if (one_domain) pipeline.placements.push_back({.groups = 0, .nv_dp = dp, .nv_pp = pp});
    for (size_t g = 0; g < degrees.groups.size() && !one_domain; ++g) {
      const Groups& groups = degrees.groups[g];
      const int64_t left = system_.nvlink_size / (groups.tp1.in_domain * groups.tp2.in_domain);
      for (const int64_t n3 : domain_divisors_) {
        if (left % n3 != 0 || dp % n3 != 0 || pp % (left / n3) != 0) continue;
        pipeline.placements.push_back(
            {.groups = static_cast<int32_t>(g), .nv_dp = n3, .nv_pp = left / n3});
      }
    }
    degrees.pipelines.push_back(std::move(pipeline));
  }
  return degrees;
}

absl::StatusOr<int64_t> CandidateSpace::Count() const {
  int64_t candidates = 0, steps = 0;
  for (const Pair& pair : Pairs()) {
    const TensorDegrees degrees = Degrees(pair);
    const auto sizes = static_cast<int64_t>(batch_divisors_.size() + layer_divisors_.size() +
                                            degrees.groups.size());
    steps += sizes + static_cast<int64_t>(degrees.pipelines.size() * degrees.groups.size() *
                                          domain_divisors_.size());
    for (const Pipeline& pipeline : degrees.pipelines) {
      steps += static_cast<int64_t>(degrees.micro_batches.size());
      const auto choices = static_cast<int64_t>(degrees.panels.size() * pipeline.placements.size());
      for (const int64_t micro_batch : degrees.micro_batches) {
        candidates += Fits(micro_batch, pipeline) ? choices : 0;
      }
      if (candidates <= kMostCandidates && steps <= kMostSteps) continue;
      return absl::InvalidArgumentError(
          StrCat("the search is too large: ",
                 candidates > kMostCandidates
                     ? StrCat("more than ", kMostCandidates, " candidates")
                     : std::string("the sizes have too many divisors to list its candidates"),
                 ", for ", gpus_, " GPUs in NVLink domains of ", system_.nvlink_size,
                 " and a global batch of ", global_batch_));
    }
  }
  return candidates;
}

}  // namespace meshwright::transformer::nersc
