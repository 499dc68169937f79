#include "meshwright/solve/optimise.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "meshwright/solve/branch_and_bound.h"
#include "meshwright/solve/dual_bound.h"
#include "meshwright/solve/eliminate.h"
#include "meshwright/solve/exact_relaxation.h"
#include "meshwright/solve/lagrangian_descent.h"
#include "meshwright/solve/local_state.h"
#include "meshwright/solve/multiplier_annealing.h"
#include "meshwright/solve/neighbourhood_search.h"
#include "meshwright/solve/proximal_bundle.h"
#include "meshwright/solve/reduce.h"
#include "meshwright/solve/repair.h"
#include "meshwright/solve/subgradient_ascent.h"

// The order of work:
//   1. exact variable elimination, if there are no rows and the tables fit (small treewidth);
//   2. dual ascent: message passing (TRW-S) with Lagrange multipliers that are annealed, then
//   refined by subgradients; in turns with crossover of the choices that this decodes, and with
//   exact minima of the Lagrangian relaxation, which a proximal bundle joins, where there are such;
//   3. reduced-cost fixing: strategies whose reduced cost reaches the incumbent go, and if that
//   were many the smaller model starts over with the messages and multipliers that this one got to;
//   4. turns of large-neighbourhood search, crossover, diving and, for small models, of branch and
//   bound, with a growing budget and more ascent in between as the incumbent improves.
// Budgets are in elementary steps, so that only the deadline depends on the machine.

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

constexpr int64_t kTinyModel = 100;   // nodes up to which branching needs no better start
constexpr int64_t kSmallModel = 600;  // nodes up to which branching on the whole model is tried
// Rounds of ascent before each crossover; the first hundred anneal.
constexpr int kAscentRounds[] = {60, 45, 40};
constexpr int64_t kPortfolioSteps = 3'000'000'000, kMostStarts = 16;
constexpr int kStartSweeps = 10;
// Shares of all strategies that are worth starting over without, at first and from a search.
constexpr double kShrinkFirst = 0.05, kShrinkLater = 0.2;
constexpr size_t kRecent = 30;
// Forward-backward sweeps between looks at the bound; the share of the gap they must bring.
constexpr int kPassesTogether = 10;
constexpr double kConverged = 0.005;
constexpr int kMostMinima = 40;            // exact ones of the relaxation, in one go
constexpr int64_t kMinimumPasses = 600;    // that finding one may take as long as
constexpr double kMinimaPrecision = 0.01;  // of the gap
constexpr int64_t kMoreSteps = 4;          // than the first one took
// The same before anything else is known.
constexpr int64_t kTrialPasses = 40;
constexpr double kStartPrecision = 0.35;  // of the gap that is asked for
constexpr double kLeastPrecision = 1e-5;
constexpr double kShareOfNegligible = 0.3;  // that minima may be off by
constexpr int64_t kStartCrossoverSteps = 300'000'000;
constexpr double kUnknownGap = 0.1;                           // that rows may raise the bound by
constexpr double kPerturbations[] = {0.8, 1.25, 0.93, 1.08};  // of multipliers
constexpr double kMostInCrossover = 0.5, kMostInDive = 0.95;  // of the nodes
constexpr double kInnerGap = 0.25;  // of models with some strategies only, in gaps asked for
constexpr int64_t kFirstCrossoverSteps = 50'000'000;
constexpr int64_t kTinyTurnSteps = 100'000'000;  // of branching on a tiny model at first
constexpr int64_t kFirstTurnSteps = 5'000'000, kLargestTurnSteps = 1'000'000'000;

class Optimiser {
 public:
  Optimiser(const Model& model, const OptimiseOptions& options)
      : model_(model), options_(options), near_(model), bound_(model), annealing_(model, &bound_) {
    if (options.multipliers.empty()) return;
    bound_.SetMultipliers(options.multipliers);
    ascent_.emplace(model_, &bound_);
  }

  void Offer(const Choice& choice) {
    if (choice.empty() && model_.size() > 0) return;
    const Int128 cost = ModelCost(model_, choice);
    if (cost >= best_.cost || !Fits(model_, choice)) return;
    best_.cost = cost;
    best_.choice = choice;
    if (options_.improved) options_.improved(cost);
  }

  // Offers `choice`, made to fit if it does not.
  void Start(const Choice& choice) {
    Offer(choice);
    if (!Fits(model_, choice)) Offer(Repair(model_, near_, choice, kStartSweeps, options_.stop));
  }

