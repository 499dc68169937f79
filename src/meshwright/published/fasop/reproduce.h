#ifndef MESHWRIGHT_PUBLISHED_FASOP_REPRODUCE_H_
#define MESHWRIGHT_PUBLISHED_FASOP_REPRODUCE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "meshwright/published/nersc/reproduce.h"

// Recorded results of the published FASOP code, computed again and compared. A file, plain or gzip,
// is a table of comma-separated values whose name begins with the model's ("gpt2XL.het.csv"), with
// the columns
//
//   mbs, tp, dp, pp                 degrees and sequences of a micro-batch
//   placement                       "ABBB": nodes in the order of the pipeline
//   num_a100, num_a10               nodes of each type
//   partition                       layers of each stage, "13-12-12-13"
//   t, pt, dpt, et                  seconds: step, pipeline, all-reduces of data and embedding
//   price_per_step, train_cost      dollars
//   is_oom, mem, is_zoom, zmem      memory in GiB and whether it is too much: without and with
//                                   sharded optimizer states
//
// Others are ignored. Nodes of four GPUs are those of the published runs, nodes of eight those of
// the published sweep over clusters. The whole search over a row's cluster is done again, and the
// row looked up in it; a row that it has and the table has not, or has twice, is a difference.
// Times and dollars have to agree within 1e-6, relative; memory, which has six digits, in these;
// all else exactly.

namespace meshwright::transformer::fasop {

using nersc::FileReport;

// Errors name the file and the line: no model in the name, missing columns, what is no number, a
// configuration that the search does not have.
absl::StatusOr<FileReport> ReproduceFile(const std::string& path);
// `name` is the file's.
absl::StatusOr<FileReport> ReproduceText(std::string_view text, std::string_view name);

}  // namespace meshwright::transformer::fasop

#endif  // MESHWRIGHT_PUBLISHED_FASOP_REPRODUCE_H_
