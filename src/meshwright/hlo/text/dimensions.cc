#include "meshwright/hlo/text/dimensions.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

// A field of `window={...}`: its values are separated by 'x', one a dimension.
struct WindowField {
  std::string_view name;
  absl::Status (*read)(TextCursor& cursor, WindowDimension& dimension);
  std::string (*write)(const WindowDimension& dimension);
  bool (*is_default)(const WindowDimension& dimension);
};

template <int64_t WindowDimension::*kMember>
absl::Status ReadNumber(TextCursor& cursor, WindowDimension& dimension) {
  MW_ASSIGN_OR_RETURN(dimension.*kMember, cursor.Integer());
  return absl::OkStatus();
}
template <int64_t WindowDimension::*kMember>
std::string WriteNumber(const WindowDimension& dimension) {
  return StrCat(dimension.*kMember);
}
template <int64_t WindowDimension::*kMember>
bool IsOne(const WindowDimension& dimension) {
  return dimension.*kMember == 1;
}

absl::Status ReadPad(TextCursor& cursor, WindowDimension& dimension) {
  MW_ASSIGN_OR_RETURN(dimension.padding_low, cursor.Integer());
  MW_RETURN_IF_ERROR(cursor.Expect("_", "between low and high padding"));
  MW_ASSIGN_OR_RETURN(dimension.padding_high, cursor.Integer());
  return absl::OkStatus();
}
std::string WritePad(const WindowDimension& dimension) {
  return StrCat(dimension.padding_low, "_", dimension.padding_high);
}
bool HasNoPad(const WindowDimension& dimension) {
  return dimension.padding_low == 0 && dimension.padding_high == 0;
}

absl::Status ReadReversal(TextCursor& cursor, WindowDimension& dimension) {
  MW_ASSIGN_OR_RETURN(const int64_t value, cursor.Integer());
  if (value != 0 && value != 1) return cursor.Error("rhs_reversal is 0 or 1");
  dimension.reversal = value == 1;
  return absl::OkStatus();
}
std::string WriteReversal(const WindowDimension& dimension) {
  return dimension.reversal ? "1" : "0";
}
bool IsNotReversed(const WindowDimension& dimension) { return !dimension.reversal; }

using W = WindowDimension;
constexpr WindowField kWindowFields[] = {
    {"size", ReadNumber<&W::size>, WriteNumber<&W::size>, [](const W&) { return false; }},
    {"stride", ReadNumber<&W::stride>, WriteNumber<&W::stride>, IsOne<&W::stride>},
    {"pad", ReadPad, WritePad, HasNoPad},
    {"lhs_dilate", ReadNumber<&W::base_dilation>, WriteNumber<&W::base_dilation>,
     IsOne<&W::base_dilation>},
    {"rhs_dilate", ReadNumber<&W::window_dilation>, WriteNumber<&W::window_dilation>,
     IsOne<&W::window_dilation>},
    {"rhs_reversal", ReadReversal, WriteReversal, IsNotReversed},
};

// The labels of one tensor: two named dimensions and the digits of the spatial ones.
struct Labels {
  char first_label, second_label;
  int64_t first = -1, second = -1;
  std::vector<int64_t> spatial;
};

bool ParseLabels(std::string_view text, Labels& labels) {
  labels.spatial.assign(text.size() < 2 ? 0 : text.size() - 2, -1);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    int64_t* slot = nullptr;
    if (c == labels.first_label) {
      slot = &labels.first;
    } else if (c == labels.second_label) {
      slot = &labels.second;
    } else if (c >= '0' && c <= '9' && static_cast<size_t>(c - '0') < labels.spatial.size()) {
      slot = &labels.spatial[static_cast<size_t>(c - '0')];
    }
    if (slot == nullptr || *slot != -1) return false;
    *slot = static_cast<int64_t>(i);
  }
  return labels.first >= 0 && labels.second >= 0;
}

std::string LabelsText(const Labels& labels) {
  std::string text(labels.spatial.size() + 2, '?');
  const auto put = [&text](int64_t at, char c) {
    if (at >= 0 && at < static_cast<int64_t>(text.size())) text[static_cast<size_t>(at)] = c;
  };
  put(labels.first, labels.first_label);
  put(labels.second, labels.second_label);
  for (size_t i = 0; i < labels.spatial.size(); ++i) {
    put(labels.spatial[i], static_cast<char>('0' + i));
  }
  return text;
}

}  // namespace

absl::Status ReadWindow(TextCursor& cursor, std::vector<WindowDimension>& window) {
  MW_RETURN_IF_ERROR(cursor.Expect("{", "before the window"));
  bool first_field = true;
  while (!cursor.Consume('}')) {
    cursor.SkipSpace();
    const size_t at = cursor.position();
    const std::string_view name = cursor.Name();
    const auto* field = std::find_if(std::begin(kWindowFields), std::end(kWindowFields),
                                     [name](const WindowField& f) { return f.name == name; });
    if (field == std::end(kWindowFields)) {
      cursor.set_position(at);
      return cursor.Expected(
          "size=, stride=, pad=, lhs_dilate=, rhs_dilate=, rhs_reversal= or '}' in a window");
    }
    MW_RETURN_IF_ERROR(cursor.Expect("="));
    size_t count = 0;
    do {
      if (count == window.size()) {
        if (!first_field || count == kMaxTextNesting) {
          return cursor.Error(at, StrCat("window field ", name, " has more than ", count,
                                         " dimensions, unlike the field before it"));
        }
        window.emplace_back();
      }
      MW_RETURN_IF_ERROR(field->read(cursor, window[count]));
      ++count;
    } while (cursor.Consume('x'));
    if (count != window.size()) {
      return cursor.Error(at, StrCat("window field ", name, " has ", count,
                                     " dimensions, the one before it ", window.size()));
    }
    first_field = false;
  }
  return absl::OkStatus();
}