  bool Done() {
    if (best_.bound >= best_.cost) best_.complete = true;
    if (best_.complete || steps_ >= options_.max_steps || options_.stop()) return true;
    return !best_.choice.empty() && best_.cost <= std::max(options_.enough, CostThatEnds());
  }

  // The cost at which the gap is as small as was asked for.
  Int128 CostThatEnds() const {
    if (best_.bound <= 0 || options_.target_gap >= 1) return best_.bound;
    return best_.bound + static_cast<Int128>(static_cast<double>(best_.bound) *
                                             options_.target_gap / (1 - options_.target_gap));
  }

  void Ascend(int rounds) {
    for (int round = 0; round < rounds && !Done(); ++round) {
      if (model_.rows() > 0 && !ascent_.has_value()) {
        steps_ += annealing_.Step();
        RaiseBound(annealing_.best());
        if (annealing_.Cold()) {
          annealing_.RestoreBest();
          Converge();
          ascent_.emplace(model_, &bound_);
        }
      } else if (model_.rows() > 0) {
        const Int128 target = best_.choice.empty()
                                  ? best_.bound + std::max<Int128>(best_.bound, 0) / 10 + 1
                                  : best_.cost;
        steps_ += ascent_->Step(target);
        RaiseBound(ascent_->best());
        if (ascent_->factor() < 1e-4) break;
      } else {
        const Int128 before = bound_.bound();
        Pass();
        Offer(bound_.decoded());
        if (round > 20 && bound_.bound() == before) break;
      }
      Remember(bound_.decoded());
      if (round % 5 == 4) {
        starts_.push_back(bound_.DecodeFitting());
        Offer(starts_.back());
      }
    }
    if (model_.rows() > 0) {
      // Annealing goes on from where it is, however warm that still is.
      if (ascent_.has_value()) {
        ascent_->RestoreBest();
        Converge();
      } else {
        for (int i = 0; i < 6 && !Done(); ++i) Pass();
      }
      Offer(bound_.DecodeFitting());
    }
  }

  // Exact minima of the relaxation at once, without multipliers to start from: for models that
  // message passing nearly solves, such as many equal layers in a row. Then the choices that prove
  // the bound are crossed over, which is all there is to do where parts are small.
  void StartExactly() {
    if (model_.rows() == 0 || model_.size() <= kTinyModel || !options_.multipliers.empty()) return;
    started_exactly_ =
        RaiseWithMinima(kTrialPasses * bound_.steps_per_pass(),
                        std::max(kLeastPrecision, kStartPrecision * options_.target_gap));
    if (!started_exactly_) return;
    CrossRecent(kStartCrossoverSteps);
    if (!Done()) Converge();
  }

  // Likewise from the multipliers that ascent has got to.
  void RaiseExactly() {
    if (model_.rows() == 0 || !exact_minima_ || !ascent_.has_value() || !HasChoice()) return;
    const Int128 before = best_.bound;
    exact_minima_ = RaiseWithMinima(kMinimumPasses * bound_.steps_per_pass(), 0) &&
                    static_cast<double>(best_.bound - before) > kMinimaPrecision * OpenGap();
  }

  // Descends from the choices decoded since the last time: for models in which nothing fits so far.
  void Descend() {
    if (model_.size() == 0 || Done()) return;
    if (!best_.choice.empty()) starts_.push_back(best_.choice);
    const int64_t most =
        std::clamp<int64_t>(kPortfolioSteps / (30 * bound_.steps_per_pass() + 1), 1, kMostStarts);
    if (static_cast<int64_t>(starts_.size()) > most)
      starts_.erase(starts_.begin(), starts_.end() - most);
    PortfolioOptions portfolio;
    portfolio.multipliers = bound_.multipliers();
    const Int128 upper = best_.choice.empty() ? 2 * best_.bound : best_.cost;
    portfolio.gap =
        std::min(static_cast<double>(upper - best_.bound), 0.3 * static_cast<double>(best_.bound));
    portfolio.threads = options_.threads;
    portfolio.seed = options_.seed;
    portfolio.stop = options_.stop;
    Offer(RunPortfolio(model_, near_, starts_, portfolio, &steps_));
    starts_.clear();
    if (options_.report) options_.report("descend", best_.bound);
  }

  // Solves the restricted master: only strategies of the choices met lately are allowed. At good
  // multipliers those choices move around an optimum of the relaxation: the convex combinations of
  // the choices that a subgradient method meets converge to it (Barahona and Anbil, "The volume
  // algorithm", 2000). They agree on most nodes, so the reductions leave a small model.
  void Crossover(int64_t max_steps) {
    if (model_.size() == 0 || recent_.empty() || Done()) return;
    Perturb();
    CrossRecent(max_steps);
  }

