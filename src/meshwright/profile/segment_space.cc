#include "meshwright/profile/segment_space.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/blocks/blocks.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/inter/stages/kind_slices.h"
#include "meshwright/inter/stages/layer_costs.h"
#include "meshwright/intra/candidates.h"
#include "meshwright/profile/choice_search.h"
#include "meshwright/profile/network_segments.h"
#include "meshwright/profile/slice_fingerprint.h"
#include "meshwright/profile/slice_matching.h"

namespace meshwright {
namespace {

// Which border of a segment a value of its slice crosses.
bool EntersSegment(SliceRole role, bool input) {
  return role == (input ? SliceRole::kActivation : SliceRole::kGradient);
}
bool LeavesSegment(SliceRole role, bool input) {
  return role == (input ? SliceRole::kGradient : SliceRole::kActivation);
}

// The widest value at a border, what can be done with it, and what that means for all that cross.
struct Border {
  ValueId value;  // of the whole program
  Shape shape;
  int32_t batch_dimension = -1;
  std::vector<Sharding> layouts;
};

Border FindBorder(const ProgramSlice& slice, const Mesh& mesh,
                  bool (*crosses)(SliceRole role, bool input)) {
  Border border;
  const auto consider = [&](const SliceValue& value, const Shape& shape, bool input) {
    if (!crosses(value.role, input) || value.dimension < 0) return;
    if (border.batch_dimension >= 0 && shape.bytes() <= border.shape.bytes()) return;
    border.value = value.value;
    border.shape = shape;
    border.batch_dimension = value.dimension;
  };
  for (size_t i = 0; i < slice.inputs.size(); ++i)
    consider(slice.inputs[i], slice.graph[InputOf(slice, i)].shape, true);
  for (size_t i = 0; i < slice.outputs.size(); ++i)
    consider(slice.outputs[i], slice.graph[OutputOf(slice, i)].shape, false);
  if (border.batch_dimension < 0) return border;
  const Rule rule = ValueRule(border.shape);
  for (const Strategy& strategy : EnumerateStrategies(rule, mesh)) {
    if (std::optional<Sharding> sharding = ResultSharding(rule, strategy, 0, mesh))
      border.layouts.push_back(*std::move(sharding));
  }
  return border;
}

BorderLayout LayoutOf(const Border& border, const Sharding& sharding) {
  return {sharding.dims[border.batch_dimension], border.shape.dims, border.batch_dimension,
          sharding};
}

// Whether operators and values of both have the same numbers. Outputs stand for the root, which
// without calls is another instruction where it was a call.
bool SameOperators(const Graph& a, const Graph& b) {
  if (a.ops.size() != b.ops.size() || a.values.size() != b.values.size()) return false;
  for (size_t i = 0; i < a.ops.size(); ++i) {
    const Op &x = a.ops[i], &y = b.ops[i];
    if (x.kind != y.kind || x.operands != y.operands || x.results != y.results) return false;
    if (x.kind != OpKind::kOutput && x.instruction != nullptr && y.instruction != nullptr &&
        x.instruction->opcode != y.instruction->opcode)
      return false;
  }
  return true;
}

}  // namespace

struct SegmentSpace::State {
  // Borders and decisions of a segment, and their search.
  struct Work {
    Border entry, exit;
    std::unique_ptr<ChoiceSearch> search;
  };

  State(std::unique_ptr<const Module> inlined, Graph g, const Mesh& m, const CostModel& c, int t)
      : module(std::move(inlined)),
        graph(std::move(g)),
        mesh(m),
        cost_model(c),
        memories(static_cast<size_t>(std::max(t, 1))),
        finder(graph, m) {}

