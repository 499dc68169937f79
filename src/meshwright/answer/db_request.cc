#include "meshwright/answer/db_request.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/cluster/units.h"
#include "meshwright/profile/database.h"
#include "meshwright/profile/database_report.h"
#include "meshwright/profile/merge_databases.h"

namespace meshwright {
namespace {

absl::StatusOr<ProfileFilter> FilterOf(const DbAsked& asked) {
  ProfileFilter filter;
  filter.program = asked.program;
  if (asked.environment > 0) filter.environment = asked.environment;
  if (!asked.mesh.empty()) {
    absl::StatusOr<std::string> text = ProfileMeshText(asked.mesh);
    if (!text.ok())
      return absl::InvalidArgumentError(absl::StrCat("--mesh: ", text.status().message()));
    filter.mesh = *std::move(text);
  }
  if (!asked.kind.empty()) filter.kind = asked.kind;
  if (asked.failed) filter.measured = false;
  if (!asked.older_than.empty()) {
    const absl::StatusOr<double> age = ParseDuration(asked.older_than);
    if (!age.ok())
      return absl::InvalidArgumentError(absl::StrCat("--older-than: ", age.status().message()));
    filter.older_than = static_cast<int64_t>(std::time(nullptr)) - static_cast<int64_t>(*age);
  }
  return filter;
}

// As the user gave it; empty: there is none.
std::string FilterText(const DbAsked& asked) {
  std::vector<std::string> words;
  if (!asked.program.empty()) words.push_back(absl::StrCat("program ", asked.program));
  if (asked.environment > 0) words.push_back(absl::StrCat("--environment ", asked.environment));
  if (!asked.mesh.empty()) words.push_back(absl::StrCat("--mesh ", asked.mesh));
  if (!asked.kind.empty()) words.push_back(absl::StrCat("--kind ", asked.kind));
  if (asked.failed) words.emplace_back("--failed");
  if (!asked.older_than.empty()) words.push_back(absl::StrCat("--older-than ", asked.older_than));
  return absl::StrJoin(words, " ");
}

// What of a database a command speaks of.
struct Contents {
  std::vector<StoredEnvironment> environments;
  std::vector<Profile> profiles;
};

// Error: a filter means nothing of what there is.
absl::StatusOr<Contents> ReadContents(const DbAsked& asked) {
  MW_ASSIGN_OR_RETURN(const ProfileFilter filter, FilterOf(asked));
  MW_ASSIGN_OR_RETURN(const ProfileDatabase database,
                      ProfileDatabase::Open(asked.database, ProfileDatabase::Access::kRead));
  Contents contents;
  MW_ASSIGN_OR_RETURN(contents.profiles, database.Find(filter));
  MW_ASSIGN_OR_RETURN(std::vector<StoredEnvironment> all, database.Environments());
  if (const std::string what = FilterText(asked); contents.profiles.empty() && !what.empty()) {
    MW_ASSIGN_OR_RETURN(const std::vector<Profile> there, database.Find({}));
    return absl::NotFoundError(there.empty()
                                   ? absl::StrCat(asked.database, " holds no measurements")
                                   : absl::StrCat(asked.database, " holds no profiles of ", what,
                                                  "; it has ", ContentsText(there)));
  }
  for (StoredEnvironment& e : all) {
    if (std::any_of(contents.profiles.begin(), contents.profiles.end(),
                    [&](const Profile& profile) { return profile.environment == e.number; }))
      contents.environments.push_back(std::move(e));
  }
  return contents;
}

absl::StatusOr<DbAnswer> ListProfiles(const DbAsked& asked) {
  MW_ASSIGN_OR_RETURN(const Contents contents, ReadContents(asked));
  return DbAnswer{DatabaseTable(contents.environments, contents.profiles),
                  ProfilesJson(contents.environments, contents.profiles)};
}

absl::StatusOr<DbAnswer> ShowProfiles(const DbAsked& asked) {
  MW_ASSIGN_OR_RETURN(const Contents contents, ReadContents(asked));
  return DbAnswer{ProfilesTable(contents.profiles),
                  ProfilesJson(contents.environments, contents.profiles)};
}

absl::StatusOr<DbAnswer> ExportProfiles(const DbAsked& asked) {
  MW_ASSIGN_OR_RETURN(const Contents contents, ReadContents(asked));
  const std::string json = ProfilesJson(contents.environments, contents.profiles);
  return DbAnswer{
      asked.format == "csv" ? ProfilesCsv(contents.environments, contents.profiles) : json, json};
}

absl::StatusOr<DbAnswer> MergeProfiles(const DbAsked& asked) {
  MW_ASSIGN_OR_RETURN(const std::vector<MergeCounts> counts,
                      MergeDatabases(asked.database, asked.from));
  std::string text;
  Json rows = Json::array();
  for (size_t i = 0; i < counts.size(); ++i) {
    const MergeCounts& one = counts[i];
    const int64_t runs = one.runs + one.known_runs;
    absl::StrAppend(&text, asked.from[i], ": ", Counted(one.runs, "new run"), " of ",
                    Counted(runs, "run"), ", ", Counted(one.profiles, "new profile"), "\n");
    rows.push_back({{"database", asked.from[i]},
                    {"runs", runs},
                    {"new_runs", one.runs},
                    {"new_profiles", one.profiles}});
  }
  return DbAnswer{text, rows.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

absl::StatusOr<DbAnswer> PruneProfiles(const DbAsked& asked) {
  if (FilterText(asked).empty()) {
    return absl::InvalidArgumentError(
        "say what to remove: --environment, --program, --mesh, --kind, --failed, --older-than");
  }
  MW_ASSIGN_OR_RETURN(const ProfileFilter filter, FilterOf(asked));
  // Reading first: pruning makes no files, and nothing to remove is an error.
  MW_RETURN_IF_ERROR(ReadContents(asked).status());
  MW_ASSIGN_OR_RETURN(ProfileDatabase database,
                      ProfileDatabase::Open(asked.database, ProfileDatabase::Access::kWrite));
  MW_ASSIGN_OR_RETURN(const int64_t removed, database.Prune(filter));
  return DbAnswer{absl::StrCat("removed ", Counted(removed, "profile"), "\n"),
                  Json({{"removed", removed}}).dump()};
}

// ---- options ----

Options DatabaseArgument(DbAsked& asked) {
  return {{"database",
           &asked.database,
           "file that `meshwright profile --db` writes",
           {.required = true}}};
}

Options ShowArguments(DbAsked& asked) {
  Options rows = DatabaseArgument(asked);
  rows.push_back({"program", &asked.program, "its fingerprint or how that begins; default: all"});
  return rows;
}

Options MergeArguments(DbAsked& asked) {
  Options rows = DatabaseArgument(asked);
  rows.push_back({"from", &asked.from, "databases, which stay as they are", {.required = true}});
  return rows;
}

// With `more` behind what all filter by.
Options Filters(DbAsked& asked, Options more) {
  Options rows = {
      {"environment", &asked.environment, "number of an environment, see list", {.least = 1}},
      {"mesh", &asked.mesh, "like 4, 2x4 or x=2,y=4"},
      {"kind", &asked.kind, "segment, reshard, ..."},
      {"failed", &asked.failed, "only what was never measured successfully"},
  };
  std::move(more.begin(), more.end(), std::back_inserter(rows));
  return rows;
}

Option ProgramFilter(DbAsked& asked) {
  return {"program", &asked.program, "its fingerprint or how that begins"};
}

Options ListOptions(DbAsked& asked) {
  return Filters(asked, {{"json", &asked.json, "print JSON, with all profiles", {.output = true}}});
}

Options ShowOptions(DbAsked& asked) {
  return Filters(asked, {{"json", &asked.json, "print JSON, with all samples", {.output = true}}});
}

Options NoOptions(DbAsked&) { return {}; }

Options DbExportOptions(DbAsked& asked) {
  return Filters(asked, {ProgramFilter(asked),
                         {"format",
                          &asked.format,
                          "json: with all samples; csv: a line a profile",
                          {.words = {"json", "csv"}}},
                         {"output",
                          &asked.output,
                          "file; default: standard output",
                          {.output = true, .letter = "o"}}});
}

Options PruneOptions(DbAsked& asked) {
  return Filters(asked, {ProgramFilter(asked),
                         {"older-than", &asked.older_than,
                          "those last measured longer ago than this, like 90d"}});
}

}  // namespace

absl::Span<const DbAction> DbActions() {
  static constexpr DbAction kActions[] = {
      {"list", "environments, and how much was measured in each", &DatabaseArgument, &ListOptions,
       &ListProfiles, true},
      {"show", "what was measured of programs", &ShowArguments, &ShowOptions, &ShowProfiles, true},
      {"merge", "add what other databases have", &MergeArguments, &NoOptions, &MergeProfiles, true},
      {"export", "write profiles as JSON or CSV", &DatabaseArgument, &DbExportOptions,
       &ExportProfiles, false},
      {"prune", "remove profiles", &DatabaseArgument, &PruneOptions, &PruneProfiles, false},
  };
  return kActions;
}

const DbAction* FindDbAction(std::string_view name) {
  for (const DbAction& action : DbActions()) {
    if (action.name == name) return &action;
  }
  return nullptr;
}

}  // namespace meshwright
