#include "meshwright/base/json_value.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

constexpr size_t kLongestMessage = 200;  // bytes
constexpr size_t kLongestPath = 100;
constexpr double kLargestNumber = 1e30;  // sums of them are finite

std::string Shortened(std::string text) {
  text = absl::Utf8SafeCEscape(text);
  if (text.size() > kLongestMessage) text = text.substr(0, kLongestMessage) + "...";
  return text;
}

// Where a parser is in a document: the path there, and what is wrong with it so far.
class DocumentPlace {
 public:
  template <typename AnyJson>
  bool operator()(int depth, typename AnyJson::parse_event_t event, AnyJson& parsed) {
    using Event = typename AnyJson::parse_event_t;
    switch (event) {
      case Event::object_start:
      case Event::array_start:
        if (depth >= kMostJsonLevels && problem_.empty()) {
          problem_ = absl::StrCat(Path(), ": more than ", kMostJsonLevels,
                                  " lists and objects within each other");
        }
        if (!problem_.empty()) return false;
        levels_.push_back({.list = event == Event::array_start, .key = ""});
        break;
      case Event::object_end:
      case Event::array_end:
        if (!levels_.empty() && problem_.empty()) levels_.pop_back();
        CountElement();
        break;
      case Event::key: {
        if (levels_.empty()) break;
        Level& level = levels_.back();
        level.key = parsed.template get_ref<const std::string&>();
        if (!level.keys.insert(level.key).second && problem_.empty()) {
          problem_ = absl::StrCat("\"", Shortened(level.key), "\" occurs twice in one object");
        }
        break;
      }
      case Event::value:
        CountElement();
        break;
    }
    return true;
  }

  // "$.stages[3].mesh"; of a long one the end.
  std::string Path() const {
    std::string path = "$";
    for (const Level& level : levels_) {
      if (level.list) {
        absl::StrAppend(&path, "[", level.position, "]");
      } else if (!level.key.empty()) {
        absl::StrAppend(&path, ".", Shortened(level.key));
      }
    }
    if (path.size() > kLongestPath) {
      path = absl::StrCat("$...", path.substr(path.size() - kLongestPath));
    }
    return path;
  }
  // What is wrong with a document that is JSON; empty if nothing.
  const std::string& problem() const { return problem_; }

 private:
  struct Level {
    bool list = false;
    int64_t position = 0;  // in the list
    std::string key;       // the object's last
    std::set<std::string> keys = {};
  };
  void CountElement() {
    if (!levels_.empty() && levels_.back().list) ++levels_.back().position;
  }

  std::vector<Level> levels_;
  std::string problem_;
};

template <typename AnyJson>
absl::StatusOr<AnyJson> Parse(std::string_view text, std::string_view name) {
  DocumentPlace place;
  AnyJson json;
  try {
    json = AnyJson::parse(text, [&place](int depth, typename AnyJson::parse_event_t event,
                                         AnyJson& parsed) { return place(depth, event, parsed); });
  } catch (const typename AnyJson::exception& error) {
    return absl::InvalidArgumentError(
        StrCat(name, ": not valid JSON, at ", place.Path(), ": ", JsonErrorText(error.what())));
  }
  if (!place.problem().empty()) {
    return absl::InvalidArgumentError(StrCat(name, ": ", place.problem()));
  }
  return json;
}

const char* TypeOf(const InputJson& json) {
  if (json.is_null()) return "null";
  if (json.is_object()) return "an object";
  if (json.is_array()) return "a list";
  if (json.is_string()) return "a string";
  return json.is_boolean() ? "a boolean" : "a number";
}

}  // namespace