  void CrossRecent(int64_t max_steps) {
    if (Done()) return;
    // The newest choices that leave a model small enough to be worth its time.
    size_t count = recent_.size();
    for (int tries = 0; count > 0 && tries < 3; ++tries, count /= 2) {
      StrategyMask mask(model_.size());
      for (int32_t v = 0; v < model_.size(); ++v) {
        mask[v].resize(model_.strategies(v));
        for (size_t i = recent_.size() - count; i < recent_.size(); ++i)
          mask[v][recent_[i][v]] = true;
      }
      if (SolveRestricted(std::move(mask), kMostInCrossover, max_steps)) break;
    }
    if (options_.report) options_.report("crossover", best_.bound);
  }

  // LP-style diving: fixes out the half of the strategies with the largest reduced costs, reduces,
  // and dives on in what is left. Where the relaxation is loose this finds better choices than what
  // it decodes.
  void Dive(int64_t max_steps) {
    if (model_.size() == 0 || Done()) return;
    std::vector<double> reduced_costs;
    for (int32_t v = 0; v < model_.size(); ++v) {
      for (int32_t s = 0; s < model_.strategies(v); ++s) {
        if (const double reduced_cost = bound_.ReducedCost(v, s); reduced_cost > 0)
          reduced_costs.push_back(reduced_cost);
      }
    }
    if (reduced_costs.empty()) return;
    const auto middle = reduced_costs.begin() + static_cast<int64_t>(reduced_costs.size() / 2);
    std::nth_element(reduced_costs.begin(), middle, reduced_costs.end());
    StrategyMask mask(model_.size());
    for (int32_t v = 0; v < model_.size(); ++v) {
      mask[v].resize(model_.strategies(v));
      for (int32_t s = 0; s < model_.strategies(v); ++s)
        mask[v][s] = bound_.ReducedCost(v, s) < *middle;
    }
    SolveRestricted(std::move(mask), kMostInDive, max_steps);
    if (options_.report) options_.report("dive", best_.bound);
  }

  // Strategies that a better choice can still have, if the share `least` of all can go.
  std::optional<StrategyMask> Shrink(double least) {
    if (best_.choice.empty() || Done()) return std::nullopt;
    StrategyMask open = bound_.AllowedBelow(best_.cost);
    int64_t all = 0, removed = 0;
    for (const auto& strategies : open) {
      all += static_cast<int64_t>(strategies.size());
      removed += std::count(strategies.begin(), strategies.end(), false);
    }
    if (static_cast<double>(removed) < least * static_cast<double>(all)) return std::nullopt;
    return open;
  }

  // Runs until done, or until enough strategies can go to start over: those that may stay.
  std::optional<StrategyMask> Search() {
    if (best_.choice.empty())
      Offer(Repair(model_, near_, bound_.DecodeFitting(), 300, options_.stop));
    int64_t turn = kFirstTurnSteps;
    int wait = 1, pause = 1;  // turns until the next crossover: longer where that is no use
    for (; !Done(); turn = std::min(2 * turn, kLargestTurnSteps)) {
      if (model_.size() <= kSmallModel) Branch(2 * turn);
      if (!best_.choice.empty()) Improve(turn);
      if (model_.size() > kSmallModel && --wait <= 0) {
        const Int128 before = best_.cost;
        Crossover(turn);
        Dive(turn);
        pause = best_.cost < before ? 1 : 2 * pause;
        wait = pause;
      }
      Ascend(10);
      if (std::optional<StrategyMask> open = Shrink(kShrinkLater); open.has_value()) return open;
    }
    return std::nullopt;
  }

  void Branch(int64_t max_steps) {
    if (Done()) return;
    BranchOptions branch;
    branch.upper = best_.cost;
    branch.max_steps = std::min(max_steps, options_.max_steps - steps_);
    branch.multipliers = bound_.multipliers();
    branch.stop = options_.stop;
    const BranchResult result = BranchAndBound(model_, branch);
    steps_ += result.steps;
    Offer(result.choice);
    best_.complete |= result.complete;
    if (options_.report) options_.report("branch", best_.bound);
  }

  bool HasChoice() const { return !best_.choice.empty(); }
  Optimised& best() {
    best_.steps = steps_;
    return best_;
  }
  const DualBound& bound() const { return bound_; }

