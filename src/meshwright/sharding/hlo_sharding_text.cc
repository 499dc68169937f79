#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/text_cursor.h"
#include "meshwright/sharding/hlo_sharding.h"

namespace meshwright {
namespace {

using Kind = HloSharding::Kind;

constexpr int kMaxTupleNesting = 16;

// Forms that are one word, and what a subgroup of tiles may be.
struct WordRow {
  std::string_view word;
  Kind kind;
};
constexpr WordRow kWords[] = {
    {"replicated", Kind::kReplicated},
    {"manual", Kind::kManual},
    {"unknown", Kind::kUnknown},
    {"unreduced", Kind::kUnreduced},
};

// A device list written as iota(product of dims), reshaped to dims, transposed: `[4,2]T(1,0)`.
struct Iota {
  std::vector<int64_t> dims, order;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : cursor_(text, "sharding") {}

  absl::StatusOr<HloSharding> Parse() {
    MW_ASSIGN_OR_RETURN(HloSharding sharding, Braced(0));
    if (!cursor_.AtEnd()) return cursor_.Expected("the end after '}'");
    return sharding;
  }

 private:
  absl::StatusOr<HloSharding> Braced(int depth) {
    if (depth > kMaxTupleNesting) return cursor_.Error("tuples are nested too deep");
    MW_RETURN_IF_ERROR(cursor_.Expect("{"));
    HloSharding sharding;
    if (cursor_.Peek() == '{' || cursor_.Peek() == '}') {
      sharding.kind = Kind::kTuple;
      while (cursor_.Peek() != '}') {
        MW_ASSIGN_OR_RETURN(HloSharding element, Braced(depth + 1));
        sharding.tuple.push_back(std::move(element));
        if (!cursor_.Consume(',')) break;
      }
    } else {
      MW_RETURN_IF_ERROR(Body(sharding));
      MW_RETURN_IF_ERROR(Suffixes(sharding));
    }
    MW_RETURN_IF_ERROR(cursor_.Expect("}"));
    return sharding;
  }

  absl::Status Body(HloSharding& sharding) {
    for (const WordRow& row : kWords) {
      if (!cursor_.ConsumeWord(row.word)) continue;
      sharding.kind = row.kind;
      return absl::OkStatus();
    }
    if (cursor_.ConsumeWord("maximal")) return Maximal(sharding, "device=");
    if (cursor_.Consume("maximal_mesh[")) {
      MW_RETURN_IF_ERROR(Maximal(sharding, "device_id="));
      return cursor_.Expect("]");
    }
    if (cursor_.Consume("devices=")) return Tiled(sharding);
    if (cursor_.Consume("mesh[")) return Named(sharding);
    return cursor_.Expected(
        "replicated, maximal, manual, unknown, unreduced, devices=[...] or mesh[...]");
  }

  absl::Status Maximal(HloSharding& sharding, std::string_view key) {
    sharding.kind = Kind::kMaximal;
    MW_RETURN_IF_ERROR(cursor_.Expect(key));
    MW_ASSIGN_OR_RETURN(sharding.maximal_device, cursor_.Integer());
    if (sharding.maximal_device < 0) return cursor_.Error("a device number is not negative");
    return absl::OkStatus();
  }

  // What may stand at the end of any form: a shard group and metadata.
  absl::Status Suffixes(HloSharding& sharding) {
    while (true) {
      for (std::string_view word : {"shard_as", "shard_like"}) {
        if (!cursor_.ConsumeWord(word)) continue;
        MW_ASSIGN_OR_RETURN(int64_t group, cursor_.Integer());
        sharding.shard_group = StrCat(word, " ", group);
      }
      bool comma = cursor_.Consume(',');
      if (!cursor_.Consume("metadata=")) {
        return comma ? cursor_.Expected("metadata={...} after ','") : absl::OkStatus();
      }
      MW_RETURN_IF_ERROR(cursor_.RawValue().status());
    }
  }

