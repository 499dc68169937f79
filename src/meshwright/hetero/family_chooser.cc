// Families are found group by group: groups are given degrees, or none, or two of them, as long as
// the fastest degrees of the groups that are left make a useful bound possible. Where that leaves
// too many, those are left out for which no slack is left (lagrangian_bound.h).

#include "meshwright/hetero/family_chooser.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "meshwright/base/infinity.h"
#include "meshwright/hetero/lagrangian_bound.h"

namespace meshwright::transformer::hetero {
namespace {

// The most that rounding adds to a bound.
constexpr double kChooserRounding = 1e-12;
// The effort of a family's bound, in partial families.
constexpr int64_t kBoundEffort = 10;
// Families as many as take the time of a partial family.
constexpr int64_t kHoldSteps = 500;

// The stage classes that a group may have: one, or two that share its nodes.
struct StageClassChoice {
  std::vector<StageClass> stage_classes;
  std::vector<size_t> positions;  // of these stage classes among all
  double speed = 0;               // layers in a second, of all its nodes
  double dollars = 0;             // of a layer at least
  double layer_seconds = 0;       // of the fastest stage
};

// `all` grows by the group's stage classes.
std::vector<StageClassChoice> StageClassChoices(FamilySpace& space, size_t group, int64_t together,
                                                const FamilySpace::Choice& choice, bool pairs,
                                                std::vector<StageClass>* all) {
  std::vector<StageClassChoice> choices;
  std::vector<StageClass> stage_classes;
  const size_t first = all->size();
  for (const StageDegrees& degrees : space.Options(group, together)) {
    const StageClass stage_class = space.StageClassOf(group, degrees, choice);
    choices.push_back({{stage_class},
                       {first + stage_classes.size()},
                       stage_class.speed(),
                       stage_class.layer_dollars,
                       stage_class.layer_seconds});
    stage_classes.push_back(stage_class);
  }
  all->insert(all->end(), stage_classes.begin(), stage_classes.end());
  if (!pairs) return choices;
  const NodeGroup& nodes = space.problem().cluster.groups[group];
  for (size_t a = 0; a < stage_classes.size(); ++a) {
    for (size_t b = a + 1; b < stage_classes.size(); ++b) {
      const double speed =
          MostSharedSpeed(nodes, stage_classes[a], stage_classes[b], space.layers());
      if (speed == 0) continue;  // there are too few nodes for both
      choices.push_back({{stage_classes[a], stage_classes[b]},
                         {first + a, first + b},
                         speed,
                         std::min(stage_classes[a].layer_dollars, stage_classes[b].layer_dollars),
                         std::min(stage_classes[a].layer_seconds, stage_classes[b].layer_seconds)});
    }
  }
  return choices;
}

// Goes through the families of one number of sequences and one choice of the rest.
class FamilyChooser {
 public:
  FamilyChooser(FamilySpace& space, const FamilySinks& sinks, FamilyKind kind, int64_t together,
                const FamilySpace::Choice& choice)
      : space_(space),
        sinks_(sinks),
        kind_(kind),
        choice_(choice),
        micro_batches_(space.problem().workload.global_batch / together),
        work_(static_cast<double>(space.layers() * micro_batches_)),
        count_(space.problem().cluster.groups.size()),
        most_stages_(space.most_stages()),
        options_(count_),
        least_layer_(count_, kInfinity),
        least_update_(count_, kInfinity),
        chosen_(count_),
        fastest_(count_ + 1),
        cheapest_(count_ + 1, kInfinity) {
    double share = 0;  // of all options
    for (size_t group = count_; group-- > 0;) {
      options_[group] =
          StageClassChoices(space, group, together, choice, kind == FamilyKind::kByStage, &all_);
      fastest_[group] = fastest_[group + 1];
      cheapest_[group] = cheapest_[group + 1];
      // Where the effort does not suffice, the fastest have been gone through.
      std::stable_sort(
          options_[group].begin(), options_[group].end(),
          [](const StageClassChoice& a, const StageClassChoice& b) { return a.speed > b.speed; });
      if (!options_[group].empty()) fastest_[group] += options_[group].front().speed;
      for (const StageClassChoice& option : options_[group]) {
        cheapest_[group] = std::min(cheapest_[group], option.dollars);
        least_layer_[group] = std::min(least_layer_[group], option.layer_seconds);
        for (const StageClass& stage_class : option.stage_classes) {
          least_update_[group] = std::min(least_update_[group], stage_class.update_seconds);
          share = std::max(share, stage_class.forward_share);
        }
      }
    }
    pooled_.emplace(Pipelines{space.layers(), micro_batches_, space.most_with_layer()}, share);
  }

