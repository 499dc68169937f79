// For every number of micro-batches: each kind of layer is planned on every submesh and mesh in a
// few variants (layer_costs.h), sums over layers give the stages' costs, and pipelines of equal
// submeshes are simulated under every schedule. What they find lets dynamic programming
// (stage_search.h), which then looks for stages of any submeshes, give up on most of them, and its
// work is counted, so that plans do not depend on how busy a machine is. What wins is planned once
// more stage by stage (stage_plans.h), each stage as a whole, so that shardings inside it no longer
// have to be the same for all its layers. Where that takes more memory than the layers promised,
// the search is made again with less. All of that is done with the serial times of layers, and
// again with collectives overlapped; of the two answers, and a single stage for the whole batch,
// which is the intra-operator planner's work, the one with the shorter step counts.
//
// The bound is on the serial time, that of the same dynamic programming over the layers' own
// bounds, memory unlimited. For schedules with a shorter bubble than 1F1B's it is the time that the
// busiest devices take, and where the deadline cut the search off that of the arithmetic.

#include "meshwright/inter/stages/pipeline.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/infinity.h"
#include "meshwright/base/parallel.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/inter/layers/obstacle_texts.h"
#include "meshwright/inter/layers/unit_graph.h"
#include "meshwright/inter/stages/kind_slices.h"
#include "meshwright/inter/stages/pipeline_search.h"
#include "meshwright/inter/stages/search_time.h"
#include "meshwright/inter/stages/single_stage.h"
#include "meshwright/inter/stages/stage_coster.h"
#include "meshwright/inter/stages/stage_plans.h"
#include "meshwright/inter/stages/submeshes.h"
#include "meshwright/intra/names.h"
#include "meshwright/intra/prepared_problem.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;

std::function<double()> SecondsSinceNow() {
  return [start = Clock::now()] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
}

// More parts of the batch than this only start more kernels.
constexpr int64_t kMostMicroBatches = 1024;
// The share of the time that is kept for a single stage, where there may be one.
constexpr double kWholeShare = 0.25;
// In terms of what planning the stages of the first pipeline took: the time that is kept for those
// of the last ones, without and with collectives overlapped.
constexpr double kPlansOfFirst = 2;
// A search that promised too much is made again with less memory, so often, by so much at least.
constexpr int kMostSearches = 6;
constexpr double kLessMemory = 0.97;
// Equal stages on one of the usual meshes may take so many times what is known, for a few of them
// to be of use beside others.
constexpr double kUsualReach = 2;
// Where nothing fits: how often twice the memory is tried, and how near the least is looked for.
constexpr int kMostDoublings = 40;
constexpr int kBisections = 7;

class PipelinePlanner {
 public:
  PipelinePlanner(const Graph& graph, const PipelineRequest& request)
      : graph_(graph),
        time_(request.deadline_seconds, request.elapsed ? request.elapsed : SecondsSinceNow(),
              request.planner.solver.stop),
        request_(Stopping(request)),
        searched_(request_) {}

