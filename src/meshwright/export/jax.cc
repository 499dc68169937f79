// JAX: the plan with a program that runs the user's own training step sharded by it, and what
// `meshwright verify` needs to hold the plan against what XLA compiles.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/file.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/sha256.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/export/node_launcher.h"
#include "meshwright/export/quoting.h"
#include "meshwright/export/target.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainer =
    R"PY("""Runs your training step with JAX as plan.json says; launch.sh starts it.

Sharded over the plan's mesh, or as the plan's pipeline: each stage on its own devices.

The script that you name has a function make() that returns

    step, state, batches[, donate_argnums]

where step(state, *batch) returns the new state and a result, loss or metrics, and batches is a
function that gives the batch of a step's number, a tuple. The step must be the one that was planned.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def refuse(why):
    print(f"train.py: {why}", file=sys.stderr)
    sys.exit(2)


def load_make(path):
    sys.path.insert(0, str(Path(path).resolve().parent))
    spec = importlib.util.spec_from_file_location("meshwright_step", path)
    if spec is None or not Path(path).is_file():
        refuse(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "make"):
        refuse(f"{path} has no function make()")
    return module.make


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("script", help="has make()")
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--verify", action="store_true", help="hold the plan against the compiled program")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--process", type=int, default=0)
    parser.add_argument("--coordinator", help="host:port of process 0")
    arguments = parser.parse_args()
    for name in ("steps", "processes"):
        if getattr(arguments, name) < 1:
            refuse(f"--{name}: found {getattr(arguments, name)}, expected a number from 1")
    return arguments


def run(arguments):
    import jax
    import meshwright as mw

    plan = mw.Plan.load(HERE / "plan.json")
    if arguments.verify and plan.stages and arguments.processes > 1:
        refuse("--verify: a pipeline is verified in one process; use verify.sh")
    if arguments.processes > 1:
        mw.jax.initialize(arguments.coordinator, arguments.processes, arguments.process)
    made = load_make(arguments.script)()
    if not isinstance(made, (tuple, list)) or not 3 <= len(made) <= 4:
        refuse(f"make() of {arguments.script}: expected it to return step, state, batches[, donate_argnums]")
    step, state, batches, *donated = made
    given = {"plan": plan, "donate_argnums": donated[0] if donated else ()}
    if plan.stages:
        train = mw.jax.pipeline(step, state, *batches(0), stages=HERE / "stages", **given)
    else:
        train = mw.jax.shard(step, state, *batches(0), **given)
    for number in range(arguments.steps):
        state, result = train(state, *batches(number))
        if arguments.process == 0:
            print(f"step {number}: {jax.tree.map(str, result)}", flush=True)
    if arguments.verify:
        if plan.stages:
            report = plan.verify(train.program.contents, stages=HERE / "stages", repeats=0)
        else:
            report = train.plan.verify()
        print(report)
        sys.exit(0 if report.passed else 4)


def main():
    arguments = read_arguments()
    import meshwright as mw

    try:
        run(arguments)
    except mw.InternalError:
        raise
    except mw.Error as error:
        refuse(error)


if __name__ == "__main__":
    main()
)PY";

std::string ProgramFileName(std::string_view kind, std::string_view contents) {
  const bool gzip = contents.size() >= 2 && contents[0] == '\x1f' && contents[1] == '\x8b';
  return StrCat("program",
                kind == "stablehlo"   ? ".mlir"
                : kind == "hlo_proto" ? ".hlo.pb"
                                      : ".hlo.txt",
                gzip ? ".gz" : "");
}

// The program that the plan was made from.
absl::StatusOr<Artefact> ProgramFile(const Plan& plan, const std::string& path) {
  if (plan.inputs.empty()) return absl::InvalidArgumentError("$.inputs names no program");
  MW_ASSIGN_OR_RETURN(std::string contents, ReadFile(path));
  const InputFile& planned = plan.inputs[0];
  if (Sha256Hex(contents) != planned.sha256) {
    return absl::InvalidArgumentError(
        absl::StrCat("--program: ", path, " is not the program that was planned, whose sha256 is ",
                     planned.sha256, " (", planned.path, ")"));
  }
  std::string name = ProgramFileName(planned.kind, contents);
  return Artefact{std::move(name), std::move(contents), false};
}

// Whether the index of a folder of stages can be of the plan: of as many stages and micro-batches.
absl::Status CheckStageIndex(const Plan& plan, const std::string& path,
                             const std::string& contents) {
  absl::StatusOr<InputJson> json = ParseInputJson(contents, "the index");
  absl::Status status = json.status();
  if (json.ok()) {
    const JsonValue index(*json, &status);
    const int64_t stages = std::ssize(index.At("stages").Elements());
    const int64_t micro_batches = index.At("micro_batches").Integer(1, INT64_MAX);
    const int64_t planned = std::ssize(plan.pipeline->stages);
    if (status.ok() && (stages != planned || micro_batches != plan.micro_batches)) {
      status = absl::InvalidArgumentError(
          absl::StrCat("is of another plan: it has ", stages, " stages and ", micro_batches,
                       " micro-batches, the plan has ", planned, " and ", plan.micro_batches));
    }
  }
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("--stages: ", path, ": ", status.message()));
}

