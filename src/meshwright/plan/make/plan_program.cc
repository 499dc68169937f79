#include "meshwright/plan/make/plan_program.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/sha256.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/writer.h"
#include "meshwright/intra/cost_model_table.h"
#include "meshwright/intra/names.h"
#include "meshwright/plan/annotate/annotate.h"
#include "meshwright/plan/annotate/annotate_stablehlo.h"
#include "meshwright/plan/make/build_plan.h"
#include "meshwright/plan/make/idle_devices.h"
#include "meshwright/plan/make/step_timeline.h"
#include "meshwright/plan/make/time_use.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string MeshText(const Mesh& mesh) {
  return absl::StrJoin(mesh.axes, ",", [](std::string* out, const MeshAxis& axis) {
    absl::StrAppend(out, axis.name, "=", axis.size);
  });
}

std::string AutoOrNumber(int64_t number) { return number == 0 ? "auto" : StrCat(number); }

std::string MemoryText(const MemoryBudget& memory) {
  switch (memory.kind) {
    case MemoryBudget::Kind::kDevice:
      return "device";
    case MemoryBudget::Kind::kUnlimited:
      return "unlimited";
    case MemoryBudget::Kind::kBytes:
      break;
  }
  return StrCat(memory.bytes);
}

absl::StatusOr<std::vector<Mesh>> ChooseMeshes(const ProgramRequest& request,
                                               const Cluster& cluster) {
  if (request.mesh == "auto") return CandidateMeshes(cluster);
  MW_ASSIGN_OR_RETURN(Mesh mesh, ParseMesh(request.mesh, cluster));
  return std::vector<Mesh>{std::move(mesh)};
}

// A search that takes longer than this part of its time does what no deadline can cut off.
constexpr double kOvertime = 1.1;

// Of the time of several meshes, what is for looking at all of them; then of what is left, what is
// for the best of those that are not finished.
constexpr double kFirstPart = 0.5;
// How many of the best meshes are searched after a first look at all of them, which tells them
// apart: steps of GPT-3 on 1,024 devices are 1.17 s by it and 1.16 s after the search on the best
// mesh, 6.9 and 6.4 s on the worst.
constexpr int kMostAgain = 3;
// A search without a deadline.
constexpr double kLongest = 1e7;

// Plans one program on one mesh after another and keeps the best.
class MeshSearch {
 public:
  MeshSearch(const ProgramRequest& request, const Graph& graph, const CostModelRow& cost_model,
             int64_t budget_bytes)
      : request_(request),
        graph_(graph),
        cost_model_(cost_model),
        budget_bytes_(budget_bytes),
        start_(Clock::now()) {}

  // Every mesh gets a first look and for it an equal share of half of the time that is left, so
  // that what one saves goes to the others; then the best get a search and the rest of the time.
  // None is begun that cannot be expected to have a plan in time, if there is one already.
  absl::Status Run(const std::vector<Mesh>& meshes) {
    absl::Status last_error;
    const double part = meshes.size() > 1 ? kFirstPart : 1;
    for (size_t i = 0; i < meshes.size(); ++i) {
      if (best_ != nullptr && !MayBegin()) {
        not_begun_.assign(meshes.begin() + static_cast<int64_t>(i), meshes.end());
        break;
      }
      number_ = i + 1;
      count_ = meshes.size();
      absl::StatusOr<IntraPlan> plan =
          TimedPlanOn(meshes[i], part * Left() / static_cast<double>(meshes.size() - i),
                      /*first_look=*/part < 1);
      if (!plan.ok()) {
        // Fixes may name axes that only some meshes have, or not divide on others.
        last_error = plan.status();
        if (meshes.size() > 1) skipped_.emplace_back(MeshText(meshes[i]), last_error);
        continue;
      }
      if (plan->cut || plan->limited)
        unfinished_.push_back({i, plan->fits, Rank(*plan), plan->step_bound});
      Consider(meshes[i], *std::move(plan));
    }
    if (part < 1) PlanBestAgain(meshes);
    return best_ == nullptr ? last_error : absl::OkStatus();
  }

