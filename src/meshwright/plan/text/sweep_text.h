#ifndef MESHWRIGHT_PLAN_TEXT_SWEEP_TEXT_H_
#define MESHWRIGHT_PLAN_TEXT_SWEEP_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "meshwright/cluster/cluster.h"
#include "meshwright/plan/make/model_sweep.h"

// What `plan --sweep` prints and writes.

namespace meshwright {

// Speed-up and efficiency are relative to the first row that has a plan, per GPU.
std::string SweepTable(const std::vector<SweepRow>& rows);
// The same with a header line: gpus,global_batch,tp,cp,pp,dp,ep,micro_batch,zero,recompute,
// step_seconds,tokens_per_second,mfu,efficiency,peak_bytes. Rows without a plan are left empty.
std::string SweepCsv(const std::vector<SweepRow>& rows);
// Tokens a second by GPUs, beside what they would be if they grew like these, as a Vega-Lite chart.
std::string SweepPlot(const std::vector<SweepRow>& rows, std::string_view title);
// What to say where rows are of more GPUs than the cluster has, and where they may not be the best.
std::vector<std::string> SweepNotes(const std::vector<SweepRow>& rows, const Cluster& cluster);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_TEXT_SWEEP_TEXT_H_
