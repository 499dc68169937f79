#include "meshwright/profile/merge_databases.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/profile/profile_schema.h"
#include "meshwright/profile/write_ahead_log.h"

namespace meshwright {
namespace {

using Access = ProfileDatabase::Access;

absl::StatusOr<std::vector<MergeCounts>> MergeInto(const std::string& path,
                                                   const std::vector<ProfileDatabase>& sources) {
  MW_ASSIGN_OR_RETURN(ProfileDatabase database, ProfileDatabase::Open(path, Access::kWrite));
  return database.Merge(sources);
}

bool HoldsNothing(const std::string& path) {
  std::error_code missing;
  return std::filesystem::file_size(path, missing) == 0 || missing;
}

}  // namespace

absl::StatusOr<std::vector<MergeCounts>> MergeDatabases(const std::string& into,
                                                        const std::vector<std::string>& from) {
  std::vector<ProfileDatabase> sources;
  for (const std::string& path : from) {
    std::error_code ignored;
    if (std::filesystem::equivalent(path, into, ignored))
      return absl::InvalidArgumentError(StrCat(path, " cannot be merged into itself"));
    MW_ASSIGN_OR_RETURN(ProfileDatabase source, ProfileDatabase::Open(path, Access::kRead));
    sources.push_back(std::move(source));
  }
  MW_RETURN_IF_ERROR(CheckProfilesPath(into));
  if (!HoldsNothing(into)) return MergeInto(into, sources);
  // A new one gets its name when it is whole.
  const std::string made = StrCat(into, ".", NewRandomId());
  const absl::Cleanup remove = [&made] {
    std::error_code ignored;
    for (const std::string& path : {made, WriteAheadLogOf(made), SharedMemoryOf(made)})
      std::filesystem::remove(path, ignored);
  };
  MW_ASSIGN_OR_RETURN(std::vector<MergeCounts> counts, MergeInto(made, sources));
  if (!HoldsNothing(into)) {
    return absl::FailedPreconditionError(
        StrCat(into, " was made by another process meanwhile; merge again"));
  }
  std::error_code error;
  std::filesystem::rename(made, into, error);
  if (error)
    return absl::FailedPreconditionError(StrCat("cannot make ", into, ": ", error.message()));
  return counts;
}

}  // namespace meshwright
