#include "meshwright/hlo/flatten.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace meshwright {
namespace {

using LeafVisitor = std::function<void(const std::vector<int64_t>&, const Shape&)>;

void VisitLeaves(const Shape& shape, std::vector<int64_t>& path, const LeafVisitor& visit) {
  if (!shape.is_tuple()) return visit(path, shape);
  for (size_t i = 0; i < shape.tuple.size(); ++i) {
    path.push_back(static_cast<int64_t>(i));
    VisitLeaves(shape.tuple[i], path, visit);
    path.pop_back();
  }
}

// `text` without blanks and `/*index=5*/` comments at its start.
std::string_view SkipBlanks(std::string_view text) {
  while (!text.empty()) {
    if (text.front() == ' ') {
      text.remove_prefix(1);
    } else if (text.substr(0, 2) == "/*") {
      const size_t end = text.find("*/");
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    } else {
      break;
    }
  }
  return text;
}

}  // namespace

void ForEachLeaf(const Shape& shape, const LeafVisitor& visit) {
  std::vector<int64_t> path;
  VisitLeaves(shape, path, visit);
}

int64_t LeafCount(const Shape& shape) {
  if (!shape.is_tuple()) return 1;
  int64_t count = 0;
  for (const Shape& element : shape.tuple) count += LeafCount(element);
  return count;
}

std::string LeafPathText(const std::vector<int64_t>& path) {
  return path.empty() ? "" : absl::StrCat("{", absl::StrJoin(path, ","), "}");
}

std::vector<std::string_view> LeafShardings(std::string_view sharding, int64_t leaves) {
  std::vector<std::string_view> result;
  if (sharding.empty()) return result;
  const bool braced = sharding.size() >= 2 && sharding.front() == '{' && sharding.back() == '}';
  std::string_view inside =
      braced ? SkipBlanks(sharding.substr(1, sharding.size() - 2)) : std::string_view();
  if (inside.empty() || inside.front() != '{') {
    result.assign(static_cast<size_t>(leaves), sharding);
    return result;
  }
  while (!inside.empty() && inside.front() == '{') {
    int depth = 0;
    size_t end = 0;
    do {
      if (inside[end] == '{') ++depth;
      if (inside[end] == '}') --depth;
      ++end;
    } while (depth > 0 && end < inside.size());
    result.push_back(inside.substr(0, end));
    inside = SkipBlanks(inside.substr(end));
    if (!inside.empty() && inside.front() == ',') inside = SkipBlanks(inside.substr(1));
  }
  if (static_cast<int64_t>(result.size()) != leaves) result.clear();
  return result;
}

LeafOffsets::Range LeafOffsets::Element(const Shape& tuple, int64_t index) {
  std::vector<int32_t>& begins = begins_[&tuple];
  if (begins.empty()) {
    int64_t next = 0;
    for (const Shape& element : tuple.tuple) {
      begins.push_back(static_cast<int32_t>(next));
      next += LeafCount(element);
    }
    begins.push_back(static_cast<int32_t>(next));
  }
  const size_t i = static_cast<size_t>(index);
  return {begins[i], begins[i + 1] - begins[i]};
}

}  // namespace meshwright
