#include "tests/inter/pipeline_run.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/inter/layers/whole_batch.h"
#include "meshwright/intra/names.h"
#include "tests/inter/run_program.h"

namespace meshwright {
namespace {

// What makes an output of one slice the input of another.
using Key = std::tuple<int32_t, int32_t, int32_t, int32_t>;
Key KeyOf(const SliceValue& v) { return {v.value.value, v.layer, v.first, v.count}; }

// [begin, begin + count) of dimension `d`.
Tensor Part(const Tensor& whole, int32_t d, int64_t begin, int64_t count) {
  Placement place = WholePlacement(whole.dims);
  place.offset[d] = begin;
  place.size[d] = count;
  return Piece(whole, place);
}

void Put(Tensor& whole, const Tensor& part, int32_t d, int64_t begin) {
  ForEachIndex(part.dims, [&](const Index& from) {
    Index at = from;
    if (d >= 0) at[d] += begin;
    At(whole, at) = At(part, from);
  });
}

class Run {
 public:
  Run(const SlicedProgram& program, const PipelineRun& run, const std::vector<Tensor>& parameters)
      : program_(program), run_(run), parameters_(parameters) {
    for (OpId output : program.graph.outputs) {
      const Shape& shape = program.graph[program.graph[output].operands[0]].shape;
      Tensor& tensor = outputs_.emplace_back(Tensor{shape.dims, {}});
      tensor.data.assign(static_cast<size_t>(shape.elements()), 0);
      written_.push_back(0);
    }
  }

  absl::StatusOr<std::vector<Tensor>> Step() {
    std::vector<int32_t> bounds = {0};
    bounds.insert(bounds.end(), run_.cuts.begin(), run_.cuts.end());
    bounds.push_back(program_.layers.count);
    const size_t stages = bounds.size() - 1;
    const auto request = [&](size_t stage, bool forward, bool backward, bool update) {
      SliceRequest r;
      r.begin = bounds[stage];
      r.end = bounds[stage + 1];
      r.forward = forward;
      r.backward = backward;
      r.update = update;
      r.recompute = run_.recompute;
      r.micro_batches = run_.micro_batches;
      r.sum_parts = run_.sum_parts;
      return r;
    };
    for (int64_t m = 0; m < run_.micro_batches; ++m) {
      values_.clear();
      const bool both = run_.forward_with_backward;
      for (size_t s = 0; s < stages; ++s) {
        MW_RETURN_IF_ERROR(RunSlice(request(s, true, both && s + 1 == stages, false), m));
      }
      for (size_t s = stages; s-- > 0;) {
        if (both && s + 1 == stages) continue;
        MW_RETURN_IF_ERROR(RunSlice(request(s, false, true, false), m));
      }
    }
    std::vector<UpdatePart> parts = {UpdatePart::kWhole};
    if (run_.update_in_parts) parts = {UpdatePart::kBeforeShared, UpdatePart::kAfterShared};
    for (UpdatePart part : parts) {
      for (size_t s = 0; s < stages; ++s) {
        SliceRequest r = request(s, false, false, true);
        r.part = part;
        MW_RETURN_IF_ERROR(RunSlice(r, -1));
      }
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (written_[i] < static_cast<int64_t>(outputs_[i].data.size())) {
        return absl::InternalError(StrCat("output ", i, " is not complete"));
      }
    }
    return outputs_;
  }

 private:
  absl::StatusOr<Tensor> Input(const SliceValue& input, int64_t micro_batch) {
    if (input.role == SliceRole::kNumber) {
      return Tensor{{}, {static_cast<double>(micro_batch)}};
    }
    if (input.parameter >= 0) {
      const OpId parameter = program_.graph.parameters[static_cast<size_t>(input.parameter)];
      Tensor tensor = parameters_[static_cast<size_t>(
          WholeBatchOf(program_.graph, parameter).value_or(input.parameter))];
      if (input.layer_dimension >= 0) {
        const int32_t d = input.layer_dimension;
        tensor = Part(tensor, d, input.first, input.count);
      }
      if (input.dimension >= 0 && micro_batch >= 0) {
        const int64_t size = tensor.dims[input.dimension] / run_.micro_batches;
        tensor = Part(tensor, input.dimension, micro_batch * size, size);
      }
      return tensor;
    }
    const auto& from = input.role == SliceRole::kSum      ? sums_
                       : input.role == SliceRole::kShared ? shared_
                                                          : values_;
    if (input.combine != Reduction::kNone && combined_.contains(input.value)) {
      const auto& [tensor, count] = combined_.at(input.value);
      if (count == input.count) return tensor;
    }
    const auto found = from.find(KeyOf(input));
    if (found == from.end()) {
      return absl::InternalError(StrCat("no slice has computed ", input.name, " in role ",
                                        static_cast<int>(input.role), ", layer ", input.layer,
                                        ", first ", input.first, ", count ", input.count));
    }
    return found->second;
  }

