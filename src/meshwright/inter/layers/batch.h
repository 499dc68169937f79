#ifndef MESHWRIGHT_INTER_LAYERS_BATCH_H_
#define MESHWRIGHT_INTER_LAYERS_BATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/micro_batch_rng.h"

// How a program that is written for the global batch falls into micro-batches.

namespace meshwright {

// What becomes of a value when the program runs once for each micro-batch.
enum class BatchRole : uint8_t {
  kConstant,   // the same for all: depends on no data (weights, masks, the step's number)
  kSplit,      // has a dimension that runs over the batch; each micro-batch has its part
  kStatistic,  // combined over the batch and used by split values again (the mean of a batch norm):
               // each micro-batch takes its own. Where kAfter values or outputs need it too, they
               // get the mean of the micro-batches' values
  kAccumulated,  // a sum over the batch that no split value needs (gradients, the loss): the values
                 // of the micro-batches are added up
  kAfter,        // computed from accumulated values, once a step (moments, new weights)
};

struct BatchSplit {
  int64_t size = 1;              // of the global batch, in samples
  std::vector<OpId> data;        // entry parameters that carry the batch
  std::vector<BatchRole> roles;  // by ValueId
  // By ValueId: the dimension that runs over the batch, of kSplit values; else -1. Where a reshape
  // merged the batch with more, it is the major part of that dimension. A kSplit value without one
  // comes from an op in `indivisible`.
  std::vector<int32_t> dimension;
  // Ops that combine values over the batch although split values need the result: a micro-batch's
  // own sum stands for the whole one and has to be multiplied by the number of micro-batches.
  std::vector<OpId> statistics;
  // Ops that give each sample its number (iota): a micro-batch's begin with that of its first.
  std::vector<OpId> numbered;
  // Ops on no data that cannot make a part of what they make for all samples (constants, random
  // bits, ...): every micro-batch makes all of it and takes its part.
  std::vector<OpId> whole;
  // Random bits that each micro-batch draws for itself, see MicroBatchRng::kIndependent.
  std::vector<OpId> drawn_apart;
  // Ops that cannot work on a part of the batch (a sort along it, a maximum of gradients, ...):
  // with any, the program cannot be divided. `warnings` says why, where, and what would help, once
  // for each reason.
  std::vector<OpId> indivisible;
  std::vector<std::string> warnings;
  // What is computed per micro-batch instead of per batch, or for the whole batch in every
  // micro-batch. Of no matter with a single micro-batch.
  std::vector<std::string> several_warnings;

  // Whether the program can be run in `micro_batches` equal parts: every split dimension divides,
  // and nothing is indivisible unless there is one part.
  bool Divides(const Graph& graph, int64_t micro_batches) const;
};

// Finds the batch from the data inputs by the operators' sharding rules, through loops. `tied`: see
// TiedParameters. `data`: names (patterns as in Fix) of the parameters that carry the batch in
// their first dimension; empty: where outputs replace parameters (a training step), the parameters
// that they do not replace, or only the integers of them if their first dimensions differ (frozen
// weights); else integers if there are any, else those that lead to the first dimension of an
// output.
// Errors: a pattern that matches nothing; data inputs of different batch sizes; no data input found
// (says how to name them); a batch of one sample.
absl::StatusOr<BatchSplit> FindBatch(const Graph& graph, const std::vector<int32_t>& tied,
                                     const std::vector<std::string>& data,
                                     MicroBatchRng rng = MicroBatchRng::kExact);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_BATCH_H_
