#include <algorithm>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/verify/shape_inference.h"

// Instructions that read or write at places computed by the program.

namespace meshwright {
namespace {

// Start indices from operand `first` on: one integer scalar a dimension, or, in programs before
// 2020, all in one vector.
Problem CheckStartIndices(const TypedInstruction& i, size_t first) {
  const int64_t rank = i.operand(0).rank();
  const auto found = static_cast<int64_t>(i.operand_count() - first);
  if (found == 1 && i.operand(first).rank() == 1) {
    if (i.operand(first).dims[0] == rank) return "";
    return StrCat("operand ", first, ", the start indices, must have ", rank, " elements; is ",
                  i.operand(first).ToString(false));
  }
  if (found != rank) {
    return StrCat("takes a start index for each of ", rank, " dimensions, found ", found);
  }
  for (size_t k = first; k < i.operand_count(); ++k) {
    if (i.operand(k).rank() != 0 || !IsInteger(i.operand(k).type)) {
      return StrCat("operand ", k, ", a start index, must be an integer scalar; is ",
                    i.operand(k).ToString(false));
    }
  }
  return "";
}

// A problem unless `sizes` is one size for each dimension of `shape`, none beyond its own.
Problem CheckSizesWithin(const std::vector<int64_t>& sizes, const Shape& shape,
                         std::string_view what) {
  if (sizes.size() != shape.dims.size()) {
    return StrCat(what, " has ", sizes.size(), " dimensions; operand 0, ", shape.ToString(false),
                  ", has ", shape.rank());
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0 || sizes[d] > shape.dims[d]) {
      return StrCat(what, " has size ", sizes[d], " in dimension ", d, " of operand 0, ",
                    shape.ToString(false));
    }
  }
  return "";
}

// How many numbers an index vector of `indices` has. `index_vector_dim` may be the rank: scalars.
Problem IndexVectorSize(const Shape& indices, int64_t index_vector_dim, int64_t& size) {
  if (index_vector_dim < 0 || index_vector_dim > indices.rank()) {
    return StrCat("index_vector_dim=", index_vector_dim, " is not in 0 to ", indices.rank());
  }
  size =
      index_vector_dim == indices.rank() ? 1 : indices.dims[static_cast<size_t>(index_vector_dim)];
  return "";
}

// Sizes of `indices` without its index vector.
std::vector<int64_t> BatchSizes(const Shape& indices, int64_t index_vector_dim) {
  std::vector<int64_t> sizes = indices.dims;
  if (index_vector_dim < indices.rank()) sizes.erase(sizes.begin() + index_vector_dim);
  return sizes;
}

}  // namespace

Problem CheckDynamicSlice(const TypedInstruction& i) {
  if (i.operand_count() == 0) return "takes at least one operand";
  if (Problem p = CheckArrays(i, 0, i.operand_count()); !p.empty()) return p;
  if (Problem p = CheckStartIndices(i, 1); !p.empty()) return p;
  if (Problem p = CheckSizesWithin(i->dynamic_slice_sizes, i.operand(0), "dynamic_slice_sizes=");
      !p.empty()) {
    return p;
  }
  return CheckResult(i, i->dynamic_slice_sizes, i.operand(0).type);
}

Problem CheckDynamicUpdateSlice(const TypedInstruction& i) {
  if (i.operand_count() < 2) return "takes an array, an update and start indices";
  if (Problem p = CheckArrays(i, 0, i.operand_count()); !p.empty()) return p;
  if (Problem p = CheckStartIndices(i, 2); !p.empty()) return p;
  if (Problem p = CheckSizesWithin(i.operand(1).dims, i.operand(0), "operand 1, the update,");
      !p.empty()) {
    return p;
  }
  return CheckResult(i, i.operand(0).dims, i.operand(0).type);
}

