#ifndef MESHWRIGHT_PROFILE_OPEN_FILES_H_
#define MESHWRIGHT_PROFILE_OPEN_FILES_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace meshwright {

// Which files a database that is open for writing consists of: its own, the log, and what processes
// share the log through. SQLite goes on with a file that was removed, and nobody ever sees what it
// writes there.
class OpenFiles {
 public:
  // Those that are there now.
  explicit OpenFiles(const std::string& database);
  // The path of one that is no longer there, or where another file is now; empty: there is none.
  std::string Gone() const;
  // Whether the database's own file is shorter than it was when this was last asked, or made:
  // SQLite, as profiles use it, never makes it so.
  bool HasShrunk();

 private:
  struct Known {
    std::string path;
    dev_t device;
    ino_t number;
  };
  std::vector<Known> files_;  // the first: the database's own
  int64_t bytes_ = 0;         // of that
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_OPEN_FILES_H_
