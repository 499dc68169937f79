#ifndef MESHWRIGHT_PLAN_MAKE_SHORTAGE_H_
#define MESHWRIGHT_PLAN_MAKE_SHORTAGE_H_

#include <string>

#include "meshwright/plan/make/plan_program.h"

namespace meshwright {

// What to tell a user whose program does not fit: the smallest budget that a plan was found for,
// the largest tensors alive at that plan's peak (name, shape, spec, bytes on one device), and how
// many such devices would do, if that is known. Requires !planned.intra.fits.
std::string ShortageText(const PlannedProgram& planned);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_SHORTAGE_H_
