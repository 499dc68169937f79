#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/bytecode_attributes.h"

// Locations of bytecode as aliases of the text: each is written once, however often it is used.

namespace meshwright {
namespace {

// Calls in calls that a location may tell of; what is deeper is left out.
constexpr int kMaxNestedLocations = 200;

}  // namespace

absl::StatusOr<bool> BytecodeAttributes::IsKnownLocation(uint64_t attribute) const {
  MW_ASSIGN_OR_RETURN(const Coded coded, DecodeAttribute(attribute));
  // As text it would be a line of its own kind, which nothing writes.
  return coded.format != nullptr && coded.format->special == BytecodeSpecial::kLocation &&
         coded.format->format != "unknown";
}

absl::Status BytecodeAttributes::AppendLocation(uint64_t attribute, std::string& out) {
  MW_ASSIGN_OR_RETURN(const bool known, IsKnownLocation(attribute));
  if (!known) return absl::OkStatus();
  if (locations_.emplace(attribute, false).second) location_order_.push_back(attribute);
  StrAppend(&out, " loc(#loc", attribute, ")");
  return absl::OkStatus();
}

absl::Status BytecodeAttributes::AppendLocationLines(std::string& out) {
  for (size_t i = 0; i < location_order_.size(); ++i) {
    MW_RETURN_IF_ERROR(AppendLocationLine(location_order_[i], 0, out));
  }
  return absl::OkStatus();
}

absl::Status BytecodeAttributes::AppendLocationLine(uint64_t attribute, int depth,
                                                    std::string& out) {
  bool& written = locations_[attribute];
  if (written) return absl::OkStatus();
  written = true;  // also of one that is a part of itself, which then has no line
  MW_ASSIGN_OR_RETURN(Coded coded, DecodeAttribute(attribute));
  std::string line = StrCat("#loc", attribute, " = loc(");
  for (std::string_view format = coded.format->format; !format.empty();) {
    const size_t plain = std::min(format.find('%'), format.size());
    line += format.substr(0, plain);
    format.remove_prefix(plain);
    if (format.empty()) break;
    MW_RETURN_IF_ERROR(AppendLocationPart(format[1], coded.data, depth, out, line));
    format.remove_prefix(2);
  }
  StrAppend(&out, line, ")\n");
  return Charge(out.size() > limit_ ? limit_ : 1, coded.entry->data);
}

// `#loc5`, whose line is written first, or `unknown`.
absl::Status BytecodeAttributes::AppendLocationName(uint64_t attribute, int depth,
                                                    std::string& lines, std::string& line) {
  MW_ASSIGN_OR_RETURN(const bool known, IsKnownLocation(attribute));
  if (!known || depth >= kMaxNestedLocations) {
    line += "unknown";
    return absl::OkStatus();
  }
  MW_RETURN_IF_ERROR(AppendLocationLine(attribute, depth + 1, lines));
  StrAppend(&line, "#loc", attribute);
  return absl::OkStatus();
}

absl::Status BytecodeAttributes::AppendLocationPart(char kind, BytecodeCursor& data, int depth,
                                                    std::string& lines, std::string& line) {
  switch (kind) {
    case 'l': {
      MW_ASSIGN_OR_RETURN(const uint64_t part, data.Varint());
      return AppendLocationName(part, depth, lines, line);
    }
    case 'L': {
      MW_ASSIGN_OR_RETURN(const size_t count, data.Count("locations"));
      for (size_t i = 0; i < count; ++i) {
        if (i != 0) line += ", ";
        MW_ASSIGN_OR_RETURN(const uint64_t part, data.Varint());
        MW_RETURN_IF_ERROR(AppendLocationName(part, depth, lines, line));
      }
      return absl::OkStatus();
    }
    case 'n': {
      MW_ASSIGN_OR_RETURN(const uint64_t part, data.Varint());
      MW_ASSIGN_OR_RETURN(const bool known, IsKnownLocation(part));
      if (!known) return absl::OkStatus();
      line += '(';
      MW_RETURN_IF_ERROR(AppendLocationName(part, depth, lines, line));
      line += ')';
      return absl::OkStatus();
    }
    case 'q': {
      MW_ASSIGN_OR_RETURN(const uint64_t name, data.Varint());
      MW_ASSIGN_OR_RETURN(const std::string text, String(name));
      AppendMlirString(text, line);
      return absl::OkStatus();
    }
    case 'r': {  // [line [column [last line] [last column]]]
      MW_ASSIGN_OR_RETURN(const size_t count, data.Count("numbers"));
      uint64_t numbers[4] = {};
      for (size_t i = 0; i < count; ++i) {
        MW_ASSIGN_OR_RETURN(numbers[i < 4 ? i : 3], data.Varint());
      }
      StrAppend(&line, ":", numbers[0], ":", numbers[1]);
      if (count == 3) StrAppend(&line, " to :", numbers[2]);
      if (count >= 4) StrAppend(&line, " to ", numbers[2], ":", numbers[3]);
      return absl::OkStatus();
    }
    default: {
      MW_ASSIGN_OR_RETURN(const uint64_t number, data.Varint());
      StrAppend(&line, number);
      return absl::OkStatus();
    }
  }
}

}  // namespace meshwright
