#include "meshwright/capi/options_json.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "meshwright/base/json_value.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

absl::Status WrongType(const Json& json, const char* wanted) {
  return absl::InvalidArgumentError(StrCat("found ", json.type_name(), ", expected ", wanted));
}

absl::Status Read(const Json& json, std::string& value) {
  if (!json.is_string()) return WrongType(json, "a string");
  value = json.get_ref<const std::string&>();
  return absl::OkStatus();
}

// Quantities may be plain numbers of the base unit.
absl::Status ReadQuantity(const Json& json, std::string& value) {
  if (!json.is_number()) {
    return json.is_string() ? Read(json, value) : WrongType(json, "a string or a number");
  }
  value = json.dump();
  return absl::OkStatus();
}

absl::Status Read(const Json& json, std::vector<std::string>& values) {
  if (!json.is_array()) return WrongType(json, "a list of strings");
  values.resize(json.size());
  for (size_t i = 0; i < json.size(); ++i) MW_RETURN_IF_ERROR(Read(json[i], values[i]));
  return absl::OkStatus();
}

absl::Status ReadInteger(const Json& json, uint64_t least, uint64_t most, uint64_t& value) {
  const bool fits =
      json.is_number_unsigned() && json.get<uint64_t>() >= least && json.get<uint64_t>() <= most;
  if (!fits) {
    return absl::InvalidArgumentError(
        StrCat("found ", json.is_number() ? json.dump() : std::string(json.type_name()),
               ", expected an integer from ", least, " to ", most));
  }
  value = json.get<uint64_t>();
  return absl::OkStatus();
}

absl::Status ReadRest(const Json& json, std::string& value) {
  MW_RETURN_IF_ERROR(Read(json, value));
  if (value == "xla" || value == "least-cost") return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("found \"", value, "\", expected \"xla\" or \"least-cost\""));
}

// One row a key.
struct KeyRow {
  const char* key;
  absl::Status (*read)(const Json& json, CapiOptions& options);
};
constexpr KeyRow kKeys[] = {
    {"program", [](const Json& json, CapiOptions& o) { return Read(json, o.program); }},
    {"cluster", [](const Json& json, CapiOptions& o) { return Read(json, o.search.cluster); }},
    {"mesh", [](const Json& json, CapiOptions& o) { return Read(json, o.search.mesh); }},
    {"memory",
     [](const Json& json, CapiOptions& o) { return ReadQuantity(json, o.search.memory); }},
    {"cost-model",
     [](const Json& json, CapiOptions& o) { return Read(json, o.search.cost_model); }},
    {"deadline",
     [](const Json& json, CapiOptions& o) { return ReadQuantity(json, o.search.deadline); }},
    {"rest", [](const Json& json, CapiOptions& o) { return ReadRest(json, o.search.completion); }},
    {"fix", [](const Json& json, CapiOptions& o) { return Read(json, o.search.fixes); }},
    {"fix-file", [](const Json& json, CapiOptions& o) { return Read(json, o.search.fix_files); }},
    {"db",
     [](const Json& json, CapiOptions& o) {
       MW_RETURN_IF_ERROR(Read(json, o.search.db));
       if (!o.search.db.empty()) return absl::OkStatus();
       return absl::InvalidArgumentError("found \"\", expected the name of a file");
     }},
    {"db-environment",
     [](const Json& json, CapiOptions& o) {
       uint64_t number = 0;
       MW_RETURN_IF_ERROR(ReadInteger(json, 1, std::numeric_limits<int64_t>::max(), number));
       o.search.db_environment = static_cast<int64_t>(number);
       return absl::OkStatus();
     }},
    {"threads",
     [](const Json& json, CapiOptions& o) {
       uint64_t threads = 0;
       MW_RETURN_IF_ERROR(ReadInteger(json, 1, kMaxThreads, threads));
       o.search.threads = static_cast<int>(threads);
       return absl::OkStatus();
     }},
    {"seed",
     [](const Json& json, CapiOptions& o) {
       return ReadInteger(json, 0, std::numeric_limits<uint64_t>::max(), o.search.seed);
     }},
};

absl::Status ReadKey(const std::string& key, const Json& value, CapiOptions& options) {
  std::vector<std::string> known;
  for (const KeyRow& row : kKeys) {
    if (key == row.key) return row.read(value, options);
    known.emplace_back(row.key);
  }
  return absl::InvalidArgumentError(
      StrCat("there is no such option; did you mean \"", NearestName(key, known), "\"?"));
}

}  // namespace

absl::StatusOr<CapiOptions> ParseOptionsJson(std::string_view text, CapiOptions defaults) {
  MW_ASSIGN_OR_RETURN(const Json json, ParseJson(text, "options"));
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        StrCat("options: found ", json.type_name(), ", expected a JSON object"));
  }
  for (const auto& [key, value] : json.items()) {
    if (absl::Status status = ReadKey(key, value, defaults); !status.ok()) {
      return absl::Status(status.code(), StrCat("option \"", key, "\": ", status.message()));
    }
  }
  return defaults;
}

}  // namespace meshwright