  void Run(int64_t* effort) {
    if (sinks_.stopped()) return LeaveAll();
    int64_t trial = *effort;
    mode_ = Mode::kTrial;
    Decide(0, 0, kInfinity, &trial);
    mode_ = trial >= 0 ? Mode::kAll : Mode::kShared;
    if (mode_ == Mode::kShared && !MakeRoom()) return;
    Decide(0, 0, kInfinity, effort);
  }

 private:
  enum class Mode {
    kTrial,   // counts the effort of kAll, until there is none left
    kAll,     // families in turn
    kShared,  // partial families have equal parts of the effort; what is too little is left out
  };

  // Groups before `group` are decided: their stages deal with so many layers in a second, and the
  // cheapest of them with one for so many dollars.
  void Decide(size_t group, double speed, double dollars, int64_t* effort) {
    constexpr double kRounding = 1 - kChooserRounding;
    const double all = speed + fastest_[group];
    if (all <= 0) return;
    double least_seconds = work_ / all * kRounding;
    const double cheapest = std::min(dollars, cheapest_[group]);
    const double others = MoreDollars(stage_classes_, cheapest);
    double rate = 0;  // as in Bound
    for (const StageClass& stage_class : stage_classes_) rate += stage_class.price_per_hour;
    double least_dollars =
        (work_ * cheapest + static_cast<double>(micro_batches_) * others) * kRounding;
    if (!sinks_.useful(least_seconds, least_dollars)) return;
    least_seconds = std::max(least_seconds, LeastFrom(group) * kRounding);
    least_dollars = std::max(least_dollars, least_seconds * rate / 3600);
    if (!sinks_.useful(least_seconds, least_dollars)) return;
    if (mode_ == Mode::kTrial && *effort < 0) return;
    if (slack_ != nullptr) {
      const int64_t before = slack_->steps();
      const bool may_hold = slack_->MayHold(positions_, group);
      *effort -= (slack_->steps() - before) / kHoldSteps;
      if (!may_hold) return;
    }
    int64_t left = group == count_ ? 0 : static_cast<int64_t>(options_[group].size()) + 1;
    *effort -= group == count_ ? kBoundEffort : 1;
    if (mode_ == Mode::kShared && *effort < left) {
      return sinks_.left_out(std::max(least_seconds, LeastOfAny()), least_dollars);
    }
    if (group == count_) return Keep();
    const auto go_on = [&](double new_speed, double new_dollars) {
      if (mode_ != Mode::kShared) return Decide(group + 1, new_speed, new_dollars, effort);
      // It gets a part of what those before it left, too.
      int64_t part = *effort / left--;
      *effort -= part;
      Decide(group + 1, new_speed, new_dollars, &part);
      *effort += part;
    };
    for (const StageClassChoice& option : options_[group]) {
      chosen_[group] = &option;
      stage_classes_.insert(stage_classes_.end(), option.stage_classes.begin(),
                            option.stage_classes.end());
      positions_.insert(positions_.end(), option.positions.begin(), option.positions.end());
      go_on(speed + option.speed, std::min(dollars, option.dollars));
      stage_classes_.resize(stage_classes_.size() - option.stage_classes.size());
      positions_.resize(stage_classes_.size());
    }
    chosen_[group] = nullptr;
    go_on(speed, dollars);
  }

  void LeaveAll() {
    constexpr double kRounding = 1 - kChooserRounding;
    if (fastest_[0] <= 0) return;
    sinks_.left_out(std::max(work_ / fastest_[0], LeastFrom(0)) * kRounding,
                    work_ * cheapest_[0] * kRounding);
  }

  // False if no degrees can be of use. Worth its time where families are left out.
  bool MakeRoom() {
    const double cutoff = sinks_.cutoff();
    if (all_.empty() || cutoff == kInfinity) return true;
    costs_ = space_.CostsOfAny(all_, choice_);
    slack_ = std::make_unique<LagrangianBound>(space_.problem().cluster.groups, costs_,
                                               space_.least_stages(), most_stages_);
    return slack_->SetCutoff(cutoff);
  }

  // A lower bound of all families.
  double LeastOfAny() {
    if (slack_ == nullptr) return 0;
    if (!least_of_any_.has_value()) least_of_any_ = slack_->LeastSeconds();
    return *least_of_any_;
  }