  const Mesh& mesh() const { return mesh_; }
  IntraPlan TakeBest() { return std::move(*best_); }

  // Says so if the best plan leaves devices idle; where their number divides badly, how fast the
  // program would be on fewer. Nothing of a plan whose shardings were all given.
  void JudgeDevices(const Cluster& cluster) {
    if (request_.completion == Completion::kPropagate) return;
    const std::vector<bool> used = UsedAxes(*best_, mesh_);
    const int64_t used_devices = UsedDevices(used, mesh_);
    if (used_devices == mesh_.devices()) return;
    int64_t faster_devices = 0;
    double faster_seconds = best_->step_seconds;
    const std::optional<Cluster> even = EvenCluster(cluster);
    if (even.has_value() && used_devices < even->devices() && request_.fixes.empty()) {
      const std::vector<Mesh> meshes = CandidateMeshes(*even);
      for (const Mesh& mesh : meshes) {
        if (Left() <= 0 || Interrupted()) break;
        const absl::StatusOr<IntraPlan> plan =
            PlanOn(mesh, Left() / static_cast<double>(meshes.size()));
        if (!plan.ok() || !plan->fits || plan->step_seconds >= faster_seconds) continue;
        faster_devices = UsedDevices(UsedAxes(*plan, mesh), mesh);
        faster_seconds = plan->step_seconds;
      }
    }
    idle_ = IdleDevicesText(used, mesh_, faster_devices, faster_seconds);
  }

  // Where nothing fits: the nearest cluster with more of the same nodes on which something does, on
  // the best mesh with its outer axis longer. Each additional device takes a part of what is too
  // much at best, so nothing is tried on fewer than that takes. nullopt: not known.
  std::optional<Cluster> EnoughCluster(const Cluster& cluster) const {
    constexpr int64_t kMostTimes = 64;
    constexpr int kMostTries = 3;
    const auto needed = static_cast<double>(best_->smallest_budget);
    if (best_->fits || !request_.fixes.empty() || request_.completion == Completion::kPropagate ||
        cluster.inter_node.bandwidth_bytes_per_second <= 0)
      return std::nullopt;
    int tries = 0;
    for (int64_t times = 2; times <= kMostTimes && tries < kMostTries; times *= 2) {
      if (needed / static_cast<double>(times) > static_cast<double>(budget_bytes_)) continue;
      if (Left() <= 0 || Interrupted()) break;
      ++tries;
      Cluster larger = cluster;
      larger.nodes *= times;
      if (larger.devices() > kMaxDevices) break;
      std::vector<int64_t> sizes;
      for (const MeshAxis& axis : mesh_.axes) sizes.push_back(axis.size);
      sizes[0] *= times;
      const absl::StatusOr<IntraPlan> plan =
          PlanOn(MakeMesh(sizes, larger), Left() / static_cast<double>(kMostTries));
      if (plan.ok() && plan->fits) return larger;
    }
    return std::nullopt;
  }

  std::vector<std::string> Warnings() const {
    std::vector<std::string> warnings;
    for (const auto& [mesh, error] : skipped_) {
      warnings.push_back(absl::StrCat("mesh ", mesh, " was left out: ", error.message()));
    }
    if (!cost_model_.in_seconds) {
      warnings.push_back(StrCat("the cost model ", cost_model_.name,
                                " is unitless: figures in seconds are its costs, not times"));
    }
    if (!idle_.empty()) warnings.push_back(idle_);
    if (!not_begun_.empty()) {
      std::string meshes;
      for (const Mesh& mesh : not_begun_)
        StrAppend(&meshes, meshes.empty() ? "" : ", ", MeshText(mesh));
      warnings.push_back(
          StrCat(Interrupted() ? "the search was interrupted"
                               : StrCat("the deadline of ", SecondsText(request_.deadline_seconds),
                                        " was too short for every mesh"),
                 ": not searched ", not_begun_.size() == 1 ? "is " : "are ", meshes,
                 Interrupted() ? "" : "; --deadline gives more time, --mesh takes one"));
    }
    return warnings;
  }

 private:
  // A mesh whose search was ended.
  struct UnfinishedMesh {
    size_t index;
    bool fits;
    double rank, bound;
  };

