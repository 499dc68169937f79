#ifndef MESHWRIGHT_PROFILE_BLOCK_PROGRAM_H_
#define MESHWRIGHT_PROFILE_BLOCK_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/blocks/blocks.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/profile/worker_job.h"

namespace meshwright {

// A ParallelBlock as a program of its own, forward and backward members together: what it claims
// can be looked up in what a compiler makes of it.
struct BlockProgram {
  std::unique_ptr<const Module> module;
  Graph graph;                   // of `module`
  std::vector<ValueId> inputs;   // of the whole program: what members take from others
  std::vector<ValueId> outputs;  // likewise: what others take from members
  std::vector<OpId> member;      // by op of `graph`: of the whole program; invalid: no member
  std::vector<ValueId> origin;   // by value of `graph`: the value of the whole program
};

// `program` must come from a module without calls. Members inside loops run once.
absl::StatusOr<BlockProgram> MakeBlockProgram(const Graph& program, const BlockAnalysis& analysis,
                                              size_t block);

// One that a block leaves partial: what is to be combined outside. As the block's program must have
// whole results, it is combined there, by an all-reduce.
struct PartialOutput {
  int64_t bytes = 0;  // of the full buffer on one device
  std::vector<std::string> axes;
};

struct BlockJob {
  WorkerJob job;
  std::vector<PartialOutput> partial;
};

// A block of `whole` under one of its strategies, an index into ParallelBlock::strategies.
BlockJob MakeBlockJob(const Graph& whole, const BlockProgram& program, const ParallelBlock& block,
                      size_t strategy, const Mesh& mesh);

// Every kind of block of a program under every strategy that it has.
struct BlockPrograms {
  struct Row {
    int32_t kind = 0;
    std::string led_by, strategy;
    BlockJob job;
  };
  std::vector<Row> rows;
};
absl::StatusOr<BlockPrograms> MakeBlockPrograms(const Module& program, const Mesh& mesh);
// "index.json": a list of kind, led_by, strategy, proto (a file beside it), partial (a list of
// bytes and axes), and the job as profile_worker.py takes it.
std::string BlockProgramsIndex(const BlockPrograms& programs);
// The proto that the index names for row `row`.
std::string BlockProtoName(size_t row);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_BLOCK_PROGRAM_H_
