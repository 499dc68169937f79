#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/model/check_model.h"
#include "meshwright/model/config.h"
#include "meshwright/model/families.h"
#include "meshwright/model/model_reader.h"

namespace meshwright::transformer {
namespace {

struct TaskSuffix {
  const char* suffix;
  Task task;
};

// Ends of class names; the first that fits counts.
constexpr TaskSuffix kSuffixes[] = {
    {"ForCausalLM", Task::kLanguageModel},
    {"LMHeadModel", Task::kLanguageModel},
    {"ForConditionalGeneration", Task::kLanguageModel},
    {"WithLMHeadModel", Task::kLanguageModel},
    {"ForMaskedLM", Task::kMaskedLm},
    {"ForPreTraining", Task::kPreTraining},
    {"ForSequenceClassification", Task::kSequenceClassification},
    {"ForImageClassification", Task::kImageClassification},
    {"EncoderModel", Task::kEncoder},
    {"Model", Task::kBase},
    {"WithProjection", Task::kProjection},
};

std::vector<std::string> KnownTypes() {
  std::vector<std::string> names;
  for (const Family& family : Families()) names.emplace_back(family.model_type);
  return names;
}

// By the class's name, without regard to case: the family with the longest prefix of it.
const Family* FindByClass(std::string_view name) {
  const Family* best = nullptr;
  for (const Family& family : Families()) {
    const std::string_view prefix = family.prefix;
    if (name.size() <= prefix.size() || !absl::StartsWithIgnoreCase(ToAbsl(name), ToAbsl(prefix))) {
      continue;
    }
    // "Gemma2ForCausalLM" is not of "Gemma".
    const bool whole = absl::ascii_isupper(static_cast<unsigned char>(name[prefix.size()]));
    if (whole && (best == nullptr || prefix.size() > std::string_view(best->prefix).size())) {
      best = &family;
    }
  }
  return best;
}

// How many fields of a configuration a family's reader finds, and whether it could read it.
using FieldsFound = std::function<std::pair<int64_t, bool>(const Family&)>;

std::pair<int64_t, bool> FindFields(const Family& family, std::string_view text,
                                    std::string_view file, bool nested) {
  const absl::StatusOr<Config> config = Config::Parse(text, file);
  if (!config.ok()) return {-1, false};
  const Config fields = nested ? config->Nested("text_config") : *config;
  Model model;
  model.family = family.model_type;
  family.read({.config = fields, .task = family.tasks.front(), .labels = 2}, &model);
  return {fields.FieldsRead(), fields.ok()};
}

// The family whose reader finds most of its fields in a configuration of a type that is not known:
// of equals one that could read it, then Llama, of which most are variants.
const Family& NearestByFields(const FieldsFound& fields) {
  std::vector<const Family*> families = {FindFamily("llama")};
  for (const Family& family : Families()) families.push_back(&family);
  const Family* best = families.front();
  std::pair<int64_t, bool> most = {-1, false};
  for (const Family* const family : families) {
    const std::pair found = fields(*family);
    if (found <= most) continue;
    most = found;
    best = family;
  }
  return *best;
}

const Family* ChooseFamily(const Config& config, const std::string& class_name,
                           const FieldsFound& fields) {
  const std::string type = config.Text("model_type", "");
  if (const Family* const family = FindFamily(type)) return family;
  const std::vector<std::string> known = KnownTypes();
  if (!type.empty()) {
    // Mistyped, or of a type that is not known.
    constexpr int kLettersOfAMistake = 5;
    const std::string spelled = NearestName(type, known);
    const bool alike = EditDistance(type, spelled) <=
                       std::max(1, static_cast<int>(type.size()) / kLettersOfAMistake);
    const Family& nearest = NearestByFields(fields);
    const bool mistyped = alike && fields(*FindFamily(spelled)).first >= fields(nearest).first;
    config.Fail(
        "model_type",
        absl::StrCat(
            "unknown architecture \"", absl::CHexEscape(type.substr(0, 60)), "\"; ",
            mistyped ? absl::StrCat("did you mean \"", spelled, "\"?")
                     : absl::StrCat("the nearest by its fields is \"", nearest.model_type, "\"."),
            " Known are ", absl::StrJoin(known, ", ")));
    return nullptr;
  }
  if (const Family* const family = FindByClass(class_name)) return family;
  std::vector<std::string> classes;
  for (const Family& family : Families()) {
    classes.push_back(absl::StrCat(family.prefix, "ForCausalLM"));
  }
  if (class_name.empty()) {
    config.Fail("model_type", absl::StrCat("the field \"model_type\" is missing; valid are ",
                                           absl::StrJoin(known, ", ")));
  } else {
    config.Fail("architectures",
                absl::StrCat("unknown architecture \"", absl::CHexEscape(class_name.substr(0, 60)),
                             "\"; did you mean \"", NearestName(class_name, classes),
                             "\"? Known are those of ", absl::StrJoin(known, ", ")));
  }
  return nullptr;
}

Task ChooseTask(const Config& config, const Family& family, const std::string& class_name) {
  if (class_name.empty()) return family.tasks.front();
  for (const TaskSuffix& row : kSuffixes) {
    if (!absl::EndsWith(class_name, row.suffix)) continue;
    if (std::find(family.tasks.begin(), family.tasks.end(), row.task) == family.tasks.end()) break;
    return row.task;
  }
  std::vector<std::string> valid;
  for (const TaskSuffix& row : kSuffixes) {
    if (std::find(family.tasks.begin(), family.tasks.end(), row.task) != family.tasks.end()) {
      valid.push_back(absl::StrCat("...", row.suffix));
    }
  }
  config.Fail("architectures", absl::StrCat("\"", absl::CHexEscape(class_name.substr(0, 60)),
                                            "\" has a head that is not described; valid are ",
                                            absl::StrJoin(valid, ", ")));
  return family.tasks.front();
}

int64_t ReadLabels(const Config& config) {
  const int64_t named = config.Members("id2label");
  return config.Count("num_labels", kMaxVocabulary, named > 0 ? named : 2);
}

}  // namespace

absl::StatusOr<Model> ReadHuggingFaceConfig(std::string_view text, std::string_view file) {
  MW_ASSIGN_OR_RETURN(const Config config, Config::Parse(text, file));
  const std::vector<std::string> classes =
      config.Texts("architectures").value_or(std::vector<std::string>());
  const std::string class_name = classes.empty() ? std::string() : classes.front();
  // A model that sees or hears has its text model inside, which may be of a family of its own.
  const bool nested = config.Has("text_config");
  const Config fields = nested ? config.Nested("text_config") : config;
  const bool inner = nested && fields.Has("model_type");
  const Family* const family =
      ChooseFamily(inner ? fields : config, class_name,
                   [&](const Family& one) { return FindFields(one, text, file, inner); });
  MW_RETURN_IF_ERROR(config.status());
  Model model;
  model.family = family->model_type;
  model.name = file;
  if (nested) {
    model.notes.emplace_back("Only the text model is described, not what encodes images or sound.");
  }
  const Task task = ChooseTask(config, *family, class_name);
  const int64_t labels = ReadLabels(config);
  if (config.ok()) family->read({.config = fields, .task = task, .labels = labels}, &model);
  MW_RETURN_IF_ERROR(config.status());
  MW_RETURN_IF_ERROR(CheckModel(model));
  return model;
}

}  // namespace meshwright::transformer
