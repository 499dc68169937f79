#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/status.h"
#include "meshwright/explain/explain.h"
#include "meshwright/explain/json.h"
#include "meshwright/explain/screen.h"
#include "meshwright/explain/tensor_facts.h"
#include "meshwright/plan/document/spec_text.h"
#include "meshwright/plan/text/folded_names.h"
#include "meshwright/plan/text/plan_table.h"

namespace meshwright {
namespace {

constexpr size_t kMostTensors = 12, kMostReaders = 6;

std::string CollectivesText(const Plan& plan, const std::vector<PlanCollective>& collectives) {
  return absl::StrJoin(collectives, ", ", [&](std::string* out, const PlanCollective& one) {
    StrAppend(out, one.kind, " over ", absl::StrJoin(one.axes, ","), " ",
              Counted(one.count, "time"), ", ", BytesText(one.bytes_per_device), ", ",
              CostText(plan, one.seconds));
  });
}

std::string LayersText(const std::vector<int64_t>& layers) {
  if (layers.empty()) return "";
  if (layers.size() == 1) return absl::StrCat("layer ", layers[0]);
  return absl::StrCat("layers ", NumbersText(layers));
}

std::string Commas(std::vector<std::string> parts) {
  std::erase(parts, "");
  return absl::StrJoin(parts, ", ");
}

std::string ReaderText(const Plan& plan, const TensorReader& reader) {
  const std::string times = TimesText(reader.count, reader.exact);
  std::string text =
      StrCat("    ", Fit(reader.name, 50), times.empty() ? "" : StrCat(" ", times), ": ",
             Commas({reader.opcode, reader.phase, Fit(reader.source, 40),
                     reader.through.empty() ? "" : StrCat("through ", Fit(reader.through, 40))}));
  if (!reader.moves && reader.collectives.empty()) return WrapWords(StrCat(text, "; as it is"), 6);
  StrAppend(&text, "; needs it as ", SpecText(reader.needed));
  if (reader.collectives.empty()) {
    StrAppend(&text, ", which takes no communication here");
  } else {
    StrAppend(&text, ": ", CollectivesText(plan, reader.collectives));
  }
  return WrapWords(text, 6);
}

std::string TensorText(const Plan& plan, const TensorFacts& facts) {
  const std::string times = TimesText(facts.count, facts.exact);
  std::string text =
      WrapWords(StrCat(Fit(facts.name, 70), times.empty() ? "" : StrCat(" ", times)), 2);
  std::string stages;
  if (!facts.stages.empty()) {
    stages = StrCat(facts.stages.size() == 1 ? "stage " : "stages ",
                    NumbersText({facts.stages.begin(), facts.stages.end()}));
  }
  StrAppend(&text, WrapWords(StrCat("  ", TypeText(facts.type), " kept as ", SpecText(facts.spec),
                                    ", ", BytesText(facts.bytes_per_device), " a device, ",
                                    absl::StrFormat("%.0f", facts.replicas),
                                    facts.replicas == 1 ? " replica" : " replicas",
                                    stages.empty() ? "" : StrCat(", in ", stages)),
                             4));
  if (!facts.parallelism.empty())
    StrAppend(&text, WrapWords(StrCat("  parallelism: ", facts.parallelism,
                                      facts.state_of.empty() ? ""
                                                             : StrCat(", optimizer state of ",
                                                                      Fit(facts.state_of, 50))),
                               4));
  std::string made =
      StrCat("  made by ", Commas({facts.opcode, facts.strategy, facts.phase,
                                   LayersText(facts.layers), Fit(facts.source, 40)}));
  if (!facts.op_name.empty()) StrAppend(&made, ", ", Fit(facts.op_name, 60));
  StrAppend(&text, WrapWords(made, 4));
  if (facts.moved_when_made)
    StrAppend(&text,
              WrapWords(StrCat("  computed as ", SpecText(facts.computed), " and moved"), 4));
  if (!facts.reduced_axes.empty()) {
    StrAppend(&text, WrapWords(StrCat("  a device has a part of the sum over ",
                                      absl::StrJoin(facts.reduced_axes, ","), " at first"),
                               4));
  }
  if (!facts.collectives.empty()) {
    StrAppend(&text, WrapWords(StrCat("  moved once for all who read it: ",
                                      CollectivesText(plan, facts.collectives)),
                               4));
  }
  if (facts.readers.empty()) return text;
  StrAppend(&text, "  read by\n");
  for (size_t i = 0; i < std::min(facts.readers.size(), kMostReaders); ++i)
    StrAppend(&text, ReaderText(plan, facts.readers[i]));
  if (facts.readers.size() > kMostReaders)
    StrAppend(&text, "    ... and ", facts.readers.size() - kMostReaders, " more\n");
  return text;
}

Json ToExplainJson(const TensorReader& reader) {
  return {{"name", reader.name},     {"exact", reader.exact},
          {"count", reader.count},   {"opcode", reader.opcode},
          {"source", reader.source}, {"phase", reader.phase},
          {"needs", reader.needed},  {"through", reader.through},
          {"moves", reader.moves},   {"collectives", CollectivesJson(reader.collectives)}};
}

Json ToExplainJson(const TensorFacts& facts) {
  Json readers = Json::array();
  for (const TensorReader& reader : facts.readers) readers.push_back(ToExplainJson(reader));
  return {{"name", facts.name},
          {"exact", facts.exact},
          {"count", facts.count},
          {"op_name", facts.op_name},
          {"dtype", facts.type.dtype},
          {"shape", facts.type.shape},
          {"spec", facts.spec},
          {"computed_spec", facts.computed},
          {"reduced_axes", facts.reduced_axes},
          {"bytes_per_device", facts.bytes_per_device},
          {"replicas", facts.replicas},
          {"parallelism", facts.parallelism},
          {"state_of", facts.state_of},
          {"opcode", facts.opcode},
          {"strategy", facts.strategy},
          {"phase", facts.phase},
          {"source", facts.source},
          {"layers", facts.layers},
          {"stages", facts.stages},
          {"collectives", CollectivesJson(facts.collectives)},
          {"readers", std::move(readers)}};
}

}  // namespace

absl::StatusOr<std::string> ExplainTensors(const Plan& plan, std::string_view pattern) {
  MW_ASSIGN_OR_RETURN(const std::vector<TensorFacts> tensors, FindTensors(plan, pattern));
  std::string text;
  for (size_t i = 0; i < std::min(tensors.size(), kMostTensors); ++i)
    StrAppend(&text, TensorText(plan, tensors[i]));
  if (tensors.size() > kMostTensors)
    StrAppend(&text, "... and ", tensors.size() - kMostTensors, " more; --json has all\n");
  return text;
}

absl::StatusOr<std::string> ExplainTensorsJson(const Plan& plan, std::string_view pattern) {
  MW_ASSIGN_OR_RETURN(const std::vector<TensorFacts> tensors, FindTensors(plan, pattern));
  Json list = Json::array();
  for (const TensorFacts& facts : tensors) list.push_back(ToExplainJson(facts));
  return JsonText({{"tensors", std::move(list)}});
}

}  // namespace meshwright
