#include "meshwright/explain/tensor_facts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/strings.h"
#include "meshwright/explain/collective_causes.h"
#include "meshwright/explain/layers_by_name.h"
#include "meshwright/explain/parallelism.h"
#include "meshwright/explain/screen.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/intra/names.h"
#include "meshwright/plan/document/spec_text.h"
#include "meshwright/plan/text/folded_names.h"

namespace meshwright {
namespace {

// Adds those of `more` to sums by kind and axes.
void AddCollectives(const std::vector<PlanCollective>& more, std::vector<PlanCollective>& sums) {
  for (const PlanCollective& one : more) {
    const auto same = std::find_if(sums.begin(), sums.end(), [&](const PlanCollective& sum) {
      return sum.kind == one.kind && sum.axes == one.axes;
    });
    if (same == sums.end()) {
      sums.push_back(one);
      sums.back().value.clear();
      continue;
    }
    same->count = AddCapped(same->count, one.count);
    same->bytes_per_device = AddCapped(same->bytes_per_device, one.bytes_per_device);
    same->seconds += one.seconds;
  }
}

// The tensors of one part. Equal ones are put together at the end.
class TensorFinder {
 public:
  explicit TensorFinder(const PlanPart& part)
      : part_(part),
        causes_(part),
        judged_(JudgeParameters(part)),
        phase_of_(FindPhasesAndLayers(part).phase),
        users_(part.instructions.size()) {
    for (size_t i = 0; i < part.instructions.size(); ++i) {
      const PlanInstruction& user = part.instructions[i];
      for (size_t k = 0; k < user.operands.size(); ++k)
        users_[static_cast<size_t>(user.operands[k])].push_back({i, k});
    }
    size_t output = 0;
    for (size_t i = 0; i < part.instructions.size(); ++i) {
      const PlanInstruction& one = part.instructions[i];
      parameter_.push_back(one.opcode == PlanOpcode::kParameter ? causes_.ParameterBehind(i)
                                                                : std::nullopt);
      output_.push_back(one.opcode == PlanOpcode::kOutput && output < part.outputs.size()
                            ? std::optional(output++)
                            : std::nullopt);
    }
  }

  // Of all arrays, under the names of all stages.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < part_.instructions.size(); ++i) {
      const bool named = parameter_[i].has_value() || output_[i].has_value();
      for (size_t m = 0; m < (named ? part_.members() : 1); ++m) names.push_back(NameIn(m, i));
    }
    return names;
  }

  std::vector<TensorFacts> Matching(std::string_view pattern, bool by_metadata) const {
    std::vector<TensorFacts> all;
    for (size_t i = 0; i < part_.instructions.size(); ++i) {
      const PlanInstruction& one = part_.instructions[i];
      if (parameter_[i].has_value() || output_[i].has_value()) {
        for (size_t m = 0; m < part_.members(); ++m) {
          const bool of_first = m == 0 && Matches(pattern, by_metadata, one);
          if (of_first || (!by_metadata && GlobMatch(pattern, NameIn(m, i))))
            all.push_back(FactsOf(i, m));
        }
      } else if (Matches(pattern, by_metadata, one)) {
        all.push_back(FactsOf(i, 0));
        all.back().stages = part_.stages;
      }
    }
    return all;
  }

 private:
  bool Matches(std::string_view pattern, bool by_metadata, const PlanInstruction& one) const {
    return by_metadata ? one.op_name.has_value() && GlobMatch(pattern, NameOf(part_, one))
                       : GlobMatch(pattern, one.name);
  }

  // What the array that instruction `i` makes is called in the `m`-th of the stages that are the
  // part. Only parameters and outputs have names of their own in each.
  const std::string& NameIn(size_t m, size_t i) const {
    return parameter_[i].has_value() ? part_.ParameterName(m, *parameter_[i])
           : output_[i].has_value()  ? part_.OutputName(m, *output_[i])
                                     : part_.instructions[i].name;
  }

