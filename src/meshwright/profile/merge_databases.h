#ifndef MESHWRIGHT_PROFILE_MERGE_DATABASES_H_
#define MESHWRIGHT_PROFILE_MERGE_DATABASES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/profile/database.h"

namespace meshwright {

// ProfileDatabase::Merge of files: `into`, which is made if it is not there, gets what it lacks of
// each of `from`; counts by file. With an error nothing has changed, and nothing is made. Errors:
// see ProfileDatabase::Open and Merge; a file that is to be merged into itself.
absl::StatusOr<std::vector<MergeCounts>> MergeDatabases(const std::string& into,
                                                        const std::vector<std::string>& from);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_MERGE_DATABASES_H_
