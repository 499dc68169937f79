#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/published/nersc/check.h"
#include "meshwright/published/nersc/json.h"
#include "meshwright/published/nersc/module.h"
#include "meshwright/published/nersc/records.h"

// A variant is a module and its options as text: "sa_2d_seqp flash=False m1=4 m2=2". Words in
// parentheses are remarks. What the text leaves out is the published default (flash attention) or
// taken from the table: the degree of "1d" and the micro-batch from the first operator's weights
// and activations, and how the groups lie in NVLink domains from what fits the times best.

namespace meshwright::transformer::nersc {
namespace {

struct Variant {
  Module module = Module::kMlp1d;
  std::optional<bool> flash, recompute;
  std::optional<int64_t> m, m1, m2, t, t1, t2, b, nb;
};

std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words;
  int depth = 0;
  bool open = false;  // the last of `words` goes on
  for (const char c : text) {
    if (c == '(') ++depth;
    if (depth == 0 && c != ' ') {
      if (!open) words.emplace_back();
      words.back() += c;
    }
    open = depth == 0 && c != ' ';
    if (c == ')' && depth > 0) --depth;
  }
  return words;
}

bool SetFlag(const std::string& value, std::optional<bool>* flag) {
  if (value != "True" && value != "False") return false;
  *flag = value == "True";
  return true;
}

bool SetSize(const std::string& value, std::optional<int64_t>* size) {
  int64_t number = 0;
  for (const char c : value) {
    if (c < '0' || c > '9' || number > kMostSize) return false;
    number = number * 10 + (c - '0');
  }
  *size = number;
  return !value.empty() && number >= 1 && number <= kMostSize;
}

Variant ReadVariant(const JsonValue& json) {
  Variant variant;
  const struct {
    const char* key;
    std::optional<bool>* flag;
    std::optional<int64_t>* size;
  } options[] = {
      {"flash", &variant.flash, nullptr}, {"recompute", &variant.recompute, nullptr},
      {"m", nullptr, &variant.m},         {"m1", nullptr, &variant.m1},
      {"m2", nullptr, &variant.m2},       {"t", nullptr, &variant.t},
      {"t1", nullptr, &variant.t1},       {"t2", nullptr, &variant.t2},
      {"b", nullptr, &variant.b},         {"nb", nullptr, &variant.nb},
  };
  const std::vector<std::string> words = WordsOf(json.Text());
  const absl::StatusOr<Module> module = ParseModule(words.empty() ? "" : words.front());
  if (!module.ok()) json.Fail(std::string(module.status().message()));
  if (!json.ok()) return variant;
  variant.module = *module;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    bool valid = false;
    for (const auto& option : options) {
      if (key != option.key) continue;
      valid = option.flag != nullptr ? SetFlag(value, option.flag) : SetSize(value, option.size);
    }
    if (!valid) {
      json.Fail(StrCat("found \"", words[i],
                       "\", expected flash or recompute=True or False, or m, m1, m2, t, t1, t2, b "
                       "or nb=a number from 1"));
    }
  }
  return variant;
}

// The integer that `ratio` is nearly, nullopt if it is none from 1 to kMostSize.
std::optional<int64_t> NearInteger(double ratio) {
  if (!(ratio > 0.5 && ratio <= static_cast<double>(kMostSize))) return std::nullopt;
  return std::llround(ratio);
}

class VariantReproduction {
 public:
  VariantReproduction(const Model& model, const System& system, const JsonValue& json)
      : model_(model), system_(system), json_(json), variant_(ReadVariant(json.At("variant"))) {}

  void Run(Comparison* comparison) {
    ReadOptions();
    if (!json_.ok()) return;
    const std::vector<Operator> module = MakeModule(model_, system_, variant_.module, options_);
    std::optional<Comparison> best;
    for (const Groups& groups : Placements()) {
      Comparison tried = *comparison;
      CompareRows(json_.At("rows"), MakeRows(system_, module, groups), &tried);
      if (!json_.ok()) return;
      if (!best.has_value() || tried.differ() < best->differ()) best = tried;
      if (best->differ() == comparison->differ()) break;
    }
    if (best.has_value()) *comparison = *best;
  }

