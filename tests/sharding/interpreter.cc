#include "tests/sharding/interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>

#include "meshwright/hlo/element_value.h"
#include "meshwright/hlo/reduction.h"
#include "tests/sharding/call_stand_ins.h"
#include "tests/sharding/element_positions.h"
#include "tests/sharding/scalar_functions.h"
#include "tests/sharding/tensor.h"

namespace meshwright {
namespace {

bool Contains(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// What a function below works on.
struct Call {
  const Graph& graph;
  const Op& op;
  const Instruction& instruction;
  const std::vector<Tensor>& in;
  const std::vector<Placement>& in_place;
  const std::vector<Placement>& out_place;
  bool first;

  Tensor Blank(size_t result = 0) const {
    Tensor out{out_place[result].size, {}};
    out.data.assign(static_cast<size_t>(ElementCount(out.dims)), 0);
    return out;
  }
  Reduction Body(size_t i = 0) const {
    static const std::map<BodyKind, Reduction> reductions = {
        {BodyKind::kAdd, Reduction::kSum},     {BodyKind::kMultiply, Reduction::kProduct},
        {BodyKind::kMaximum, Reduction::kMax}, {BodyKind::kMinimum, Reduction::kMin},
        {BodyKind::kAnd, Reduction::kAnd},     {BodyKind::kOr, Reduction::kOr},
        {BodyKind::kOther, Reduction::kOther}};
    return reductions.at(ClassifyBody(*graph.module, instruction.called[i]));
  }
};

// Operand `i` at the result's index, or its only element.
double Argument(const Call& call, size_t i, const Index& index) {
  return call.in[i].dims.empty() ? call.in[i].data[0] : At(call.in[i], index);
}

std::vector<Tensor> Elementwise(const Call& call) {
  Tensor out = call.Blank();
  ForEachIndex(out.dims, [&](const Index& at) {
    At(out, at) =
        ElementwiseValue(call.instruction, [&](size_t i) { return Argument(call, i, at); });
  });
  return {out};
}

std::vector<Tensor> Dot(const Call& call) {
  const DotDimensions& dims = call.instruction.dot;
  std::vector<int64_t> contracted;
  for (int64_t d : dims.lhs_contracting) contracted.push_back(call.in[0].dims[d]);
  Tensor out = call.Blank();
  ForEachIndex(out.dims, [&](const Index& at) {
    Index lhs(call.in[0].dims.size()), rhs(call.in[1].dims.size());
    size_t next = 0;
    for (size_t i = 0; i < dims.lhs_batch.size(); ++i) {
      lhs[dims.lhs_batch[i]] = rhs[dims.rhs_batch[i]] = at[next++];
    }
    for (size_t d = 0; d < lhs.size(); ++d) {
      if (!Contains(dims.lhs_batch, d) && !Contains(dims.lhs_contracting, d)) lhs[d] = at[next++];
    }
    for (size_t d = 0; d < rhs.size(); ++d) {
      if (!Contains(dims.rhs_batch, d) && !Contains(dims.rhs_contracting, d)) rhs[d] = at[next++];
    }
    ForEachIndex(contracted, [&](const Index& k) {
      for (size_t i = 0; i < k.size(); ++i) {
        lhs[dims.lhs_contracting[i]] = rhs[dims.rhs_contracting[i]] = k[i];
      }
      At(out, at) += At(call.in[0], lhs) * At(call.in[1], rhs);
    });
  });
  return {out};
}

// The number in `{3}`; -1 if there is none.
int64_t NumberIn(const Instruction& instruction, std::string_view attribute) {
  const std::string* text = FindAttribute(instruction, attribute);
  return text == nullptr ? -1 : std::atoi(text->c_str() + 1);
}

// Groups by their sizes, which every device has whole. A device tells from where its pieces lie
// which of its rows, and which groups, go together.
std::vector<Tensor> RaggedDot(const Call& call) {
  const DotDimensions& dims = call.instruction.dot;
  const int64_t ragged = NumberIn(call.instruction, "lhs_ragged_dims");
  const int64_t group = NumberIn(call.instruction, "rhs_group_dims");
  const bool by_group = Contains(dims.lhs_contracting, ragged);
  const bool by_batch = Contains(dims.lhs_batch, ragged);
  const auto group_of = [&](int64_t row) {
    int64_t end = 0;
    for (size_t g = 0; g < call.in[2].data.size(); ++g) {
      end += std::max<int64_t>(0, static_cast<int64_t>(call.in[2].data[g]));
      if (row < end) return static_cast<int64_t>(g);
    }
    return int64_t{-1};
  };
  std::vector<int64_t> contracted;
  for (int64_t d : dims.lhs_contracting) contracted.push_back(call.in[0].dims[d]);
  Tensor out = call.Blank();
  ForEachIndex(out.dims, [&](const Index& at) {
    Index lhs(call.in[0].dims.size()), rhs(call.in[1].dims.size());
    size_t next = by_group ? 1 : 0;
    for (size_t i = 0; i < dims.lhs_batch.size(); ++i)
      lhs[dims.lhs_batch[i]] = rhs[dims.rhs_batch[i]] = at[next++];
    for (size_t d = 0; d < lhs.size(); ++d) {
      if (!Contains(dims.lhs_batch, d) && !Contains(dims.lhs_contracting, d)) lhs[d] = at[next++];
    }
    for (size_t d = 0; d < rhs.size(); ++d) {
      if (!Contains(dims.rhs_batch, d) && !Contains(dims.rhs_contracting, d) &&
          static_cast<int64_t>(d) != group) {
        rhs[d] = at[next++];
      }
    }
    ForEachIndex(contracted, [&](const Index& k) {
      for (size_t i = 0; i < k.size(); ++i)
        lhs[dims.lhs_contracting[i]] = rhs[dims.rhs_contracting[i]] = k[i];
      const int64_t of_row = group_of(call.in_place[0].offset[ragged] + lhs[ragged]);
      if (by_group && of_row != call.out_place[0].offset[0] + at[0]) return;
      if (!by_group && !by_batch) {
        rhs[group] = of_row - call.in_place[1].offset[group];
        if (of_row < 0 || rhs[group] < 0 || rhs[group] >= call.in[1].dims[group]) return;
      }
      At(out, at) += At(call.in[0], lhs) * At(call.in[1], rhs);
    });
  });
  return {out};
}

std::vector<Tensor> Convolution(const Call& call) {
  const ConvolutionDimensions& dims = call.instruction.convolution;
  const Tensor &lhs = call.in[0], &rhs = call.in[1];
  Tensor out = call.Blank();
  int64_t kernel_inputs = rhs.dims[dims.kernel_input_feature];
  int64_t out_batch = out.dims[dims.output_batch];
  int64_t out_features = out.dims[dims.output_feature];
  int64_t feature_groups = lhs.dims[dims.input_feature] / kernel_inputs;
  int64_t batch_groups = lhs.dims[dims.input_batch] / out_batch;
  std::vector<int64_t> kernel = {kernel_inputs};
  for (int64_t d : dims.kernel_spatial) kernel.push_back(rhs.dims[d]);
  ForEachIndex(out.dims, [&](const Index& at) {
    int64_t o = at[dims.output_feature];
    int64_t feature_group = o / (out_features / feature_groups);
    int64_t batch_group = o / (out_features / batch_groups);
    ForEachIndex(kernel, [&](const Index& k) {
      Index l(lhs.dims.size()), r(rhs.dims.size());
      l[dims.input_batch] = batch_group * out_batch + at[dims.output_batch];
      l[dims.input_feature] = feature_group * kernel_inputs + k[0];
      r[dims.kernel_input_feature] = k[0];
      r[dims.kernel_output_feature] = o;
      for (size_t s = 0; s < dims.input_spatial.size(); ++s) {
        const WindowDimension& window = call.instruction.window[s];
        int64_t p = WindowPosition(window, at[dims.output_spatial[s]], k[s + 1],
                                   lhs.dims[dims.input_spatial[s]]);
        if (p < 0) return;
        l[dims.input_spatial[s]] = p;
        r[dims.kernel_spatial[s]] = window.reversal ? kernel[s + 1] - 1 - k[s + 1] : k[s + 1];
      }
      At(out, at) += At(lhs, l) * At(rhs, r);
    });
  });
  return {out};
}

std::vector<Tensor> Reduce(const Call& call) {
  size_t inputs = call.in.size() / 2;
  std::vector<Tensor> outs;
  for (size_t i = 0; i < inputs; ++i) {
    Tensor out = call.Blank(i);
    double init = call.first ? call.in[inputs + i].data[0] : ReductionIdentity(call.Body());
    std::fill(out.data.begin(), out.data.end(), init);
    ForEachIndex(call.in[i].dims, [&](const Index& from) {
      Index at;
      for (size_t d = 0; d < from.size(); ++d) {
        if (!Contains(call.instruction.dimensions, d)) at.push_back(from[d]);
      }
      At(out, at) = Combine(call.Body(), At(out, at), At(call.in[i], from));
    });
    outs.push_back(out);
  }
  return outs;
}

std::vector<Tensor> ReduceWindow(const Call& call) {
  Tensor out = call.Blank();
  std::fill(out.data.begin(), out.data.end(), call.in[1].data[0]);
  ForEachIndex(out.dims, [&](const Index& at) {
    ForEachIndex(WindowSizes(call.instruction), [&](const Index& w) {
      Index from(at.size());
      for (size_t d = 0; d < at.size(); ++d) {
        from[d] = WindowPosition(call.instruction.window[d], at[d], w[d], call.in[0].dims[d]);
        if (from[d] < 0) return;
      }
      At(out, at) = Combine(call.Body(), At(out, at), At(call.in[0], from));
    });
  });
  return {out};
}

// With select GE and scatter add.
std::vector<Tensor> SelectAndScatter(const Call& call) {
  Tensor out = call.Blank();
  std::fill(out.data.begin(), out.data.end(), call.in[2].data[0]);
  ForEachIndex(call.in[1].dims, [&](const Index& source) {
    Index selected;
    ForEachIndex(WindowSizes(call.instruction), [&](const Index& w) {
      Index at(source.size());
      for (size_t d = 0; d < at.size(); ++d) {
        at[d] = WindowPosition(call.instruction.window[d], source[d], w[d], call.in[0].dims[d]);
        if (at[d] < 0) return;
      }
      if (selected.empty() || At(call.in[0], selected) < At(call.in[0], at)) selected = at;
    });
    if (!selected.empty()) At(out, selected) += At(call.in[1], source);
  });
  return {out};
}

std::vector<Tensor> Broadcast(const Call& call) {
  Tensor out = call.Blank();
  ForEachIndex(out.dims, [&](const Index& at) {
    Index from;
    for (int64_t d : call.instruction.dimensions) from.push_back(at[d]);
    At(out, at) = At(call.in[0], from);
  });
  return {out};
}

std::vector<Tensor> Transpose(const Call& call) {
  Tensor out = call.Blank();
  ForEachIndex(out.dims, [&](const Index& at) {
    Index from(at.size());
    for (size_t d = 0; d < at.size(); ++d) from[call.instruction.dimensions[d]] = at[d];
    At(out, at) = At(call.in[0], from);
  });
  return {out};
}

std::vector<Tensor> Reshape(const Call& call) {
  Tensor out = call.Blank();
  out.data = call.in[0].data;
  return {out};
}

std::vector<Tensor> Bitcast(const Call& call) {
  Tensor out = call.Blank();
  std::vector<Index> from = MemoryOrder(call.graph[call.op.operands[0]].shape, call.in[0].dims);
  std::vector<Index> to = MemoryOrder(call.graph[call.op.results[0]].shape, out.dims);
  for (size_t i = 0; i < from.size(); ++i) At(out, to[i]) = At(call.in[0], from[i]);
  return {out};
}

std::vector<Tensor> Slice(const Call& call) {
  Tensor out = call.Blank();
  ForEachIndex(out.dims, [&](const Index& at) {
    Index from = at;
    for (size_t d = 0; d < at.size(); ++d) {
      const SliceDimension& slice = call.instruction.slice[d];
      from[d] = slice.start + at[d] * slice.stride;
    }
    At(out, at) = At(call.in[0], from);
  });
  return {out};
}

// Start of a dynamic slice of `size` elements of the global dimension `d` of operand 0.
int64_t ClampedStart(const Call& call, double start, size_t d, int64_t size) {
  return std::clamp(static_cast<int64_t>(start), int64_t{0}, call.in_place[0].global[d] - size);
}

std::vector<Tensor> DynamicSlice(const Call& call) {
  Tensor out = call.Blank();
  ForEachIndex(out.dims, [&](const Index& at) {
    Index from = at;
    for (size_t d = 0; d < at.size(); ++d) {
      from[d] += ClampedStart(call, call.in[1 + d].data[0], d, call.out_place[0].global[d]);
    }
    At(out, at) = At(call.in[0], from);
  });
  return {out};
}

std::vector<Tensor> DynamicUpdateSlice(const Call& call) {
  Tensor out = call.in[0];
  ForEachIndex(call.in[1].dims, [&](const Index& from) {
    Index at = from;
    for (size_t d = 0; d < at.size(); ++d) {
      at[d] += ClampedStart(call, call.in[2 + d].data[0], d, call.in_place[1].global[d]);
    }
    At(out, at) = At(call.in[1], from);
  });
  return {out};
}

std::vector<Tensor> Pad(const Call& call) {
  Tensor out = call.Blank();
  std::fill(out.data.begin(), out.data.end(), call.in[1].data[0]);
  ForEachIndex(call.in[0].dims, [&](const Index& from) {
    Index at = from;
    for (size_t d = 0; d < at.size(); ++d) {
      const PaddingDimension& padding = call.instruction.padding[d];
      at[d] = padding.low + from[d] * (padding.interior + 1);
      if (at[d] < 0 || at[d] >= out.dims[d]) return;
    }
    At(out, at) = At(call.in[0], from);
  });
  return {out};
}

std::vector<Tensor> Concatenate(const Call& call) {
  Tensor out = call.Blank();
  int64_t base = 0, dim = call.instruction.dimensions[0];
  for (const Tensor& in : call.in) {
    ForEachIndex(in.dims, [&](const Index& from) {
      Index at = from;
      at[dim] += base;
      At(out, at) = At(in, from);
    });
    base += in.dims[dim];
  }
  return {out};
}

std::vector<Tensor> Reverse(const Call& call) {
  Tensor out = call.Blank();
  ForEachIndex(out.dims, [&](const Index& at) {
    Index from = at;
    for (int64_t d : call.instruction.dimensions) from[d] = out.dims[d] - 1 - at[d];
    At(out, at) = At(call.in[0], from);
  });
  return {out};
}

std::vector<Tensor> Iota(const Call& call) {
  Tensor out = call.Blank();
  int64_t dim = call.instruction.iota_dimension;
  ForEachIndex(out.dims, [&](const Index& at) {
    At(out, at) = static_cast<double>(at[dim] + call.out_place[0].offset[dim]);
  });
  return {out};
}

// The real part of a discrete Fourier transform of real values, by its definition.
std::vector<Tensor> Fft(const Call& call) {
  const std::string& lengths = *FindAttribute(call.instruction, "fft_length");
  const auto count = static_cast<size_t>(1 + std::count(lengths.begin(), lengths.end(), ','));
  const Tensor& in = call.in[0];
  Tensor out = call.Blank();
  ForEachIndex(out.dims, [&](const Index& at) {
    ForEachIndex(in.dims, [&](const Index& from) {
      double turns = 0;
      for (size_t d = 0; d < at.size(); ++d) {
        if (d + count >= at.size()) {
          turns += static_cast<double>(at[d] * from[d]) / static_cast<double>(in.dims[d]);
        } else if (at[d] != from[d]) {
          return;
        }
      }
      At(out, at) += At(in, from) * std::cos(2 * std::numbers::pi * turns);
    });
  });
  return {out};
}

// All operands by the first one, ascending and stable.
std::vector<Tensor> Sort(const Call& call) {
  std::vector<Tensor> outs = call.in;
  int64_t dim = call.instruction.dimensions[0];
  std::vector<int64_t> others = call.in[0].dims;
  others[dim] = 1;
  ForEachIndex(others, [&](const Index& row) {
    auto cell = [&](size_t i, int64_t k) {
      Index at = row;
      at[dim] = k;
      return At(call.in[i], at);
    };
    std::vector<int64_t> order(static_cast<size_t>(call.in[0].dims[dim]));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return cell(0, a) < cell(0, b); });
    for (size_t i = 0; i < outs.size(); ++i) {
      for (size_t k = 0; k < order.size(); ++k) {
        Index at = row;
        at[dim] = static_cast<int64_t>(k);
        At(outs[i], at) = cell(i, order[k]);
      }
    }
  });
  return outs;
}

std::vector<Tensor> StandIn(const Call& call) {
  std::vector<std::vector<int64_t>> sizes;
  for (const Placement& place : call.out_place) sizes.push_back(place.size);
  return ExecuteCall(call.instruction.custom_call_target, call.in, sizes);
}

std::vector<Tensor> Gather(const Call& call) {
  const GatherDimensions& dims = call.instruction.gather;
  const Placement &operand = call.in_place[0], &indices = call.in_place[1],
                  &result = call.out_place[0];
  Tensor out = call.Blank();
  ForEachIndex(out.dims, [&](const Index& at) {
    Index batch;
    for (size_t d = 0; d < at.size(); ++d) {
      if (!Contains(dims.offset_dims, d)) batch.push_back(at[d]);
    }
    Index start =
        IndexVector(call.in[1], batch, dims.index_vector_dim, dims.start_index_map.size());
    Index from(operand.global.size());
    for (size_t k = 0; k < start.size(); ++k) {
      int64_t d = dims.start_index_map[k];
      from[d] = std::clamp(start[k], int64_t{0}, operand.global[d] - dims.slice_sizes[d]);
    }
    for (size_t k = 0; k < dims.operand_batching_dims.size(); ++k) {
      int64_t d = dims.start_indices_batching_dims[k];
      from[dims.operand_batching_dims[k]] =
          batch[BatchPosition(d, dims.index_vector_dim)] + indices.offset[d];
    }
    size_t next = 0;
    for (size_t d = 0; d < from.size(); ++d) {
      if (Contains(dims.collapsed_slice_dims, d) || Contains(dims.operand_batching_dims, d))
        continue;
      int64_t result_dim = dims.offset_dims[next++];
      from[d] += at[result_dim] + result.offset[result_dim];
    }
    if (ToLocal(operand, from)) At(out, at) = At(call.in[0], from);
  });
  return {out};
}

std::vector<Tensor> Scatter(const Call& call) {
  const ScatterDimensions& dims = call.instruction.scatter;
  const Placement &operand = call.in_place[0], &indices = call.in_place[1],
                  &updates = call.in_place[2];
  Tensor out = call.in[0];
  ForEachIndex(call.in[2].dims, [&](const Index& from) {
    Index batch;
    for (size_t d = 0; d < from.size(); ++d) {
      if (!Contains(dims.update_window_dims, d)) batch.push_back(from[d]);
    }
    Index start = IndexVector(call.in[1], batch, dims.index_vector_dim,
                              dims.scatter_dims_to_operand_dims.size());
    Index at(operand.global.size()), window(operand.global.size(), 1);
    for (size_t k = 0; k < start.size(); ++k) at[dims.scatter_dims_to_operand_dims[k]] = start[k];
    for (size_t k = 0; k < dims.input_batching_dims.size(); ++k) {
      int64_t d = dims.scatter_indices_batching_dims[k];
      at[dims.input_batching_dims[k]] =
          batch[BatchPosition(d, dims.index_vector_dim)] + indices.offset[d];
    }
    Index offset(at.size());
    size_t next = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      if (Contains(dims.inserted_window_dims, d) || Contains(dims.input_batching_dims, d)) continue;
      int64_t update_dim = dims.update_window_dims[next++];
      window[d] = updates.global[update_dim];
      offset[d] = from[update_dim] + updates.offset[update_dim];
    }
    for (size_t d = 0; d < at.size(); ++d) {
      if (at[d] < 0 || at[d] + window[d] > operand.global[d]) return;
      at[d] += offset[d];
    }
    if (ToLocal(operand, at)) At(out, at) = Combine(call.Body(), At(out, at), At(call.in[2], from));
  });
  return {out};
}

