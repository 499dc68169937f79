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
#include "meshwright/degrees/fixes.h"
#include "meshwright/export/quoting.h"
#include "meshwright/export/slurm_job.h"

namespace meshwright {
namespace {

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
  # The node's own name, else one of its addresses, else its name without the domain.
  named=() addressed=() shortened=()
  is_address='^[0-9.]+$'
  for rank in "${!hosts[@]}"; do
    host=${hosts[rank]}
    if [ "$host" = "$name" ]; then
      named+=("$rank")
    elif [[ " ${addresses[*]} " == *" $host "* ]]; then
      addressed+=("$rank")
    elif [[ ! $host =~ $is_address && ! $name =~ $is_address && ${host%%.*} == "${name%%.*}" ]]; then
      shortened+=("$rank")
    fi
  done
  ranks=("${named[@]}")
  [ "${#ranks[@]}" -gt 0 ] || ranks=("${addressed[@]}")
  [ "${#ranks[@]}" -gt 0 ] || ranks=("${shortened[@]}")
  [ "${#ranks[@]}" -gt 0 ] || fail "$name is not in $hostfile; list it there, or set NODE_RANK"
  [ "${#ranks[@]}" -eq 1 ] || fail "$name may be any of ${#ranks[@]} nodes of $hostfile; list it there by the name that it has itself, or set NODE_RANK"
  node_rank=${ranks[0]}
fi
[[ $node_rank =~ ^[0-9]+$ && $node_rank -lt NODES ]] || fail "NODE_RANK is $node_rank, expected a number from 0 to LAST"
master_addr=${MASTER_ADDR:-${hosts[0]}}
)SH";

constexpr const char* kOneNode = R"(
node_rank=0
master_addr=${MASTER_ADDR:-127.0.0.1}
)";

// Nodes that run different numbers of processes: torchrun adds those of all nodes up.
std::string ProcessesOfNodes(const NodeRanks& ranks) {
  std::string text = "# Processes of each node, in the order of ranks.\nprocesses=(";
  const char* separator = "";
  for (const NodeRun& run : ranks.runs) {
    for (int64_t i = 0; i < run.nodes; ++i) {
      absl::StrAppend(&text, separator, run.processes);
      separator = " ";
    }
  }
  return text + ")\n";
}

std::string LaunchScript(const NodeLaunch& launch) {
  const int64_t nodes = launch.ranks.nodes(), equal = launch.ranks.equal_processes();
  std::string text =
      StrCat(kShellHead, "\n# ", CommentText(launch.title),
             ".\n# Run this on every node (job.sbatch does): ", "it starts the ",
             equal > 0 ? absl::StrCat(equal, " ") : "", "processes of the node it runs on.\n",
             "# Arguments are handed on.\n", "cd \"$(dirname \"${BASH_SOURCE[0]}\")\"\n");
  absl::StrAppend(
      &text, nodes == 1 ? std::string(kOneNode)
                        : absl::StrReplaceAll(kRankOfNode, {{"NODES", absl::StrCat(nodes)},
                                                            {"LAST", absl::StrCat(nodes - 1)}}));
  if (equal == 0) absl::StrAppend(&text, ProcessesOfNodes(launch.ranks));
  absl::StrAppend(&text, "master_port=${MASTER_PORT:-29500}\n\n", launch.setup);
  if (launch.torchrun.empty()) {
    absl::StrAppend(&text, "\nexport MASTER_ADDR=$master_addr MASTER_PORT=$master_port ",
                    "NODE_RANK=$node_rank\nexec ", launch.command, "\n");
    return text;
  }
  absl::StrAppend(&text, "\nexec torchrun --nnodes ", nodes, " --nproc-per-node ",
                  equal > 0 ? absl::StrCat(equal) : "\"${processes[node_rank]}\"",
                  " --node-rank \"$node_rank\" \\\n"
                  "  --master-addr \"$master_addr\" --master-port \"$master_port\" \\\n  ",
                  launch.torchrun, " \"$@\"\n");
  return text;
}

std::string HostFile(const NodeLaunch& launch, const ExportOptions& options) {
  std::string text;
  size_t node = 0;
  for (const NodeRun& run : launch.ranks.runs) {
    for (int64_t i = 0; i < run.nodes; ++i) {
      absl::StrAppend(&text, options.nodes[node++], " slots=", run.processes, "\n");
    }
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

absl::Status CheckNodes(const ExportOptions& options, int64_t nodes) {
  const std::vector<std::string>& names = options.nodes;
  const std::string& option = options.nodes_option;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!IsHostName(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, ": found ", QuotedString(name),
                       ", expected a host name or address: letters, digits and any of .-_"));
    }
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat(option, ": ", name, " is there twice"));
    }
  }
  if (names.empty() || static_cast<int64_t>(names.size()) == nodes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": found ", Counted(static_cast<int64_t>(names.size()), "name"),
                   ", but the plan has ", Counted(nodes, "node")));
}

}  // namespace

NodeLaunch LaunchOf(const ModelLaunch& launch, std::string_view framework) {
  NodeLaunch node;
  node.title = StrCat(launch.model.name, framework.empty() ? "" : " with ", framework, ", ",
                      transformer::ConfigurationText(launch.configuration));
  if (launch.over_groups.has_value() && !launch.over_groups->same_degrees) {
    node.title = StrCat(launch.model.name, ", stages with degrees of their own");
  }
  node.job_name = PlainName(launch.model.name);
  node.ranks = launch.ranks;
  return node;
}

Artefacts NodeLaunchFiles(const NodeLaunch& launch, const ExportOptions& options) {
  Artefacts files = {{"launch.sh", LaunchScript(launch), true},
                     {"job.sbatch", SlurmScript(launch, options), false}};
  if (launch.ranks.nodes() > 1 && !options.nodes.empty()) {
    files.push_back({"hostfile", HostFile(launch, options), false});
  }
  return files;
}

absl::Status CheckLaunchOptions(const ExportOptions& options, const NodeRanks& ranks) {
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
      return absl::InvalidArgumentError(
          absl::StrCat(options.nodes_option, ": found bytes that are not UTF-8"));
    }
  }
  MW_RETURN_IF_ERROR(CheckNodes(options, ranks.nodes()));
  MW_RETURN_IF_ERROR(PartitionsOf(options, ranks).status());
  MW_RETURN_IF_ERROR(CheckSlurmWord("--account", options.account, "._-"));
  return CheckSlurmTime("--time", options.time_limit);
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