  bool MayBegin() const { return Left() > needed_ && !Interrupted(); }

  absl::StatusOr<IntraPlan> TimedPlanOn(const Mesh& mesh, double share, bool first_look) {
    const Clock::time_point begin = Clock::now();
    absl::StatusOr<IntraPlan> plan = PlanOn(mesh, share, first_look);
    if (const double taken = SecondsSince(begin); taken > kOvertime * share)
      needed_ = needed_ > 0 ? std::min(needed_, taken) : taken;
    return plan;
  }

  void PlanBestAgain(const std::vector<Mesh>& meshes) {
    std::stable_sort(unfinished_.begin(), unfinished_.end(),
                     [](const UnfinishedMesh& a, const UnfinishedMesh& b) {
                       return std::pair(!a.fits, a.rank) < std::pair(!b.fits, b.rank);
                     });
    if (unfinished_.size() > kMostAgain) unfinished_.resize(kMostAgain);
    for (const UnfinishedMesh& one : unfinished_) {
      if (!MayBegin()) return;
      if (best_->fits && one.bound >= best_->step_seconds) continue;
      number_ = one.index + 1;
      absl::StatusOr<IntraPlan> plan =
          TimedPlanOn(meshes[one.index], (&one == &unfinished_.back() ? 1 : kFirstPart) * Left(),
                      /*first_look=*/false);
      if (plan.ok()) Consider(meshes[one.index], *std::move(plan));
    }
  }

  void Consider(const Mesh& mesh, IntraPlan plan) {
    if (best_ != nullptr && !Better(plan, *best_)) return;
    best_ = std::make_unique<IntraPlan>(std::move(plan));
    mesh_ = mesh;
  }

  double Left() const {
    return std::clamp(request_.deadline_seconds - SecondsSince(start_), 0.0, kLongest);
  }
  bool Interrupted() const { return request_.stop && request_.stop(); }

  absl::StatusOr<IntraPlan> PlanOn(const Mesh& mesh, double seconds,
                                   bool first_look = false) const {
    PlannerOptions options;
    options.budget_bytes = budget_bytes_;
    options.space = cost_model_.space;
    options.fixes = request_.fixes;
    options.completion = request_.completion;
    options.first_look = first_look;
    options.solver.deadline_seconds = seconds;
    options.solver.threads = request_.threads;
    options.solver.seed = request_.seed;
    options.solver.stop = request_.stop;
    if (request_.progress) {
      options.solver.progress = [this, text = MeshText(mesh)](const solve::Progress& progress) {
        Report(text, progress);
      };
    }
    const std::unique_ptr<CostModel> cost_model = cost_model_.make(mesh);
    return PlanIntra(graph_, *cost_model, options);
  }

  void Report(const std::string& mesh, const solve::Progress& progress) const {
    ProgramProgress report{.seconds = SecondsSince(start_),
                           .mesh = mesh,
                           .phase = progress.phase,
                           .number = number_,
                           .count = count_};
    if (std::isfinite(request_.deadline_seconds)) report.left_seconds = Left();
    if (best_ != nullptr) report.best_seconds = best_->step_seconds;
    if (progress.has_incumbent) {
      const double cost = static_cast<double>(progress.cost);
      report.gap = cost > 0 ? (cost - static_cast<double>(progress.bound)) / cost : 0;
    }
    request_.progress(report);
  }

  // Plans that fit by their time, others by what they need.
  static double Rank(const IntraPlan& plan) {
    return plan.fits ? plan.step_seconds : static_cast<double>(plan.smallest_budget);
  }

  // One that fits before one that does not; then the faster, or the smaller if none fits; then one
  // whose search was not cut off.
  static bool Better(const IntraPlan& a, const IntraPlan& b) {
    return std::tuple(!a.fits, Rank(a), a.cut) < std::tuple(!b.fits, Rank(b), b.cut);
  }

