#include "meshwright/solve/lagrangian_descent.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/parallel.h"
#include "meshwright/solve/repair.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

constexpr int kForestMoves = 3;  // between changes of multipliers
constexpr int kRepairEvery = 5, kRepairSweeps = 20;
constexpr double kMultiplierStep = 0.05;

}  // namespace

LagrangianDescent::LagrangianDescent(const Model& model, const Neighbourhoods& near, Choice start,
                                     std::vector<double> multipliers, uint64_t seed)
    : model_(model),
      near_(near),
      forest_(model, near, seed),
      choice_(std::move(start)),
      multipliers_(std::move(multipliers)) {
  for (const ModelEdge& edge : model.edges)
    entries_ += static_cast<int64_t>(edge.matrix->cost.size());
  Offer(choice_);
}

void LagrangianDescent::Offer(const Choice& choice) {
  if (choice.empty()) return;
  const Int128 cost = ModelCost(model_, choice);
  if (cost >= best_cost_ || !Fits(model_, choice)) return;
  best_cost_ = cost;
  best_ = choice;
}

int64_t LagrangianDescent::Run(int rounds, double gap, const std::function<bool()>& stop) {
  int64_t steps = 0;
  for (int round = 1; round <= rounds && !(stop && stop()); ++round) {
    forest_.SetMultipliers(multipliers_);
    for (int i = 0; i < kForestMoves && !(stop && stop()); ++i) steps += forest_.Move(&choice_);
    Offer(choice_);
    if (round % kRepairEvery == 0) {
      Offer(Repair(model_, near_, choice_, kRepairSweeps, stop));
      steps += kRepairSweeps * entries_ / 8;
    }
    if (model_.rows() == 0) continue;
    const std::vector<Number> usage = RowUsage(model_, choice_);
    double norm = 1;
    for (size_t r = 0; r < usage.size(); ++r) {
      const auto excess = static_cast<double>(usage[r] - model_.capacity[r]);
      if (excess > 0 || multipliers_[r] > 0) norm += excess * excess;
    }
    const double length = kMultiplierStep * std::max(1.0, gap) / norm;
    for (size_t r = 0; r < usage.size(); ++r) {
      multipliers_[r] = std::max(
          0.0, multipliers_[r] + length * static_cast<double>(usage[r] - model_.capacity[r]));
    }
  }
  return steps;
}

Choice RunPortfolio(const Model& model, const Neighbourhoods& near,
                    const std::vector<Choice>& starts, const PortfolioOptions& options,
                    int64_t* steps) {
  std::vector<std::unique_ptr<LagrangianDescent>> runs;
  for (size_t i = 0; i < starts.size(); ++i) {
    runs.push_back(std::make_unique<LagrangianDescent>(model, near, starts[i], options.multipliers,
                                                       options.seed + i));
  }
  for (int rounds = options.rounds; !runs.empty(); rounds *= 2) {
    std::vector<int64_t> taken(runs.size(), 0);
    ForEachParallel(runs.size(), options.threads,
                    [&](size_t i) { taken[i] = runs[i]->Run(rounds, options.gap, options.stop); });
    for (int64_t t : taken) *steps += t;
    std::stable_sort(runs.begin(), runs.end(),
                     [](const auto& a, const auto& b) { return a->best_cost() < b->best_cost(); });
    if (runs.size() == 1 || (options.stop && options.stop())) return runs[0]->best();
    runs.resize((runs.size() + 1) / 2);
  }
  return {};
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