  absl::Status Make();
  absl::Status MakeSegment(const std::vector<int32_t>& occurrences);
  absl::Status MakeSearch(const Segment& segment, Work* work);
  ChoiceOption BorderOption(const ProgramSlice& slice, const Border& border,
                            const Sharding& sharding,
                            bool (*crosses)(SliceRole role, bool input)) const;
  std::vector<ChoiceOption> BlockOptions(const Segment& segment, int32_t block) const;
  std::vector<int32_t> OptionsOf(int32_t segment, const SegmentChoice& choice) const;
  absl::StatusOr<SegmentChoice> ChoiceOf(int32_t position, const IntraPlan& whole) const;
  std::string Key(int32_t segment, const SegmentChoice& choice) const;
  PredictedChoice Describe(int32_t segment, const SegmentChoice& choice,
                           const IntraPlan& plan) const;
  void Give(const Segment& segment, const IntraPlan& plan, const ProgramSlice& slice,
            PlannerOptions* options) const;

  // The program without calls, which slices are made from, with the same operators and values.
  const std::unique_ptr<const Module> module;
  const Graph graph;
  const Mesh& mesh;
  const CostModel& cost_model;
  std::vector<solve::SolverMemory> memories;  // one a thread
  BlockFinder finder;
  BlockAnalysis analysis;
  std::vector<std::vector<std::string>> strategy_texts;  // by block, each once
  std::unique_ptr<NetworkSegments> network;
  std::vector<Segment> segments;
  std::vector<Work> work;
  std::vector<int32_t> same_as;
};

absl::Status SegmentSpace::State::Make() {
  analysis = finder.Find();
  if (analysis.blocks.empty()) {
    return absl::InvalidArgumentError(
        "the program has no matmuls or convolutions: there is nothing to choose");
  }
  for (const ParallelBlock& block : analysis.blocks) {
    std::vector<std::string>& texts = strategy_texts.emplace_back();
    std::map<std::string, int> times;
    for (size_t s = 0; s < block.strategies.size(); ++s) {
      std::string text = finder.StrategyText(block, s);
      const int before = times[text]++;
      texts.push_back(before == 0 ? text : absl::StrCat(text, " #", before + 1));
    }
  }
  MW_ASSIGN_OR_RETURN(network, CutNetwork(graph, analysis, strategy_texts));
  for (const std::vector<int32_t>& occurrences : network->occurrences)
    MW_RETURN_IF_ERROR(MakeSegment(occurrences));
  for (int32_t l = 0; l < network->layers.count; ++l) same_as.push_back(l);
  for (const LayerLoop& loop : network->layers.loops) {
    for (int32_t l = loop.first; l < loop.first + loop.count; ++l) same_as[l] = loop.first;
  }
  return absl::OkStatus();
}

absl::Status SegmentSpace::State::MakeSegment(const std::vector<int32_t>& occurrences) {
  Segment segment;
  segment.occurrences = occurrences;
  const int32_t first = occurrences[0];
  segment.blocks = network->blocks[first];
  MW_ASSIGN_OR_RETURN(segment.slice, SliceToPlan(*network->slicer, first, first + 1, 1));
  segment.fingerprint = SliceFingerprint(segment.slice);
  // What has no results has no program: there is nothing to choose.
  if (!segment.has_program()) segment.blocks.clear();
  for (int32_t b : segment.blocks) segment.strategy_texts.push_back(strategy_texts[b]);
  Work& here = work.emplace_back();
  here.entry = FindBorder(segment.slice, mesh, &EntersSegment);
  here.exit = FindBorder(segment.slice, mesh, &LeavesSegment);
  const auto name = [&](const Border& border, std::vector<std::string>* texts, std::string* shape) {
    for (const Sharding& layout : border.layouts) texts->push_back(layout.ToString(mesh));
    if (border.layouts.empty()) texts->emplace_back();
    if (border.batch_dimension >= 0) *shape = border.shape.ToString(/*with_layout=*/false);
  };
  name(here.entry, &segment.entries, &segment.entry_shape);
  name(here.exit, &segment.exits, &segment.exit_shape);
  segments.push_back(std::move(segment));
  return absl::OkStatus();
}

ChoiceOption SegmentSpace::State::BorderOption(const ProgramSlice& slice, const Border& border,
                                               const Sharding& sharding,
                                               bool (*crosses)(SliceRole role, bool input)) const {
  PlannerOptions given;
  GiveBorders(slice, LayoutOf(border, sharding), mesh, &given);
  ChoiceOption option;
  for (auto& parameter : given.given_parameters) {
    if (crosses(slice.inputs[parameter.first].role, true))
      option.parameters.push_back(std::move(parameter));
  }
  for (auto& output : given.given_outputs) {
    if (crosses(slice.outputs[output.first].role, false))
      option.outputs.push_back(std::move(output));
  }
  return option;
}

std::vector<ChoiceOption> SegmentSpace::State::BlockOptions(const Segment& segment,
                                                            int32_t block) const {
  const ParallelBlock& from = analysis.blocks[block];
  absl::flat_hash_map<OpId, OpId> here;  // ops of the slice by where they are from
  for (size_t i = 0; i < segment.slice.origin.size(); ++i) {
    if (segment.slice.origin[i].valid()) here.try_emplace(segment.slice.origin[i], OpId(i));
  }
  std::vector<ChoiceOption> options;
  for (const auto& strategy : from.strategies) {
    ChoiceOption& option = options.emplace_back();
    for (OpId op : from.contractions) {
      const auto found = here.find(op);
      if (found == here.end()) continue;
      option.strategies.emplace_back(found->second, finder.FactorsOf(from, strategy, op));
    }
  }
  return options;
}

absl::Status SegmentSpace::State::MakeSearch(const Segment& segment, Work* here) {
  std::vector<std::vector<ChoiceOption>> decisions(1);
  for (const Sharding& layout : here->entry.layouts)
    decisions[0].push_back(BorderOption(segment.slice, here->entry, layout, &EntersSegment));
  for (int32_t b : segment.blocks) decisions.push_back(BlockOptions(segment, b));
  decisions.emplace_back();
  for (const Sharding& layout : here->exit.layouts)
    decisions.back().push_back(BorderOption(segment.slice, here->exit, layout, &LeavesSegment));
  for (std::vector<ChoiceOption>& options : decisions) {
    if (options.empty()) options.emplace_back();
  }
  MW_ASSIGN_OR_RETURN(here->search, ChoiceSearch::Make(segment.slice.graph, cost_model,
                                                       std::move(decisions), memories));
  return absl::OkStatus();
}

std::vector<int32_t> SegmentSpace::State::OptionsOf(int32_t segment,
                                                    const SegmentChoice& choice) const {
  const Segment& s = segments[segment];
  const auto index = [](const std::vector<std::string>& texts, const std::string& text) {
    return static_cast<int32_t>(std::find(texts.begin(), texts.end(), text) - texts.begin());
  };
  std::vector<int32_t> options = {index(s.entries, choice.entry)};
  options.insert(options.end(), choice.strategies.begin(), choice.strategies.end());
  options.push_back(index(s.exits, choice.exit));
  return options;
}

absl::StatusOr<SegmentChoice> SegmentSpace::State::ChoiceOf(int32_t position,
                                                            const IntraPlan& whole) const {
  const Segment& segment = segments[network->sequence[position]];
  SegmentChoice choice;
  if (!segment.has_program()) return choice;
  MW_ASSIGN_OR_RETURN(const ProgramSlice slice,
                      SliceToPlan(*network->slicer, position, position + 1, 1));
  const auto layout = [&](bool (*crosses)(SliceRole role, bool input),
                          const std::vector<std::string>& layouts) -> absl::StatusOr<std::string> {
    const Border border = FindBorder(slice, mesh, crosses);
    std::string text =
        border.layouts.empty() ? "" : whole.shardings[border.value.index()].ToString(mesh);
    if (std::find(layouts.begin(), layouts.end(), text) != layouts.end()) return text;
    return absl::NotFoundError(absl::StrCat("no choice has ", text, " at a border"));
  };
  MW_ASSIGN_OR_RETURN(choice.entry, layout(&EntersSegment, segment.entries));
  MW_ASSIGN_OR_RETURN(choice.exit, layout(&LeavesSegment, segment.exits));
  for (const int32_t b : network->blocks[position]) {
    const ParallelBlock& block = analysis.blocks[b];
    const auto made =
        std::find_if(block.strategies.begin(), block.strategies.end(), [&](const auto& strategy) {
          return std::all_of(block.contractions.begin(), block.contractions.end(), [&](OpId op) {
            return finder.FactorsOf(block, strategy, op) == whole.ops[op.index()].strategy;
          });
        });
    if (made == block.strategies.end())
      return absl::NotFoundError("a block's contractions are cut as no choice has them");
    choice.strategies.push_back(static_cast<int32_t>(made - block.strategies.begin()));
  }
  return choice;
}

std::string SegmentSpace::State::Key(int32_t segment, const SegmentChoice& choice) const {
  std::vector<std::string> texts;
  texts.reserve(choice.strategies.size());
  for (size_t b = 0; b < choice.strategies.size(); ++b)
    texts.push_back(segments[segment].strategy_texts[b][choice.strategies[b]]);
  return SegmentChoice::Key(choice.entry, texts, choice.exit);
}

PredictedChoice SegmentSpace::State::Describe(int32_t segment, const SegmentChoice& choice,
                                              const IntraPlan& plan) const {
  const Segment& s = segments[segment];
  PredictedChoice predicted;
  predicted.choice = choice;
  predicted.key = Key(segment, choice);
  // What a step takes besides its parts is not a segment's.
  const std::optional<Overlap> overlap = cost_model.overlap();
  predicted.seconds = std::max(
      0.0, plan.step_seconds - (overlap.has_value() ? overlap->LaunchSeconds(
                                                          s.slice.graph, cost_model.mesh().cluster)
                                                    : 0));
  predicted.objective = plan.objective;
  const SliceCost cost = CostOfSlice(s.slice, plan, 1);
  predicted.forward = cost.forward;
  predicted.backward = cost.backward;
  const auto cuts_batch = [&](const Border& border, const std::string& layout) {
    const auto rank = static_cast<int64_t>(border.shape.dims.size());
    if (layout.empty()) return false;
    const absl::StatusOr<Sharding> sharding = ParseSharding(layout, mesh, rank);
    return sharding.ok() && !sharding->dims[border.batch_dimension].empty();
  };
  predicted.cuts_batch =
      cuts_batch(work[segment].entry, choice.entry) || cuts_batch(work[segment].exit, choice.exit);
  predicted.state_bytes = cost.state_bytes;
  predicted.kept_bytes = cost.in_flight_bytes;
  predicted.working_bytes = cost.working_bytes;
  return predicted;
}

// What `plan`, of `segment`, decided, for the whole program's own operators and values that
// `slice`, another occurrence of it, is made of.
void SegmentSpace::State::Give(const Segment& segment, const IntraPlan& plan,
                               const ProgramSlice& slice, PlannerOptions* options) const {
  const Graph& planned = segment.slice.graph;
  const std::vector<OpId> match = MatchOps(segment.slice, slice);
  // How a value is kept that other segments use, too, is not for this one to say: it may well be
  // moved once for all of them, which the segment by itself has no reason to do.
  const auto crosses = [&](ValueId value) {
    return std::any_of(slice.outputs.begin(), slice.outputs.end(), [&](const SliceValue& output) {
      return output.value == value &&
             (output.role == SliceRole::kActivation || output.role == SliceRole::kGradient);
    });
  };
  for (size_t i = 0; i < slice.graph.ops.size(); ++i) {
    const OpId origin = slice.origin[i];
    if (!origin.valid() || !match[i].valid() || plan.ops[match[i].index()].free) continue;
    // A slice has one entry of arrays of all layers: dimensions of size 1 have no factors.
    const PlannedOp& op = plan.ops[match[i].index()];
    if (op.rule.factors.size() == RuleFor(graph, graph[origin]).factors.size())
      options->given_strategies.emplace_back(origin, op.strategy);
    const std::vector<ValueId>& from = planned[match[i]].results;
    const std::vector<ValueId>& results = graph[origin].results;
    for (size_t r = 0; r < from.size() && r < results.size(); ++r) {
      if (crosses(results[r])) continue;
      options->given_values.emplace_back(results[r], plan.shardings[from[r].index()]);
    }
  }
  for (size_t i = 0; i < slice.inputs.size(); ++i) {
    const OpId same = match[slice.graph.parameters[i].index()];
    const int32_t parameter = slice.inputs[i].parameter;
    const auto given = [&](const auto& known) { return known.first == parameter; };
    if (parameter < 0 || !same.valid() ||
        std::any_of(options->given_parameters.begin(), options->given_parameters.end(), given))
      continue;
    options->given_parameters.emplace_back(parameter,
                                           plan.shardings[planned[same].results[0].index()]);
  }
}

SegmentSpace::SegmentSpace(std::unique_ptr<State> state) : state_(std::move(state)) {}
SegmentSpace::~SegmentSpace() = default;

absl::StatusOr<std::unique_ptr<SegmentSpace>> SegmentSpace::Make(const Graph& graph,
                                                                 const Mesh& mesh,
                                                                 const CostModel& cost_model,
                                                                 int threads) {
  MW_ASSIGN_OR_RETURN(Module inlined, InlineCalls(*graph.module));
  auto module = std::make_unique<const Module>(std::move(inlined));
  MW_ASSIGN_OR_RETURN(Graph own, BuildGraph(*module));
  if (!SameOperators(graph, own))
    return absl::InternalError("a program has other operators without its calls than with them");
  auto state =
      std::make_unique<State>(std::move(module), std::move(own), mesh, cost_model, threads);
  MW_RETURN_IF_ERROR(state->Make());
  return std::unique_ptr<SegmentSpace>(new SegmentSpace(std::move(state)));
}

const Graph& SegmentSpace::graph() const { return state_->graph; }
const std::vector<Segment>& SegmentSpace::segments() const { return state_->segments; }
const std::vector<int32_t>& SegmentSpace::sequence() const { return state_->network->sequence; }
const std::vector<int32_t>& SegmentSpace::same_as() const { return state_->same_as; }
int64_t SegmentSpace::batch_size() const { return state_->network->batch.size; }
const std::vector<std::string>& SegmentSpace::warnings() const { return state_->analysis.warnings; }

absl::StatusOr<std::optional<PredictedChoice>> SegmentSpace::Next(
    int32_t segment, const std::function<bool()>& stop) {
  const Segment& s = state_->segments[segment];
  State::Work& work = state_->work[segment];
  if (work.search == nullptr) MW_RETURN_IF_ERROR(state_->MakeSearch(s, &work));
  MW_ASSIGN_OR_RETURN(const std::optional<std::vector<int32_t>> options, work.search->Next(stop));
  if (!options.has_value()) return std::nullopt;
  SegmentChoice choice;
  choice.entry = s.entries[options->front()];
  choice.strategies.assign(options->begin() + 1, options->end() - 1);
  choice.exit = s.exits[options->back()];
  MW_ASSIGN_OR_RETURN(const IntraPlan plan, work.search->Plan(*options));
  return std::make_optional(state_->Describe(segment, choice, plan));
}

absl::StatusOr<IntraPlan> SegmentSpace::Plan(int32_t segment, const SegmentChoice& choice) {
  State::Work& work = state_->work[segment];
  if (work.search == nullptr)
    MW_RETURN_IF_ERROR(state_->MakeSearch(state_->segments[segment], &work));
  return work.search->Plan(state_->OptionsOf(segment, choice));
}

absl::StatusOr<PredictedChoice> SegmentSpace::Predict(int32_t segment,
                                                      const SegmentChoice& choice) {
  MW_ASSIGN_OR_RETURN(const IntraPlan plan, Plan(segment, choice));
  return state_->Describe(segment, choice, plan);
}

absl::StatusOr<SegmentChoice> SegmentSpace::ParseKey(int32_t segment,
                                                     const std::string& key) const {
  const Segment& s = state_->segments[segment];
  const auto error = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", key, "\" is no choice of the segment on this mesh"));
  };
  constexpr char kArrow[] = " > ";
  const size_t first = key.find(kArrow), last = key.rfind(kArrow);
  if (first == std::string::npos || first == last) return error();
  SegmentChoice choice;
  const auto border = [](const std::string& text) { return text == "-" ? "" : text; };
  choice.entry = border(key.substr(0, first));
  choice.exit = border(key.substr(last + 3));
  const auto among = [](const std::vector<std::string>& texts, const std::string& text) {
    return std::find(texts.begin(), texts.end(), text) - texts.begin();
  };
  if (among(s.entries, choice.entry) == std::ssize(s.entries)) return error();
  if (among(s.exits, choice.exit) == std::ssize(s.exits)) return error();
  std::string rest = key.substr(first + 3, last - first - 3);
  for (const std::vector<std::string>& texts : s.strategy_texts) {
    const size_t bar = rest.find(" | ");
    const auto found = among(texts, rest.substr(0, bar));
    if (found == std::ssize(texts)) return error();
    choice.strategies.push_back(static_cast<int32_t>(found));
    rest = bar == std::string::npos ? "" : rest.substr(bar + 3);
  }
  if (!rest.empty()) return error();
  return choice;
}

