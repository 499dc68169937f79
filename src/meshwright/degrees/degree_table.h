#ifndef MESHWRIGHT_DEGREES_DEGREE_TABLE_H_
#define MESHWRIGHT_DEGREES_DEGREE_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/degrees/configuration.h"

// The members of Configuration as one list, from which fixes, plans' documents, texts, differences
// and the order of configurations come. A new degree is a member in configuration.h and a row here.

namespace meshwright::transformer {

struct Degree {
  std::string_view key;   // in --fix: "mbs"; empty: it has an option of its own
  std::string_view name;  // in plans: "micro_batch", "inside.tp"; empty: it follows from others
  int64_t (*value)(const Configuration&);
  void (*set)(Configuration&, int64_t);  // nullptr if it follows from others
  std::optional<int64_t> (*fix)(const Fixes&);
  void (*set_fix)(Fixes&, std::optional<int64_t>);
  int64_t least = 0, most = 0;
  // Names of the values from 0 on; empty: they are numbers.
  absl::Span<const std::string_view> words = {};
  // Whether texts of a configuration show it; nullptr: never.
  bool (*shown)(const Configuration&) = nullptr;
  // In plans true or false, not one of two words.
  bool is_boolean = false;
};

// In the order of plans' documents.
absl::Span<const Degree> DegreeTable();
// The one that --fix calls `key`, or nullptr.
const Degree* FindDegree(std::string_view key);
// In the order in which configurations are compared and shown.
const std::vector<const Degree*>& DegreesInOrder();

// "8", "full".
std::string ValueText(const Degree& degree, int64_t value);
// The value that `text` names, or nullopt.
std::optional<int64_t> ParseValue(const Degree& degree, std::string_view text);
// "an integer from 1 to 1024", "on or off", "one of none, selective, modules, full".
std::string ValidValues(const Degree& degree);

// The value of `configuration` at a key of --fix: "8", "full".
std::string FixValue(const Configuration& configuration, std::string_view key);

// "tp=8 pp=4 dp=2 sp=on schedule=1f1b mbs=1 zero=1 recompute=full", as --fix takes it: tp, pp, dp,
// mbs, and what is not as it usually is.
std::string ConfigurationText(const Configuration& configuration);

// A total order, by the degrees: of configurations that cost the same the first is chosen.
bool ConfigurationBefore(const Configuration& a, const Configuration& b);

std::string_view RecomputeName(Recompute recompute);       // "none", "selective", "modules", "full"
std::string_view PrecisionName(Precision precision);       // "bf16"
std::string_view ContextKindName(ContextKind kind);        // "ring", "allgather", "ulysses"
std::string_view PipelineKindName(PipelineKind schedule);  // "1f1b", "interleaved", "zero-bubble"
std::optional<Precision> FindPrecision(std::string_view name);
std::string PrecisionNames();  // "bf16, fp16, ..."

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_DEGREE_TABLE_H_