  TensorFacts FactsOf(size_t i, size_t m) const {
    const PlanInstruction& one = part_.instructions[i];
    TensorFacts facts;
    facts.name = NameIn(m, i);
    if (one.op_name.has_value() && NameOf(part_, one) != NameIn(0, i))
      facts.op_name = NameOf(part_, one);
    facts.opcode = Word(one.opcode);
    facts.strategy = one.strategy;
    facts.source = SourceText(part_, one);
    facts.phase = PhaseText(phase_of_[i]);
    const int64_t layers_before = m < part_.layer_offset.size() ? part_.layer_offset[m] : 0;
    if (one.layer.has_value()) facts.layers = {*one.layer + layers_before};
    if (parameter_[i].has_value()) {
      const ParameterParallelism& judged = judged_[*parameter_[i]];
      facts.parallelism = RolesText(judged.roles, part_.mesh);
      if (judged.state_of.has_value()) facts.state_of = part_.ParameterName(m, *judged.state_of);
    }
    facts.type = one.type;
    facts.spec = one.spec;
    facts.computed = ComputedSpec(one);
    facts.reduced_axes = one.reduced_axes;
    facts.moved_when_made = facts.computed != facts.spec;
    facts.bytes_per_device = BytesPerDevice(part_, one.type, one.spec);
    double devices = 1;
    for (const PlanAxis& axis : part_.mesh) devices *= static_cast<double>(axis.size);
    facts.replicas = devices / DevicesOf(part_, AxesOfSpec(one.spec));
    facts.count = 1;
    if (part_.is_stage()) facts.stages = {part_.stages[m]};
    for (const PlanCollective& collective : one.collective) {
      if (collective.value == one.name) AddCollectives({collective}, facts.collectives);
    }
    for (const auto& [user, operand] : users_[i])
      facts.readers.push_back(ReaderOf(i, user, operand, m));
    AddReadersOfViews(i, m, facts.readers);
    return facts;
  }

  // A conversion is read by what moves the tensor, more often than not.
  void AddReadersOfViews(size_t i, size_t m, std::vector<TensorReader>& readers) const {
    constexpr size_t kMostViews = 64;
    std::vector<size_t> views = {i};
    for (size_t at = 0; at < views.size() && views.size() < kMostViews; ++at) {
      for (const auto& [user, operand] : users_[views[at]]) {
        if (operand == 0 && ShowsItsOperand(part_.instructions[user])) views.push_back(user);
        if (at == 0) continue;
        TensorReader reader = ReaderOf(views[at], user, operand, m);
        reader.through = part_.instructions[views[at]].name;
        const PlanInstruction& view = part_.instructions[views[at]];
        for (const PlanCollective& collective : view.collective) {
          if (collective.value == view.name) AddCollectives({collective}, reader.collectives);
        }
        if (reader.moves || !reader.collectives.empty()) readers.push_back(std::move(reader));
      }
    }
  }

  TensorReader ReaderOf(size_t i, size_t user, size_t operand, size_t m) const {
    const PlanInstruction& reads = part_.instructions[user];
    TensorReader reader;
    reader.name = NameIn(m, user);
    reader.opcode = Word(reads.opcode);
    reader.source = SourceText(part_, reads);
    reader.phase = PhaseText(phase_of_[user]);
    if (const PlanSpec* const needed = NeededSpec(part_, reads, operand)) reader.needed = *needed;
    reader.moves = reader.needed != part_.instructions[i].spec;
    reader.count = 1;
    for (const PlanCollective& collective : reads.collective) {
      if (collective.value == part_.instructions[i].name)
        AddCollectives({collective}, reader.collectives);
    }
    return reader;
  }

  const PlanPart& part_;
  const CauseFinder causes_;
  const std::vector<ParameterParallelism> judged_;
  const std::vector<int32_t> phase_of_;                        // by instruction
  std::vector<std::vector<std::pair<size_t, size_t>>> users_;  // by instruction: user and operand
  // By instruction: which parameter or output of the part it is, if any.
  std::vector<std::optional<size_t>> parameter_, output_;
};

std::string ReaderKey(const TensorReader& reader) {
  return StrCat(FoldedName::Key(reader.name), "|", reader.opcode, "|", reader.source, "|",
                reader.phase, "|", SpecText(reader.needed), "|", FoldedName::Key(reader.through));
}

// Readers of one tensor that differ in their numbers only.
void FoldReaders(std::vector<TensorReader>& readers) {
  std::vector<TensorReader> folded;
  std::vector<FoldedName> names, through;
  absl::flat_hash_map<std::string, size_t> index;
  for (TensorReader& reader : readers) {
    const auto [it, inserted] = index.try_emplace(ReaderKey(reader), folded.size());
    if (inserted) {
      names.emplace_back().Add(reader.name);
      through.emplace_back().Add(reader.through);
      folded.push_back(std::move(reader));
      continue;
    }
    TensorReader& same = folded[it->second];
    names[it->second].Add(reader.name);
    through[it->second].Add(reader.through);
    same.count += reader.count;
    AddCollectives(reader.collectives, same.collectives);
  }
  for (size_t i = 0; i < folded.size(); ++i) {
    folded[i].name = names[i].text();
    folded[i].exact = names[i].exact();
    folded[i].through = through[i].text();
  }
  readers = std::move(folded);
}

