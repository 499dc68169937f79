#include "meshwright/solve/iopddl_json.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/file.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

// The files hold millions of numbers, so they are not built as a JSON tree: a SAX handler files
// every number straight into the list that the path of keys to it names.

namespace meshwright::solve {
namespace {

using Lists = std::vector<std::vector<int64_t>>;

// The lists of numbers in the order of the file, before they are checked against each other.
struct RawProblem {
  std::string name;
  std::optional<int64_t> usage_limit;
  std::optional<Lists> intervals, node_costs, usages, edge_nodes, edge_costs;
};

struct ListField {
  const char* path;
  std::optional<Lists> RawProblem::*lists;
};
constexpr ListField kListFields[] = {
    {"problem.nodes.intervals", &RawProblem::intervals},
    {"problem.nodes.costs", &RawProblem::node_costs},
    {"problem.nodes.usages", &RawProblem::usages},
    {"problem.edges.nodes", &RawProblem::edge_nodes},
    {"problem.edges.costs", &RawProblem::edge_costs},
};
constexpr size_t kLongestQuote = 40;  // of a number in an error
constexpr const char* kNamePath = "problem.name";
constexpr const char* kLimitPath = "problem.usage_limit";
// Each of these and of the above may occur once.
constexpr const char* kObjectPaths[] = {"problem", "problem.nodes", "problem.edges"};

// The exact value of a JSON number with point or exponent; nullopt if not whole or too large.
std::optional<int64_t> WholeNumber(std::string_view text) {
  constexpr int64_t kMostShift = 1'000'000'000;  // more than any text is long
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int64_t shift = 0;  // of the point to the right
  if (const size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view exponent = text.substr(e + 1);
    if (exponent.starts_with('+')) exponent.remove_prefix(1);
    if (!absl::SimpleAtoi(ToAbsl(exponent), &shift))
      shift = exponent.starts_with('-') ? -kMostShift : kMostShift;
    shift = std::clamp(shift, -kMostShift, kMostShift);
    text = text.substr(0, e);
  }
  std::string digits(text);
  if (const size_t point = digits.find('.'); point != std::string::npos) {
    shift -= static_cast<int64_t>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  const size_t first = digits.find_first_not_of('0');
  if (first == std::string::npos) return 0;
  digits.erase(0, first);
  const size_t last = digits.find_last_not_of('0') + 1;
  shift += static_cast<int64_t>(digits.size() - last);
  digits.resize(last);
  constexpr int64_t kMostDigits = 19;
  if (shift < 0 || static_cast<int64_t>(last) + shift > kMostDigits) return std::nullopt;
  digits.append(static_cast<size_t>(shift), '0');
  int64_t value = 0;
  if (!absl::SimpleAtoi(digits, &value)) return std::nullopt;
  return negative ? -value : value;
}

class Handler {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Handler(std::string file, RawProblem* raw) : file_(std::move(file)), raw_(raw) {}

  const absl::Status& status() const { return status_; }

  bool null() { return Wrong("null"); }
  bool boolean(bool) { return Wrong("a boolean"); }
  bool string(string_t& text) {
    if (array_depth_ == 0 && path_ == kNamePath) {
      raw_->name = text;
      return true;
    }
    return Wrong("a string");
  }
  bool binary(binary_t&) { return Wrong("binary data"); }
  bool number_integer(number_integer_t value) { return Number(value); }
  bool number_unsigned(number_unsigned_t value) {
    if (value > static_cast<number_unsigned_t>(kUnlimited)) {
      if (!Known()) return true;
      return Fail(absl::StrCat(value, " in ", Place(), " does not fit in 64 bits with sign"));
    }
    return Number(static_cast<int64_t>(value));
  }
  bool number_float(number_float_t, const string_t& text) {
    // Writers in other languages print 1e18 or 5.0; whole numbers are as good as integers. The text
    // is read, as doubles hold no more than 53 bits.
    const std::optional<int64_t> whole = WholeNumber(text);
    if (!whole.has_value()) {
      if (!Known()) return true;
      return Fail(
          absl::StrCat(text.substr(0, kLongestQuote), " in ", Place(), " is not a 64-bit integer"));
    }
    return Number(*whole);
  }
  bool start_object(size_t) {
    if (array_depth_ > 0 && lists_ != nullptr) return Wrong("an object");
    objects_.push_back({path_.size(), array_depth_});
    array_depth_ = 0;
    return true;
  }
  bool key(string_t& key) {
    path_.resize(objects_.back().path_size);
    // A key inside an array, or with a dot in it, is nobody's: it must not look like one of ours.
    if (objects_.back().array_depth > 0) path_ += "[]";
    if (objects_.size() > 1) path_ += '.';
    path_ += key.find('.') == std::string::npos ? key : "?";
    lists_ = nullptr;
    for (const ListField& field : kListFields) {
      if (path_ == field.path) lists_ = &(raw_->*field.lists);
    }
    const bool counts = Known() || std::find(std::begin(kObjectPaths), std::end(kObjectPaths),
                                             path_) != std::end(kObjectPaths);
    if (counts && !seen_.insert(path_).second) return Fail(absl::StrCat(path_, " occurs twice"));
    if (lists_ != nullptr) lists_->emplace();
    return true;
  }
  bool end_object() {
    path_.resize(objects_.back().path_size);
    array_depth_ = objects_.back().array_depth;
    objects_.pop_back();
    lists_ = nullptr;
    return true;
  }
  bool start_array(size_t) {
    ++array_depth_;
    if (lists_ == nullptr) return !IsScalar() || Wrong("a list");
    if (array_depth_ == 2) (*lists_)->emplace_back();
    if (array_depth_ > 2)
      return Fail(absl::StrCat(path_, "[", (*lists_)->size() - 1,
                               "] is nested too deep; a list of lists needed"));
    return true;
  }
  bool end_array() {
    --array_depth_;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) {
    return Fail(absl::StrCat("not JSON: ", JsonErrorText(error.what())));
  }

 private:
  struct Open {
    size_t path_size;  // of the path to it: nesting may be deep, so paths are not kept
    int array_depth;
  };

  bool IsScalar() const { return path_ == kNamePath || path_ == kLimitPath; }
  bool Known() const { return lists_ != nullptr || IsScalar(); }

  // The path, and in lists of numbers the indices.
  std::string Place() const {
    std::string place = path_;
    if (lists_ != nullptr && array_depth_ > 0) {
      absl::StrAppend(&place, "[", (*lists_)->size() - (array_depth_ > 1 ? 1 : 0), "]");
      if (array_depth_ > 1) absl::StrAppend(&place, "[", (*lists_)->back().size(), "]");
    }
    return place;
  }

  bool Fail(std::string message) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat(file_, ": ", message));
    return false;
  }
  bool Wrong(const char* what) {
    if (!Known()) return true;
    return Fail(absl::StrCat("found ", what, " in ", Place(), "; ",
                             path_ == kNamePath    ? "a string"
                             : path_ == kLimitPath ? "an integer"
                                                   : "a list of lists of integers",
                             " needed"));
  }
  bool Number(int64_t value) {
    if (lists_ != nullptr) {
      if (array_depth_ != 2) return Wrong("a number");
      (*lists_)->back().push_back(value);
    } else if (path_ == kLimitPath && array_depth_ == 0) {
      raw_->usage_limit = value;
    } else if (path_ == kNamePath) {
      return Wrong("a number");
    }
    return true;
  }