  // Comma-separated numbers of at least `least`, as many as follow.
  absl::StatusOr<std::vector<int64_t>> Numbers(int64_t least) {
    std::vector<int64_t> numbers;
    do {
      size_t at = cursor_.position();
      MW_ASSIGN_OR_RETURN(int64_t number, cursor_.Integer());
      if (number < least) return cursor_.Error(at, StrCat(number, " is less than ", least));
      if (numbers.size() == static_cast<size_t>(kMaxShardingDevices)) return TooMany();
      numbers.push_back(number);
    } while (cursor_.Consume(','));
    return numbers;
  }

  absl::StatusOr<std::vector<int64_t>> BracketedSizes() {
    MW_RETURN_IF_ERROR(cursor_.Expect("["));
    MW_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, Numbers(1));
    MW_RETURN_IF_ERROR(cursor_.Expect("]"));
    return sizes;
  }

  absl::Status TooMany() {
    return cursor_.Error(StrCat("a sharding over more than ", kMaxShardingDevices, " devices"));
  }

  absl::StatusOr<int64_t> DeviceCount(const std::vector<int64_t>& sizes) {
    int64_t count = 1;
    for (int64_t size : sizes) {
      if (size > kMaxShardingDevices / count) return TooMany();
      count *= size;
    }
    return count;
  }