std::vector<Tensor> Constant(const Call& call) {
  Tensor out = call.Blank();
  const ElementType type = call.instruction.shape.type;
  const std::string& data = call.instruction.literal.data;
  for (size_t i = 0; i < out.data.size() && !data.empty(); ++i) {
    out.data[i] = ElementAsDouble(type, data.data() + i * static_cast<size_t>(ElementBytes(type)));
  }
  return {out};
}

using Function = std::vector<Tensor> (*)(const Call&);

const std::map<Opcode, Function>& Functions() {
  static const auto* const functions = new std::map<Opcode, Function>{
      {Opcode::kAdd, Elementwise},
      {Opcode::kSubtract, Elementwise},
      {Opcode::kMultiply, Elementwise},
      {Opcode::kMaximum, Elementwise},
      {Opcode::kNegate, Elementwise},
      {Opcode::kDivide, Elementwise},
      {Opcode::kPower, Elementwise},
      {Opcode::kMinimum, Elementwise},
      {Opcode::kAnd, Elementwise},
      {Opcode::kOr, Elementwise},
      {Opcode::kNot, Elementwise},
      {Opcode::kIsFinite, Elementwise},
      {Opcode::kAbs, Elementwise},
      {Opcode::kSign, Elementwise},
      {Opcode::kExp, Elementwise},
      {Opcode::kLog, Elementwise},
      {Opcode::kSqrt, Elementwise},
      {Opcode::kRsqrt, Elementwise},
      {Opcode::kTanh, Elementwise},
      {Opcode::kSin, Elementwise},
      {Opcode::kCos, Elementwise},
      {Opcode::kCompare, Elementwise},
      {Opcode::kSelect, Elementwise},
      {Opcode::kClamp, Elementwise},
      {Opcode::kCopy, Elementwise},
      {Opcode::kConvert, Elementwise},
      {Opcode::kDot, Dot},
      {Opcode::kConvolution, Convolution},
      {Opcode::kReduce, Reduce},
      {Opcode::kReduceWindow, ReduceWindow},
      {Opcode::kSelectAndScatter, SelectAndScatter},
      {Opcode::kBroadcast, Broadcast},
      {Opcode::kTranspose, Transpose},
      {Opcode::kReshape, Reshape},
      {Opcode::kBitcast, Bitcast},
      {Opcode::kSlice, Slice},
      {Opcode::kDynamicSlice, DynamicSlice},
      {Opcode::kDynamicUpdateSlice, DynamicUpdateSlice},
      {Opcode::kPad, Pad},
      {Opcode::kConcatenate, Concatenate},
      {Opcode::kReverse, Reverse},
      {Opcode::kIota, Iota},
      {Opcode::kFft, Fft},
      {Opcode::kSort, Sort},
      {Opcode::kCustomCall, StandIn},
      {Opcode::kRaggedDot, RaggedDot},
      {Opcode::kGather, Gather},
      {Opcode::kScatter, Scatter},
      {Opcode::kConstant, Constant},
  };
  return *functions;
}

}  // namespace

std::vector<Tensor> Execute(const Graph& graph, const Op& op, const std::vector<Tensor>& operands,
                            const std::vector<Placement>& operand_places,
                            const std::vector<Placement>& result_places, bool first) {
  auto found = Functions().find(op.instruction->opcode);
  if (found == Functions().end()) {
    std::fprintf(stderr, "the interpreter does not know %s\n", op.instruction->name.c_str());
    std::abort();
  }
  return found->second(
      {graph, op, *op.instruction, operands, operand_places, result_places, first});
}

}  // namespace meshwright
