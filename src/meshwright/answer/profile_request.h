#ifndef MESHWRIGHT_ANSWER_PROFILE_REQUEST_H_
#define MESHWRIGHT_ANSWER_PROFILE_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/answer/calibrate_request.h"
#include "meshwright/profile/profile_program.h"
#include "meshwright/request/option.h"

namespace meshwright {

// What `profile` is asked, as users write it; the program, progress and when to stop are those of
// `request`.
struct ProfileAsked {
  ProfileRequest request;
  std::string budget = "10m", patience = "3m";
  int64_t finalists = 4, threads = 0;
  std::string layers_csv, calibration;  // files to be written; empty: not asked for
};
Options ProfileOptionRows(ProfileAsked& asked);

// Errors: a quantity that cannot be read, options that do not go together.
absl::StatusOr<ProfileRequest> ToProfileRequest(const ProfileAsked& asked);

// What is measured after a profile for --calibrate: matmuls, memory-bound operators and collectives
// of its devices. Error: their type is not known.
absl::StatusOr<CalibrationAnswer> CalibrateProfiled(const ProfileReport& report);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANSWER_PROFILE_REQUEST_H_