  std::string file_;  // what errors call the text
  RawProblem* raw_;
  absl::Status status_;
  std::vector<Open> objects_;
  absl::flat_hash_set<std::string> seen_;
  std::string path_;                       // keys from the root, joined by dots
  int array_depth_ = 0;                    // arrays open since the last key
  std::optional<Lists>* lists_ = nullptr;  // the list that path_ names
};

// Checks what Validate cannot see (sizes of lists, pairs, 32-bit ranges) and moves the numbers.
absl::StatusOr<Problem> Assemble(const std::string& file, RawProblem raw) {
  auto bad = [&file](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", parts...));
  };
  for (const ListField& field : kListFields) {
    if (!(raw.*field.lists).has_value()) return bad("has no ", field.path);
  }
  if (!raw.usage_limit.has_value())
    return bad("has no ", kLimitPath, "; ", kUnlimited, " is no limit");
  const size_t n = raw.node_costs->size();
  if (raw.intervals->size() != n || raw.usages->size() != n) {
    return bad(n, " lists of node costs, ", raw.intervals->size(), " intervals, ",
               raw.usages->size(), " lists of usages; their numbers must agree");
  }
  if (raw.edge_nodes->size() != raw.edge_costs->size()) {
    return bad(raw.edge_nodes->size(), " pairs of edge nodes, ", raw.edge_costs->size(),
               " lists of edge costs; their numbers must agree");
  }
  Problem problem;
  problem.name = std::move(raw.name);
  problem.usage_limit = *raw.usage_limit;
  problem.nodes.resize(n);
  for (size_t v = 0; v < n; ++v) {
    const std::vector<int64_t>& interval = (*raw.intervals)[v];
    if (interval.size() != 2)
      return bad("interval ", v, " has ", interval.size(), " numbers; 2 needed");
    for (int64_t time : interval) {
      if (time != static_cast<int32_t>(time))
        return bad("time ", time, " of node ", v, " is out of range");
    }
    problem.nodes[v].cost = std::move((*raw.node_costs)[v]);
    if (interval[0] == interval[1]) {  // no usage
      const std::vector<int64_t>& usage = (*raw.usages)[v];
      if (!usage.empty() && usage.size() != problem.nodes[v].cost.size()) {
        return bad("node ", v, " has ", problem.nodes[v].cost.size(), " strategies but ",
                   usage.size(), " usages");
      }
      continue;
    }
    problem.nodes[v].usages.push_back({static_cast<int32_t>(interval[0]),
                                       static_cast<int32_t>(interval[1]),
                                       std::move((*raw.usages)[v])});
  }
  absl::flat_hash_map<size_t, std::vector<std::shared_ptr<const Matrix>>> shared;
  for (size_t e = 0; e < raw.edge_nodes->size(); ++e) {
    const std::vector<int64_t>& ends = (*raw.edge_nodes)[e];
    if (ends.size() != 2) return bad("edge ", e, " has ", ends.size(), " nodes; 2 needed");
    for (int64_t end : ends) {
      if (end < 0 || end >= static_cast<int64_t>(n)) {
        return bad("edge ", e, " names node ", end, "; there are ", n, " nodes");
      }
    }
    Matrix matrix{static_cast<int32_t>(problem.nodes[ends[0]].cost.size()),
                  static_cast<int32_t>(problem.nodes[ends[1]].cost.size()),
                  std::move((*raw.edge_costs)[e])};
    auto& alike = shared[absl::HashOf(matrix.rows, matrix.cols, matrix.cost)];
    std::shared_ptr<const Matrix> found;
    for (const auto& other : alike) {
      if (*other == matrix) found = other;
    }
    if (found == nullptr) {
      found = std::make_shared<const Matrix>(std::move(matrix));
      alike.push_back(found);
    }
    problem.edges.push_back({NodeId(ends[0]), NodeId(ends[1]), std::move(found)});
  }
  if (absl::Status status = Validate(problem); !status.ok()) return bad(status.message());
  return problem;
}

void AppendList(const std::vector<int64_t>& list, std::string* out) {
  absl::StrAppend(out, "[", absl::StrJoin(list, ","), "]");
}

}  // namespace

