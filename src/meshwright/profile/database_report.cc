#include "meshwright/profile/database_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/csv.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/quantity_text.h"

namespace meshwright {
namespace {

std::string TimeText(int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(unix_seconds),
                          absl::UTCTimeZone());
}

std::string DayText(int64_t unix_seconds) { return TimeText(unix_seconds).substr(0, 10); }

const ProfileEnvironment& EnvironmentOf(const Profile& profile,
                                        const std::vector<StoredEnvironment>& environments) {
  return std::find_if(environments.begin(), environments.end(),
                      [&](const StoredEnvironment& e) { return e.number == profile.environment; })
      ->environment;
}

std::string WithDescription(const std::string& what, const std::string& description) {
  return description.empty() ? what : absl::StrCat(what, ": ", description);
}

Json RunJson(const ProfileRun& run) {
  const ProfileMeasurement& m = run.measurement;
  Json collectives = Json::array();
  for (const MeasuredCollective& c : m.collectives)
    collectives.push_back({{"kind", c.kind}, {"count", c.count}, {"bytes", c.bytes}});
  return {{"id", run.id},
          {"time", TimeText(run.unix_seconds)},
          {"host", run.host},
          {"status", std::string(Word(m.status))},
          {"error", m.error},
          {"sample_seconds", m.sample_seconds},
          {"peak_bytes", m.peak_bytes},
          {"compile_seconds", m.compile_seconds},
          {"collectives", std::move(collectives)}};
}

}  // namespace

std::string DatabaseTable(const std::vector<StoredEnvironment>& environments,
                          const std::vector<Profile>& profiles) {
  if (environments.empty()) return "no measurements\n";
  struct Count {
    int64_t profiles = 0, measured = 0, latest = 0;
    std::map<std::string, int> programs;
  };
  std::map<std::tuple<int64_t, std::string, std::string>, Count> counts;
  for (const Profile& profile : profiles) {
    Count& count = counts[{profile.environment, ProfileKind(profile.key), profile.key.mesh}];
    ++count.profiles;
    ++count.programs[profile.key.program];
    count.latest = std::max(count.latest, profile.latest_unix_seconds());
    count.measured += profile.Pooled().status == MeasurementStatus::kMeasured;
  }
  std::string text;
  for (const StoredEnvironment& e : environments) {
    const ProfileEnvironment& where = e.environment;
    absl::StrAppend(
        &text, "environment ", e.number, "  ",
        Fit(absl::StrCat(where.device, " (", where.device_type, "), ",
                         Counted(where.hosts, "host")),
            kColumns - 17),
        "\n  ",
        Fit(absl::StrCat(where.driver, where.driver.empty() ? "" : ", ", where.libraries),
            kColumns - 2),
        "\n");
    std::vector<std::vector<std::string>> rows = {
        {"kind", "mesh", "programs", "profiles", "measured", "latest"}};
    for (const auto& [key, count] : counts) {
      if (std::get<0>(key) != e.number) continue;
      rows.push_back({std::get<1>(key), Fit(std::get<2>(key), 24),
                      absl::StrCat(count.programs.size()), absl::StrCat(count.profiles),
                      absl::StrCat(count.measured), DayText(count.latest)});
    }
    absl::StrAppend(&text, Columns(std::move(rows), {false, false, true, true, true, false}));
  }
  return text;
}

std::string ContentsText(const std::vector<Profile>& profiles) {
  std::set<std::string> environments, meshes, kinds, programs, days;
  int64_t failed = 0;
  for (const Profile& profile : profiles) {
    environments.insert(absl::StrCat(profile.environment));
    meshes.insert(profile.key.mesh);
    kinds.insert(ProfileKind(profile.key));
    programs.insert(profile.key.program);
    days.insert(DayText(profile.latest_unix_seconds()));
    failed += profile.Pooled().status != MeasurementStatus::kMeasured;
  }
  const auto named = [](const char* one, const char* several, const std::set<std::string>& names) {
    return absl::StrCat(names.size() == 1 ? one : several, " ", absl::StrJoin(names, ", "));
  };
  return absl::StrCat(named("environment", "environments", environments), "; ",
                      named("mesh", "meshes", meshes), "; ", named("kind", "kinds", kinds), "; ",
                      Counted(programs.size(), "program"), ", ", Counted(failed, "profile"),
                      " that failed; last measured ", *days.begin(),
                      days.size() > 1 ? absl::StrCat(" to ", *days.rbegin()) : "");
}

