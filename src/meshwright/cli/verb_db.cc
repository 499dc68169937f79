#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/option_checks.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/cluster/units.h"
#include "meshwright/profile/database.h"
#include "meshwright/profile/database_report.h"
#include "meshwright/profile/merge_databases.h"

namespace meshwright {
namespace {

struct DbCommand {
  std::string file;
  std::vector<std::string> from;
  std::string program, mesh, kind, format = "json", output, older_than;
  int64_t environment = 0;
  bool json = false, failed = false;
  absl::StatusOr<ProfileFilter> Filter() const {
    ProfileFilter filter;
    filter.program = program;
    if (environment > 0) filter.environment = environment;
    if (!mesh.empty()) {
      absl::StatusOr<std::string> text = ProfileMeshText(mesh);
      if (!text.ok())
        return absl::InvalidArgumentError(absl::StrCat("--mesh: ", text.status().message()));
      filter.mesh = *std::move(text);
    }
    if (!kind.empty()) filter.kind = kind;
    if (failed) filter.measured = false;
    if (!older_than.empty()) {
      const absl::StatusOr<double> age = ParseDuration(older_than);
      if (!age.ok())
        return absl::InvalidArgumentError(absl::StrCat("--older-than: ", age.status().message()));
      filter.older_than = static_cast<int64_t>(std::time(nullptr)) - static_cast<int64_t>(*age);
    }
    return filter;
  }
  // As the user gave it; empty: there is none.
  std::string FilterText() const {
    std::vector<std::string> words;
    if (!program.empty()) words.push_back(absl::StrCat("program ", program));
    if (environment > 0) words.push_back(absl::StrCat("--environment ", environment));
    if (!mesh.empty()) words.push_back(absl::StrCat("--mesh ", mesh));
    if (!kind.empty()) words.push_back(absl::StrCat("--kind ", kind));
    if (failed) words.emplace_back("--failed");
    if (!older_than.empty()) words.push_back(absl::StrCat("--older-than ", older_than));
    return absl::StrJoin(words, " ");
  }
};

// What of a database a command speaks of.
struct Contents {
  std::vector<StoredEnvironment> environments;
  std::vector<Profile> profiles;
};

// Error: a filter means nothing of what there is.
absl::StatusOr<Contents> ReadContents(const DbCommand& command) {
  MW_ASSIGN_OR_RETURN(const ProfileFilter filter, command.Filter());
  MW_ASSIGN_OR_RETURN(const ProfileDatabase database,
                      ProfileDatabase::Open(command.file, ProfileDatabase::Access::kRead));
  Contents contents;
  MW_ASSIGN_OR_RETURN(contents.profiles, database.Find(filter));
  MW_ASSIGN_OR_RETURN(std::vector<StoredEnvironment> all, database.Environments());
  if (const std::string what = command.FilterText(); contents.profiles.empty() && !what.empty()) {
    MW_ASSIGN_OR_RETURN(const std::vector<Profile> there, database.Find({}));
    return absl::NotFoundError(there.empty()
                                   ? absl::StrCat(command.file, " holds no measurements")
                                   : absl::StrCat(command.file, " holds no profiles of ", what,
                                                  "; it has ", ContentsText(there)));
  }
  for (StoredEnvironment& e : all) {
    if (std::any_of(contents.profiles.begin(), contents.profiles.end(),
                    [&](const Profile& profile) { return profile.environment == e.number; }))
      contents.environments.push_back(std::move(e));
  }
  return contents;
}

absl::Status RunDbList(const DbCommand& command) {
  MW_ASSIGN_OR_RETURN(const Contents contents, ReadContents(command));
  return command.json ? PrintOutput(ProfilesJson(contents.environments, contents.profiles))
                      : PrintScreen(DatabaseTable(contents.environments, contents.profiles));
}

absl::Status RunDbShow(const DbCommand& command) {
  MW_ASSIGN_OR_RETURN(const Contents contents, ReadContents(command));
  return command.json ? PrintOutput(ProfilesJson(contents.environments, contents.profiles))
                      : PrintScreen(ProfilesTable(contents.profiles));
}

absl::Status RunDbExport(const DbCommand& command) {
  const OutputFile file = {"-o", command.output};
  MW_RETURN_IF_ERROR(CheckOutputs({file}, {command.file}));
  MW_ASSIGN_OR_RETURN(const Contents contents, ReadContents(command));
  const std::string text = command.format == "csv"
                               ? ProfilesCsv(contents.environments, contents.profiles)
                               : ProfilesJson(contents.environments, contents.profiles);
  return command.output.empty() ? PrintOutput(text) : WriteOutput(file, text);
}

absl::Status RunDbMerge(const DbCommand& command) {
  MW_ASSIGN_OR_RETURN(const std::vector<MergeCounts> counts,
                      MergeDatabases(command.file, command.from));
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i) {
    absl::StrAppend(&text, command.from[i], ": ", Counted(counts[i].runs, "new run"), " of ",
                    Counted(counts[i].runs + counts[i].known_runs, "run"), ", ",
                    Counted(counts[i].profiles, "new profile"), "\n");
  }
  return PrintScreen(text);
}

absl::Status RunDbPrune(const DbCommand& command) {
  if (command.FilterText().empty()) {
    return absl::InvalidArgumentError(
        "say what to remove: --environment, --program, --mesh, --kind, --failed, --older-than");
  }
  MW_ASSIGN_OR_RETURN(const ProfileFilter filter, command.Filter());
  // Reading first: pruning makes no files, and nothing to remove is an error.
  MW_RETURN_IF_ERROR(ReadContents(command).status());
  MW_ASSIGN_OR_RETURN(ProfileDatabase database,
                      ProfileDatabase::Open(command.file, ProfileDatabase::Access::kWrite));
  MW_ASSIGN_OR_RETURN(const int64_t removed, database.Prune(filter));
  return PrintOutput(absl::StrCat("removed ", Counted(removed, "profile"), "\n"));
}

void AddFilterOptions(CLI::App& app, const std::shared_ptr<DbCommand>& command) {
  app.add_option("--environment", command->environment, "number of an environment, see list")
      ->check(IsOrdinal());
  app.add_option("--mesh", command->mesh, "like 4, 2x4 or x=2,y=4");
  app.add_option("--kind", command->kind, "segment, reshard, ...");
  app.add_flag("--failed", command->failed, "only what was never measured successfully");
}

}  // namespace

