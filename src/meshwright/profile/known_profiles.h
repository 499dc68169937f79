#ifndef MESHWRIGHT_PROFILE_KNOWN_PROFILES_H_
#define MESHWRIGHT_PROFILE_KNOWN_PROFILES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/profile/choice.h"
#include "meshwright/profile/database.h"

namespace meshwright {

// The profiles that a plan wants to know.
struct ProfilesWanted {
  std::set<std::string> programs;   // fingerprints of segments, StepProgram of the whole
  std::vector<std::string> meshes;  // as in ProfileKey::mesh
  int64_t environment = 0;          // number in the database; 0: the one that has them
};

// What a database knows for plans of a program on a cluster, of one environment.
class KnownProfiles {
 public:
  // Takes the environment whose devices are of the cluster's type, on as many hosts as it has
  // nodes, and in which a segment was measured, or failed, on one of the meshes; none where that is
  // nowhere, and says so. Of hosts that stand for devices only if there is no such environment of
  // real ones. Errors: see ProfileDatabase::Open; there are several such environments, or
  // measurements, but none of the cluster's type and nodes (both name them); `wanted` names one
  // that is not there or is of something else.
  static absl::StatusOr<KnownProfiles> Read(const std::string& path, const Cluster& cluster,
                                            const ProfilesWanted& wanted);

  // What was measured in just this environment.
  static absl::StatusOr<KnownProfiles> Of(const ProfileDatabase& database,
                                          const ProfileEnvironment& environment);

  // nullopt: nothing is known.
  const std::optional<ProfileEnvironment>& environment() const { return environment_; }
  // All runs of a key pooled; nullptr: none.
  const ProfileMeasurement* Find(const ProfileKey& key) const;
  // Its Profile::description; empty: none.
  std::string DescriptionOf(const ProfileKey& key) const;
  // How many choices of a program were measured on a mesh.
  int64_t Measured(const std::string& program, const std::string& mesh) const;
  // Those of a program on a mesh, by choice.
  std::vector<std::pair<std::string, const ProfileMeasurement*>> Of(const std::string& program,
                                                                    const std::string& mesh) const;
  // On the choice of the environment.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  absl::Status Add(const ProfileDatabase& database, int64_t environment);

  std::optional<ProfileEnvironment> environment_;
  struct Known {
    ProfileMeasurement measurement;
    std::string description;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Known>
      known_;  // by program, mesh, choice
  std::vector<std::string> warnings_;
};

// "NVIDIA H100 80GB HBM3 (h100-sxm), cuda 12080, jax 0.11.0, jaxlib 0.11.0, 2 hosts"
std::string EnvironmentText(const ProfileEnvironment& environment);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_KNOWN_PROFILES_H_
