#ifndef MESHWRIGHT_DEGREES_GOODPUT_H_
#define MESHWRIGHT_DEGREES_GOODPUT_H_

#include <cstdint>

// Goodput: the rest of training's speed when machines fail and checkpoints are written.

namespace meshwright::transformer {

struct Failures {
  double mtbf_seconds = 0;        // mean time between failures of the whole job
  double checkpoint_seconds = 0;  // that training stands still for each checkpoint
  double restart_seconds = 0;     // from a failure until training goes on
};

struct Goodput {
  double interval_seconds = 0;  // of training between two checkpoints
  double share = 0;             // of the time, from 0 to 1, that ends up in the result
};

// The interval is Daly's ("A higher order estimate of the optimum checkpoint interval for restart
// dumps", 2006, equation 37), Young's (1974) with two more terms, and the share that of failures
// which come at random (Daly, equation 20): they hit training, checkpoints and restarts alike.
// All must be finite, mtbf_seconds more than 0, the others at least 0; without checkpoint_seconds
// checkpoints cost nothing, and only restarts do.
Goodput GoodputOf(const Failures& failures);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_GOODPUT_H_
