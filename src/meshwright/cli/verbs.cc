#include "meshwright/cli/verb.h"

namespace meshwright {

const std::vector<Verb>& Verbs() {
  static const auto* const kVerbs = new std::vector<Verb>{
      {"plan",
       "find the fastest sharding of a program, or degrees of a model, that fit into memory",
       "meshwright plan train.hlo --cluster 8xh100-sxm\n"
       "meshwright plan train.hlo.txt.gz --cluster 2x8xa100-80g --mesh 2x8 \\\n"
       "    --memory 60GiB -o plan.json\n"
       "meshwright plan train.hlo --cluster 8xh100-sxm --fix \"tok=[x,_]\" \\\n"
       "    --emit sharded.hlo\n"
       "meshwright plan train.hlo --cluster 16x8xh100-sxm --pipeline auto \\\n"
       "    --emit stages -o plan.json\n"
       "meshwright plan - --cluster cluster.yaml --json < train.hlo > plan.json\n"
       "meshwright plan llama3-70b --cluster 64x8xh100-sxm --global-batch 1024 \\\n"
       "    --seq 8192\n"
       "meshwright plan config.json --cluster 8x8xh100-sxm --global-batch 512 \\\n"
       "    --fix tp=8,pp=2",
       &AddPlanVerb,
       "A program gets a sharding for every tensor and, with --pipeline, stages; a model gets its "
       "degrees of tensor, context, pipeline, data and expert parallelism. Prints a table with "
       "the time of a step, memory on a device and communication; -o writes the whole plan. Times "
       "are in seconds, memory in bytes, both with the prefixes that suit them (ms, GiB).\n"
       "If nothing fits, nothing is written and the message says how much memory would do.",
       "0 a plan, 2 bad input, 3 nothing fits (into memory, time or cost), 1 a bug in meshwright"},
      {"estimate", "cost a given sharding; what is not given follows from it as in XLA",
       "meshwright estimate train.hlo --cluster 8xh100-sxm --mesh x=2,y=4 \\\n"
       "    --fix \"state[*]['layer*']['wq']=[_,y]\" --fix \"tok=[x,_]\"\n"
       "meshwright estimate train.hlo --cluster 8xh100-sxm --mesh 8 \\\n"
       "    --fix-file shardings.txt -o plan.json",
       &AddEstimateVerb,
       "Shardings come from --fix, --fix-file and annotations in the program. Prints and writes "
       "what `plan` does.",
       "0 a plan, 2 bad input, 3 over the memory of --memory, 1 a bug in meshwright"},
      {"explain", "say in words what a plan does, and why",
       "meshwright explain plan.json\n"
       "meshwright explain plan.json --parameters\n"
       "meshwright explain plan.json --tensor \"state*wq*\"\n"
       "meshwright explain plan.json --why-not \"state[0]['layer0']['wq']=[x,_]\"",
       &AddExplainVerb,
       "Prints on one screen what kind of parallelism each weight has, where time goes, what fills "
       "memory, the most expensive collectives with what causes them, and how close to optimal the "
       "plan "
       "is. Reads the plan alone; only --why-not plans the program again.",
       "0 an answer, 2 bad input, 1 a bug in meshwright"},
      {"diff", "say what changed from one plan to another",
       "meshwright diff old.json new.json\n"
       "meshwright diff old.json new.json --json",
       &AddDiffVerb,
       "Prints what was asked for and found otherwise, changes of time, memory and collectives, "
       "and "
       "what is sharded differently, repeated layers together.",
       "0 also if the plans differ, 2 bad input, 1 a bug in meshwright"},
      {"simulate", "run a plan's pipeline, or its one step, event by event",
       "meshwright simulate plan.json --trace trace.json\n"
       "meshwright simulate plan.json --schedule zb-h1 --micro-batches 64",
       &AddSimulateVerb,
       "Prints the time of the step, and of every stage what it computes, sends and waits for. "
       "Without a pipeline it is the step's operators and collectives without overlap. The "
       "plan "
       "stays as it is."},
      {"verify", "run a plan under JAX and hold it against the compiled program",
       "meshwright verify plan.json --program train.hlo\n"
       "meshwright verify plan.json --program train.hlo --stages stages --pipeline\n"
       "meshwright verify plan.json --program train.hlo --devices gpu --repeats 10 \\\n"
       "    --json",
       &AddVerifyVerb,
       "Runs the sharded program and the whole one on the same random inputs and compares "
       "results, the collectives in the compiled program, XLA's memory and the time of a step; "
       "time and memory are judged on devices of the planned kind only. A pipeline runs three "
       "steps "
       "as mw.jax.pipeline does: results, what stages send, collectives within stages and the "
       "schedule are compared. Needs Python with JAX and "
       "the package meshwright; the environment variable MESHWRIGHT_PYTHON names another than "
       "python3.",
       "0 the plan holds, 2 bad input, 4 a check failed, 1 a bug in meshwright"},
      {"report", "show plans as a page for the browser, as tables and as a graph",
       "meshwright report plan.json -o report.html\n"
       "meshwright report plan.json other.json verified.json -o report.html\n"
       "meshwright report plan.json --csv tables --dot segments.dot",
       &AddReportVerb,
       "The page is one file that opens without a network: what the plan does, the network with "
       "its "
       "collectives, where the parts of any tensor lie, memory and time over the step, "
       "alternatives, "
       "what was measured, and a comparison of plans. At least one output must be asked for.",
       "0 written, 2 bad input, 1 a bug in meshwright"},
      {"export", "write the launch of a plan: script, configuration, Slurm job, host file",
       "meshwright export plan.json --to megatron --nodes node1,node2 \\\n"
       "    --data-path corpus -o launch\n"
       "meshwright export plan.json --to torchtitan --alternative 2\n"
       "meshwright export plan.json --to jax --program train.hlo --script step.py",
       &AddExportVerb,
       "The folder must be new or empty; it appears with all files in it or not at all. A plan "
       "that the target cannot express is refused with the rule that it breaks and the nearest "
       "plan that it can. What is not given (data, tokenizer) is asked for when the launch runs. "
       "An option that the target has no use for is an error.",
       "0 a launch, 2 bad input or a plan that the target cannot express, 1 a bug in meshwright"},
      {"solve", "solve an assignment problem by itself, with a bound",
       "meshwright solve problem.json.gz --deadline 60s -o solution.json", &AddSolveVerb,
       "Chooses a strategy for every node so that costs of nodes and edges are least and usage "
       "stays within its limit at all times: the problem of the ASPLOS 2025 contest. Prints cost, "
       "bound, gap and the choice.",
       "0 an assignment, 2 bad input, 3 there is none or none was found in time, 1 a bug in "
       "meshwright"},
      {"reproduce", "compute recorded results of other planners again and compare",
       "meshwright reproduce alpa-ilp ilps.json.gz\n"
       "meshwright reproduce alpa-ilp xla_solver_cases.json --json\n"
       "meshwright reproduce nersc searches.jsonl.gz points.jsonl.gz\n"
       "meshwright reproduce runs public_runs.csv --rank\n"
       "meshwright reproduce runs public_runs.csv --commands",
       &AddReproduceVerb,
       "Prints a line for each file or case: what was recorded, what is computed now, and how far "
       "apart they are.",
       "0 all agree, 2 bad input, 4 some differ, 1 a bug in meshwright"},
      {"calibrate", "turn measurements of a device into the curves that plans are costed with",
       "meshwright calibrate --run -o device.yaml\n"
       "meshwright calibrate --from measurements.csv --device h100-sxm -o device.yaml",
       &AddCalibrateVerb,
       "Give either --run or --from. Measurements are of matmuls (flops), kernels that "
       "move memory and collectives (bytes), each with its time in microseconds."},
      {"model", "describe a transformer: its layers, tensors, parameters and flops",
       "meshwright model llama3-8b --seq 8192\n"
       "meshwright model config.json --json\n"
       "meshwright model --list",
       &AddModelVerb,
       "Flops are those of matmuls, two for a multiplication with an addition, of one "
       "sequence."},
      {"blocks", "find what a sharding goes through without communication, and what repeats",
       "meshwright blocks train.hlo --cluster 8xh100-sxm --mesh 8\n"
       "meshwright blocks train.hlo --cluster 2x8xh100-sxm --mesh 2x8 --json",
       &AddBlocksVerb,
       "Prints CFP's ParallelBlocks of a training step, the ways to cut each, and the distinct "
       "segments that the program is made of."},
      {"profile", "measure what repeats in a program, under the shardings that are worth it",
       "meshwright profile train.hlo --mesh 4 --db profiles.sqlite\n"
       "meshwright profile train.hlo --mesh 2x2 --db profiles.sqlite \\\n"
       "    --devices host:4 --budget 90s\n"
       "srun meshwright profile train.hlo --mesh 2x8 --db profiles.sqlite \\\n"
       "    --distributed",
       &AddProfileVerb,
       "Compiles and runs the distinct segments of a training step each by itself, and stores "
       "every "
       "measurement before the next: it can be killed, and goes on where it was. `plan --db` "
       "plans with what was measured. Needs Python with JAX and the package meshwright; the "
       "environment variable MESHWRIGHT_PYTHON names another than python3."},
      {"db", "look into profile databases, merge, export and prune them",
       "meshwright db list profiles.sqlite\n"
       "meshwright db show profiles.sqlite 5b0c\n"
       "meshwright db merge all.sqlite node1.sqlite node2.sqlite\n"
       "meshwright db export profiles.sqlite --format csv -o profiles.csv\n"
       "meshwright db prune profiles.sqlite --older-than 90d",
       &AddDbVerb,
       "Of measurements that `profile` stored, by environment (devices, driver, libraries), "
       "program, "
       "mesh and choice. Merging takes runs that are new; samples of several runs count together."},
      {"ops", "list the operators and how each can be sharded",
       "meshwright ops\n"
       "meshwright ops dot reshape\n"
       "meshwright ops '__cudnn$fmhaSoftmax'\n"
       "meshwright ops step.mlir",
       &AddOpsVerb,
       "A line for each opcode of HLO: the factors of operands and result, and which of them are "
       "summed over. Then what is known of kernels that stand outside of a program, by the target "
       "of their calls. Of a program: its calls that have no rule, as the lines that a file for "
       "--rules begins with."},
      {"clusters", "list the devices that --cluster knows", "meshwright clusters", &AddClustersVerb,
       "Of each: memory and its bandwidth (TB/s), peak rates by type (TFLOP/s), devices of a node, "
       "bandwidth inside a node and over the network (GB/s of one device, one direction), price "
       "(dollars an hour). A YAML file describes other devices and clusters."},
      {"help", "explain a command: what it does, its options, defaults and exit codes",
       "meshwright help plan\n"
       "meshwright help --json",
       &AddHelpVerb},
      {"completion", "print the script by which a shell completes command lines",
       "meshwright completion bash > \\\n"
       "    ~/.local/share/bash-completion/completions/meshwright\n"
       "meshwright completion zsh > ~/.zsh/_meshwright\n"
       "meshwright completion fish > \\\n"
       "    ~/.config/fish/completions/meshwright.fish",
       &AddCompletionVerb,
       "Commands, options, the words that an option takes and names of files are completed. Zsh "
       "looks for the file in the folders of its fpath."},
      {"man", "print the manual page of the program or of a command",
       "meshwright man > meshwright.1\n"
       "meshwright man plan | man -l -",
       &AddManVerb},
  };
  return *kVerbs;
}

}  // namespace meshwright
