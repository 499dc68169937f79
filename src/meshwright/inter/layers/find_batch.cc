#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/layers/batch.h"
#include "meshwright/inter/layers/batch_propagation.h"
#include "meshwright/inter/layers/batch_roles.h"
#include "meshwright/inter/layers/whole_batch.h"
#include "meshwright/intra/names.h"
#include "meshwright/intra/planner.h"

namespace meshwright {
namespace {

const Shape& ShapeOf(const Graph& graph, OpId parameter) {
  return graph[graph[parameter].result()].shape;
}

// A raw key of JAX's random numbers has no batch.
bool IsRandomKey(const Shape& shape) {
  return shape.type == ElementType::kU32 && shape.rank() == 1 && shape.dims[0] <= 4;
}

bool OneSize(const Graph& graph, const std::vector<OpId>& parameters) {
  return std::all_of(parameters.begin(), parameters.end(), [&](OpId p) {
    return ShapeOf(graph, p).dims[0] == ShapeOf(graph, parameters[0]).dims[0];
  });
}

absl::StatusOr<std::vector<OpId>> Matching(const Graph& graph,
                                           const std::vector<std::string>& patterns) {
  std::vector<bool> matched(graph.parameters.size());
  std::vector<std::string> names;
  for (OpId p : graph.parameters) names.push_back(ParameterName(graph, p));
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!GlobMatch(pattern, names[i]) || WholeBatchOf(graph, graph.parameters[i]).has_value())
        continue;
      any = matched[i] = true;
      if (ShapeOf(graph, graph.parameters[i]).rank() == 0) {
        return absl::InvalidArgumentError(StrCat("data input \"", names[i], "\" (of \"", pattern,
                                                 "\") is a scalar: it has no batch dimension"));
      }
    }
    if (!any) {
      return absl::InvalidArgumentError(StrCat("no parameter matches the data input \"", pattern,
                                               "\"; did you mean \"", NearestName(pattern, names),
                                               "\"?"));
    }
  }
  std::vector<OpId> data;
  for (size_t i = 0; i < matched.size(); ++i) {
    if (matched[i]) data.push_back(graph.parameters[i]);
  }
  return data;
}

// What carries the batch if the user does not say. `never`, by position in Graph::parameters: which
// do not.
std::vector<OpId> Default(const Graph& graph, const std::vector<bool>& never, bool training) {
  std::vector<OpId> arrays, integers;
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    const Shape& shape = ShapeOf(graph, graph.parameters[i]);
    if (never[i] || shape.rank() == 0 || IsRandomKey(shape)) continue;
    arrays.push_back(graph.parameters[i]);
    if (IsInteger(shape.type)) integers.push_back(graph.parameters[i]);
  }
  // Beside data there may be weights that stay as they are.
  if (training && OneSize(graph, arrays)) return arrays;
  if (!integers.empty()) return integers;
  if (training) return arrays;
  const std::vector<bool> reached = ReachedFromOutputs(graph);
  std::vector<OpId> data;
  for (size_t i = 0; i < reached.size(); ++i) {
    if (reached[i] && !never[i]) data.push_back(graph.parameters[i]);
  }
  return data;
}

}  // namespace

absl::StatusOr<BatchSplit> FindBatch(const Graph& graph, const std::vector<int32_t>& tied,
                                     const std::vector<std::string>& data, MicroBatchRng rng) {
  std::vector<bool> never(graph.parameters.size());
  for (int32_t p : tied) {
    if (p >= 0) never[p] = true;
  }
  const bool training = std::find(never.begin(), never.end(), true) != never.end();
  for (size_t i = 0; i < never.size(); ++i) {
    if (WholeBatchOf(graph, graph.parameters[i]).has_value()) never[i] = true;
  }
  std::vector<OpId> seeds;
  if (data.empty()) {
    seeds = Default(graph, never, training);
  } else {
    MW_ASSIGN_OR_RETURN(seeds, Matching(graph, data));
  }
  if (seeds.empty()) {
    return absl::FailedPreconditionError(
        "found no input that carries the batch; name the data inputs (--data, patterns of "
        "parameter names)");
  }
  for (OpId p : seeds) {
    if (ShapeOf(graph, p).dims[0] == ShapeOf(graph, seeds[0]).dims[0]) continue;
    return absl::FailedPreconditionError(StrCat(
        "the data inputs \"", ParameterName(graph, seeds[0]), "\" and \"", ParameterName(graph, p),
        "\" have different first dimensions (", ShapeOf(graph, seeds[0]).dims[0], " and ",
        ShapeOf(graph, p).dims[0], "); name those that carry the batch (--data)"));
  }
  BatchSplit split;
  split.size = ShapeOf(graph, seeds[0]).dims[0];
  if (split.size < 2) {
    return absl::FailedPreconditionError(
        StrCat("the batch of \"", ParameterName(graph, seeds[0]), "\" is ", split.size,
               ": there is nothing to divide into micro-batches; if another input carries it, name "
               "that (--data)"));
  }
  std::vector<bool> may_be_data(graph.parameters.size());
  for (size_t i = 0; i < may_be_data.size(); ++i) may_be_data[i] = data.empty() && !never[i];
  std::vector<BatchSeed> values;
  values.reserve(seeds.size());
  for (OpId p : seeds) values.push_back({graph[p].results[0]});
  BatchPropagation propagation = PropagateBatch(graph, values, may_be_data, {}, rng);
  AssignRoles(graph, propagation, tied, &split);
  split.data = std::move(propagation.data);
  return split;
}

}  // namespace meshwright
