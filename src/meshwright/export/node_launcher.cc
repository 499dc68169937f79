#include "meshwright/export/node_launcher.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/export/quoting.h"

namespace meshwright {
namespace {

constexpr const char* kShellHead = R"(#!/usr/bin/env bash
set -euo pipefail

fail() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit 2
}
)";

// Finds the rank of this node in the hostfile. NODES is replaced.
constexpr const char* kRankOfNode = R"SH(
# Ranks of nodes are the lines of the hostfile, and stay so: groups of ranks that share a stage or a
# tensor are made of neighbours.
hostfile=${HOSTFILE:-hostfile}
[ -f "$hostfile" ] || fail "there is no $hostfile: list the NODES nodes in it, one a line in the order of their ranks, or submit job.sbatch"
mapfile -t hosts < <(awk '!/^[[:space:]]*(#|$)/ {print $1}' "$hostfile")
[ "${#hosts[@]}" -eq NODES ] || fail "$hostfile lists ${#hosts[@]} nodes, the plan has NODES"
[ "$(printf '%s\n' "${hosts[@]}" | sort -u | wc -l)" -eq NODES ] || fail "$hostfile lists a node twice"
node_rank=${NODE_RANK:-}
if [ -z "$node_rank" ]; then
  name=${SLURMD_NODENAME:-$(hostname)}
  read -r -a addresses < <(hostname -I 2>/dev/null || echo) || true
  for rank in "${!hosts[@]}"; do
    for own in "$name" "${name%%.*}" "${addresses[@]}"; do
      if [ "${hosts[rank]}" = "$own" ] || [ "${hosts[rank]%%.*}" = "$own" ]; then
        node_rank=$rank
      fi
    done
  done
  [ -n "$node_rank" ] || fail "$name is not in $hostfile; list it there, or set NODE_RANK"
fi
[[ $node_rank =~ ^[0-9]+$ && $node_rank -lt NODES ]] || fail "NODE_RANK is $node_rank, expected a number from 0 to LAST"
master_addr=${MASTER_ADDR:-${hosts[0]}}
)SH";

constexpr const char* kOneNode = R"(
node_rank=0
master_addr=${MASTER_ADDR:-127.0.0.1}
)";

std::string LaunchScript(const NodeLaunch& launch) {
  std::string text = absl::StrCat(
      kShellHead, "\n# ", CommentText(launch.title),
      ".\n# Run this on every node (job.sbatch does): ", "it starts the ", launch.devices_per_node,
      " processes of the node it runs on.\n# Arguments are handed on.\n",
      "cd \"$(dirname \"${BASH_SOURCE[0]}\")\"\n");
  absl::StrAppend(
      &text, launch.nodes == 1
                 ? std::string(kOneNode)
                 : absl::StrReplaceAll(kRankOfNode, {{"NODES", absl::StrCat(launch.nodes)},
                                                     {"LAST", absl::StrCat(launch.nodes - 1)}}));
  absl::StrAppend(&text, "master_port=${MASTER_PORT:-29500}\n\n", launch.setup);
  if (launch.torchrun.empty()) {
    absl::StrAppend(&text, "\nexport MASTER_ADDR=$master_addr MASTER_PORT=$master_port ",
                    "NODE_RANK=$node_rank\nexec ", launch.command, "\n");
    return text;
  }
  absl::StrAppend(&text, "\nexec torchrun --nnodes ", launch.nodes, " --nproc-per-node ",
                  launch.devices_per_node,
                  " --node-rank \"$node_rank\" \\\n"
                  "  --master-addr \"$master_addr\" --master-port \"$master_port\" \\\n  ",
                  launch.torchrun, " \"$@\"\n");
  return text;
}

// `name`: of one of Slurm's options.
std::string Directive(std::string_view name, std::string_view value) {
  return value.empty() ? "" : StrCat("#SBATCH --", name, "=", value, "\n");
}

