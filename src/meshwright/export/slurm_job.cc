#include "meshwright/export/slurm_job.h"

#include <algorithm>
#include <regex>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/export/quoting.h"

namespace meshwright {
namespace {

// `name`: of one of Slurm's options.
std::string Directive(std::string_view name, std::string_view value) {
  return value.empty() ? "" : StrCat("#SBATCH --", name, "=", value, "\n");
}

// Names of a kind's nodes, where they are given.
std::string NodeList(const NodeLaunch& launch, const ExportOptions& options, size_t kind) {
  std::vector<std::string> names;
  size_t next = 0;
  for (const NodeRun& run : launch.ranks.runs) {
    for (int64_t i = 0; i < run.nodes && next < options.nodes.size(); ++i, ++next) {
      if (run.kind == kind) names.push_back(options.nodes[next]);
    }
  }
  return absl::StrJoin(names, ",");
}

std::string Directives(const NodeLaunch& launch, const ExportOptions& options,
                       const std::vector<std::string>& partitions) {
  std::string text = Directive("job-name", launch.job_name);
  for (size_t kind = 0; kind < launch.ranks.kinds.size(); ++kind) {
    const NodeRanks::Kind& nodes = launch.ranks.kinds[kind];
    if (kind > 0) absl::StrAppend(&text, "#SBATCH hetjob\n");
    if (launch.ranks.kinds.size() > 1) {
      absl::StrAppend(&text, "# ", CommentText(nodes.name), ": ", CommentText(nodes.device), "\n");
    }
    absl::StrAppend(&text, Directive("nodes", absl::StrCat(launch.ranks.nodes_of(kind))),
                    "#SBATCH --ntasks-per-node=1\n",
                    Directive("gpus-per-node", absl::StrCat(nodes.devices_per_node)),
                    "#SBATCH --exclusive\n", Directive("nodelist", NodeList(launch, options, kind)),
                    Directive("partition", partitions[kind]), Directive("account", options.account),
                    Directive("time", options.time_limit));
  }
  return text;
}

// Writes the hostfile of the job. Of several kinds, nodes of each are taken in the order of ranks.
std::string HostFileOfJob(const NodeRanks& ranks) {
  if (ranks.kinds.size() == 1) {
    return R"(
# The nodes that Slurm chose, their ranks fixed in the order it lists them.
HOSTFILE=hostfile.$SLURM_JOB_ID
scontrol show hostnames "$SLURM_JOB_NODELIST" >"$HOSTFILE"
export HOSTFILE
)";
  }
  std::string text = R"(
# The nodes that Slurm chose for each component, their ranks fixed along the pipeline.
HOSTFILE=hostfile.$SLURM_JOB_ID
)";
  for (size_t kind = 0; kind < ranks.kinds.size(); ++kind) {
    absl::StrAppend(&text, "mapfile -t nodes", kind,
                    " < <(scontrol show hostnames \"$SLURM_JOB_NODELIST_HET_GROUP_", kind, "\")\n");
  }
  absl::StrAppend(&text, "printf '%s\\n'");
  std::vector<int64_t> next(ranks.kinds.size());
  for (const NodeRun& run : ranks.runs) {
    absl::StrAppend(&text, " \\\n  \"${nodes", run.kind, "[@]:", next[run.kind], ":", run.nodes,
                    "}\"");
    next[run.kind] += run.nodes;
  }
  absl::StrAppend(&text, " >\"$HOSTFILE\"\nexport HOSTFILE\n");
  return text;
}

}  // namespace

