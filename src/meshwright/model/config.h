#ifndef MESHWRIGHT_MODEL_CONFIG_H_
#define MESHWRIGHT_MODEL_CONFIG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// A Hugging Face `config.json`, read field by field.

namespace meshwright::transformer {

// One object of the file. The first error sticks, in this object and those nested in it; from then
// on reading goes on with harmless values, so that readers check once, at their end. Errors name
// file, line and column of the value, what was found and what would be valid.
//
// Fields are named as in transformers' configuration classes; "n_embd|hidden_size" are names for
// the same field, of which the first that is there counts. null is as good as absent.
class Config {
 public:
  // Errors: not JSON, no object, a field that occurs twice. `file` is for errors.
  static absl::StatusOr<Config> Parse(std::string_view text, std::string_view file);

  bool Has(std::string_view field) const;
  // Whether it is there and null, which for few fields is not the same as being absent.
  bool IsNull(std::string_view field) const;
  // The object `field`; an empty one if it is absent.
  Config Nested(std::string_view field) const;

  // A whole number from 1 to `most`. Without a fallback the field must be there. A list of equal
  // numbers, of layers or of sides of an image, is as good as one.
  int64_t Count(std::string_view field, int64_t most, std::optional<int64_t> fallback = {}) const;
  // The same from 0.
  int64_t CountOrZero(std::string_view field, int64_t most, int64_t fallback) const;
  bool Flag(std::string_view field, bool fallback) const;
  // A number above 0.
  double Real(std::string_view field, double fallback) const;
  std::string Text(std::string_view field, std::string_view fallback) const;
  // Whether it is there and that word, or number; a field may also be of the other type.
  bool IsText(std::string_view field, std::string_view word) const;
  bool IsNumber(std::string_view field, int64_t number) const;
  // nullopt if absent.
  std::optional<std::vector<int64_t>> Counts(std::string_view field, int64_t most) const;
  std::optional<std::vector<std::string>> Texts(std::string_view field) const;
  // Members of the object `field`; 0 if it is absent.
  int64_t Members(std::string_view field) const;

  // Records an error at the value of `field`, or at this object if that is absent.
  void Fail(std::string_view field, std::string_view message) const;
  // The same at element `index` of the list `field`.
  void FailAt(std::string_view field, size_t index, std::string_view message) const;

  // Fields, by name, that were asked for and are there.
  int64_t FieldsRead() const;

  bool ok() const;
  const absl::Status& status() const;

 private:
  struct File;
  struct Value;
  Config(std::shared_ptr<File> file, std::vector<std::string> path);
  Value Object() const;
  Value Find(std::string_view field) const;
  int64_t Integer(const Value& value, int64_t least, int64_t most) const;
  void FailPath(const std::vector<std::string>& path, std::string_view message) const;

  std::shared_ptr<File> file_;
  std::vector<std::string> path_;  // from the root to this object
};

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_MODEL_CONFIG_H_