std::string WindowText(const std::vector<WindowDimension>& window) {
  std::string out = "{";
  for (const WindowField& field : kWindowFields) {
    if (std::all_of(window.begin(), window.end(), field.is_default)) continue;
    if (out.size() > 1) out += ' ';
    StrAppend(&out, field.name, "=",
              absl::StrJoin(window, "x", [&field](std::string* to, const WindowDimension& w) {
                *to += field.write(w);
              }));
  }
  return out + "}";
}

absl::Status ReadDimLabels(TextCursor& cursor, ConvolutionDimensions& d) {
  cursor.SkipSpace();
  const size_t at = cursor.position();
  MW_ASSIGN_OR_RETURN(const std::string_view text, cursor.RawValue(/*until_blank=*/true));
  const size_t underscore = std::min(text.find('_'), text.size());
  const size_t arrow = std::min(text.find("->"), text.size());
  Labels input{'b', 'f', -1, -1, {}};
  Labels kernel{'i', 'o', -1, -1, {}};
  Labels output{'b', 'f', -1, -1, {}};
  if (underscore >= arrow || arrow + 2 > text.size() ||
      !ParseLabels(text.substr(0, underscore), input) ||
      !ParseLabels(text.substr(underscore + 1, arrow - underscore - 1), kernel) ||
      !ParseLabels(text.substr(arrow + 2), output) ||
      input.spatial.size() != kernel.spatial.size() ||
      input.spatial.size() != output.spatial.size()) {
    return cursor.Error(
        at, StrCat(QuoteForError(text),
                   " is no dim_labels; expected e.g. b01f_01io->b01f: b(atch), f(eature), i(nput) "
                   "and o(utput) feature and spatial digits, each once"));
  }
  d = {input.first,  input.second,  std::move(input.spatial),
       kernel.first, kernel.second, std::move(kernel.spatial),
       output.first, output.second, std::move(output.spatial)};
  return absl::OkStatus();
}

std::string DimLabelsText(const ConvolutionDimensions& d) {
  return StrCat(
      LabelsText({'b', 'f', d.input_batch, d.input_feature, d.input_spatial}), "_",
      LabelsText({'i', 'o', d.kernel_input_feature, d.kernel_output_feature, d.kernel_spatial}),
      "->", LabelsText({'b', 'f', d.output_batch, d.output_feature, d.output_spatial}));
}

absl::Status ReadSlice(TextCursor& cursor, std::vector<SliceDimension>& slice) {
  MW_RETURN_IF_ERROR(cursor.Expect("{", "before the slice"));
  if (cursor.Consume('}')) return absl::OkStatus();
  do {
    SliceDimension& dimension = slice.emplace_back();
    MW_RETURN_IF_ERROR(cursor.Expect("[", "before start:limit"));
    MW_ASSIGN_OR_RETURN(dimension.start, cursor.Integer());
    MW_RETURN_IF_ERROR(cursor.Expect(":", "between start and limit"));
    MW_ASSIGN_OR_RETURN(dimension.limit, cursor.Integer());
    if (cursor.Consume(':')) {
      MW_ASSIGN_OR_RETURN(dimension.stride, cursor.Integer());
    }
    MW_RETURN_IF_ERROR(cursor.Expect("]", "after start:limit"));
  } while (cursor.Consume(','));
  return cursor.Expect("}", "after the slice");
}

std::string SliceText(const std::vector<SliceDimension>& slice) {
  return StrCat("{",
                absl::StrJoin(slice, ", ",
                              [](std::string* out, const SliceDimension& d) {
                                StrAppend(out, "[", d.start, ":", d.limit);
                                if (d.stride != 1) StrAppend(out, ":", d.stride);
                                *out += "]";
                              }),
                "}");
}

absl::Status ReadPadding(TextCursor& cursor, std::vector<PaddingDimension>& padding) {
  // The padding of a scalar has no text at all; what follows is a comma or the next line.
  const std::string_view rest = cursor.text().substr(cursor.position());
  if (rest.empty() || rest[0] == ',' || rest[0] == '\n') return absl::OkStatus();
  do {
    PaddingDimension& dimension = padding.emplace_back();
    MW_ASSIGN_OR_RETURN(dimension.low, cursor.Integer());
    MW_RETURN_IF_ERROR(cursor.Expect("_", "between low and high padding"));
    MW_ASSIGN_OR_RETURN(dimension.high, cursor.Integer());
    if (cursor.Consume('_')) {
      MW_ASSIGN_OR_RETURN(dimension.interior, cursor.Integer());
    }
  } while (cursor.Consume('x'));
  return absl::OkStatus();
}

std::string PaddingText(const std::vector<PaddingDimension>& padding) {
  // XLA prints the interior of all dimensions if any has one.
  const bool interior = std::any_of(padding.begin(), padding.end(),
                                    [](const PaddingDimension& d) { return d.interior != 0; });
  return absl::StrJoin(padding, "x", [interior](std::string* out, const PaddingDimension& d) {
    StrAppend(out, d.low, "_", d.high);
    if (interior) StrAppend(out, "_", d.interior);
  });
}

}  // namespace meshwright