Action AddDbVerb(CLI::App& app) {
  const auto command = std::make_shared<DbCommand>();
  const auto action = std::make_shared<absl::Status (*)(const DbCommand&)>(nullptr);
  const auto add = [&](const char* name, const char* summary,
                       absl::Status (*run)(const DbCommand&)) -> CLI::App& {
    CLI::App* const sub = app.add_subcommand(name, summary);
    sub->add_option("DATABASE", command->file, "file that `meshwright profile --db` writes")
        ->required();
    sub->parse_complete_callback([action, run] { *action = run; });
    return *sub;
  };
  CLI::App& list = add("list", "environments, and how much was measured in each", &RunDbList);
  AddFilterOptions(list, command);
  list.add_flag("--json", command->json, "print JSON, with all profiles");
  CLI::App& show = add("show", "what was measured of programs", &RunDbShow);
  show.add_option("PROGRAM", command->program, "its fingerprint or how that begins; default: all");
  AddFilterOptions(show, command);
  show.add_flag("--json", command->json, "print JSON, with all samples");
  CLI::App& merge = add("merge", "add what other databases have", &RunDbMerge);
  merge.add_option("FROM", command->from, "databases, which stay as they are")->required();
  CLI::App& write = add("export", "write profiles as JSON or CSV", &RunDbExport);
  AddFilterOptions(write, command);
  write.add_option("--program", command->program, "its fingerprint or how that begins");
  write.add_option("--format", command->format, "json: with all samples; csv: a line a profile")
      ->check(CLI::IsMember({"json", "csv"}))
      ->capture_default_str();
  AddOutputOption(write, "-o,--output", command->output, "file; default: standard output");
  CLI::App& prune = add("prune", "remove profiles", &RunDbPrune);
  AddFilterOptions(prune, command);
  prune.add_option("--program", command->program, "its fingerprint or how that begins");
  prune.add_option("--older-than", command->older_than,
                   "those last measured longer ago than this, like 90d");
  app.require_subcommand(1);
  return [command, action] { return (*action)(*command); };
}

}  // namespace meshwright
