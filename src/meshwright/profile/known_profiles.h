#ifndef MESHWRIGHT_PROFILE_KNOWN_PROFILES_H_
#define MESHWRIGHT_PROFILE_KNOWN_PROFILES_H_

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/profile/choice.h"
#include "meshwright/profile/database.h"

namespace meshwright {

// What a database knows for plans on a cluster, of one environment.
class KnownProfiles {
 public:
  // Takes the environment whose devices are of the cluster's type, on as many hosts as it has
  // nodes; of several the one in which was measured last, but one of real devices before hosts that
  // stand for them. Errors: see ProfileDatabase::Open; there are measurements, but none of such an
  // environment (says of which).
  static absl::StatusOr<KnownProfiles> Read(const std::string& path, const Cluster& cluster);

  // What was measured in just this environment.
  static absl::StatusOr<KnownProfiles> Of(const ProfileDatabase& database,
                                          const ProfileEnvironment& environment);

  const std::optional<ProfileEnvironment>& environment() const { return environment_; }
  // All runs of a key pooled; nullptr: none.
  const ProfileMeasurement* Find(const ProfileKey& key) const;
  // Those of a program on a mesh, by choice.
  std::vector<std::pair<std::string, const ProfileMeasurement*>> Of(const std::string& program,
                                                                    const std::string& mesh) const;
  // On the choice of the environment.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  absl::Status Add(const ProfileDatabase& database, int64_t environment);

  std::optional<ProfileEnvironment> environment_;
  std::map<std::tuple<std::string, std::string, std::string>, ProfileMeasurement>
      measurements_;  // by program, mesh, choice
  std::vector<std::string> warnings_;
};

// "NVIDIA H100 80GB HBM3 (h100-sxm), cuda 12080, jax 0.11.0, jaxlib 0.11.0, 2 hosts"
std::string EnvironmentText(const ProfileEnvironment& environment);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_KNOWN_PROFILES_H_
