#ifndef MESHWRIGHT_TESTS_PROFILE_WITHOUT_RIGHTS_H_
#define MESHWRIGHT_TESTS_PROFILE_WITHOUT_RIGHTS_H_

#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>

namespace meshwright {

// A folder and its files that this process cannot write as long as this lives. The superuser may
// write everything, and so is nobody meanwhile.
class WithoutRights {
 public:
  explicit WithoutRights(const std::filesystem::path& folder) : superuser_(geteuid() == 0) {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      std::filesystem::permissions(entry.path(), std::filesystem::perms{0444});
    std::filesystem::permissions(folder, std::filesystem::perms{0555});
    constexpr uid_t kNobody = 65534;
    if (superuser_) {
      EXPECT_EQ(setresuid(kNobody, kNobody, 0), 0);
    }
  }
  ~WithoutRights() {
    if (superuser_) {
      EXPECT_EQ(setresuid(0, 0, 0), 0);
    }
  }
  WithoutRights(const WithoutRights&) = delete;
  WithoutRights& operator=(const WithoutRights&) = delete;

 private:
  const bool superuser_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_PROFILE_WITHOUT_RIGHTS_H_