  // `[4,2]T(1,0)` as the list of device numbers it stands for.
  absl::StatusOr<std::vector<int64_t>> IotaList() {
    Iota iota;
    MW_ASSIGN_OR_RETURN(iota.dims, BracketedSizes());
    MW_ASSIGN_OR_RETURN(int64_t count, DeviceCount(iota.dims));
    iota.order.resize(iota.dims.size());
    std::iota(iota.order.begin(), iota.order.end(), 0);
    if (cursor_.Consume("T(")) {
      size_t at = cursor_.position();
      std::vector<int64_t> identity = iota.order;
      MW_ASSIGN_OR_RETURN(iota.order, Numbers(0));
      if (!std::is_permutation(iota.order.begin(), iota.order.end(), identity.begin(),
                               identity.end())) {
        return cursor_.Error(at, StrCat("expected a permutation of 0 to ", identity.size() - 1));
      }
      MW_RETURN_IF_ERROR(cursor_.Expect(")"));
    }
    std::vector<int64_t> strides(iota.dims.size(), 1);
    for (size_t i = strides.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * iota.dims[i];
    std::vector<int64_t> list = {0};
    list.reserve(static_cast<size_t>(count));
    for (size_t i = iota.order.size();
         i-- > 0;) {  // minor first: repeat what there is, one stride further
      int64_t dim = iota.order[i];
      size_t block = list.size();
      for (int64_t k = 1; k < iota.dims[dim]; ++k) {
        for (size_t j = 0; j < block; ++j) list.push_back(list[j] + k * strides[dim]);
      }
    }
    return list;
  }

  absl::StatusOr<std::vector<int64_t>> DeviceList() {
    if (cursor_.Peek() == '[') return IotaList();
    return Numbers(0);
  }

  absl::Status CheckDevices(const std::vector<int64_t>& sizes,
                            const std::vector<int64_t>& devices) {
    MW_ASSIGN_OR_RETURN(int64_t count, DeviceCount(sizes));
    if (static_cast<int64_t>(devices.size()) != count) {
      return cursor_.Error(StrCat(devices.size(), " devices for ", count, " tiles"));
    }
    std::vector<bool> seen(devices.size(), false);
    for (int64_t device : devices) {
      if (device >= count || seen[device]) {
        return cursor_.Error(StrCat("the devices are not a permutation of 0 to ", count - 1));
      }
      seen[device] = true;
    }
    return absl::OkStatus();
  }

  absl::Status Tiled(HloSharding& sharding) {
    sharding.kind = Kind::kTiled;
    MW_ASSIGN_OR_RETURN(sharding.tile_dims, BracketedSizes());
    if (cursor_.Consume("<=")) {
      MW_ASSIGN_OR_RETURN(sharding.devices, IotaList());
    } else {
      MW_ASSIGN_OR_RETURN(sharding.devices, Numbers(0));
    }
    MW_RETURN_IF_ERROR(CheckDevices(sharding.tile_dims, sharding.devices));
    sharding.last_tile_dim_replicate = cursor_.ConsumeWord("last_tile_dim_replicate");
    if (cursor_.Consume("last_tile_dims=")) {
      MW_RETURN_IF_ERROR(cursor_.Expect("{"));
      do {
        auto row = std::find_if(std::begin(kWords), std::end(kWords),
                                [&](const WordRow& r) { return cursor_.ConsumeWord(r.word); });
        if (row == std::end(kWords)) return cursor_.Expected("replicated, manual or unreduced");
        sharding.last_tile_dims.emplace_back(row->word);
      } while (cursor_.Consume(','));
      MW_RETURN_IF_ERROR(cursor_.Expect("}"));
    }
    size_t subgroups = sharding.last_tile_dims.size() + (sharding.last_tile_dim_replicate ? 1 : 0);
    if (subgroups > sharding.tile_dims.size()) {
      return cursor_.Error(
          StrCat("more subgroups than the ", sharding.tile_dims.size(), " tile dimensions"));
    }
    return absl::OkStatus();
  }

  // An axis name with or without quotes.
  absl::StatusOr<std::string> AxisName() {
    std::optional<char> quote;
    for (char c : {'\'', '"'}) {
      if (cursor_.Consume(c)) quote = c;
    }
    std::string name(cursor_.Name());
    if (name.empty()) return cursor_.Expected("the name of an axis");
    if (quote) MW_RETURN_IF_ERROR(cursor_.Expect(std::string_view(&*quote, 1)));
    return name;
  }

  // `{'x', 'y':(1)2, ?}`
  absl::StatusOr<std::vector<std::string>> AxisRefs() {
    std::vector<std::string> refs;
    MW_RETURN_IF_ERROR(cursor_.Expect("{"));
    while (cursor_.Peek() != '}') {
      if (cursor_.Consume('?')) {
        refs.push_back("?");
        break;
      }
      MW_ASSIGN_OR_RETURN(std::string ref, AxisName());
      if (cursor_.Consume(":(")) {
        MW_ASSIGN_OR_RETURN(int64_t before, cursor_.Integer());
        MW_RETURN_IF_ERROR(cursor_.Expect(")"));
        MW_ASSIGN_OR_RETURN(int64_t size, cursor_.Integer());
        StrAppend(&ref, ":(", before, ")", size);
      }
      refs.push_back(std::move(ref));
      if (!cursor_.Consume(',')) break;
    }
    MW_RETURN_IF_ERROR(cursor_.Expect("}"));
    return refs;
  }

  absl::Status MeshAxes(HloSharding& sharding) {
    std::vector<int64_t> sizes;
    while (cursor_.Peek() != ']') {
      MW_ASSIGN_OR_RETURN(std::string name, AxisName());
      MW_RETURN_IF_ERROR(cursor_.Expect("="));
      MW_ASSIGN_OR_RETURN(int64_t size, cursor_.Integer());
      if (size < 1) return cursor_.Error(StrCat("axis '", name, "' has size ", size));
      sharding.mesh_axes.emplace_back(std::move(name), size);
      sizes.push_back(size);
      if (!cursor_.Consume(',')) break;
    }
    MW_RETURN_IF_ERROR(cursor_.Expect("]"));
    return DeviceCount(sizes).status();
  }

  absl::Status Named(HloSharding& sharding) {
    sharding.kind = Kind::kNamed;
    MW_RETURN_IF_ERROR(MeshAxes(sharding));
    struct ListRow {
      std::string_view key;
      std::vector<std::string>* list;
    };
    const ListRow lists[] = {{"replicated", &sharding.named_replicated},
                             {"unreduced", &sharding.named_unreduced},
                             {"manual", &sharding.named_manual}};
    while (true) {
      size_t before = cursor_.position();
      if (!cursor_.Consume(',')) return absl::OkStatus();
      if (cursor_.Consume("device_ids=(")) {
        MW_ASSIGN_OR_RETURN(sharding.mesh_devices, DeviceList());
        MW_RETURN_IF_ERROR(cursor_.Expect(")"));
        std::vector<int64_t> sizes;
        for (const auto& [name, size] : sharding.mesh_axes) sizes.push_back(size);
        MW_RETURN_IF_ERROR(CheckDevices(sizes, sharding.mesh_devices));
        continue;
      }
      if (cursor_.Peek() == '[') {
        MW_RETURN_IF_ERROR(NamedDims(sharding));
        continue;
      }
      auto row = std::find_if(std::begin(lists), std::end(lists),
                              [&](const ListRow& r) { return cursor_.ConsumeWord(r.key); });
      if (row == std::end(lists)) {
        cursor_.set_position(before);  // metadata, read by Suffixes
        return absl::OkStatus();
      }
      if (cursor_.Consume('=')) {
        MW_ASSIGN_OR_RETURN(*row->list, AxisRefs());
      } else {
        sharding.named_all = std::string(row->key);
      }
    }
  }

  absl::Status NamedDims(HloSharding& sharding) {
    MW_RETURN_IF_ERROR(cursor_.Expect("["));
    while (cursor_.Peek() != ']') {
      MW_ASSIGN_OR_RETURN(std::vector<std::string> dim, AxisRefs());
      sharding.named_dims.push_back(std::move(dim));
      if (!cursor_.Consume(',')) break;
    }
    return cursor_.Expect("]");
  }

  TextCursor cursor_;
};

// The device list as the mixed-radix number it counts in, if it does: digits from minor to major
// with their strides. `0,2,4,6,1,3,5,7` counts a digit of 4 values by 2, then one of 2 values by 1.
std::optional<Iota> FindIota(const std::vector<int64_t>& list) {
  struct Digit {
    int64_t stride, size;
  };
  if (list.empty() || list[0] != 0) return std::nullopt;
  std::vector<Digit> digits;
  size_t block = 1;  // list[0, block) is counted by `digits`
  while (block < list.size()) {
    int64_t stride = list[block];
    size_t size = 1;
    while (size * block < list.size() && list[size * block] == static_cast<int64_t>(size) * stride)
      ++size;
    if (stride <= 0 || list.size() % (size * block) != 0) return std::nullopt;
    digits.push_back({stride, static_cast<int64_t>(size)});
    block *= size;
  }
  if (digits.empty()) digits.push_back({1, 1});
  std::reverse(digits.begin(), digits.end());  // major first, as the list is read
  std::vector<size_t> by_stride(digits.size());
  std::iota(by_stride.begin(), by_stride.end(), size_t{0});
  std::sort(by_stride.begin(), by_stride.end(),
            [&](size_t a, size_t b) { return digits[a].stride > digits[b].stride; });
  Iota iota;
  iota.order.resize(digits.size());
  int64_t expected = 1;
  for (size_t i = digits.size(); i-- > 0;) {
    if (digits[by_stride[i]].stride != expected) return std::nullopt;
    expected *= digits[by_stride[i]].size;
    iota.order[by_stride[i]] = static_cast<int64_t>(i);
  }
  for (size_t i : by_stride) iota.dims.push_back(digits[i].size);
  for (size_t i = 0; i < list.size(); ++i) {
    size_t rest = i;
    int64_t value = 0;
    for (size_t d = digits.size(); d-- > 0;) {
      value += static_cast<int64_t>(rest % digits[d].size) * digits[d].stride;
      rest /= digits[d].size;
    }
    if (value != list[i]) return std::nullopt;
  }
  return iota;
}

std::string DevicesText(const std::vector<int64_t>& devices, std::string_view iota_prefix) {
  std::optional<Iota> iota = FindIota(devices);
  if (!iota) return absl::StrJoin(devices, ",");
  std::string text = StrCat(iota_prefix, "[", absl::StrJoin(iota->dims, ","), "]");
  if (iota->dims.size() > 1) StrAppend(&text, "T(", absl::StrJoin(iota->order, ","), ")");
  return text;
}

// "x:(1)2" as 'x':(1)2.
std::string AxisRefText(const std::string& ref) {
  if (ref == "?") return ref;
  size_t colon = std::min(ref.find(':'), ref.size());
  return StrCat("'", ref.substr(0, colon), "'", ref.substr(colon));
}

std::string AxisRefsText(const std::vector<std::string>& refs) {
  return StrCat("{",
                absl::StrJoin(refs, ", ",
                              [](std::string* out, const std::string& ref) {
                                StrAppend(out, AxisRefText(ref));
                              }),
                "}");
}

std::string TiledText(const HloSharding& sharding) {
  std::string text = StrCat("devices=[", absl::StrJoin(sharding.tile_dims, ","), "]",
                            DevicesText(sharding.devices, "<="));
  if (sharding.last_tile_dim_replicate) StrAppend(&text, " last_tile_dim_replicate");
  if (!sharding.last_tile_dims.empty()) {
    StrAppend(&text, " last_tile_dims={", absl::StrJoin(sharding.last_tile_dims, ", "), "}");
  }
  return text;
}

std::string NamedText(const HloSharding& sharding) {
  std::string text = StrCat("mesh[",
                            absl::StrJoin(sharding.mesh_axes, ",",
                                          [](std::string* out, const auto& axis) {
                                            StrAppend(out, "'", axis.first, "'=", axis.second);
                                          }),
                            "]");
  if (!sharding.mesh_devices.empty()) {
    StrAppend(&text, ", device_ids=(", DevicesText(sharding.mesh_devices, ""), ")");
  }
  if (!sharding.named_all.empty()) return StrCat(text, ", ", sharding.named_all);
  StrAppend(
      &text, ", [",
      absl::StrJoin(sharding.named_dims, ", ",
                    [](std::string* out, const auto& refs) { StrAppend(out, AxisRefsText(refs)); }),
      "]");
  if (!sharding.named_replicated.empty()) {
    StrAppend(&text, ", replicated=", AxisRefsText(sharding.named_replicated));
  }
  if (!sharding.named_unreduced.empty()) {
    StrAppend(&text, ", unreduced=", AxisRefsText(sharding.named_unreduced));
  }
  if (!sharding.named_manual.empty())
    StrAppend(&text, ", manual=", AxisRefsText(sharding.named_manual));
  return text;
}

std::string BodyText(const HloSharding& sharding) {
  switch (sharding.kind) {
    case Kind::kMaximal:
      return StrCat("maximal device=", sharding.maximal_device);
    case Kind::kTiled:
      return TiledText(sharding);
    case Kind::kNamed:
      return NamedText(sharding);
    default:
      break;
  }
  for (const WordRow& row : kWords) {
    if (row.kind == sharding.kind) return std::string(row.word);
  }
  return "";
}

}  // namespace

absl::StatusOr<HloSharding> ParseHloSharding(std::string_view text) { return Parser(text).Parse(); }

std::string HloShardingText(const HloSharding& sharding) {
  if (sharding.kind == Kind::kTuple) {
    return StrCat("{",
                  absl::StrJoin(sharding.tuple, ", ",
                                [](std::string* out, const HloSharding& element) {
                                  StrAppend(out, HloShardingText(element));
                                }),
                  "}");
  }
  std::string group = sharding.shard_group.empty() ? "" : StrCat(" ", sharding.shard_group);
  return StrCat("{", BodyText(sharding), group, "}");
}

}  // namespace meshwright