 private:
  void ReadOptions() {
    options_.flash = variant_.flash.value_or(true);
    options_.recomputed = variant_.recompute.value_or(false);
    options_.panels = variant_.nb.value_or(system_.summa_panels);
    const std::vector<JsonValue> rows = json_.At("rows").Elements();
    if (!json_.ok()) return;
    if (rows.empty()) json_.At("rows").Fail("holds no operator");
    if (!json_.ok()) return;
    const bool one_dimension = Is1d(variant_.module);
    const JsonValue text = json_.At("variant");
    if (!one_dimension && (!variant_.m1.has_value() || !variant_.m2.has_value())) {
      text.Fail("expected degrees: m1=..., m2=...");
    }
    if (one_dimension && !variant_.m.has_value()) {
      // The first operator's weights are split by the degree and by nothing else.
      const double whole =
          MakeModule(model_, system_, variant_.module, options_).front().weights_gb;
      variant_.m = NearInteger(whole / rows.front().At("weights_mem").Number());
      if (!variant_.m.has_value()) {
        text.Fail("expected a degree, m=...: the table's weights have none");
      }
    }
    if (!json_.ok()) return;
    options_.tp1 = one_dimension ? *variant_.m : *variant_.m1;
    options_.tp2 = one_dimension ? 1 : *variant_.m2;
    const absl::Status statuses[] = {
        CheckInteger(one_dimension ? "m" : "m1", options_.tp1, 1, model_.heads),
        CheckInteger("m2", options_.tp2, 1, std::min(model_.sequence, model_.embedding)),
        CheckInteger("nb", options_.panels, 1, model_.embedding)};
    for (const absl::Status& status : statuses) {
      if (!status.ok()) text.Fail(std::string(status.message()));
    }
    if (!json_.ok()) return;
    if (!variant_.b.has_value()) {
      const double one =
          MakeModule(model_, system_, variant_.module, options_).front().activation_gb;
      variant_.b = NearInteger(rows.front().At("activation_buffer").Number() / one);
      if (!variant_.b.has_value()) {
        text.Fail("expected a micro-batch, b=...: the table's activations have none");
      }
    }
    if (json_.ok()) options_.batch = *variant_.b;
  }

  // Those that the text allows, the most in one domain first.
  std::vector<Groups> Placements() const {
    const bool one_dimension = Is1d(variant_.module);
    const std::optional<int64_t> t1 = one_dimension ? variant_.t : variant_.t1;
    std::vector<Groups> placements;
    const int64_t most = std::min(options_.tp1, system_.nvlink_size);
    for (int64_t n1 = t1.value_or(most); n1 >= t1.value_or(1); --n1) {
      if (n1 > most || options_.tp1 % n1 != 0) continue;
      const int64_t rest = std::min(options_.tp2, system_.nvlink_size / n1);
      for (int64_t n2 = variant_.t2.value_or(rest); n2 >= variant_.t2.value_or(1); --n2) {
        if (n2 <= rest && options_.tp2 % n2 == 0) {
          placements.push_back({{options_.tp1, n1}, {options_.tp2, n2}});
        }
      }
    }
    if (placements.empty()) {
      json_.At("variant").Fail(
          "its parts of the NVLink domain do not divide its degrees, or do not "
          "fit in together");
    }
    return placements;
  }

  const Model& model_;
  const System& system_;
  const JsonValue& json_;
  Variant variant_;
  ModuleOptions options_;
};

}  // namespace

int64_t ReproduceVariants(const JsonValue& record, const std::string& where,
                          Comparison* comparison) {
  const Model model = ReadModel(record.At("model"));
  const System system = ReadSystem(record.At("system"));
  int64_t variants = 0;
  for (const JsonValue& json : record.At("variants").Elements()) {
    if (!record.ok()) return variants;
    comparison->Enter(StrCat(where, " variant ", variants++));
    VariantReproduction(model, system, json).Run(comparison);
  }
  return variants;
}

}  // namespace meshwright::transformer::nersc
