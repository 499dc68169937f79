// Debian 12 builds abseil's archives for executables: three of their members reach thread-local
// variables in the one way that a shared library cannot be linked with (R_X86_64_TPOFF32). What
// those members define is defined here anew, after the contracts in abseil's headers, so that the
// linker takes these and leaves the archive's. They sample statistics and shuffle hash tables,
// which nothing here asks for. Other versions of abseil are left alone.

#include "absl/base/config.h"

#if defined(ABSL_LTS_RELEASE_VERSION) && ABSL_LTS_RELEASE_VERSION == 20220623

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>

#include "absl/base/internal/sysinfo.h"
#include "absl/container/internal/raw_hash_set.h"
#include "absl/strings/internal/cordz_functions.h"

namespace absl {
ABSL_NAMESPACE_BEGIN

namespace base_internal {

double NominalCPUFrequency() { return 1.0; }  // unknown

int NumCPUs() {
  static const int count = static_cast<int>(std::thread::hardware_concurrency());
  return count > 0 ? count : 1;
}

pid_t GetTID() { return static_cast<pid_t>(syscall(SYS_gettid)); }

pid_t GetCachedTID() {
  static thread_local const pid_t id = GetTID();
  return id;
}

}  // namespace base_internal

namespace cord_internal {

// Cords are never sampled.
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

thread_local int64_t cordz_next_sample = kNever;

int32_t get_cordz_mean_interval() { return 0; }
void set_cordz_mean_interval(int32_t) {}
void cordz_set_next_sample_for_testing(int64_t next_sample) { cordz_next_sample = next_sample; }

bool cordz_should_profile_slow() {
  cordz_next_sample = kNever;
  return false;
}

}  // namespace cord_internal

namespace container_internal {

alignas(16) ABSL_CONST_INIT const ctrl_t kEmptyGroup[16] = {
    ctrl_t::kSentinel, ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty};

bool ShouldInsertBackwards(size_t, const ctrl_t*) { return false; }

void ConvertDeletedToEmptyAndFullToDeleted(ctrl_t* ctrl, size_t capacity) {
  for (ctrl_t* group = ctrl; group < ctrl + capacity; group += Group::kWidth) {
    Group{group}.ConvertSpecialToEmptyAndFullToDeleted(group);
  }
  std::memcpy(ctrl + capacity + 1, ctrl, NumClonedBytes());
  ctrl[capacity] = ctrl_t::kSentinel;
}

void HashTableSizeOverflow() { std::abort(); }

template FindInfo find_first_non_full(const ctrl_t*, size_t, size_t);

}  // namespace container_internal

ABSL_NAMESPACE_END
}  // namespace absl

#endif
