#include "meshwright/cli/verb.h"

namespace meshwright {

const std::vector<Verb>& Verbs() {
  static const auto* const kVerbs = new std::vector<Verb>{
      {"plan",
       "find the fastest sharding of a program, or degrees of a model, that fit into memory",
       "meshwright plan train.hlo --cluster 8xh100-sxm\n"
       "meshwright plan train.hlo.txt.gz --cluster 2x8xa100-80g --mesh 2x8 --memory 60GiB -o "
       "plan.json\n"
       "meshwright plan train.hlo --cluster 8xh100-sxm --fix \"tok=[x,_]\" --emit sharded.hlo\n"
       "meshwright plan train.hlo --cluster 16x8xh100-sxm --pipeline auto --emit stages -o "
       "plan.json\n"
       "meshwright plan - --cluster cluster.yaml --json < train.hlo > plan.json\n"
       "meshwright plan llama3-70b --cluster 64x8xh100-sxm --global-batch 1024 --seq 8192\n"
       "meshwright plan config.json --cluster 8x8xh100-sxm --global-batch 512 --fix tp=8,pp=2",
       &AddPlanVerb},
      {"estimate", "cost a given sharding; what is not given follows from it as in XLA",
       "meshwright estimate train.hlo --cluster 8xh100-sxm --mesh x=2,y=4 \\\n"
       "    --fix \"state[*]['layer*']['wq']=[_,y]\" --fix \"tok=[x,_]\"\n"
       "meshwright estimate train.hlo --cluster 8xh100-sxm --mesh 8 --fix-file shardings.txt -o "
       "plan.json",
       &AddEstimateVerb},
      {"simulate", "run a plan's pipeline event by event",
       "meshwright simulate plan.json --trace trace.json\n"
       "meshwright simulate plan.json --schedule zb-h1 --micro-batches 64",
       &AddSimulateVerb},
      {"verify", "run a plan under JAX and hold it against the compiled program",
       "meshwright verify plan.json --program train.hlo\n"
       "meshwright verify plan.json --program train.hlo --stages stages\n"
       "meshwright verify plan.json --program train.hlo --devices gpu --repeats 10 --json",
       &AddVerifyVerb},
      {"export", "write the launch of a plan: script, configuration, Slurm job, host file",
       "meshwright export plan.json --to megatron --nodes node1,node2 --data-path corpus -o "
       "launch\n"
       "meshwright export plan.json --to torchtitan --alternative 2\n"
       "meshwright export plan.json --to jax --program train.hlo --script step.py",
       &AddExportVerb},
      {"solve", "solve an assignment problem by itself, with a bound",
       "meshwright solve problem.json.gz --deadline 60s -o solution.json", &AddSolveVerb},
      {"reproduce", "compute recorded results of other planners again and compare",
       "meshwright reproduce alpa-ilp ilps.json.gz\n"
       "meshwright reproduce alpa-ilp xla_solver_cases.json --json\n"
       "meshwright reproduce nersc searches.jsonl.gz points.jsonl.gz",
       &AddReproduceVerb},
      {"calibrate", "turn measurements of a device into the curves that plans are priced with",
       "meshwright calibrate --run -o device.yaml\n"
       "meshwright calibrate --from measurements.csv --device h100-sxm -o device.yaml",
       &AddCalibrateVerb},
      {"model", "describe a transformer: its layers, tensors, parameters and flops",
       "meshwright model llama3-8b --seq 8192\n"
       "meshwright model config.json --json\n"
       "meshwright model --list",
       &AddModelVerb},
      {"blocks", "find what a sharding goes through without communication, and what repeats",
       "meshwright blocks train.hlo --cluster 8xh100-sxm --mesh 8\n"
       "meshwright blocks train.hlo --cluster 2x8xh100-sxm --mesh 2x8 --json",
       &AddBlocksVerb},
      {"profile", "measure what repeats in a program, under the shardings that are worth it",
       "meshwright profile train.hlo --mesh 4 --db profiles.sqlite\n"
       "meshwright profile train.hlo --mesh 2x2 --db profiles.sqlite --devices host:4 --budget "
       "90s\n"
       "srun meshwright profile train.hlo --mesh 2x8 --db profiles.sqlite --distributed",
       &AddProfileVerb},
      {"db", "look into profile databases, merge, export and prune them",
       "meshwright db list profiles.sqlite\n"
       "meshwright db show profiles.sqlite 5b0c\n"
       "meshwright db merge all.sqlite node1.sqlite node2.sqlite\n"
       "meshwright db export profiles.sqlite --format csv -o profiles.csv\n"
       "meshwright db prune profiles.sqlite --older-than 90d",
       &AddDbVerb},
      {"ops", "list the operators and how each can be sharded",
       "meshwright ops\nmeshwright ops dot reshape", &AddOpsVerb},
      {"clusters", "list the devices that --cluster knows", "meshwright clusters",
       &AddClustersVerb},
  };
  return *kVerbs;
}

}  // namespace meshwright