Problem CheckGather(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 2); !p.empty()) return p;
  const Shape& operand = i.operand(0);
  const Shape& indices = i.operand(1);
  const GatherDimensions& g = i->gather;
  int64_t index_size = 0;
  if (Problem p = IndexVectorSize(indices, g.index_vector_dim, index_size); !p.empty()) return p;
  if (static_cast<int64_t>(g.start_index_map.size()) != index_size) {
    return StrCat("start_index_map= has ", g.start_index_map.size(), " entries, an index vector ",
                  index_size);
  }
  if (Problem p = CheckSizesWithin(g.slice_sizes, operand, "slice_sizes="); !p.empty()) return p;
  const std::vector<int64_t> dropped = Joined(g.collapsed_slice_dims, g.operand_batching_dims);
  if (Problem p = CheckDimensionList(dropped, operand.rank(),
                                     "collapsed_slice_dims= and operand_batching_dims=");
      !p.empty()) {
    return p;
  }
  if (Problem p = CheckDimensionList(g.start_index_map, operand.rank(), "start_index_map=");
      !p.empty()) {
    return p;
  }
  std::vector<int64_t> window;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (!Contains(dropped, d)) window.push_back(g.slice_sizes[static_cast<size_t>(d)]);
  }
  if (window.size() != g.offset_dims.size()) {
    return StrCat("offset_dims= has ", g.offset_dims.size(), " entries, a slice keeps ",
                  window.size(), " dimensions");
  }
  const std::vector<int64_t> batch = BatchSizes(indices, g.index_vector_dim);
  const auto rank = static_cast<int64_t>(batch.size() + window.size());
  if (Problem p = CheckDimensionList(g.offset_dims, rank, "offset_dims="); !p.empty()) return p;
  std::vector<int64_t> given;
  size_t next_window = 0;
  size_t next_batch = 0;
  for (int64_t d = 0; d < rank; ++d) {
    given.push_back(Contains(g.offset_dims, d) ? window[next_window++] : batch[next_batch++]);
  }
  return CheckResult(i, given, operand.type);
}

Problem CheckScatter(const TypedInstruction& i) {
  const size_t count = i.operand_count();
  if (count < 3 || count % 2 == 0) {
    return StrCat("takes arrays, indices and as many updates as arrays, found ", count,
                  " operands");
  }
  if (Problem p = CheckArrays(i, 0, count); !p.empty()) return p;
  const size_t arrays = count / 2;
  const Shape& indices = i.operand(arrays);
  const ScatterDimensions& s = i->scatter;
  int64_t index_size = 0;
  if (Problem p = IndexVectorSize(indices, s.index_vector_dim, index_size); !p.empty()) return p;
  if (static_cast<int64_t>(s.scatter_dims_to_operand_dims.size()) != index_size) {
    return StrCat("scatter_dims_to_operand_dims= has ", s.scatter_dims_to_operand_dims.size(),
                  " entries, an index vector ", index_size);
  }
  const size_t dropped = s.inserted_window_dims.size() + s.input_batching_dims.size();
  const std::vector<int64_t> batch = BatchSizes(indices, s.index_vector_dim);
  std::vector<Shape> given;
  for (size_t k = 0; k < arrays; ++k) {
    const Shape& operand = i.operand(k);
    const Shape& update = i.operand(arrays + 1 + k);
    if (s.update_window_dims.size() + dropped != operand.dims.size()) {
      return StrCat("update_window_dims=, inserted_window_dims= and input_batching_dims= have ",
                    s.update_window_dims.size() + dropped, " entries; operand ", k, ", ",
                    operand.ToString(false), ", has ", operand.rank(), " dimensions");
    }
    if (Problem p = CheckDimensionList(s.scatter_dims_to_operand_dims, operand.rank(),
                                       "scatter_dims_to_operand_dims=");
        !p.empty()) {
      return p;
    }
    if (update.dims.size() != s.update_window_dims.size() + batch.size()) {
      return StrCat("operand ", arrays + 1 + k, ", an update, must have ",
                    s.update_window_dims.size() + batch.size(), " dimensions; is ",
                    update.ToString(false));
    }
    if (Problem p = CheckDimensionList(s.update_window_dims, update.rank(), "update_window_dims=");
        !p.empty()) {
      return p;
    }
    std::vector<int64_t> scattered;
    for (int64_t d = 0; d < update.rank(); ++d) {
      if (!Contains(s.update_window_dims, d)) {
        scattered.push_back(update.dims[static_cast<size_t>(d)]);
      }
    }
    if (scattered != batch) {
      return StrCat("operand ", arrays + 1 + k, ", an update, ", update.ToString(false),
                    " does not fit the indices ", indices.ToString(false));
    }
    given.push_back(operand);
  }
  const Shape result = arrays == 1 ? given[0] : Shape::Tuple(std::move(given));
  return CheckResult(i, result);
}

}  // namespace meshwright
