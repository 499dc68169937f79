#ifndef MESHWRIGHT_HETERO_FAMILY_CHOOSER_H_
#define MESHWRIGHT_HETERO_FAMILY_CHOOSER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "meshwright/hetero/families.h"

// Families whose degrees are not the same everywhere.

namespace meshwright::transformer::hetero {

enum class FamilyKind {
  kByGroup,  // groups differ, the stages of each do not
  kByStage,  // at least one group has stages of two different degrees
};

struct FamilySinks {
  // Whether plans of at least so many seconds and dollars can be of use.
  std::function<bool(double seconds, double dollars)> useful;
  // Plans of use take a step of less than that, whatever they cost.
  std::function<double()> cutoff;
  std::function<void(const FamilyRecord&)> keep;
  // Bounds of families that are not kept because the effort ended.
  std::function<void(double seconds, double dollars)> left_out;
  // Whether to leave out all that comes.
  std::function<bool()> stopped;
};

// One after the other. Effort is counted in partial families.
void ListDifferingFamilies(FamilySpace& space, FamilyKind kind, int64_t effort,
                           const FamilySinks& sinks);

// Those that differ from the plan's in one group, which has other degrees, or two, or no stages.
std::vector<FamilyRecord> NeighbouringFamilies(FamilySpace& space, const Plan& plan);

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_FAMILY_CHOOSER_H_
