#include "meshwright/profile/open_files.h"

#include <sys/stat.h>

#include <utility>

#include "meshwright/profile/write_ahead_log.h"

namespace meshwright {

OpenFiles::OpenFiles(const std::string& database) {
  for (const std::string& path :
       {DatabaseFileOf(database), WriteAheadLogOf(database), SharedMemoryOf(database)}) {
    struct stat info = {};
    if (stat(path.c_str(), &info) == 0) files_.push_back({path, info.st_dev, info.st_ino});
  }
  HasShrunk();
}

bool OpenFiles::HasShrunk() {
  struct stat info = {};
  if (files_.empty() || stat(files_[0].path.c_str(), &info) != 0) return false;  // it is gone
  return info.st_size < std::exchange(bytes_, info.st_size);
}

std::string OpenFiles::Gone() const {
  for (const Known& file : files_) {
    struct stat info = {};
    if (stat(file.path.c_str(), &info) != 0 || info.st_dev != file.device ||
        info.st_ino != file.number)
      return file.path;
  }
  return "";
}

}  // namespace meshwright
