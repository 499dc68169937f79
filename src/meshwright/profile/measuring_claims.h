#ifndef MESHWRIGHT_PROFILE_MEASURING_CLAIMS_H_
#define MESHWRIGHT_PROFILE_MEASURING_CLAIMS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/profile/database.h"

namespace meshwright {

// What became of a wish to measure something.
struct ClaimAnswer {
  enum class State : uint8_t {
    kMine,   // nobody else measures it until the claim is released or runs out
    kTaken,  // somebody measures it
    kKnown,  // it was measured: `known`
  };
  State state = State::kMine;
  ProfileMeasurement known;
};

// Who measures what, of several profilers that have a database open at once: rows of its table
// `claim`. A claim ends with its process (as far as that runs on this machine) and, unless it is
// renewed, after two minutes; so whoever is killed keeps nothing from the others.
class MeasuringClaims {
 public:
  // `database`, which must outlive it, is open for writing.
  MeasuringClaims(ProfileDatabase& database, const ProfileEnvironment& environment);
  ~MeasuringClaims();  // releases
  MeasuringClaims(const MeasuringClaims&) = delete;
  MeasuringClaims& operator=(const MeasuringClaims&) = delete;

  // By key. `suffices`: whether what is known of a key is enough, so that it is not claimed.
  // Errors: of the database, ProfileDatabase::CheckInPlace.
  absl::StatusOr<std::vector<ClaimAnswer>> Claim(
      const std::vector<ProfileKey>& keys, const std::function<bool(const Profile&)>& suffices);
  // To be called often while something claimed is measured; mostly does nothing.
  absl::Status Renew();
  absl::Status Release();

 private:
  absl::Status RemoveEnded(int64_t now) const;
  absl::StatusOr<ClaimAnswer> ClaimOne(const ProfileKey& key, int64_t now,
                                       const std::function<bool(const Profile&)>& suffices) const;

  ProfileDatabase& database_;
  const ProfileEnvironment environment_;
  const std::string where_;  // the environment, as claims name it
  const std::string owner_;  // unique everywhere
  std::chrono::steady_clock::time_point renewed_;
  bool any_ = false;  // claims of ours
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_MEASURING_CLAIMS_H_