  absl::Status RunSlice(const SliceRequest& request, int64_t micro_batch) {
    const std::tuple key{request.begin, request.forward, request.backward, request.part};
    auto found = slices_.find(key);
    if (found == slices_.end()) {
      MW_ASSIGN_OR_RETURN(ProgramSlice made, program_.slicer->Slice(request));
      found = slices_.emplace(key, std::move(made)).first;
    }
    const ProgramSlice& slice = found->second;
    std::vector<Tensor> in;
    for (const SliceValue& input : slice.inputs) {
      MW_ASSIGN_OR_RETURN(Tensor tensor, Input(input, micro_batch));
      in.push_back(std::move(tensor));
      const Shape& shape =
          slice.graph[slice.graph[slice.graph.parameters[in.size() - 1]].results[0]].shape;
      if (shape.dims != in.back().dims) {
        return absl::InternalError(StrCat("input ", input.name, " has another shape"));
      }
    }
    const std::vector<Tensor> out = RunProgram(*slice.module, slice.graph, in);
    std::set<Key> kept;  // a value may be an output of the program and a sum for the update
    for (size_t i = 0; i < out.size(); ++i) {
      const SliceValue& output = slice.outputs[i];
      if (output.output >= 0) Deliver(output, out[i], micro_batch);
      if (micro_batch < 0) {
        if (output.combine != Reduction::kNone) Combined(output, out[i]);
        shared_[KeyOf(output)] = out[i];
        continue;
      }
      if (!kept.insert(KeyOf(output)).second) continue;
      // Other slices may take it in another role than it is described with.
      Tensor& sum = sums_.try_emplace(KeyOf(output), Tensor{out[i].dims, {}}).first->second;
      sum.data.resize(out[i].data.size());
      for (size_t k = 0; k < sum.data.size(); ++k) sum.data[k] += out[i].data[k];
      values_[KeyOf(output)] = out[i];
    }
    return absl::OkStatus();
  }

  void Combined(const SliceValue& output, const Tensor& part) {
    auto [at, fresh] = combined_.try_emplace(output.value, part, 0);
    auto& [tensor, count] = at->second;
    count += output.count;
    for (size_t k = 0; k < part.data.size() && !fresh; ++k) {
      tensor.data[k] = Combine(output.combine, tensor.data[k], part.data[k]);
    }
  }

  void Deliver(const SliceValue& output, const Tensor& tensor, int64_t micro_batch) {
    Tensor& whole = outputs_[static_cast<size_t>(output.output)];
    int64_t& written = written_[static_cast<size_t>(output.output)];
    if (output.role == SliceRole::kSum) {
      for (size_t k = 0; k < whole.data.size(); ++k) whole.data[k] += tensor.data[k];
    } else if (output.dimension >= 0 && micro_batch >= 0) {
      Put(whole, tensor, output.dimension, micro_batch * tensor.dims[output.dimension]);
    } else {
      Put(whole, tensor, output.layer_dimension, output.first);
    }
    written += static_cast<int64_t>(tensor.data.size());
  }

  const SlicedProgram& program_;
  const PipelineRun& run_;
  const std::vector<Tensor>& parameters_;
  std::map<std::tuple<int32_t, bool, bool, UpdatePart>, ProgramSlice> slices_;
  std::map<Key, Tensor> values_;  // of the micro-batch at hand
  std::map<Key, Tensor> sums_, shared_;
  std::map<ValueId, std::pair<Tensor, int32_t>> combined_;  // over how many layers
  std::vector<Tensor> outputs_;
  std::vector<int64_t> written_;  // elements
};

}  // namespace

absl::StatusOr<std::unique_ptr<SlicedProgram>> PrepareProgram(const Module& module,
                                                              int32_t layer_count) {
  auto program = std::make_unique<SlicedProgram>();
  MW_ASSIGN_OR_RETURN(Module inlined, ModuleToSlice(module, {}));
  program->module = std::make_unique<Module>(std::move(inlined));
  MW_ASSIGN_OR_RETURN(program->graph, BuildGraph(*program->module));
  const std::vector<int32_t> tied = TiedParameters(program->graph, true);
  MW_ASSIGN_OR_RETURN(program->batch, FindBatch(program->graph, tied, {}));
  LayerOptions options;
  options.count = layer_count;
  MW_ASSIGN_OR_RETURN(program->layers, FindLayers(program->graph, AnalyzeFusion(program->graph),
                                                  program->batch, tied, options));
  MW_ASSIGN_OR_RETURN(program->slicer,
                      Slicer::Make(program->graph, program->batch, program->layers));
  return program;
}

absl::StatusOr<std::vector<Tensor>> RunInStages(const SlicedProgram& program,
                                                const PipelineRun& run,
                                                const std::vector<Tensor>& parameters) {
  return Run(program, run, parameters).Step();
}

}  // namespace meshwright
