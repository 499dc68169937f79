#ifndef MESHWRIGHT_PLAN_DOCUMENT_JSON_READER_H_
#define MESHWRIGHT_PLAN_DOCUMENT_JSON_READER_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/plan/document/plan_transformer.h"

// From JSON to typed values: one ReadJson for each type, those of structs beside what reads the
// structs. `path` is where the value stands, "$.stages[3].mesh"; errors begin with it.

namespace meshwright {

absl::Status JsonErrorAt(absl::string_view path, absl::string_view message);
absl::Status WrongJsonType(const InputJson& json, absl::string_view path, absl::string_view wanted);

absl::Status ReadJson(const InputJson& json, const std::string& path, std::string& value);
// Counts, sizes and bytes: none is negative.
absl::Status ReadJson(const InputJson& json, const std::string& path, int64_t& value);
absl::Status ReadJson(const InputJson& json, const std::string& path, uint64_t& value);
// Finite.
absl::Status ReadJson(const InputJson& json, const std::string& path, double& value);
absl::Status ReadJson(const InputJson& json, const std::string& path, bool& value);

// By the table of degrees.
absl::Status ReadJson(const InputJson& json, const std::string& path,
                      transformer::Configuration& value);

template <typename T>
absl::Status ReadJson(const InputJson& json, const std::string& path, std::vector<T>& value);

// null: none.
template <typename T>
absl::Status ReadJson(const InputJson& json, const std::string& path, std::optional<T>& value) {
  if (json.is_null()) {
    value.reset();
    return absl::OkStatus();
  }
  return ReadJson(json, path, value.emplace());
}

template <typename T>
absl::Status ReadJson(const InputJson& json, const std::string& path, std::vector<T>& value) {
  if (!json.is_array()) return WrongJsonType(json, path, "a list");
  value.resize(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    MW_RETURN_IF_ERROR(ReadJson(json[i], absl::StrCat(path, "[", i, "]"), value[i]));
  }
  return absl::OkStatus();
}

// Of seconds, or of a cost without a unit: far beyond what anything takes, and small enough for
// sums of many.
inline constexpr double kMostCost = 1e18;

// Hands out the members of one JSON object by key and remembers which it gave, so that a misspelt
// key is found as well as a missing one.
class ObjectReader {
 public:
  ObjectReader(const InputJson& json, const std::string& path) : json_(json), path_(path) {
    if (!json.is_object()) status_ = WrongJsonType(json, path, "an object");
  }

  template <typename T>
  ObjectReader& Member(const char* key, T& value) {
    if (!status_.ok()) return *this;
    if (!json_.contains(key)) {
      status_ = JsonErrorAt(path_, absl::StrCat("the key \"", key, "\" is missing"));
      return *this;
    }
    return OptionalMember(key, value);
  }

  template <typename T>
  ObjectReader& OptionalMember(const char* key, T& value) {
    if (!status_.ok()) return *this;
    keys_.push_back(key);
    const auto member = json_.find(key);
    if (member != json_.end()) status_ = ReadJson(*member, absl::StrCat(path_, ".", key), value);
    return *this;
  }

  // A double from 0 to `most`.
  ObjectReader& Amount(const char* key, double& value, double most = kMostCost) {
    Member(key, value);
    if (!status_.ok() || (value >= 0 && value <= most)) return *this;
    status_ = JsonErrorAt(
        absl::StrCat(path_, ".", key),
        absl::StrCat("found ", json_[key].dump(), ", expected a number from 0 to ", most));
    return *this;
  }

  // The first error, or that the object has a key that nobody asked for.
  absl::Status Finish() const {
    if (!status_.ok()) return status_;
    for (const auto& [key, value] : json_.items()) {
      if (std::find(keys_.begin(), keys_.end(), key) == keys_.end()) {
        return JsonErrorAt(
            path_, absl::StrFormat("unknown key %s; the keys here are %s", InputJson(key).dump(),
                                   absl::StrJoin(keys_, ", ")));
      }
    }
    return absl::OkStatus();
  }

 private:
  const InputJson& json_;
  const std::string& path_;
  std::vector<absl::string_view> keys_;
  absl::Status status_;
};

template <ListsItsMembers T>
absl::Status ReadJson(const InputJson& json, const std::string& path, T& value) {
  ObjectReader reader(json, path);
  T::VisitMembers(value, [&reader](const char* key, auto& member) { reader.Member(key, member); });
  return reader.Finish();
}

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_JSON_READER_H_