 private:
  // Raises the bound with exact minima of the relaxation, and remembers the choices that prove it:
  // their average keeps the rows. False, and nothing is changed, if the first minimum is not found
  // in `max_steps`. `precision`: shares of the bound that do not matter.
  bool RaiseWithMinima(int64_t max_steps, double precision) {
    if (Done()) return false;
    // Messages would make equal parts of the model different.
    const ExactRelaxation relaxation(
        ascent_.has_value() && !started_exactly_ ? bound_.Reparametrised(model_) : model_,
        options_);
    std::optional<ProximalBundle> bundle;
    std::vector<double> multipliers = bound_.multipliers();
    for (int i = 0; i < kMostMinima && !Done(); ++i) {
      const auto negligible = [&] {
        return precision > 0 ? precision * BoundScale() : kMinimaPrecision * OpenGap();
      };
      const double share = kShareOfNegligible * negligible() / BoundScale();
      ExactRelaxation::Minimum minimum = relaxation.At(multipliers, share, max_steps);
      steps_ += minimum.steps;
      RaiseBound(minimum.bound);
      if (!minimum.complete) break;
      Offer(minimum.choice);
      if (!bundle.has_value()) {
        max_steps = kMoreSteps * (minimum.steps + bound_.steps_per_pass());
        const double value = std::abs(minimum.value);
        bundle.emplace(model_, minimum.value + (HasChoice() ? OpenGap() : kUnknownGap * value));
      }
      bundle->Add(multipliers, minimum.value, std::move(minimum.choice));
      multipliers = bundle->Next(negligible());
      if (bundle->expected() < negligible()) break;
    }
    if (!bundle.has_value()) return false;
    bound_.SetMultipliers(bundle->best_multipliers());
    if (ascent_.has_value()) Converge();
    ascent_.emplace(model_, &bound_);
    for (const Choice& choice : bundle->Weighted()) Remember(choice);
    if (options_.report) options_.report("exact", best_.bound);
    return true;
  }

  void Improve(int64_t max_steps) {
    if (search_ == nullptr || search_->cost() > best_.cost) {
      search_ = std::make_unique<NeighbourhoodSearch>(
          model_, best_.choice,
          NeighbourhoodSearch::Options{options_.seed, options_.threads, bound_.multipliers(),
                                       options_.stop});
    }
    search_->SetMultipliers(bound_.multipliers());
    for (const int64_t until = steps_ + max_steps; steps_ < until && !Done();) {
      steps_ += search_->Round();
      Offer(search_->choice());
    }
    if (options_.report) options_.report("search", best_.bound);
  }

  // Optimises the model with the strategies of `mask` and the incumbent only. False if that leaves
  // more than the share `most` of the nodes.
  bool SolveRestricted(StrategyMask mask, double most, int64_t max_steps) {
    if (!best_.choice.empty()) {
      for (int32_t v = 0; v < model_.size(); ++v) mask[v][best_.choice[v]] = true;
    }
    const Reduced reduced = Reduce(bound_.Reparametrised(model_), {}, &mask);
    steps_ += 20 * bound_.steps_per_pass();
    if (reduced.infeasible) return true;
    if (reduced.model.size() > most * model_.size()) return false;
    OptimiseOptions inner = options_;
    inner.max_steps = std::min(max_steps, options_.max_steps - steps_);
    inner.target_gap = kInnerGap * options_.target_gap;
    inner.enough = std::max(options_.enough, CostThatEnds());
    inner.multipliers = reduced.ProjectMultipliers(bound_.multipliers());
    inner.improved = nullptr;
    inner.report = nullptr;
    std::vector<Choice> starts;
    if (!best_.choice.empty()) starts.push_back(reduced.Project(best_.choice));
    const Optimised found = Optimise(reduced.model, inner, std::move(starts));
    steps_ += found.steps;
    if (found.cost < best_.cost) Offer(reduced.Expand(found.choice));
    return true;
  }

  // Adds what is decoded when all multipliers are a little lower or higher: choices that use too
  // much and too little, to cross over.
  void Perturb() {
    if (model_.rows() == 0) return;
    const std::vector<double> multipliers = bound_.multipliers();
    for (double factor : kPerturbations) {
      std::vector<double> scaled = multipliers;
      for (double& multiplier : scaled) multiplier *= factor;
      bound_.SetMultipliers(scaled);
      Pass();
      Remember(bound_.decoded());
    }
    bound_.SetMultipliers(multipliers);
    for (int i = 0; i < 2; ++i) Pass();
  }

