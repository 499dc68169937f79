#ifndef MESHWRIGHT_PUBLISHED_RUNS_KEY_H_
#define MESHWRIGHT_PUBLISHED_RUNS_KEY_H_

#include <string>

#include "meshwright/published/runs/row.h"

namespace meshwright::transformer {

// 16 hexadecimal digits that stand for the run that a row tells of: a hash (64-bit FNV-1a) of who
// measured what, on which GPUs, in which configuration, and the time. The same whatever order the
// columns have, however numbers are written, and whatever else the table says.
std::string RunKey(const RowReader& row);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_PUBLISHED_RUNS_KEY_H_