std::string TensorKey(const TensorFacts& facts) {
  return StrCat(FoldedName::Key(facts.name), "|", FoldedName::Key(facts.op_name), "|",
                FoldedName::Key(facts.state_of), "|", facts.opcode, "|", facts.strategy, "|",
                facts.source, "|", facts.phase, "|", TypeText(facts.type), "|",
                SpecText(facts.spec), "|", SpecText(facts.computed), "|", facts.parallelism, "|",
                facts.bytes_per_device, "|", facts.replicas, "|",
                absl::StrJoin(facts.readers, ";", [](std::string* out, const TensorReader& reader) {
                  absl::StrAppend(out, ReaderKey(reader));
                }));
}

std::vector<TensorFacts> FoldTensors(std::vector<TensorFacts> all) {
  std::vector<TensorFacts> folded;
  std::vector<FoldedName> names, op_names, weights;
  absl::flat_hash_map<std::string, size_t> index;
  for (TensorFacts& facts : all) {
    FoldReaders(facts.readers);
    const auto [it, inserted] = index.try_emplace(TensorKey(facts), folded.size());
    if (inserted) {
      names.emplace_back().Add(facts.name);
      op_names.emplace_back().Add(facts.op_name);
      weights.emplace_back().Add(facts.state_of);
      folded.push_back(std::move(facts));
      continue;
    }
    TensorFacts& same = folded[it->second];
    names[it->second].Add(facts.name);
    op_names[it->second].Add(facts.op_name);
    weights[it->second].Add(facts.state_of);
    ++same.count;
    AddCollectives(facts.collectives, same.collectives);
    same.stages.insert(same.stages.end(), facts.stages.begin(), facts.stages.end());
    same.layers.insert(same.layers.end(), facts.layers.begin(), facts.layers.end());
    same.readers.insert(same.readers.end(), std::make_move_iterator(facts.readers.begin()),
                        std::make_move_iterator(facts.readers.end()));
  }
  for (size_t i = 0; i < folded.size(); ++i) {
    folded[i].name = names[i].text();
    folded[i].exact = names[i].exact();
    folded[i].op_name = op_names[i].text();
    folded[i].state_of = weights[i].text();
    const std::set<size_t> stages(folded[i].stages.begin(), folded[i].stages.end());
    folded[i].stages.assign(stages.begin(), stages.end());
    std::set<int64_t> layers(folded[i].layers.begin(), folded[i].layers.end());
    folded[i].layers.assign(layers.begin(), layers.end());
    FoldReaders(folded[i].readers);
  }
  return folded;
}

}  // namespace

absl::StatusOr<std::vector<TensorFacts>> FindTensors(const Plan& plan, std::string_view pattern) {
  std::vector<std::string> names;
  const std::vector<PlanPart> parts = PartsOf(plan);
  for (const bool by_metadata : {false, true}) {
    std::vector<TensorFacts> found;
    for (const PlanPart& part : parts) {
      const TensorFinder finder(part);
      std::vector<TensorFacts> more = finder.Matching(pattern, by_metadata);
      found.insert(found.end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
      if (by_metadata) continue;
      std::vector<std::string> all = finder.Names();
      names.insert(names.end(), std::make_move_iterator(all.begin()),
                   std::make_move_iterator(all.end()));
    }
    if (!found.empty()) return FoldTensors(std::move(found));
  }
  if (names.empty()) {
    return absl::InvalidArgumentError(
        "the plan has no tensors: it was made from a model, which has degrees but no program");
  }
  constexpr size_t kShown = 3;
  const std::vector<std::string> like = NamesLike(pattern, names, kShown);
  return absl::InvalidArgumentError(
      StrCat("\"", pattern, "\" matches no parameter, output or instruction of the plan",
             like.empty() ? "" : StrCat("; nearest: ", absl::StrJoin(like, ", "))));
}

int64_t BytesPerDevice(const PlanPart& part, const PlanType& type, const PlanSpec& spec) {
  Shape shape;
  shape.type = ElementTypeFromName(type.dtype);
  shape.dims = type.shape;
  for (size_t d = 0; d < std::min(shape.dims.size(), spec.size()); ++d) {
    const double devices = DevicesOf(part, spec[d]);
    if (devices <= 1) continue;
    const double whole = static_cast<double>(shape.dims[d]);
    shape.dims[d] = devices >= whole ? std::min<int64_t>(shape.dims[d], 1)
                                     : (shape.dims[d] - 1) / static_cast<int64_t>(devices) + 1;
  }
  return shape.bytes();
}

}  // namespace meshwright