  absl::StatusOr<PipelinePlan> Plan() {
    MW_RETURN_IF_ERROR(Analyze());
    MW_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, MicroBatchCounts());
    MW_ASSIGN_OR_RETURN(const std::vector<const ScheduleKind*> schedules, Schedules());
    // Many micro-batches first: their bubbles are short, so what they find lets the search give up
    // on the others sooner.
    may_be_whole_ = request_.stages <= 1 && counts[0] == 1 && request_.clusters.size() == 1;
    for (auto it = counts.rbegin(); it != counts.rend(); ++it) {
      const size_t tables = serial_.tables.size();
      if (!time_.Over()) MW_RETURN_IF_ERROR(Try(*it, schedules));
      if (time_.Over()) not_searched_.micro_batches.push_back(*it);
      if (tables == 0 && !serial_.tables.empty()) MW_RETURN_IF_ERROR(Secure(schedules));
    }
    Report("stages", 0);
    ForBoth([&](Search& search) { SearchUneven(&search, schedules); });
    not_searched_.uneven = time_.Over();
    FindBound(schedules);
    if (!one_because_.empty()) {
      result_.warnings.push_back(
          StrCat("not divided into some numbers of micro-batches: ", one_because_));
    }
    MW_RETURN_IF_ERROR(PlanFound(&serial_, schedules));
    if (!SameChoice(serial_.best, overlapped_.best))
      MW_RETURN_IF_ERROR(PlanFound(&overlapped_, schedules));
    time_.Reserve(0);
    if (may_be_whole_) MW_RETURN_IF_ERROR(TryWhole(*schedules[0]));
    if (result_.stages.empty()) {
      if (!not_searched_.Any()) return NothingFits(schedules);
      return time_.Interrupted()
                 ? absl::ResourceExhaustedError("interrupted before a plan was found")
                 : OutOfTime();
    }
    // What was not searched may be better.
    if (not_searched_.Any())
      bound_ = std::min(bound_, ArithmeticSeconds(graph_, request_.clusters));
    Finish();
    if (not_searched_.Any()) result_.warnings.push_back(CutText());
    return std::move(result_);
  }

 private:
  // What the deadline or an interrupt left out.
  struct NotSearched {
    std::vector<int64_t> micro_batches;  // or not to the end
    bool uneven = false;                 // stages of any submeshes
    bool plans = false;                  // of the stages of the best pipeline
    size_t meshes = 0;                   // of a single stage
    bool Any() const { return !micro_batches.empty() || uneven || plans || meshes > 0; }
  };

  // The tables by one measure of what layers take, and the best pipeline by it.
  struct Search {
    std::vector<LayerTable> tables;  // by number of micro-batches that was looked at
    FoundPipeline best;
    size_t table = 0;  // of `best`
  };

  static bool SameChoice(const FoundPipeline& a, const FoundPipeline& b) {
    const auto same_stage = [](const ChosenStage& x, const ChosenStage& y) {
      return x.begin == y.begin && x.end == y.end && x.submesh == y.submesh;
    };
    const auto same_variant = [](const StageVariant& x, const StageVariant& y) {
      return x.mesh == y.mesh && x.variant == y.variant && x.recompute == y.recompute;
    };
    return a.schedule == b.schedule && a.shape == b.shape &&
           std::equal(a.stages.begin(), a.stages.end(), b.stages.begin(), b.stages.end(),
                      same_stage) &&
           std::equal(a.variants.begin(), a.variants.end(), b.variants.begin(), b.variants.end(),
                      same_variant);
  }

  // `request`, all of whose searches end with the phase of this one.
  PipelineRequest Stopping(PipelineRequest request) const {
    request.planner.optional = true;
    request.planner.solver.stop = [this] { return time_.Over(); };
    return request;
  }

  std::string CutText() const {
    std::vector<std::string> left;
    if (const std::vector<int64_t>& counts = not_searched_.micro_batches; !counts.empty()) {
      left.push_back(StrCat(absl::StrJoin(counts, ", "),
                            counts == std::vector<int64_t>{1} ? " micro-batch" : " micro-batches"));
    }
    if (not_searched_.uneven) left.push_back("stages of different numbers of devices");
    if (not_searched_.plans) left.push_back("shardings of the best stages as wholes");
    if (not_searched_.meshes > 0) {
      left.push_back(StrCat("a single stage on ",
                            Counted(static_cast<int64_t>(not_searched_.meshes), "mesh", "meshes")));
    }
    std::string text = time_.Interrupted() ? std::string("the search was interrupted")
                                           : StrCat("the search was cut off at its deadline of ",
                                                    SecondsText(time_.deadline()));
    StrAppend(&text, ": the plan is the best found until then; not searched, or not to the end: ",
              absl::StrJoin(left, "; "));
    if (bound_of_searched_ < result_.seconds) {
      StrAppend(&text, "; if nothing better is there, the gap is ",
                absl::StrFormat("%.3g %%", 100 * (1 - bound_of_searched_ / result_.seconds)));
    }
    if (!time_.Interrupted()) StrAppend(&text, "; --deadline gives more time");
    return text;
  }

  void Report(const char* phase, int64_t micro_batches) const {
    if (request_.progress) request_.progress({phase, micro_batches, serial_.best.seconds});
  }

  absl::Status Analyze() {
    Report("layers", 0);
    tied_ = TiedParameters(graph_, request_.planner.tie_outputs_by_position);
    MW_ASSIGN_OR_RETURN(result_.batch, FindBatch(graph_, tied_, request_.data, request_.rng));
    MW_ASSIGN_OR_RETURN(result_.layers, FindLayers(graph_, AnalyzeFusion(graph_), result_.batch,
                                                   tied_, request_.layers));
    if (request_.stages > result_.layers.count) {
      return absl::InvalidArgumentError(StrCat(request_.stages, " stages are more than the ",
                                               Counted(result_.layers.count, "layer"),
                                               " of the program; layers are what repeats in it"));
    }
    int64_t devices = 0;
    for (const Cluster& cluster : request_.clusters) devices += cluster.devices();
    if (request_.stages > devices) {
      return absl::InvalidArgumentError(
          StrCat(request_.stages, " stages are more than the ", Counted(devices, "device")));
    }
    result_.warnings = graph_.warnings;
    for (const std::string& warning : EffectTexts(graph_)) result_.warnings.push_back(warning);
    for (const std::string& warning : result_.batch.warnings) result_.warnings.push_back(warning);
    if (request_.mesh.empty()) {
      submeshes_ = Submeshes(request_.clusters, result_.batch.size);
    } else {
      MW_ASSIGN_OR_RETURN(submeshes_, SubmeshesOf(request_.clusters, request_.mesh));
      const int64_t groups = devices / submeshes_[0].devices();
      if (groups > result_.layers.count || (request_.stages > 0 && request_.stages != groups)) {
        return absl::InvalidArgumentError(StrCat(
            Counted(devices, "device"), devices == 1 ? " makes " : " make ",
            Counted(groups, "stage"), " of mesh ", request_.mesh,
            request_.stages > 0 ? StrCat(", not ", request_.stages)
                                : StrCat(", more than the ", Counted(result_.layers.count, "layer"),
                                         " of the program")));
      }
    }
    MW_RETURN_IF_ERROR(
        CheckStageCount(request_.clusters, submeshes_, request_.stages, result_.layers.count));
    overlaps_ = std::any_of(submeshes_.begin(), submeshes_.end(), [this](const Submesh& submesh) {
      return !submesh.meshes.empty() &&
             request_.cost_model(submesh.meshes[0])->overlap().has_value();
    });
    coster_.emplace(result_.layers, submeshes_, searched_);
    search_.emplace(searched_, result_.layers, submeshes_, *coster_);
    absl::StatusOr<std::unique_ptr<const Slicer>> slicer =
        Slicer::Make(graph_, result_.batch, result_.layers);
    if (!slicer.ok()) return CannotBeCut(slicer.status());
    slicer_ = *std::move(slicer);
    return absl::OkStatus();
  }

  static absl::Status CannotBeCut(const absl::Status& why) {
    return absl::FailedPreconditionError(why.message());
  }

  absl::StatusOr<std::vector<int64_t>> MicroBatchCounts() const {
    std::vector<int64_t> counts;
    const int64_t most = std::max(kMostMicroBatches, request_.micro_batches);
    for (int64_t n = 1; n <= std::min(result_.batch.size, most); ++n) {
      if (result_.batch.Divides(graph_, n)) counts.push_back(n);
    }
    if (request_.micro_batches == 0) return counts;
    if (std::find(counts.begin(), counts.end(), request_.micro_batches) != counts.end())
      return std::vector<int64_t>{request_.micro_batches};
    return absl::InvalidArgumentError(StrCat(
        "a batch of ", result_.batch.size, " cannot be divided into ", request_.micro_batches,
        " micro-batches; it can into ", absl::StrJoin(counts, ", "), Obstacle()));
  }

  // What keeps the batch from being divided, if an operator does.
  std::string Obstacle() const {
    return result_.batch.warnings.empty() ? "" : StrCat(": ", result_.batch.warnings[0]);
  }

  absl::StatusOr<std::vector<const ScheduleKind*>> Schedules() const {
    std::vector<const ScheduleKind*> schedules;
    if (request_.schedule == "auto") {
      for (const ScheduleKind& kind : ScheduleTable()) schedules.push_back(&kind);
      return schedules;
    }
    MW_ASSIGN_OR_RETURN(const ScheduleKind* kind, FindSchedule(request_.schedule));
    return std::vector<const ScheduleKind*>{kind};
  }

  absl::Status Try(int64_t micro_batches, const std::vector<const ScheduleKind*>& schedules) {
    Report("costs", micro_batches);
    LayerTable candidate;
    candidate.micro_batches = micro_batches;
    const std::set<int64_t> parts = DataDegrees(submeshes_, result_.batch.size / micro_batches);
    absl::StatusOr<KindsByParts> kinds =
        KindSlicesByParts(*slicer_, result_.layers, micro_batches, parts);
    if (!kinds.ok()) {
      // What one micro-batch has at hand, several may not.
      if (micro_batches == 1 || request_.micro_batches > 0) return CannotBeCut(kinds.status());
      if (one_because_.empty()) one_because_ = FromAbsl(kinds.status().message());
      return absl::OkStatus();
    }
    candidate.kinds = std::make_shared<const KindsByParts>(*std::move(kinds));
    MW_RETURN_IF_ERROR(CostAll(&candidate));
    if (time_.Over()) return absl::OkStatus();
    Report("stages", micro_batches);
    if (overlaps_) {
      overlapped_.tables.push_back(Beside(candidate));
      coster_->Sum(&overlapped_.tables.back());
    }
    serial_.tables.push_back(std::move(candidate));
    ForBoth([&](Search& search) { SearchUniform(&search, search.tables.size() - 1, schedules); });
    return absl::OkStatus();
  }

  absl::Status CostAll(LayerTable* candidate) {
    std::vector<std::pair<size_t, size_t>> work;
    candidate->costs.resize(submeshes_.size());
    for (size_t s = 0; s < submeshes_.size(); ++s) {
      candidate->costs[s].resize(submeshes_[s].meshes.size());
      for (size_t m = 0; m < submeshes_[s].meshes.size(); ++m) {
        if (submeshes_[s].Suits(m, result_.batch.size / candidate->micro_batches))
          work.emplace_back(s, m);
      }
    }
    // Stages are planned again in the end; here many thousands of answers are wanted.
    const PlannerOptions options = LayerPlannerOptions(request_.planner);
    absl::Status error;
    std::mutex mutex;
    ForEachParallel(work.size(), request_.threads, [&](size_t i) {
      if (time_.Over()) return;
      const auto [s, m] = work[i];
      const std::unique_ptr<CostModel> model = request_.cost_model(submeshes_[s].meshes[m]);
      const auto worth = [&, s = s, m = m](const std::vector<double>& bounds) {
        return MayWin(submeshes_[s], m, candidate->micro_batches, bounds);
      };
      absl::StatusOr<MeshCosts> costs =
          CostLayers(*candidate->kinds, *model, candidate->micro_batches,
                     request_.memory_bytes[submeshes_[s].cluster], options, worth);
      if (costs.ok()) {
        candidate->costs[s][m] = *std::move(costs);
      } else {
        const std::lock_guard<std::mutex> lock(mutex);
        error = costs.status();
      }
    });
    return coster_->Sum(candidate) || time_.Over() ? absl::OkStatus() : error;
  }

  // Whether layers are worth planning on mesh `m` of a submesh, where their forward and backward
  // phases take no less than `bounds` by kind: not where equal stages on it would take longer than
  // what is known. Those are bounded in a small part of the time that planning them takes. Of
  // devices of several types no equal stages are known, and nothing is left out.
  bool MayWin(const Submesh& submesh, size_t m, int64_t micro_batches,
              const std::vector<double>& bounds) const {
    if (serial_.best.stages.empty() || request_.exhaustive) return true;
    const auto devices = static_cast<double>(request_.clusters[submesh.cluster].devices());
    const double groups = devices / static_cast<double>(submesh.devices());
    double all = 0;
    for (int32_t kind : result_.layers.kind) all += bounds[kind];
    const bool usual = static_cast<int64_t>(m) < submesh.usual_meshes;
    return all * std::max(1.0, static_cast<double>(micro_batches) / groups) <
           (usual ? kUsualReach : 1) * serial_.best.seconds;
  }

  // The searches know nothing of each other.
  void ForBoth(const std::function<void(Search&)>& search) {
    ForEachParallel(overlaps_ ? 2 : 1, request_.threads,
                    [&](size_t i) { search(i == 0 ? serial_ : overlapped_); });
  }

  void SearchUniform(Search* search, size_t table,
                     const std::vector<const ScheduleKind*>& schedules) const {
    for (const ScheduleKind* schedule : schedules) {
      Improve(search, table, [&](FoundPipeline* best) {
        search_->ImproveUniform(search->tables[table], *schedule, best);
      });
    }
  }

  // With what the uniform pipelines of all tables have found: most others are then given up soon.
  void SearchUneven(Search* search, const std::vector<const ScheduleKind*>& schedules) const {
    int64_t steps = request_.max_steps;
    for (const ScheduleKind* schedule : schedules) {
      for (size_t table = 0; table < search->tables.size(); ++table) {
        if (time_.Over()) return;
        Improve(search, table, [&](FoundPipeline* best) {
          steps -= search_->ImproveUneven(search->tables[table], *schedule, steps, best);
        });
      }
    }
  }

  static void Improve(Search* search, size_t table,
                      const std::function<void(FoundPipeline*)>& improve) {
    const double before = search->best.seconds;
    improve(&search->best);
    if (search->best.seconds != before) search->table = table;
  }

  // Every table once more, with the memory that searched_ says.
  void SearchAgain(Search* search, const std::vector<const ScheduleKind*>& schedules) const {
    search->best = {};
    for (size_t table = 0; table < search->tables.size(); ++table)
      SearchUniform(search, table, schedules);
    SearchUneven(search, schedules);
  }

  // Where there is a deadline, the first pipeline is planned at once, if it fits as it was found:
  // then there is a plan to return, and how long its stages take to plan says how much time those
  // of the best will need.
  absl::Status Secure(const std::vector<const ScheduleKind*>& schedules) {
    double reserve = 0;
    if (std::isfinite(time_.deadline())) {
      const double start = time_.elapsed();
      MW_RETURN_IF_ERROR(PlanBest(&serial_, request_.memory_bytes, schedules, /*searches=*/1));
      reserve = kPlansOfFirst * (time_.elapsed() - start);
      if (may_be_whole_) reserve += kWholeShare * time_.deadline();
    }
    time_.Reserve(reserve);
    return absl::OkStatus();
  }

  void FindBound(const std::vector<const ScheduleKind*>& schedules) {
    time_.Require();
    for (const LayerTable& table : serial_.tables) {
      Report("bounds", table.micro_batches);
      bound_ = std::min(bound_, search_->Bound(table, schedules, bound_));
    }
    bound_of_searched_ = bound_;
  }

  // Plans the stages of what `search` has found, of which some must be planned.
  absl::Status PlanFound(Search* search, const std::vector<const ScheduleKind*>& schedules) {
    if (!result_.stages.empty() && SameChoice(search->best, best_)) return absl::OkStatus();
    time_.Reserve(0);
    if (result_.stages.empty()) time_.Require();
    if (!time_.Over())
      MW_RETURN_IF_ERROR(PlanBest(search, request_.memory_bytes, schedules, kMostSearches));
    not_searched_.plans |= time_.Over();
    return absl::OkStatus();
  }

  // Plans the stages of the best pipeline that `search` has found, or of one that does fit, of so
  // many `searches`, and keeps it if its step is the shortest.
  absl::Status PlanBest(Search* search, const std::vector<int64_t>& memory_bytes,
                        const std::vector<const ScheduleKind*>& schedules, int searches) {
    searched_.memory_bytes = memory_bytes;
    for (int tries = 1; !search->best.stages.empty(); ++tries) {
      const LayerTable& table = search->tables[search->table];
      Report("plans", table.micro_batches);
      absl::StatusOr<StagePlans> plans = PlanStages(*slicer_, request_, submeshes_, result_.layers,
                                                    *coster_, table, search->best, memory_bytes);
      if (time_.Over()) return absl::OkStatus();
      // Parts that are cut elsewhere than between two layers.
      if (!plans.ok()) return CannotBeCut(plans.status());
      if (plans->shortage.bytes == 0) {
        const double launch = LaunchSeconds(plans->stages);
        const double seconds = StepSeconds(search->best, plans->stages) + launch;
        if (seconds >= step_seconds_) return absl::OkStatus();
        step_seconds_ = seconds;
        launch_seconds_ = launch;
        best_ = search->best;
        result_.stages = std::move(plans->stages);
        return absl::OkStatus();
      }
      if (tries == searches) return absl::OkStatus();
      const int32_t cluster = plans->shortage.cluster;
      const auto memory = static_cast<double>(memory_bytes[cluster]);
      const double ratio =
          std::min(kLessMemory, memory / static_cast<double>(plans->shortage.bytes));
      int64_t& searched = searched_.memory_bytes[cluster];
      searched = static_cast<int64_t>(static_cast<double>(searched) * ratio);
      SearchAgain(search, schedules);
    }
    return absl::OkStatus();
  }

  // With collectives overlapped, without launch overhead.
  double StepSeconds(const FoundPipeline& pipeline,
                     const std::vector<PipelineStage>& stages) const {
    std::vector<StageTimes> times;
    for (size_t i = 0; i < stages.size(); ++i) {
      times.push_back(coster_->TimesOf(submeshes_[pipeline.stages[i].submesh], stages[i].overlapped,
                                       *pipeline.schedule));
    }
    return Simulate(*pipeline.schedule, pipeline.shape, times)->seconds;
  }

  double LaunchSeconds(const std::vector<PipelineStage>& stages) const {
    double most = 0, nodes = 0;
    for (const Cluster& cluster : request_.clusters) nodes += static_cast<double>(cluster.nodes);
    for (const PipelineStage& stage : stages) {
      const std::optional<Overlap> overlap = request_.cost_model(stage.mesh)->overlap();
      if (!overlap.has_value()) continue;
      // A node has the arrays of its own stages, about its share of all.
      const double launch = overlap->LaunchSeconds(graph_, request_.clusters[stage.cluster]);
      most = std::max(most, overlap->step_seconds + (launch - overlap->step_seconds) / nodes);
    }
    return most;
  }

  // Keeps the best single stage if its step is the shortest.
  absl::Status TryWhole(const ScheduleKind& schedule) {
    absl::StatusOr<SingleStage> single = PlanSingleStage({.graph = graph_,
                                                          .slicer = *slicer_,
                                                          .request = request_,
                                                          .layers = result_.layers,
                                                          .submeshes = submeshes_,
                                                          .coster = *coster_,
                                                          .schedule = schedule,
                                                          .tables = serial_.tables,
                                                          .step_seconds = step_seconds_,
                                                          .time = time_});
    if (!single.ok()) return CannotBeCut(single.status());
    not_searched_.meshes = single->not_searched;
    bound_ = std::min(bound_, single->bound);
    if (single->not_searched == 0) bound_of_searched_ = std::min(bound_of_searched_, single->bound);
    whole_bytes_ = single->smallest_bytes;
    if (!single->stage.has_value()) return absl::OkStatus();
    step_seconds_ = single->step_seconds;
    launch_seconds_ = single->stage->plan->launch_seconds;
    best_ = {.seconds = single->seconds,
             .schedule = &schedule,
             .shape = {1, 1, 1},
             .stages = {{0, result_.layers.count, single->submesh, 0}}};
    result_.stages.assign(1, *std::move(single->stage));
    return absl::OkStatus();
  }

  absl::StatusOr<PipelinePlan> NothingFits(const std::vector<const ScheduleKind*>& schedules) {
    MW_ASSIGN_OR_RETURN(const int64_t smallest, SmallestBytes(schedules));
    result_ = {};
    result_.fits = false;
    result_.smallest_bytes = smallest > 0 ? std::min(smallest, whole_bytes_) : smallest;
    return std::move(result_);
  }

  // Memory of a device with which a pipeline with planned stages is found; 0: none, or not in time.
  absl::StatusOr<int64_t> SmallestBytes(const std::vector<const ScheduleKind*>& schedules) {
    const auto in_time = [this] { return !time_.Over(); };
    const auto found_with = [&](int64_t bytes) {
      searched_.memory_bytes.assign(searched_.memory_bytes.size(), bytes);
      SearchAgain(&serial_, schedules);
      return !serial_.best.stages.empty();
    };
    int64_t short_of =
        *std::max_element(request_.memory_bytes.begin(), request_.memory_bytes.end());
    int64_t enough = short_of;
    for (int i = 0; !found_with(enough); ++i) {
      if (i == kMostDoublings || !in_time() || enough > std::numeric_limits<int64_t>::max() / 2)
        return 0;
      short_of = enough;
      enough *= 2;
    }
    for (int i = 0; i < kBisections && in_time(); ++i) {
      const int64_t middle = short_of + (enough - short_of) / 2;
      (found_with(middle) ? enough : short_of) = middle;
    }
    for (int i = 0; i < kMostDoublings && in_time(); ++i) {
      if (found_with(enough)) {
        const std::vector<int64_t> memory(request_.memory_bytes.size(), enough);
        MW_RETURN_IF_ERROR(PlanBest(&serial_, memory, schedules, kMostSearches));
        if (!result_.stages.empty()) return enough;
      }
      enough += enough / 16 + 1;
    }
    return 0;
  }

  void Finish() {
    std::vector<StageTimes> times;
    // A group's stages have the same devices.
    const size_t groups = best_.shape.groups;
    for (size_t c = 0; c < request_.clusters.size(); ++c) {
      std::vector<int64_t> sizes;
      for (size_t g = 0; g < groups; ++g) {
        const PipelineStage& stage = result_.stages[g];
        if (stage.cluster == static_cast<int32_t>(c)) sizes.push_back(stage.mesh.devices());
      }
      const std::vector<int64_t> first = PlaceParts(sizes);
      size_t next = 0;
      for (size_t g = 0; g < groups; ++g) {
        if (result_.stages[g].cluster != static_cast<int32_t>(c)) continue;
        for (size_t i = g; i < result_.stages.size(); i += groups)
          result_.stages[i].first_device = first[next];
        ++next;
      }
    }
    for (const PipelineStage& stage : result_.stages) times.push_back(stage.times);
    if (best_.shape.micro_batches > 1) {
      const std::vector<std::string>& several = result_.batch.several_warnings;
      result_.warnings.insert(result_.warnings.end(), several.begin(), several.end());
    }
    result_.schedule = best_.schedule;
    result_.shape = best_.shape;
    result_.simulation = *Simulate(*best_.schedule, best_.shape, times);
    result_.seconds = result_.simulation.seconds;
    result_.step_seconds = overlaps_ ? step_seconds_ : result_.seconds;
    result_.launch_seconds = overlaps_ ? launch_seconds_ : 0;
    result_.bound = std::min(bound_, result_.seconds);
    result_.gap = result_.seconds > 0 ? (result_.seconds - result_.bound) / result_.seconds : 0;
  }

  const Graph& graph_;
  SearchTime time_;
  const PipelineRequest request_;
  PipelineRequest searched_;  // the request with the memory that the search may count on
  bool may_be_whole_ = false;
  NotSearched not_searched_;
  std::string one_because_;  // what keeps the batch from being divided into more than one part
  std::vector<int32_t> tied_;
  std::optional<StageCoster> coster_;
  std::optional<PipelineSearch> search_;
  std::unique_ptr<const Slicer> slicer_;
  std::vector<Submesh> submeshes_;
  bool overlaps_ = false;  // the cost model knows what overlaps
  Search serial_;          // without overlap
  Search overlapped_;      // with collectives overlapped; empty unless overlaps_
  FoundPipeline best_;     // that with the stages in result_
  double bound_ = kInfinity, bound_of_searched_ = kInfinity;
  double step_seconds_ = kInfinity, launch_seconds_ = 0;  // of result_.stages
  // That a device needs for a single stage, where the memory is not enough.
  int64_t whole_bytes_ = std::numeric_limits<int64_t>::max();
  PipelinePlan result_;
};

}  // namespace

absl::StatusOr<PipelinePlan> PlanPipeline(const Graph& graph, const PipelineRequest& request) {
  return PipelinePlanner(graph, request).Plan();
}

}  // namespace meshwright
