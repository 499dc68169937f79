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

}  // namespace

absl::StatusOr<KnownProfiles> KnownProfiles::Read(const std::string& path, const Cluster& cluster) {
  MW_ASSIGN_OR_RETURN(const ProfileDatabase database,
                      ProfileDatabase::Open(path, ProfileDatabase::Access::kRead));
  MW_ASSIGN_OR_RETURN(const std::vector<StoredEnvironment> stored, database.Environments());
  KnownProfiles known;
  if (stored.empty()) {
    known.warnings_.push_back(
        StrCat(path, " holds no measurements yet: all segments are predicted"));
    return known;
  }
  std::vector<StoredEnvironment> fitting;
  for (const StoredEnvironment& e : stored) {
    if (e.environment.device_type == cluster.device.name && e.environment.hosts == cluster.nodes)
      fitting.push_back(e);
  }
  if (fitting.empty()) {
    std::vector<std::string> there;
    for (const StoredEnvironment& e : stored) there.push_back(EnvironmentText(e.environment));
    return absl::InvalidArgumentError(
        StrCat(path, " holds no measurements of ", cluster.device.name, " on ",
               Counted(cluster.nodes, "host"), ", only of: ", absl::StrJoin(there, "; ")));
  }
  const auto rank = [](const StoredEnvironment& e) {
    return std::tuple(e.environment.device != kHost, e.latest_unix_seconds, e.number);
  };
  const StoredEnvironment& chosen =
      *std::max_element(fitting.begin(), fitting.end(),
                        [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  known.environment_ = chosen.environment;
  for (const StoredEnvironment& e : fitting) {
    if (e.number == chosen.number) continue;
    known.warnings_.push_back(StrCat("measurements of ", EnvironmentText(e.environment),
                                     " are not used: they do not mix with those of ",
                                     EnvironmentText(chosen.environment)));
  }
  if (chosen.environment.device == kHost) {
    known.warnings_.push_back(StrCat("measured on a host's processors, which stand for ",
                                     cluster.device.name,
                                     ": times say nothing about such devices"));
  }
  MW_RETURN_IF_ERROR(known.Add(database, chosen.number));
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
    measurements_.emplace(std::tuple(key.program, key.mesh, key.choice), profile.Pooled());
  }
  return absl::OkStatus();
}

const ProfileMeasurement* KnownProfiles::Find(const ProfileKey& key) const {
  const auto found = measurements_.find({key.program, key.mesh, key.choice});
  return found == measurements_.end() ? nullptr : &found->second;
}

std::vector<std::pair<std::string, const ProfileMeasurement*>> KnownProfiles::Of(
    const std::string& program, const std::string& mesh) const {
  std::vector<std::pair<std::string, const ProfileMeasurement*>> found;
  for (auto at = measurements_.lower_bound({program, mesh, ""});
       at != measurements_.end() && std::get<0>(at->first) == program &&
       std::get<1>(at->first) == mesh;
       ++at) {
    found.emplace_back(std::get<2>(at->first), &at->second);
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