absl::StatusOr<std::vector<std::string>> SegmentSpace::KeysOf(const IntraPlan& plan) const {
  std::vector<std::string> keys;
  for (size_t p = 0; p < sequence().size(); ++p) {
    const auto same = static_cast<size_t>(state_->same_as[p]);
    if (same < p) {
      keys.push_back(keys[same]);
      continue;
    }
    MW_ASSIGN_OR_RETURN(const SegmentChoice choice,
                        state_->ChoiceOf(static_cast<int32_t>(p), plan));
    keys.push_back(state_->Key(sequence()[p], choice));
  }
  return keys;
}

absl::Status SegmentSpace::GiveChoices(const std::vector<SegmentChoice>& choices,
                                       PlannerOptions* options) {
  for (size_t p = 0; p < choices.size(); ++p) {
    if (state_->same_as[p] != static_cast<int32_t>(p)) continue;
    const int32_t segment = state_->network->sequence[p];
    MW_ASSIGN_OR_RETURN(const IntraPlan plan, Plan(segment, choices[p]));
    const auto layer = static_cast<int32_t>(p);
    MW_ASSIGN_OR_RETURN(const ProgramSlice slice,
                        SliceToPlan(*state_->network->slicer, layer, layer + 1, 1));
    state_->Give(state_->segments[segment], plan, slice, options);
  }
  return absl::OkStatus();
}

absl::StatusOr<double> SegmentSpace::ReshardSeconds(int32_t segment, const std::string& from,
                                                    const std::string& to) const {
  if (from == to) return 0.0;
  const Border& border = state_->work[segment].exit;
  const auto rank = static_cast<int64_t>(border.shape.dims.size());
  MW_ASSIGN_OR_RETURN(const Sharding source, ParseSharding(from, state_->mesh, rank));
  MW_ASSIGN_OR_RETURN(const Sharding target, ParseSharding(to, state_->mesh, rank));
  return state_->cost_model.ReshardSeconds(border.shape, source, {&target, 1})[0];
}

}  // namespace meshwright