  // A bound of pipelines on the decided stage classes and on what may be on groups from `group` on.
  double LeastFrom(size_t group) {
    pools_.clear();
    double update = kInfinity, fixed = 0;
    for (size_t decided = 0; decided < group; ++decided) {
      if (chosen_[decided] == nullptr) continue;
      for (const StageClass& stage_class : chosen_[decided]->stage_classes) {
        update = std::min(update, stage_class.update_seconds);
        fixed = std::max(fixed, stage_class.fixed_seconds);
      }
      pools_.push_back({chosen_[decided]->layer_seconds, chosen_[decided]->speed});
    }
    for (size_t open = group; open < count_; ++open) {
      if (options_[open].empty()) continue;
      pools_.push_back({least_layer_[open], options_[open].front().speed});
      update = std::min(update, least_update_[open]);
    }
    std::sort(pools_.begin(), pools_.end(), [](const StagePool& a, const StagePool& b) {
      return a.layer_seconds < b.layer_seconds;
    });
    return pooled_->LeastSeconds(pools_) + update + fixed;
  }

  void Keep() {
    if (mode_ == Mode::kTrial || stage_classes_.size() < 2) return;
    bool shared = false, same = true;
    for (size_t i = 1; i < stage_classes_.size(); ++i) {
      shared = shared || stage_classes_[i].group == stage_classes_[i - 1].group;
      same = same && stage_classes_[i].degrees == stage_classes_[0].degrees;
    }
    if (kind_ == FamilyKind::kByStage ? !shared : same) return;
    std::optional<FamilyRecord> record = space_.Record(stage_classes_, choice_);
    if (slack_ != nullptr && !slack_->MayHold(positions_)) return;
    if (record.has_value() && sinks_.useful(record->seconds, record->dollars)) {
      record->seconds = std::max(record->seconds, LeastOfAny());
      sinks_.keep(*record);
    }
  }

  FamilySpace& space_;
  const FamilySinks& sinks_;
  const FamilyKind kind_;
  const FamilySpace::Choice choice_;
  Mode mode_ = Mode::kAll;
  const int64_t micro_batches_;
  const double work_;
  const size_t count_;
  const int64_t most_stages_;
  std::vector<std::vector<StageClassChoice>> options_;  // by group
  std::vector<double> least_layer_, least_update_;
  std::vector<const StageClassChoice*> chosen_;  // of decided groups; null: none
  std::optional<PooledBound> pooled_;
  std::vector<StagePool> pools_;
  std::vector<double> fastest_, cheapest_;  // of groups from here on
  std::vector<StageClass> stage_classes_;   // of the groups that are decided
  std::vector<size_t> positions_;           // ... among `all_`
  std::vector<StageClass> all_;             // of all groups
  Costs costs_;                             // of these
  std::unique_ptr<LagrangianBound> slack_;  // null: not made
  std::optional<double> least_of_any_;      // see LeastOfAny
};

}  // namespace

void ListDifferingFamilies(FamilySpace& space, FamilyKind kind, int64_t effort,
                           const FamilySinks& sinks) {
  const Problem& problem = space.problem();
  const bool one_group = problem.cluster.groups.size() == 1;
  if (problem.alike || (kind == FamilyKind::kByGroup && one_group)) return;
  // Each has its part, and what those before it left.
  int64_t parts = static_cast<int64_t>(space.Together().size() * space.Choices().size());
  for (const int64_t together : space.Together()) {
    for (const FamilySpace::Choice& choice : space.Choices()) {
      int64_t part = effort / parts--;
      effort -= part;
      FamilyChooser(space, sinks, kind, together, choice).Run(&part);
      effort += std::max<int64_t>(0, part);
    }
  }
}

std::vector<FamilyRecord> NeighbouringFamilies(FamilySpace& space, const Plan& plan) {
  std::vector<FamilyRecord> records;
  if (space.problem().alike) return records;
  const Family& family = plan.family;
  const FamilySpace::Choice choice = {family.zero, family.recompute};
  std::set<int32_t> used;
  for (const Stage& stage : plan.stages) used.insert(stage.stage_class);
  std::vector<StageClass> all;
  for (size_t group = 0; group < space.problem().cluster.groups.size(); ++group) {
    std::vector<StageClassChoice> options =
        StageClassChoices(space, group, family.together(), choice, /*pairs=*/true, &all);
    options.emplace_back();  // none
    for (const StageClassChoice& option : options) {
      std::vector<StageClass> stage_classes = option.stage_classes;
      for (const int32_t stage_class : used) {
        if (family.Group(stage_class) == group) continue;
        stage_classes.push_back(
            space.StageClassOf(family.Group(stage_class), family.degrees[stage_class], choice));
      }
      std::stable_sort(stage_classes.begin(), stage_classes.end(),
                       [](const StageClass& a, const StageClass& b) { return a.group < b.group; });
      if (stage_classes.empty()) continue;
      std::optional<FamilyRecord> record = space.Record(stage_classes, choice);
      if (record.has_value()) records.push_back(*std::move(record));
    }
  }
  return records;
}

}  // namespace meshwright::transformer::hetero
