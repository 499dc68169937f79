#ifndef MESHWRIGHT_SOLVE_PROXIMAL_BUNDLE_H_
#define MESHWRIGHT_SOLVE_PROXIMAL_BUNDLE_H_

#include <cstdint>
#include <vector>

#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Raises a concave function of the row multipliers, known through its values and minimisers, by a
// proximal bundle method (Kiwiel, "Proximity control in bundle methods for convex nondifferentiable
// minimization", 1990). Every minimiser met bounds the function by a plane from above; the next
// multipliers maximise the lowest of the planes less a quadratic distance from the best multipliers
// so far. The planes that meet there weigh minimisers whose average keeps the rows: choices for a
// search to combine.
class ProximalBundle {
 public:
  // `target`: about what the function reaches at most; sets the length of the first step.
  ProximalBundle(const Model& model, double target);

  // The function is `value` at `multipliers`, where `choice` minimises it.
  void Add(const std::vector<double>& multipliers, double value, Choice choice);
  // Where to look next: steps get longer until the planes allow a rise by `worthwhile`, or nothing
  // is to be gained by that either. There must be a point.
  std::vector<double> Next(double worthwhile);

  bool empty() const { return planes_.empty(); }
  double best() const { return best_; }
  std::vector<double> best_multipliers() const;
  // How much higher the planes allow Next's multipliers to be than the best.
  double expected() const { return expected_; }
  // Minimisers that Next gave weight to, heaviest last.
  std::vector<Choice> Weighted() const;

 private:
  struct Plane {
    double height = 0;          // at the best multipliers
    std::vector<double> slope;  // by row: excess, in shares of the capacity
    Choice choice;
    double weight = 0;
  };
  double Scale(size_t row) const;
  std::vector<double> MultipliersAt(std::vector<double> scaled) const;
  void Weigh();
  void DropPlane();

  const Model& model_;
  double target_;
  std::vector<Plane> planes_;
  std::vector<double> centre_, next_;  // multipliers times capacities, by row
  double best_ = 0, expected_ = 0;
  double length_ = 0;  // of steps: weight of the slope against the distance
  int failures_ = 0;
};

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_PROXIMAL_BUNDLE_H_