std::string JsonErrorText(std::string_view what) {
  if (const size_t tag = what.find("] "); tag != std::string_view::npos)
    what.remove_prefix(tag + 2);
  std::string text(what);
  if (text.size() > kLongestMessage) text = text.substr(0, kLongestMessage) + "...";
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

absl::StatusOr<Json> ParseJson(std::string_view text, std::string_view name) {
  return Parse<Json>(text, name);
}

absl::StatusOr<InputJson> ParseInputJson(std::string_view text, std::string_view name) {
  return Parse<InputJson>(text, name);
}

void JsonValue::Fail(const std::string& message) const {
  if (ok()) *status_ = absl::InvalidArgumentError(absl::StrCat(path_, ": ", message));
}

void JsonValue::Wanted(const char* what) const {
  Fail(absl::StrCat("found ", TypeOf(*json_), ", expected ", what));
}

void JsonValue::FailWanting(std::string_view what) const {
  const bool plain = json_->is_number() || json_->is_string() || json_->is_boolean();
  std::string found = plain ? json_->dump(-1, ' ', /*ensure_ascii=*/true) : TypeOf(*json_);
  if (found.size() > kLongestMessage) found = found.substr(0, kLongestMessage) + "...";
  Fail(StrCat("found ", found, ", expected ", what));
}

void JsonValue::CheckKeys(const std::vector<const char*>& keys) const {
  if (!json_->is_object()) return Wanted("an object");
  for (const auto& [key, value] : json_->items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    return Fail(StrCat("unknown key \"", Shortened(key), "\"; the keys here are ",
                       absl::StrJoin(keys, ", ")));
  }
}

JsonValue JsonValue::Nothing() const {
  static const InputJson* const kNull = new InputJson();
  return {kNull, path_, status_};
}

JsonValue JsonValue::At(const char* key) const {
  if (!json_->is_object()) {
    Wanted("an object");
    return Nothing();
  }
  const auto it = json_->find(key);
  if (it == json_->end()) {
    Fail(absl::StrCat("has no \"", key, "\""));
    return Nothing();
  }
  return {&*it, absl::StrCat(path_, ".", key), status_};
}

std::optional<JsonValue> JsonValue::Find(const char* key) const {
  if (!json_->is_object()) return std::nullopt;
  const auto it = json_->find(key);
  if (it == json_->end() || it->is_null()) return std::nullopt;
  return JsonValue(&*it, absl::StrCat(path_, ".", key), status_);
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::Members() const {
  std::vector<std::pair<std::string, JsonValue>> members;
  if (!json_->is_object()) {
    Wanted("an object");
    return members;
  }
  for (auto it = json_->begin(); it != json_->end(); ++it) {
    const std::string path = absl::StrCat(path_, "[\"", Shortened(it.key()), "\"]");
    members.emplace_back(it.key(), JsonValue(&*it, path, status_));
  }
  return members;
}

std::vector<JsonValue> JsonValue::Elements() const {
  std::vector<JsonValue> elements;
  if (!json_->is_array()) {
    Wanted("a list");
    return elements;
  }
  elements.reserve(json_->size());
  for (size_t i = 0; i < json_->size(); ++i) {
    elements.push_back({&(*json_)[i], absl::StrCat(path_, "[", i, "]"), status_});
  }
  return elements;
}

std::vector<JsonValue> JsonValue::Elements(size_t size, const char* of) const {
  std::vector<JsonValue> elements = Elements();
  if (ok() && elements.size() != size) {
    Fail(absl::StrCat("has ", elements.size(), " elements, expected ", size, " (", of, ")"));
  }
  if (!ok()) elements.assign(size, Nothing());
  return elements;
}

double JsonValue::Number() const {
  if (!json_->is_number()) {
    Wanted("a number");
    return 0;
  }
  const auto number = json_->get<double>();
  if (std::abs(number) <= kLargestNumber) return number;
  Fail(absl::StrCat("found ", json_->dump(), ", expected at most ", kLargestNumber,
                    " in magnitude"));
  return 0;
}

double JsonValue::Number(double least, double most) const {
  const auto number = json_->is_number() ? json_->get<double>() : 0;
  if (!json_->is_number()) Wanted("a number");
  if (!(number >= least && number <= most)) {
    FailWanting(StrCat("a number from ", least, " to ", most));
  }
  return ok() ? number : 0;
}

int64_t JsonValue::Integer(int64_t least, int64_t most) const {
  std::optional<int64_t> number;
  if (json_->is_number_unsigned()) {
    if (json_->get<uint64_t>() <= uint64_t{INT64_MAX}) number = json_->get<int64_t>();
  } else if (json_->is_number_integer()) {
    number = json_->get<int64_t>();
  } else if (json_->is_number()) {
    const double real = Number();
    if (real == std::floor(real) && std::abs(real) <= 0x1p62) number = static_cast<int64_t>(real);
  }
  if (number.has_value() && *number >= least && *number <= most) return *number;
  FailWanting(StrCat("an integer from ", least, " to ",
                     most == INT64_MAX ? std::string("2^63 - 1") : StrCat(most)));
  return least;
}

uint64_t JsonValue::Unsigned() const {
  if (json_->is_number_unsigned()) return json_->get<uint64_t>();
  FailWanting("an integer from 0 to 2^64 - 1");
  return 0;
}

bool JsonValue::Boolean() const {
  if (!json_->is_boolean()) Wanted("a boolean");
  return json_->is_boolean() && json_->get<bool>();
}

std::string JsonValue::Text() const {
  if (!json_->is_string()) Wanted("a string");
  return json_->is_string() ? json_->get<std::string>() : std::string();
}

std::vector<double> JsonValue::Numbers(size_t size, const char* of) const {
  std::vector<double> numbers;
  if (!json_->is_array()) {
    Wanted("a list of numbers");
  } else if (json_->size() != size) {
    Fail(absl::StrCat("has ", json_->size(), " elements, expected ", size, " (", of, ")"));
  } else {
    numbers.reserve(size);
    for (const InputJson& one : *json_) {
      // The path is only made where an error needs it.
      if (!one.is_number() || std::abs(one.get<double>()) > kLargestNumber) {
        JsonValue(&one, absl::StrCat(path_, "[", numbers.size(), "]"), status_).Number();
        break;
      }
      numbers.push_back(one.get<double>());
    }
  }
  return ok() ? numbers : std::vector<double>();
}

}  // namespace meshwright