  const ProgramRequest& request_;
  const Graph& graph_;
  const CostModelRow& cost_model_;
  const int64_t budget_bytes_;
  const Clock::time_point start_;
  std::unique_ptr<IntraPlan> best_;
  Mesh mesh_;
  std::vector<std::pair<std::string, absl::Status>> skipped_;
  std::vector<UnfinishedMesh> unfinished_;
  double needed_ = 0;  // seconds that no deadline keeps a mesh from taking, as far as is known
  size_t number_ = 0, count_ = 0;  // the mesh that is being planned is so many-th of so many
  std::vector<Mesh> not_begun_;
  std::string idle_;  // see JudgeDevices
};

// A program whose calls have the rules that are given for them.
absl::Status StateCallRules(const std::vector<GivenCallRule>& rules, Program* program) {
  if (rules.empty()) return absl::OkStatus();
  auto module = std::make_unique<Module>(*program->module);
  MW_ASSIGN_OR_RETURN(Graph graph, BuildGraph(*module));
  MW_RETURN_IF_ERROR(StateGivenCallRules(rules, graph, module.get()));
  program->graph = std::move(graph);
  program->module = std::move(module);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<const CostModelRow*> ChooseCostModel(const std::string& name,
                                                    const Cluster& cluster) {
  const std::string_view chosen = name == "auto" ? DefaultCostModel(cluster) : name;
  if (const CostModelRow* row = FindCostModel(chosen)) return row;
  const std::string known = absl::StrJoin(
      CostModelTable(), ", ",
      [](std::string* out, const CostModelRow& row) { absl::StrAppend(out, ToAbsl(row.name)); });
  return absl::InvalidArgumentError(
      absl::StrCat("unknown cost model \"", ToAbsl(chosen), "\"; there are auto, ", known));
}

int64_t BudgetBytes(const MemoryBudget& memory, const Cluster& cluster) {
  switch (memory.kind) {
    case MemoryBudget::Kind::kDevice:
      return cluster.device.memory_bytes;
    case MemoryBudget::Kind::kUnlimited:
      return solve::kUnlimited;
    case MemoryBudget::Kind::kBytes:
      return memory.bytes;
  }
  return solve::kUnlimited;
}

absl::Status AddClusterInput(const std::string& cluster, std::vector<InputFile>& inputs) {
  struct stat info = {};
  if (stat(cluster.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return absl::OkStatus();
  MW_ASSIGN_OR_RETURN(const std::string bytes, ReadInput(cluster));
  inputs.push_back({cluster, "cluster_yaml", Sha256Hex(bytes)});
  return absl::OkStatus();
}

PlanOptions ToPlanOptions(const ProgramRequest& request, const CostModelRow& cost_model) {
  PlanOptions options;
  options.mesh = request.mesh;
  options.memory = MemoryText(request.memory);
  const PipelineChoice& pipeline = request.pipeline;
  options.pipeline = pipeline.wanted ? AutoOrNumber(pipeline.stages) : "off";
  options.micro_batches = AutoOrNumber(pipeline.micro_batches);
  if (pipeline.rng != MicroBatchRng::kExact) options.micro_batch_rng = pipeline.rng;
  options.schedule = pipeline.schedule;
  options.layers = pipeline.layers;
  options.data = pipeline.data;
  options.recompute = pipeline.recompute;
  options.cost_model = std::string(cost_model.name);
  options.rest = request.completion;
  if (std::isfinite(request.deadline_seconds)) options.deadline_seconds = request.deadline_seconds;
  options.threads = request.threads;
  options.seed = request.seed;
  for (const Fix& fix : request.fixes) {
    options.fixes.push_back(absl::StrCat(fix.pattern, "=", fix.spec));
  }
  if (!request.database.empty()) options.database = request.database;
  return options;
}

std::optional<std::string> CalibrationWarning(const CostModelRow& cost_model,
                                              const Cluster& cluster) {
  if (cost_model.name != "calibrated" || IsCalibrated(cluster)) return std::nullopt;
  return StrCat("nothing was measured on ", cluster.device.name,
                ": efficiencies of h100-sxm are applied to its peak rates; "
                "`meshwright calibrate` measures");
}

absl::StatusOr<PlanningTask> PreparePlanning(const ProgramRequest& request) {
  PlanningTask task;
  task.start = Clock::now();
  // What is quick to check comes first: a large program takes a moment to read.
  MW_ASSIGN_OR_RETURN(task.cluster, ParseCluster(request.cluster));
  MW_ASSIGN_OR_RETURN(task.cost_model, ChooseCostModel(request.cost_model, task.cluster));
  MW_ASSIGN_OR_RETURN(task.meshes, ChooseMeshes(request, task.cluster));
  MW_ASSIGN_OR_RETURN(task.program,
                      request.contents.has_value()
                          ? ParseProgram(std::string(*request.contents), request.program)
                          : ReadProgram(request.program));
  MW_RETURN_IF_ERROR(StateCallRules(request.call_rules, &task.program));
  task.inputs = {task.program.input};
  MW_RETURN_IF_ERROR(AddClusterInput(request.cluster, task.inputs));
  task.inputs.insert(task.inputs.end(), request.more_inputs.begin(), request.more_inputs.end());
  task.budget_bytes = BudgetBytes(request.memory, task.cluster);
  return task;
}

absl::StatusOr<PlannedProgram> FinishPlanning(const ProgramRequest& request, PlanningTask task,
                                              Mesh mesh, IntraPlan intra,
                                              std::vector<std::string> warnings) {
  const std::vector<int32_t> tied =
      TiedParameters(task.program.graph, PlannerOptions().tie_outputs_by_position);
  // Outputs that a fix keeps apart from their parameters replace them all the same.
  MW_ASSIGN_OR_RETURN(Plan plan, BuildPlan(task.program.graph, mesh, intra, intra.tied,
                                           FindRoles(task.program.graph, tied)));
  plan.program.step_timeline =
      StepTimelineOf(task.program.graph, *task.cost_model->make(mesh), intra);
  plan.inputs = std::move(task.inputs);
  plan.options = ToPlanOptions(request, *task.cost_model);
  if (task.cost_model->in_seconds) {
    SetUse(UseOfStep(task.program.graph, mesh, intra), task.cost_model->name, {mesh.cluster.device},
           &plan);
  }
  if (auto warning = CalibrationWarning(*task.cost_model, task.cluster))
    plan.warnings.push_back(*std::move(warning));
  if (task.budget_bytes != solve::kUnlimited) plan.budget_bytes = task.budget_bytes;
  for (std::string& warning : warnings) plan.warnings.push_back(std::move(warning));
  plan.planning_seconds = SecondsSince(task.start);
  std::vector<int32_t> kept_tied = intra.tied;
  return PlannedProgram{std::move(task.program), std::move(mesh), std::move(kept_tied),
                        std::move(intra), std::move(plan)};
}

absl::StatusOr<PlannedProgram> PlanProgram(const ProgramRequest& request) {
  MW_ASSIGN_OR_RETURN(PlanningTask task, PreparePlanning(request));
  MeshSearch search(request, task.program.graph, *task.cost_model, task.budget_bytes);
  MW_RETURN_IF_ERROR(search.Run(task.meshes));
  search.JudgeDevices(task.cluster);
  std::optional<Cluster> enough = search.EnoughCluster(task.cluster);
  IntraPlan intra = search.TakeBest();
  MW_ASSIGN_OR_RETURN(
      PlannedProgram planned,
      FinishPlanning(request, std::move(task), search.mesh(), std::move(intra), search.Warnings()));
  planned.enough = std::move(enough);
  return planned;
}

Module Annotated(const PlannedProgram& planned) {
  return AnnotateModule(planned.program.graph, planned.mesh, planned.intra, planned.tied);
}

std::string AnnotatedText(const PlannedProgram& planned) {
  if (const auto& stablehlo = planned.program.stablehlo) {
    return AnnotateStablehlo(stablehlo->text, stablehlo->source, planned.program.graph,
                             planned.mesh, planned.intra, planned.tied);
  }
  return ToHloText(Annotated(planned));
}

std::string AnnotatedProgram(const PlannedProgram& planned) {
  if (planned.program.stablehlo.has_value()) return AnnotatedText(planned);
  return WriteInFormat(planned.program.input.kind, Annotated(planned));
}

}  // namespace meshwright