std::string SlurmScript(const NodeLaunch& launch, const ExportOptions& options) {
  // The options have been checked.
  const std::vector<std::string> partitions = *PartitionsOf(options, launch.ranks);
  const size_t kinds = launch.ranks.kinds.size();
  std::string_view head = kShellHead;
  head.remove_prefix(head.find('\n') + 1);
  std::string text = StrCat("#!/usr/bin/env bash\n", Directives(launch, options, partitions),
                            "\n# ", CommentText(launch.title),
                            ".\n# Submit it from this folder: sbatch job.sbatch\n", head, R"(
cd "${SLURM_SUBMIT_DIR:?run this with sbatch}"
[ -f launch.sh ] || fail "there is no launch.sh in $PWD; submit job.sbatch from the folder it is in"
)");
  if (launch.ranks.nodes() > 1 && options.nodes.empty()) {
    absl::StrAppend(&text, HostFileOfJob(launch.ranks));
  }
  absl::StrAppend(&text, "\nsrun --ntasks-per-node=1 --kill-on-bad-exit=1");
  for (size_t kind = 0; kinds > 1 && kind < kinds; ++kind) {
    absl::StrAppend(&text, kind == 0 ? " --het-group=" : ",", kind);
  }
  if (!options.image.empty()) {
    // https://github.com/NVIDIA/pyxis: options of srun.
    absl::StrAppend(&text, " \\\n  --container-image=", ShellWord(options.image),
                    " --container-mounts=\"$PWD:$PWD\" --container-workdir=\"$PWD\"");
  }
  absl::StrAppend(&text, " \\\n  bash ./launch.sh \"$@\"\n");
  return text;
}

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

absl::Status CheckSlurmTime(std::string_view option, const std::string& text) {
  // sbatch(1), --time.
  static const auto* const kForms = new std::regex(
      "[0-9]{1,9}|[0-9]{1,9}(:[0-9]{1,9}){1,2}|[0-9]{1,9}-[0-9]{1,9}(:[0-9]{1,9}){0,2}|"
      "infinite|unlimited",
      std::regex::icase);
  if (text.empty() || std::regex_match(text, *kForms)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(option, ": found ", QuotedString(text),
             ", expected one of Slurm's forms: MINUTES, MINUTES:SECONDS, HOURS:MINUTES:SECONDS, "
             "DAYS-HOURS, DAYS-HOURS:MINUTES, DAYS-HOURS:MINUTES:SECONDS or infinite"));
}

absl::StatusOr<std::vector<std::string>> PartitionsOf(const ExportOptions& options,
                                                      const NodeRanks& ranks) {
  const size_t kinds = ranks.kinds.size();
  const std::string names =
      absl::StrJoin(ranks.kinds, ",", [](std::string* out, const NodeRanks::Kind& kind) {
        absl::StrAppend(out, kind.name, "=...");
      });
  if (options.partition.find('=') == std::string::npos) {
    MW_RETURN_IF_ERROR(CheckSlurmWord("--partition", options.partition, "._,-"));
    const std::vector<std::string> choices = absl::StrSplit(options.partition, ',');
    if (choices.size() > 1 && std::find(choices.begin(), choices.end(), "") != choices.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--partition: found ",
                                                     QuotedString(options.partition),
                                                     ", expected a name between commas"));
    }
    if (kinds == 1 || !options.nodes.empty()) {
      return std::vector<std::string>(kinds, options.partition);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the plan takes nodes of ", kinds, " kinds, and Slurm has to know which are ",
                     "which: give --partition ", names, ", or the nodes by name with --nodes"));
  }
  std::vector<std::string> partitions(kinds);
  for (const absl::string_view pair : absl::StrSplit(options.partition, ',')) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(pair, absl::MaxSplits('=', 1));
    const auto kind =
        std::find_if(ranks.kinds.begin(), ranks.kinds.end(),
                     [&](const NodeRanks::Kind& one) { return one.name == parts.first; });
    if (kind == ranks.kinds.end() || parts.second.empty() ||
        !partitions[kind - ranks.kinds.begin()].empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--partition: found ", QuotedString(FromAbsl(pair)), ", expected each once of ", names));
    }
    MW_RETURN_IF_ERROR(CheckSlurmWord("--partition", parts.second, "._-"));
    partitions[kind - ranks.kinds.begin()] = parts.second;
  }
  if (std::find(partitions.begin(), partitions.end(), "") != partitions.end()) {
    return absl::InvalidArgumentError(absl::StrCat("--partition: found ",
                                                   QuotedString(options.partition),
                                                   ", expected one for each of ", names));
  }
  return partitions;
}

}  // namespace meshwright