std::string ProfilesTable(const std::vector<Profile>& profiles) {
  std::string text;
  for (size_t begin = 0, end = 0; begin < profiles.size(); begin = end) {
    const Profile& first = profiles[begin];
    while (end < profiles.size() && profiles[end].environment == first.environment &&
           profiles[end].key.program == first.key.program &&
           profiles[end].key.mesh == first.key.mesh)
      ++end;
    // What they have in common stands at the top; how a whole step came about does not.
    const bool common = std::all_of(
        profiles.begin() + static_cast<std::ptrdiff_t>(begin),
        profiles.begin() + static_cast<std::ptrdiff_t>(end),
        [&first](const Profile& profile) { return profile.description == first.description; });
    absl::StrAppend(
        &text, Fit(WithDescription(first.key.program, common ? first.description : ""), kColumns),
        "\n", "mesh ", Fit(first.key.mesh, 40), ", environment ", first.environment, "\n");
    // Choices are long, and differ anywhere: each has a line of its own behind the figures.
    std::vector<std::vector<std::string>> rows = {
        {"choice", "seconds", "spread", "samples", "peak", "runs"}};
    std::string choices;
    for (size_t i = begin; i < end; ++i) {
      const Profile& profile = profiles[i];
      const ProfileMeasurement m = profile.Pooled();
      const bool measured = m.status == MeasurementStatus::kMeasured;
      const std::string number = absl::StrCat(i - begin);
      rows.push_back({number, measured ? SecondsText(m.seconds) : std::string(Word(m.status)),
                      measured ? SecondsText(m.spread) : "-", absl::StrCat(m.samples),
                      measured ? BytesText(m.peak_bytes) : "-", absl::StrCat(profile.runs.size())});
      absl::StrAppend(
          &choices,
          Fit(absl::StrCat("  ", number, "  ",
                           WithDescription(profile.key.choice, common ? "" : profile.description)),
              kColumns),
          "\n");
    }
    absl::StrAppend(&text, Columns(std::move(rows), {true, true, true, true, true, true}), choices);
  }
  return text;
}

std::string ProfilesJson(const std::vector<StoredEnvironment>& environments,
                         const std::vector<Profile>& profiles) {
  Json json{{"environments", Json::array()}, {"profiles", Json::array()}};
  for (const StoredEnvironment& e : environments) {
    json["environments"].push_back({{"number", e.number},
                                    {"device", e.environment.device},
                                    {"device_type", e.environment.device_type},
                                    {"driver", e.environment.driver},
                                    {"libraries", e.environment.libraries},
                                    {"hosts", e.environment.hosts},
                                    {"profiles", e.profiles},
                                    {"latest", TimeText(e.latest_unix_seconds)}});
  }
  for (const Profile& profile : profiles) {
    const ProfileMeasurement m = profile.Pooled();
    Json runs = Json::array();
    for (const ProfileRun& run : profile.runs) runs.push_back(RunJson(run));
    json["profiles"].push_back({{"environment", profile.environment},
                                {"program", profile.key.program},
                                {"mesh", profile.key.mesh},
                                {"choice", profile.key.choice},
                                {"description", profile.description},
                                {"status", std::string(Word(m.status))},
                                {"seconds", m.seconds},
                                {"spread", m.spread},
                                {"samples", m.samples},
                                {"peak_bytes", m.peak_bytes},
                                {"runs", std::move(runs)}});
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ProfilesCsv(const std::vector<StoredEnvironment>& environments,
                        const std::vector<Profile>& profiles) {
  std::string text;
  const auto add = [&text](std::vector<std::string> fields) {
    for (std::string& field : fields) field = Printable(field);
    text += CsvLine(fields);
  };
  add({"device", "device_type", "driver", "libraries", "hosts", "program", "mesh", "choice",
       "status", "seconds", "spread", "samples", "peak_bytes", "runs", "latest", "error"});
  const auto number = [](double value) { return absl::StrFormat("%.17g", value); };
  for (const Profile& profile : profiles) {
    const ProfileEnvironment& e = EnvironmentOf(profile, environments);
    const ProfileMeasurement m = profile.Pooled();
    add({e.device, e.device_type, e.driver, e.libraries, absl::StrCat(e.hosts), profile.key.program,
         profile.key.mesh, profile.key.choice, std::string(Word(m.status)), number(m.seconds),
         number(m.spread), absl::StrCat(m.samples), absl::StrCat(m.peak_bytes),
         absl::StrCat(profile.runs.size()), TimeText(profile.latest_unix_seconds()), m.error});
  }
  return text;
}

}  // namespace meshwright