absl::StatusOr<Problem> ParseIopddl(std::string text, std::string_view name) {
  MW_ASSIGN_OR_RETURN(text, MaybeGunzip(std::move(text), name));
  RawProblem raw;
  Handler handler(std::string(name), &raw);
  nlohmann::json::sax_parse(text, &handler);
  MW_RETURN_IF_ERROR(handler.status());
  text = std::string();
  return Assemble(std::string(name), std::move(raw));
}

absl::StatusOr<Problem> ReadIopddl(const std::string& path) {
  MW_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  return ParseIopddl(std::move(text), path);
}

absl::StatusOr<std::string> WriteIopddl(const Problem& problem) {
  std::string intervals, costs, usages, ends, edge_costs;
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    const Node& node = problem.nodes[v];
    if (node.usages.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat("node ", v, " has ", node.usages.size(),
                                                     " usages; IOPDDL JSON can hold one a node"));
    }
    const Usage usage = node.usages.empty() ? Usage{0, 0, std::vector<int64_t>(node.cost.size(), 0)}
                                            : node.usages[0];
    const char* comma = v == 0 ? "" : ",";
    absl::StrAppend(&intervals, comma, "[", usage.begin, ",", usage.end, "]");
    absl::StrAppend(&costs, comma);
    AppendList(node.cost, &costs);
    absl::StrAppend(&usages, comma);
    AppendList(usage.amount, &usages);
  }
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge& edge = problem.edges[e];
    const char* comma = e == 0 ? "" : ",";
    absl::StrAppend(&ends, comma, "[", edge.a.value, ",", edge.b.value, "]");
    absl::StrAppend(&edge_costs, comma);
    AppendList(edge.matrix->cost, &edge_costs);
  }
  const std::string name =
      nlohmann::json(problem.name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return absl::StrCat("{\"problem\":{\"name\":", name, ",\"nodes\":{\"intervals\":[", intervals,
                      "],\"costs\":[", costs, "],\"usages\":[", usages, "]},\"edges\":{\"nodes\":[",
                      ends, "],\"costs\":[", edge_costs, "]},\"usage_limit\":", problem.usage_limit,
                      "}}\n");
}

}  // namespace meshwright::solve
