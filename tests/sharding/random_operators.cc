#include "tests/sharding/random_operators.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/sharding/call_table.h"
#include "tests/sharding/call_stand_ins.h"
#include "tests/sharding/random_families.h"

namespace meshwright {
namespace random_operators {
namespace {

std::string RandomElementwise(Random& random) {
  Entry entry;
  Dims dims = RandomDims(random, 0, 3);
  std::string x = entry.Parameter(F32(dims)), y = entry.Parameter(F32(dims));
  switch (random() % 7) {
    case 0:
      return entry.Root(F32(dims), StrCat("add(", x, ", ", y, ")"));
    case 1:
      return entry.Root(F32(dims), StrCat("subtract(", x, ", ", y, ")"));
    case 2:
      return entry.Root(F32(dims), StrCat("multiply(", x, ", ", y, ")"));
    case 3:
      return entry.Root(Type("pred", dims), StrCat("compare(", x, ", ", y, "), direction=LT"));
    case 4: {
      std::string low = entry.Parameter("f32[]"), high = entry.Parameter("f32[]");
      return entry.Root(F32(dims), StrCat("clamp(", low, ", ", x, ", ", high, ")"));
    }
    case 5: {
      std::string predicate = entry.Parameter(random() % 2 ? Type("pred", dims) : "pred[]");
      return entry.Root(F32(dims), StrCat("select(", predicate, ", ", x, ", ", y, ")"));
    }
    default:
      return entry.Root(Type("bf16", dims), StrCat("convert(", x, ")"));
  }
}

std::string RandomDot(Random& random) {
  int64_t batch = Below(random, 3), contracting = Below(random, 3), left = Below(random, 3),
          right = Below(random, 2);
  Dims sizes = RandomDims(random, batch + contracting, batch + contracting);
  Dims lhs = sizes, rhs = sizes, out(sizes.begin(), sizes.begin() + batch);
  for (int64_t i = 0; i < left; ++i) lhs.push_back(Pick(random, {1, 2, 3, 4, 8}));
  for (int64_t i = 0; i < right; ++i) rhs.push_back(Pick(random, {1, 2, 3, 4, 8}));
  // Where each of these dimensions stands in its operand.
  Dims lhs_at = Permutation(random, lhs.size()), rhs_at = Permutation(random, rhs.size());
  Dims lhs_dims(lhs.size()), rhs_dims(rhs.size());
  for (size_t i = 0; i < lhs.size(); ++i) lhs_dims[lhs_at[i]] = lhs[i];
  for (size_t i = 0; i < rhs.size(); ++i) rhs_dims[rhs_at[i]] = rhs[i];
  auto part = [](const Dims& list, int64_t begin, int64_t end) {
    return Dims(list.begin() + begin, list.begin() + end);
  };
  Dims lhs_used = part(lhs_at, 0, batch + contracting),
       rhs_used = part(rhs_at, 0, batch + contracting);
  for (size_t d = 0; d < lhs_dims.size(); ++d) {
    if (!Minus({static_cast<int64_t>(d)}, lhs_used).empty()) out.push_back(lhs_dims[d]);
  }
  for (size_t d = 0; d < rhs_dims.size(); ++d) {
    if (!Minus({static_cast<int64_t>(d)}, rhs_used).empty()) out.push_back(rhs_dims[d]);
  }
  Entry entry;
  std::string x = entry.Parameter(F32(lhs_dims)), y = entry.Parameter(F32(rhs_dims));
  return entry.Root(
      F32(out), StrCat("dot(", x, ", ", y, "), lhs_batch_dims=", List(part(lhs_at, 0, batch)),
                       ", lhs_contracting_dims=", List(part(lhs_at, batch, batch + contracting)),
                       ", rhs_batch_dims=", List(part(rhs_at, 0, batch)),
                       ", rhs_contracting_dims=", List(part(rhs_at, batch, batch + contracting))));
}

std::string RandomReduce(Random& random) {
  Dims dims = RandomDims(random, 1, 4);
  Dims reduced = Permutation(random, dims.size());
  reduced.resize(1 + random() % dims.size());
  std::sort(reduced.begin(), reduced.end());
  Dims out;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!Minus({static_cast<int64_t>(d)}, reduced).empty()) out.push_back(dims[d]);
  }
  const char* bodies[] = {"add_body", "maximum_body", "minimum_body", "multiply_body"};
  Entry entry;
  std::string x = entry.Parameter(F32(dims)), init = entry.Parameter("f32[]");
  return entry.Root(F32(out), StrCat("reduce(", x, ", ", init, "), dimensions=", List(reduced),
                                     ", to_apply=", bodies[random() % 4]));
}

std::string RandomIota(Random& random) {
  Dims dims = RandomDims(random, 1, 3);
  return Entry().Root(F32(dims), StrCat("iota(), iota_dimension=", random() % dims.size()));
}

std::string RandomSort(Random& random) {
  Dims dims = RandomDims(random, 1, 3);
  Entry entry;
  std::string x = entry.Parameter(F32(dims)), y = entry.Parameter(F32(dims));
  return entry.Root(StrCat("(", F32(dims), ", ", F32(dims), ")"),
                    StrCat("sort(", x, ", ", y, "), dimensions={", random() % dims.size(),
                           "}, is_stable=true, to_apply=less"));
}

std::string RandomFft(Random& random) {
  const Dims dims = RandomDims(random, 2, 4);
  const int64_t last = dims.back();
  const auto transformed = 1 + Below(random, std::min<int64_t>(3, dims.size()));
  const std::string lengths = absl::StrJoin(dims.end() - transformed, dims.end(), ",");
  Entry entry;
  Dims result = dims;
  if (random() % 2) {
    result.back() = last / 2 + 1;
    return entry.Root(Type("c64", result), StrCat("fft(", entry.Parameter(F32(dims)),
                                                  "), fft_type=RFFT, fft_length={", lengths, "}"));
  }
  return entry.Root(Type("c64", result), StrCat("fft(", entry.Parameter(Type("c64", dims)),
                                                "), fft_type=FFT, fft_length={", lengths, "}"));
}

// Groups of rows, of what is contracted, or of a batch, with batch dimensions or without.
std::string RandomRaggedDot(Random& random) {
  const auto size = [&] { return Pick(random, {2, 4}); };
  const int64_t b = size(), m = size(), k = size(), n = size(), g = size();
  Entry entry;
  const int64_t form = Below(random, 3);
  const std::string lhs = entry.Parameter(F32({b, m, k}));
  const std::string rhs = entry.Parameter(F32(form == 0 ? Dims{g, b, k, n} : Dims{b, k, n}));
  const std::string sizes = entry.Parameter(Type("s32", {g}));
  const std::string call = StrCat("ragged-dot(", lhs, ", ", rhs, ", ", sizes,
                                  "), lhs_batch_dims={0}, lhs_contracting_dims={2}, ");
  if (form == 0) {
    return entry.Root(F32({b, m, n}), StrCat(call,
                                             "rhs_batch_dims={1}, rhs_contracting_dims={2}, "
                                             "lhs_ragged_dims={1}, rhs_group_dims={0}"));
  }
  return entry.Root(F32(form == 1 ? Dims{g, b, m, n} : Dims{b, m, n}),
                    StrCat(call, "rhs_batch_dims={0}, rhs_contracting_dims={1}, lhs_ragged_dims={",
                           form == 1 ? 2 : 0, "}"));
}

// Calls to kernels that the table of calls knows, but marks, which are no operators.
std::string RandomKnownCall(Random& random) {
  const std::vector<CallExample>& examples = CallExamples();
  for (;;) {
    const CallExample& example = examples[random() % examples.size()];
    if (FindCall(example.call.target)->remark != "the value itself")
      return RandomCall(example, random);
  }
}

std::vector<OperatorFamily> Families() {
  return {{"elementwise", RandomElementwise, 100},
          {"dot", RandomDot, 200},
          {"ragged_dot", RandomRaggedDot, 100},
          {"convolution", RandomConvolution, 300},
          {"reduce", RandomReduce, 100},
          {"reduce_window", RandomReduceWindow, 100},
          {"select_and_scatter", RandomSelectAndScatter, 100},
          {"broadcast", RandomBroadcast, 100},
          {"transpose", RandomTranspose, 100},
          {"reshape", RandomReshape, 300},
          {"bitcast", RandomBitcast, 300},
          {"slice", RandomSlice, 100},
          {"dynamic_slice", RandomDynamicSlice, 100},
          {"dynamic_update_slice", RandomDynamicUpdateSlice, 100},
          {"pad", RandomPad, 100},
          {"concatenate", RandomConcatenate, 100},
          {"reverse", RandomReverse, 100},
          {"iota", RandomIota, 50},
          {"fft", RandomFft, 100},
          {"sort", RandomSort, 100},
          {"call", RandomKnownCall, 300},
          {"gather", RandomGather, 400},
          {"scatter", RandomScatter, 400}};
}

}  // namespace
}  // namespace random_operators

const std::vector<OperatorFamily>& OperatorFamilies() {
  static const auto* const families = new std::vector<OperatorFamily>(random_operators::Families());
  return *families;
}

std::string ModuleText(std::string_view body) {
  std::string text = "HloModule t\n\n";
  for (std::string_view op : {"add", "maximum", "minimum", "multiply"}) {
    StrAppend(&text, op,
              "_body {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] ", op,
              "(a, b)\n}\n\n");
  }
  StrAppend(&text, "second_body {\n  a = f32[] parameter(0)\n  ROOT b = f32[] parameter(1)\n}\n\n");
  StrAppend(&text, "less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n",
            "  c = f32[] parameter(2)\n  d = f32[] parameter(3)\n",
            "  ROOT e = pred[] compare(a, b), direction=LT\n}\n\n");
  StrAppend(&text, "greater_equal {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n",
            "  ROOT e = pred[] compare(a, b), direction=GE\n}\n\n");
  StrAppend(&text, "ENTRY e {\n", body, "}\n");
  return text;
}

}  // namespace meshwright
