#ifndef MESHWRIGHT_PROFILE_DATABASE_REPORT_H_
#define MESHWRIGHT_PROFILE_DATABASE_REPORT_H_

#include <string>
#include <vector>

#include "meshwright/profile/database.h"

// What `meshwright db` prints.

namespace meshwright {

// Environments, and for each kind of program on each mesh how many profiles there are.
std::string DatabaseTable(const std::vector<StoredEnvironment>& environments,
                          const std::vector<Profile>& profiles);
// What filters may ask for, of one profile or more: "environment 1; meshes x=2, x=4; kinds reshard,
// segment; 3 programs, 1 profile that failed; last measured 2026-11-02 to 2026-11-29".
std::string ContentsText(const std::vector<Profile>& profiles);
// Every profile: program, choice, what was measured.
std::string ProfilesTable(const std::vector<Profile>& profiles);

// Keys: environments (a list: number, device, device_type, driver, libraries, hosts, profiles,
// latest), profiles (a list: environment, program, mesh, choice, description, status, seconds,
// spread, samples, peak_bytes, runs (a list: id, time, host, status, error, sample_seconds,
// peak_bytes, compile_seconds, collectives)). Times are in UTC, as in RFC 3339.
std::string ProfilesJson(const std::vector<StoredEnvironment>& environments,
                         const std::vector<Profile>& profiles);
// A line a profile, RFC 4180; control characters as escapes, "\x1b".
std::string ProfilesCsv(const std::vector<StoredEnvironment>& environments,
                        const std::vector<Profile>& profiles);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_DATABASE_REPORT_H_
