#include "meshwright/profile/known_profiles.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

// As JAX calls a host's devices.
constexpr char kHost[] = "cpu";

// "2, NVIDIA H100 (h100-sxm), cuda 12080, jax 0.7.0".
std::string NumberedText(const StoredEnvironment& stored) {
  return StrCat(stored.number, ", ", EnvironmentText(stored.environment));
}

std::string NumberedTexts(const std::vector<StoredEnvironment>& all) {
  return absl::StrJoin(all, "; ", [](std::string* out, const StoredEnvironment& stored) {
    out->append(NumberedText(stored));
  });
}

bool Fits(const StoredEnvironment& stored, const Cluster& cluster) {
  return stored.environment.device_type == cluster.device.name &&
         stored.environment.hosts == cluster.nodes;
}

// Those that fit the cluster.
absl::StatusOr<std::vector<StoredEnvironment>> FittingOf(const std::string& path,
                                                         const std::vector<StoredEnvironment>& all,
                                                         const Cluster& cluster, int64_t number) {
  std::vector<StoredEnvironment> fitting;
  for (const StoredEnvironment& e : all) {
    if (Fits(e, cluster) && (number == 0 || e.number == number)) fitting.push_back(e);
  }
  if (!fitting.empty()) return fitting;
  const std::string of = StrCat(cluster.device.name, " on ", Counted(cluster.nodes, "host"));
  if (number == 0) {
    return absl::InvalidArgumentError(
        StrCat(path, " holds no measurements of ", of, ", only of: ", NumberedTexts(all)));
  }
  return absl::InvalidArgumentError(StrCat("--db-environment: found ", number,
                                           ", expected the number of one of ", of, "; ", path,
                                           " has ", NumberedTexts(all)));
}

// Those in which something wanted was measured, or seen to fail; of real devices if there are any.
absl::StatusOr<std::vector<StoredEnvironment>> MeasuringOf(
    const ProfileDatabase& database, const std::vector<StoredEnvironment>& fitting,
    const ProfilesWanted& wanted) {
  std::vector<StoredEnvironment> devices, hosts;
  for (const StoredEnvironment& e : fitting) {
    MW_ASSIGN_OR_RETURN(const std::vector<Profile> profiles,
                        database.Find({.environment = e.number}));
    const auto is_wanted = [&](const Profile& profile) {
      return wanted.programs.contains(profile.key.program) &&
             std::find(wanted.meshes.begin(), wanted.meshes.end(), profile.key.mesh) !=
                 wanted.meshes.end();
    };
    if (std::any_of(profiles.begin(), profiles.end(), is_wanted))
      (e.environment.device == kHost ? hosts : devices).push_back(e);
  }
  return devices.empty() ? hosts : devices;
}

}  // namespace

absl::StatusOr<KnownProfiles> KnownProfiles::Read(const std::string& path, const Cluster& cluster,
                                                  const ProfilesWanted& wanted) {
  MW_ASSIGN_OR_RETURN(const ProfileDatabase database,
                      ProfileDatabase::Open(path, ProfileDatabase::Access::kRead));
  MW_ASSIGN_OR_RETURN(const std::vector<StoredEnvironment> all, database.Environments());
  KnownProfiles known;
  if (all.empty() && wanted.environment == 0) {
    known.warnings_.push_back(
        StrCat(path, " holds no measurements yet: all segments are predicted"));
    return known;
  }
  MW_ASSIGN_OR_RETURN(const std::vector<StoredEnvironment> fitting,
                      FittingOf(path, all, cluster, wanted.environment));
  MW_ASSIGN_OR_RETURN(const std::vector<StoredEnvironment> measuring,
                      MeasuringOf(database, fitting, wanted));
  if (measuring.size() > 1) {
    return absl::InvalidArgumentError(
        StrCat(path, " holds measurements of this program in ", measuring.size(),
               " environments, which do not mix; --db-environment NUMBER takes one: ",
               NumberedTexts(measuring)));
  }
  if (measuring.empty()) {
    known.warnings_.push_back(
        StrCat(path, " holds no measurements of this program",
               wanted.meshes.size() == 1 ? StrCat(" on mesh ", wanted.meshes[0]) : std::string(),
               ": all segments are predicted"));
    return known;
  }
  known.environment_ = measuring[0].environment;
  if (known.environment_->device == kHost) {
    known.warnings_.push_back(StrCat("measured on a host's processors, which stand for ",
                                     cluster.device.name,
                                     ": times say nothing about such devices"));
  }
  MW_RETURN_IF_ERROR(known.Add(database, measuring[0].number));
  return known;
}

absl::StatusOr<KnownProfiles> KnownProfiles::Of(const ProfileDatabase& database,
                                                const ProfileEnvironment& environment) {
  KnownProfiles known;
  MW_ASSIGN_OR_RETURN(const std::optional<int64_t> number, database.NumberOf(environment));
  if (!number.has_value()) return known;
  known.environment_ = environment;
  MW_RETURN_IF_ERROR(known.Add(database, *number));
  return known;
}

absl::Status KnownProfiles::Add(const ProfileDatabase& database, int64_t environment) {
  ProfileFilter filter;
  filter.environment = environment;
  MW_ASSIGN_OR_RETURN(const std::vector<Profile> profiles, database.Find(filter));
  for (const Profile& profile : profiles) {
    const ProfileKey& key = profile.key;
    known_.emplace(std::tuple(key.program, key.mesh, key.choice),
                   Known{profile.Pooled(), profile.description});
  }
  return absl::OkStatus();
}

int64_t KnownProfiles::Measured(const std::string& program, const std::string& mesh) const {
  const auto of = Of(program, mesh);
  return std::count_if(of.begin(), of.end(), [](const auto& choice) {
    return choice.second->status == MeasurementStatus::kMeasured;
  });
}

const ProfileMeasurement* KnownProfiles::Find(const ProfileKey& key) const {
  const auto found = known_.find({key.program, key.mesh, key.choice});
  return found == known_.end() ? nullptr : &found->second.measurement;
}

std::string KnownProfiles::DescriptionOf(const ProfileKey& key) const {
  const auto found = known_.find({key.program, key.mesh, key.choice});
  return found == known_.end() ? "" : found->second.description;
}

std::vector<std::pair<std::string, const ProfileMeasurement*>> KnownProfiles::Of(
    const std::string& program, const std::string& mesh) const {
  std::vector<std::pair<std::string, const ProfileMeasurement*>> found;
  for (auto at = known_.lower_bound({program, mesh, ""});
       at != known_.end() && std::get<0>(at->first) == program && std::get<1>(at->first) == mesh;
       ++at) {
    found.emplace_back(std::get<2>(at->first), &at->second.measurement);
  }
  return found;
}

std::string EnvironmentText(const ProfileEnvironment& environment) {
  std::string text = StrCat(environment.device, " (", environment.device_type, ")");
  for (const std::string& more : {environment.driver, environment.libraries}) {
    if (!more.empty()) StrAppend(&text, ", ", more);
  }
  if (environment.hosts > 1) StrAppend(&text, ", ", environment.hosts, " hosts");
  return text;
}

}  // namespace meshwright
