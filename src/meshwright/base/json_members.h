#ifndef MESHWRIGHT_BASE_JSON_MEMBERS_H_
#define MESHWRIGHT_BASE_JSON_MEMBERS_H_

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/base/json_value.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/words.h"

// Structs and JSON. A struct lists its members once, in the order of its document, for reading and
// writing alike:
//
//   template <typename Self, typename Visitor>
//   static void VisitMembers(Self& self, const Visitor& visit) {
//     visit("seconds", self.seconds);
//     visit("share", self.share, kShare);
//     visit("value", self.value, kMayBeAbsent);
//   }
//
// The reader takes every key that is listed and no other. Errors are those of JsonValue.

namespace meshwright {

// What a member may be, beyond what its type says.
struct MemberForm {
  bool may_be_absent = false;     // the key is not written where the member is empty
  double least = 0, most = 1e18;  // of a double: sums of many are finite
};
inline constexpr MemberForm kMayBeAbsent = {.may_be_absent = true};
inline constexpr MemberForm kShare = {.most = 1};
inline constexpr MemberForm kSigned = {.least = -1e18};

// For a struct whose keys are the names of its members: its list, and == for all of them.
//   MESHWRIGHT_MEMBERS(PlanAxis, name, size)
#define MESHWRIGHT_MEMBERS(Struct, ...) \
  MESHWRIGHT_MEMBERS_OF_FORM(Struct, MemberForm(), __VA_ARGS__)
// The same where all doubles are of one form.
#define MESHWRIGHT_MEMBERS_OF_FORM(Struct, form, ...)                               \
  friend bool operator==(const Struct&, const Struct&) = default;                   \
  template <typename Self, typename Visitor>                                        \
  static void VisitMembers(Self& self, const Visitor& visit) {                      \
    constexpr MemberForm kForm = form;                                              \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(MESHWRIGHT_VISIT_MEMBER, __VA_ARGS__)) \
  }
#define MESHWRIGHT_VISIT_MEMBER(member) visit(#member, self.member, kForm);

template <typename T>
concept ListsItsMembers = requires(T& value) {
  T::VisitMembers(value, [](const char*, auto&&, MemberForm = {}) {});
};

// How a type stands in JSON; specialized for those whose form is their own. Integers are counts,
// sizes and bytes: none is negative.
template <typename T>
struct JsonForm {
  static Json Write(const T& value) { return value; }
  static void Read(const JsonValue& json, T& value, MemberForm form) {
    if constexpr (std::same_as<T, std::string>) {
      value = json.Text();
    } else if constexpr (std::same_as<T, bool>) {
      value = json.Boolean();
    } else if constexpr (std::same_as<T, int64_t>) {
      value = json.Integer(0, std::numeric_limits<int64_t>::max());
    } else if constexpr (std::same_as<T, uint64_t>) {
      value = json.Unsigned();
    } else {
      static_assert(std::same_as<T, double>, "the type has no form in JSON");
      value = json.Number(form.least, form.most);
    }
  }
};

template <typename T>
Json WriteJson(const T& value) {
  return JsonForm<T>::Write(value);
}
template <typename T>
void ReadJson(const JsonValue& json, T& value, MemberForm form = {}) {
  JsonForm<T>::Read(json, value, form);
}

// The words that an enum has; of many the nearest to what was found.
template <HasWords Enum>
std::string WantedWord(const JsonValue& json) {
  constexpr size_t kMostListed = 20;
  if (kWords<Enum>.size() <= kMostListed || !json.IsText()) return WordList<Enum>();
  const std::vector<std::string> words(kWords<Enum>.begin(), kWords<Enum>.end());
  return "one of " + std::to_string(words.size()) + " words, the nearest being \"" +
         NearestName(json.Text(), words) + "\"";
}

template <HasWords Enum>
struct JsonForm<Enum> {
  static Json Write(Enum value) { return std::string(Word(value)); }
  static void Read(const JsonValue& json, Enum& value, MemberForm) {
    const std::optional<Enum> found =
        json.IsText() ? FromWord<Enum>(json.Text()) : std::optional<Enum>();
    if (!found.has_value()) json.FailWanting(WantedWord<Enum>(json));
    value = found.value_or(Enum());
  }
};

// null: nothing.
template <typename T>
struct JsonForm<std::optional<T>> {
  static Json Write(const std::optional<T>& value) {
    return value.has_value() ? WriteJson(*value) : Json();
  }
  static void Read(const JsonValue& json, std::optional<T>& value, MemberForm form) {
    value.reset();
    if (!json.IsNull()) ReadJson(json, value.emplace(), form);
  }
};

template <typename T>
struct JsonForm<std::vector<T>> {
  static Json Write(const std::vector<T>& list) {
    Json json = Json::array();
    for (const T& element : list) json.push_back(WriteJson(element));
    return json;
  }
  static void Read(const JsonValue& json, std::vector<T>& list, MemberForm form) {
    const std::vector<JsonValue> elements = json.Elements();
    list.resize(elements.size());
    for (size_t i = 0; i < list.size() && json.ok(); ++i) ReadJson(elements[i], list[i], form);
  }
};

// A member that `may_be_absent` may be left out.
template <typename T>
requires requires(const T& member) { member.has_value(); }
bool IsEmptyMember(const T& member) { return !member.has_value(); }
template <typename T>
requires requires(const T& member) { member.empty(); }
bool IsEmptyMember(const T& member) { return member.empty(); }

// Hands out an object's members by key and remembers which, so that a misspelt key is found as well
// as a missing one.
class JsonMembers {
 public:
  explicit JsonMembers(const JsonValue& json) : json_(json) {}

  template <typename T>
  void Read(const char* key, T& value, MemberForm form = {}) {
    if (!json_.ok()) return;
    keys_.push_back(key);
    if (!form.may_be_absent || json_.Has(key)) ReadJson(json_.At(key), value, form);
  }
  // Errors if there is a key that nobody asked for.
  void Finish() const { json_.CheckKeys(keys_); }

 private:
  const JsonValue& json_;
  std::vector<const char*> keys_;
};

template <ListsItsMembers T>
struct JsonForm<T> {
  static Json Write(const T& value) {
    Json json = Json::object();
    T::VisitMembers(value, [&json](const char* key, const auto& member, MemberForm form = {}) {
      if constexpr (requires { IsEmptyMember(member); }) {
        if (form.may_be_absent && IsEmptyMember(member)) return;
      }
      json[key] = WriteJson(member);
    });
    return json;
  }
  static void Read(const JsonValue& json, T& value, MemberForm) {
    JsonMembers members(json);
    T::VisitMembers(value, [&members](const char* key, auto& member, MemberForm form = {}) {
      members.Read(key, member, form);
    });
    members.Finish();
  }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_JSON_MEMBERS_H_
