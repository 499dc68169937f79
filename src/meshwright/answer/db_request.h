#ifndef MESHWRIGHT_ANSWER_DB_REQUEST_H_
#define MESHWRIGHT_ANSWER_DB_REQUEST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/request/option.h"

namespace meshwright {

// What `db` is asked of a profile database.
struct DbAsked {
  std::string database;           // path
  std::vector<std::string> from;  // paths
  std::string program, mesh, kind, format = "json", output, older_than;
  int64_t environment = 0;  // 0: all
  bool json = false, failed = false;
};

struct DbAnswer {
  std::string text;  // for a terminal
  std::string json;
};

// One of the things that `db` does.
struct DbAction {
  const char* name;
  const char* summary;
  Options (*arguments)(DbAsked& asked);  // in order, the first is the database
  Options (*options)(DbAsked& asked);
  // Errors: the database cannot be read, or a filter means nothing of what it has.
  absl::StatusOr<DbAnswer> (*run)(const DbAsked& asked);
  bool is_screen;  // its text is for a terminal, and no file's
};
absl::Span<const DbAction> DbActions();

// nullptr: there is none of this name.
const DbAction* FindDbAction(std::string_view name);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANSWER_DB_REQUEST_H_