std::string SlurmScript(const NodeLaunch& launch, const ExportOptions& options) {
  std::string text = absl::StrCat(
      "#!/usr/bin/env bash\n", Directive("job-name", launch.job_name),
      Directive("nodes", absl::StrCat(launch.nodes)), "#SBATCH --ntasks-per-node=1\n",
      Directive("gpus-per-node", absl::StrCat(launch.devices_per_node)), "#SBATCH --exclusive\n",
      Directive("nodelist", absl::StrJoin(options.nodes, ",")),
      Directive("partition", options.partition), Directive("account", options.account),
      Directive("time", options.time_limit));
  std::string_view head = kShellHead;
  head.remove_prefix(head.find('\n') + 1);
  StrAppend(&text, "\n# ", CommentText(launch.title),
            ".\n# Submit it from this folder: sbatch job.sbatch\n", head, R"(
cd "${SLURM_SUBMIT_DIR:?run this with sbatch}"
[ -f launch.sh ] || fail "there is no launch.sh in $PWD; submit job.sbatch from the folder it is in"
)");
  if (launch.nodes > 1 && options.nodes.empty()) {
    absl::StrAppend(&text, R"(
# The nodes that Slurm chose, their ranks fixed in the order it lists them.
HOSTFILE=hostfile.$SLURM_JOB_ID
scontrol show hostnames "$SLURM_JOB_NODELIST" >"$HOSTFILE"
export HOSTFILE
)");
  }
  absl::StrAppend(&text, "\nsrun --ntasks-per-node=1 --kill-on-bad-exit=1");
  if (!options.image.empty()) {
    // https://github.com/NVIDIA/pyxis: options of srun.
    absl::StrAppend(&text, " \\\n  --container-image=", ShellWord(options.image),
                    " --container-mounts=\"$PWD:$PWD\" --container-workdir=\"$PWD\"");
  }
  absl::StrAppend(&text, " \\\n  bash ./launch.sh \"$@\"\n");
  return text;
}

std::string HostFile(const NodeLaunch& launch, const ExportOptions& options) {
  std::string text;
  for (const std::string& node : options.nodes) {
    absl::StrAppend(&text, node, " slots=", launch.devices_per_node, "\n");
  }
  return text;
}

bool IsHostName(const std::string& name) {
  const auto fits = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= 253 && name[0] != '-' && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), fits);
}

// Words in #SBATCH lines, which know no quotes.
absl::Status CheckSlurmWord(std::string_view option, const std::string& word,
                            std::string_view more_characters) {
  const auto fits = [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           more_characters.find(c) != std::string_view::npos;
  };
  if (std::all_of(word.begin(), word.end(), fits) && (word.empty() || word[0] != '-')) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(StrCat(option, ": found ", QuotedString(word),
                                           ", expected letters, digits and any of ",
                                           more_characters));
}

absl::Status CheckNodes(const std::vector<std::string>& names, int64_t nodes) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!IsHostName(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--nodes: found ", QuotedString(name),
                       ", expected a host name or address: letters, digits and any of .-_"));
    }
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("--nodes: ", name, " is there twice"));
    }
  }
  if (names.empty() || static_cast<int64_t>(names.size()) == nodes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--nodes: found ", Counted(static_cast<int64_t>(names.size()), "name"),
                   ", but the plan has ", Counted(nodes, "node")));
}

}  // namespace

Artefacts NodeLaunchFiles(const NodeLaunch& launch, const ExportOptions& options) {
  Artefacts files = {{"launch.sh", LaunchScript(launch), true},
                     {"job.sbatch", SlurmScript(launch, options), false}};
  if (launch.nodes > 1 && !options.nodes.empty()) {
    files.push_back({"hostfile", HostFile(launch, options), false});
  }
  return files;
}

absl::Status CheckLaunchOptions(const ExportOptions& options, int64_t nodes) {
  for (const auto& [name, text] :
       {std::pair<const char*, const std::string&>{"--image", options.image},
        {"--framework", options.framework},
        {"--data-path", options.data_path},
        {"--tokenizer", options.tokenizer},
        {"--checkpoint", options.checkpoint},
        {"--script", options.script},
        {"--partition", options.partition},
        {"--account", options.account},
        {"--time", options.time_limit}}) {
    if (!IsUtf8(text)) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": found bytes that are not UTF-8"));
    }
  }
  for (const std::string& node : options.nodes) {
    if (!IsUtf8(node)) {
      return absl::InvalidArgumentError("--nodes: found bytes that are not UTF-8");
    }
  }
  MW_RETURN_IF_ERROR(CheckNodes(options.nodes, nodes));
  MW_RETURN_IF_ERROR(CheckSlurmWord("--partition", options.partition, "._,-"));
  MW_RETURN_IF_ERROR(CheckSlurmWord("--account", options.account, "._-"));
  return CheckSlurmWord("--time", options.time_limit, ":-");
}

std::string RequiredVariable(const std::string& variable, const std::string& value,
                             const std::string& environment, const std::string& message) {
  if (!value.empty()) return absl::StrCat(variable, "=", ShellWord(value), "\n");
  return absl::StrCat(variable, "=${", environment, ":?", message, "}\n");
}

std::string TrainingLength(const ExportOptions& options) {
  return absl::StrCat(
      RequiredVariable("steps", options.steps > 0 ? absl::StrCat(options.steps) : "", "STEPS",
                       "set it to the number of steps to train, or export with --steps"),
      RequiredVariable("learning_rate", options.learning_rate, "LEARNING_RATE",
                       "set it to the highest learning rate, or export with --learning-rate"));
}

}  // namespace meshwright
