#ifndef MESHWRIGHT_PUBLISHED_RUNS_COLUMNS_H_
#define MESHWRIGHT_PUBLISHED_RUNS_COLUMNS_H_

#include "meshwright/base/csv.h"

// Tables of runs that were written before there were columns of what ran them.

namespace meshwright::transformer {

// The table with every column that says by which framework, release and recipe a run was made:
// framework, release, attention, precision, sequence_parallel, grads, moments, loss, mtp, network,
// and whether tflops_per_gpu counts recomputation (counts_recompute).
// What a table lacks of them is filled in for sources that columns.cc lists, and else stays empty,
// that is as the framework does by itself.
CsvTable WithRunColumns(CsvTable table);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_PUBLISHED_RUNS_COLUMNS_H_