  void Pass() {
    steps_ += bound_.Pass() + bound_.Pass();
    RaiseBound(bound_.bound());
  }

  // Passes messages at the present multipliers until that hardly raises the bound. Deep programs
  // have long chains: at good multipliers the bound keeps rising for hundreds of passes, and where
  // messages are far from their fixed point multipliers are blamed for what messages lack.
  void Converge() {
    Pass();  // there is no bound before that if multipliers are new
    for (Int128 before = bound_.bound(); !Done();) {
      for (int i = 0; i < kPassesTogether && !Done(); ++i) Pass();
      const Int128 now = bound_.bound();
      if (static_cast<double>(now - before) <= kConverged * OpenGap()) break;
      before = now;
    }
  }

  double BoundScale() const { return std::max(1.0, std::abs(static_cast<double>(best_.bound))); }

  // About how much the bound can still rise.
  double OpenGap() const {
    return best_.choice.empty() ? 1e-3 * BoundScale()
                                : static_cast<double>(best_.cost - best_.bound);
  }

  void Remember(const Choice& choice) {
    if (!recent_.empty() && recent_.back() == choice) return;
    recent_.push_back(choice);
    if (recent_.size() > kRecent) recent_.pop_front();
  }

  void RaiseBound(Int128 bound) { best_.bound = std::max(best_.bound, bound); }

  const Model& model_;
  const OptimiseOptions& options_;
  Neighbourhoods near_;
  DualBound bound_;
  MultiplierAnnealing annealing_;
  std::optional<SubgradientAscent> ascent_;  // once that is cold
  std::deque<Choice> recent_;                // decoded lately
  std::vector<Choice> starts_;               // for the next descent
  std::unique_ptr<NeighbourhoodSearch> search_;
  Optimised best_;
  int64_t steps_ = 0;
  bool started_exactly_ = false;
  bool exact_minima_ = true;  // of the relaxation: they can be had and help, as far as is known
};

}  // namespace

Optimised Optimise(const Model& model, const OptimiseOptions& options, std::vector<Choice> starts) {
  if (model.rows() == 0) {
    if (std::optional<Choice> exact = EliminateExactly(model, options.max_table_entries);
        exact.has_value()) {
      Optimised result;
      result.complete = true;
      if (!exact->empty() || model.size() == 0) {
        result.cost = result.bound = ModelCost(model, *exact);
        result.choice = std::move(*exact);
        if (options.improved) options.improved(result.cost);
      }
      return result;
    }
  }
  Optimiser optimiser(model, options);
  for (const Choice& start : starts) optimiser.Start(start);
  optimiser.StartExactly();
  std::optional<StrategyMask> open;
  for (int rounds : kAscentRounds) {
    optimiser.Ascend(rounds);
    if (model.size() > kTinyModel) {
      optimiser.Crossover(kFirstCrossoverSteps);
      optimiser.Dive(kFirstCrossoverSteps);
    }
    if (!optimiser.HasChoice()) optimiser.Descend();
    if (model.size() <= kSmallModel) {
      optimiser.Branch(model.size() > kTinyModel ? kFirstTurnSteps : kTinyTurnSteps);
      break;  // Search comes back to both
    }
    if (open = optimiser.Shrink(kShrinkLater); open.has_value()) break;
    optimiser.RaiseExactly();
  }
  if (options.report) options.report("bound", optimiser.best().bound);
  if (!open.has_value()) open = optimiser.Shrink(kShrinkFirst);
  if (!open.has_value()) open = optimiser.Search();
  Optimised& best = optimiser.best();
  if (open.has_value() && !optimiser.Done()) {
    const Reduced reduced = Reduce(optimiser.bound().Reparametrised(model), {}, &*open);
    OptimiseOptions rest = options;
    rest.multipliers = reduced.ProjectMultipliers(optimiser.bound().multipliers());
    rest.max_steps -= best.steps;
    if (reduced.infeasible) {
      best.complete = true;
    } else {
      Optimised better = Optimise(reduced.model, rest, {reduced.Project(best.choice)});
      if (!better.choice.empty() || reduced.model.size() == 0)
        optimiser.Offer(reduced.Expand(better.choice));
      // The smaller model holds every choice better than the incumbent was.
      best.bound = std::max(best.bound, std::min(best.cost, better.bound));
      best.complete |= better.complete;
      best.steps += better.steps;
    }
  }
  if (best.complete) best.bound = best.cost;
  return best;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