// Files of the folder that plan --emit wrote.
absl::StatusOr<Artefacts> StageFiles(const Plan& plan, const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (entry->is_regular_file(ignored) &&
        (name == "stages.json" || absl::EndsWith(name, ".hlo.txt"))) {
      names.push_back(name);
    }
  }
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("--stages: cannot read ", folder, ": ", error.message()));
  }
  std::sort(names.begin(), names.end());
  if (std::find(names.begin(), names.end(), "stages.json") == names.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--stages: ", folder, " has no stages.json; name the folder that plan --emit wrote"));
  }
  Artefacts files;
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(folder, "/", name);
    MW_ASSIGN_OR_RETURN(std::string contents, ReadFile(path));
    if (name == "stages.json") {
      MW_RETURN_IF_ERROR(CheckStageIndex(plan, path, contents));
    }
    files.push_back({absl::StrCat("stages/", name), std::move(contents), false});
  }
  return files;
}

std::string VerifyScript(const std::string& program, bool stages) {
  return absl::StrCat(
      "#!/usr/bin/env bash\n# Holds the plan against what XLA compiles and computes; options of "
      "meshwright verify are handed on.\nset -euo pipefail\ncd \"$(dirname "
      "\"${BASH_SOURCE[0]}\")\"\n"
      "exec meshwright verify ./plan.json --program ./",
      program, stages ? " --stages ./stages" : "", " \"$@\"\n");
}

Artefacts JaxLaunchFiles(const Plan& plan, const NodeCounts& counts, const ExportOptions& options) {
  NodeLaunch node;
  node.title = absl::StrCat("A program planned for ", plan.cluster.name, " with JAX");
  node.job_name = "meshwright-jax";
  node.ranks = EqualNodes(plan.cluster.parts[0].device, counts.nodes, counts.devices_per_node);
  node.setup = absl::StrCat(
      RequiredVariable(
          "script", options.script, "SCRIPT",
          "set it to a Python file with make(), or export with --script; see train.py"),
      RequiredVariable("steps", options.steps > 0 ? absl::StrCat(options.steps) : "", "STEPS",
                       "set it to the number of steps to train, or export with --steps"),
      "[ -f \"$script\" ] || fail \"there is no $script\"\n");
  node.command = absl::StrCat(
      "\"${MESHWRIGHT_PYTHON:-python3}\" ./train.py \"$script\" --steps \"$steps\" --processes ",
      counts.nodes, " --process \"$node_rank\" \\\n  --coordinator ",
      "\"$master_addr:$master_port\" \"$@\"");
  return NodeLaunchFiles(node, options);
}

absl::StatusOr<Artefacts> WriteJax(const Plan& plan, const ExportOptions& options) {
  MW_ASSIGN_OR_RETURN(const NodeCounts counts, CountNodes(plan));
  MW_RETURN_IF_ERROR(CheckLaunchOptions(
      options, EqualNodes(plan.cluster.parts[0].device, counts.nodes, counts.devices_per_node)));
  const bool pipeline = plan.pipeline.has_value();
  if (!pipeline && !options.stages.empty()) {
    return absl::InvalidArgumentError("--stages: the plan has no pipeline and so no stages");
  }
  if (pipeline && options.stages.empty()) {
    return absl::InvalidArgumentError(
        "--stages: the plan has a pipeline; name the folder of its stages' programs, which plan "
        "--emit DIR writes");
  }
  Artefacts files = {{"plan.json", PlanToJson(plan), false}, {"train.py", kTrainer, false}};
  for (Artefact& file : JaxLaunchFiles(plan, counts, options)) files.push_back(std::move(file));
  if (pipeline) {
    MW_ASSIGN_OR_RETURN(Artefacts stages, StageFiles(plan, options.stages));
    for (Artefact& file : stages) files.push_back(std::move(file));
  }
  if (options.program.empty()) return files;
  MW_ASSIGN_OR_RETURN(Artefact program, ProgramFile(plan, options.program));
  files.push_back({"verify.sh", VerifyScript(program.name, pipeline), true});
  files.push_back(std::move(program));
  return files;
}

}  // namespace

ExportTarget JaxTarget() {
  return {
      .name = "jax",
      .summary = "JAX: plans of programs, with a program that runs your step sharded as planned",
      .check_model = nullptr,
      .check_configuration = nullptr,
      .write_model = nullptr,
      .write_program = &WriteJax,
      .options = {"--script", "--program", "--stages", "--steps"}};
}

}  // namespace meshwright
