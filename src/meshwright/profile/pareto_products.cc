#include "meshwright/profile/pareto_products.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace meshwright {
namespace {

// A set is reduced when it has grown by so many entries, and at its end.
constexpr size_t kReduceEvery = 4096;

}  // namespace

ParetoProducts::ParetoProducts(const SegmentProblem& problem, const SequenceGrammar& grammar,
                               ParetoPolicy& policy)
    : problem_(problem), grammar_(grammar), policy_(policy) {
  for (size_t s = 0; s < grammar.symbols.size(); ++s) {
    const auto symbol = static_cast<int32_t>(s);
    parts_.push_back(grammar.symbols[s].letter >= 0 ? Leaf(symbol) : Product(symbol));
  }
}

ParetoProducts::Part ParetoProducts::Leaf(int32_t symbol) const {
  const std::vector<SegmentOption>& options = problem_.options[grammar_.symbols[symbol].letter];
  Part part;
  for (const SegmentOption& option : options) {
    part.entries = std::max(part.entries, option.entry + 1);
    part.exits = std::max(part.exits, option.exit + 1);
  }
  part.sets.resize(static_cast<size_t>(part.entries) * part.exits);
  for (size_t i = 0; i < options.size(); ++i) {
    const SegmentOption& option = options[i];
    if (!policy_.Allows(option)) continue;
    const ParetoEntry entry{.seconds = option.seconds,
                            .kept_bytes = option.kept_bytes,
                            .working_bytes = option.working_bytes,
                            .left = static_cast<int32_t>(i)};
    if (policy_.Useful(symbol, entry)) part.at(option.entry, option.exit).push_back(entry);
  }
  for (ParetoSet& set : part.sets) policy_.Reduce(&set);
  return part;
}

ParetoProducts::Part ParetoProducts::Product(int32_t symbol) const {
  const SequenceGrammar::Symbol& pair = grammar_.symbols[symbol];
  const Part& left = parts_[pair.left];
  const Part& right = parts_[pair.right];
  const std::vector<std::vector<double>>& moves = problem_.resharding.at(
      {grammar_.symbols[pair.left].last, grammar_.symbols[pair.right].first});
  Part part{left.entries, right.exits, {}};
  part.sets.resize(static_cast<size_t>(part.entries) * part.exits);
  for (int32_t a = 0; a < left.entries; ++a) {
    // What `left` can be at each entry of `right`: of those that differ only in where they come
    // from the best are enough.
    std::vector<ParetoSet> moved(right.entries);
    for (int32_t y = 0; y < right.entries; ++y) {
      for (int32_t x = 0; x < left.exits; ++x) {
        const double seconds = moves[x][y];
        if (!std::isfinite(seconds)) continue;
        const ParetoSet& set = left.at(a, x);
        for (size_t i = 0; i < set.size(); ++i) {
          ParetoEntry entry = set[i];
          entry.seconds += seconds;
          entry.exit = x;
          entry.entry = y;
          entry.left = static_cast<int32_t>(i);
          moved[y].push_back(entry);
        }
      }
      policy_.Reduce(&moved[y]);
    }
    for (int32_t b = 0; b < right.exits; ++b) {
      ParetoSet& result = part.at(a, b);
      size_t reduced = 0;
      for (int32_t y = 0; y < right.entries; ++y) {
        const ParetoSet& tail = right.at(y, b);
        for (const ParetoEntry& head : moved[y]) {
          for (size_t j = 0; j < tail.size(); ++j) {
            ParetoEntry entry = head;
            entry.seconds += tail[j].seconds;
            entry.kept_bytes += tail[j].kept_bytes;
            entry.working_bytes = std::max(entry.working_bytes, tail[j].working_bytes);
            entry.right = static_cast<int32_t>(j);
            if (policy_.Useful(symbol, entry)) result.push_back(entry);
          }
          if (result.size() > reduced + kReduceEvery) {
            policy_.Reduce(&result);
            reduced = result.size();
          }
        }
      }
      policy_.Reduce(&result);
    }
  }
  return part;
}

std::vector<std::pair<ParetoProducts::End, ParetoEntry>> ParetoProducts::Whole() const {
  std::vector<std::pair<End, ParetoEntry>> all;
  const Part& part = parts_.back();
  for (int32_t a = 0; a < part.entries; ++a) {
    for (int32_t b = 0; b < part.exits; ++b) {
      const ParetoSet& set = part.at(a, b);
      for (size_t i = 0; i < set.size(); ++i)
        all.emplace_back(End{a, b, static_cast<int32_t>(i)}, set[i]);
    }
  }
  return all;
}

std::vector<int32_t> ParetoProducts::ChoiceOf(const End& end) const {
  std::vector<int32_t> choice;
  Unfold(static_cast<int32_t>(parts_.size()) - 1, end.entry, end.exit, end.index, &choice);
  return choice;
}

void ParetoProducts::Unfold(int32_t symbol, int32_t entry, int32_t exit, int32_t index,
                            std::vector<int32_t>* choice) const {
  // Sequences that do not repeat make trees as deep as they are long.
  struct Todo {
    int32_t symbol, entry, exit, index;
  };
  std::vector<Todo> stack = {{symbol, entry, exit, index}};
  while (!stack.empty()) {
    const Todo todo = stack.back();
    stack.pop_back();
    const ParetoEntry& e = parts_[todo.symbol].at(todo.entry, todo.exit)[todo.index];
    const SequenceGrammar::Symbol& s = grammar_.symbols[todo.symbol];
    if (s.letter >= 0) {
      choice->push_back(e.left);
      continue;
    }
    stack.push_back({s.right, e.entry, todo.exit, e.right});
    stack.push_back({s.left, todo.entry, e.exit, e.left});
  }
}

void KeepParetoEntries(ParetoSet* set) {
  const auto key = [](const ParetoEntry& e) {
    return std::tuple(e.seconds, e.kept_bytes, e.working_bytes);
  };
  std::stable_sort(set->begin(), set->end(),
                   [&](const ParetoEntry& a, const ParetoEntry& b) { return key(a) < key(b); });
  // The front of those that take no longer: working bytes by kept bytes, falling.
  std::map<int64_t, int64_t> front;
  const auto beaten = [&](const ParetoEntry& e) {
    const auto above = front.upper_bound(e.kept_bytes);
    return above != front.begin() && std::prev(above)->second <= e.working_bytes;
  };
  size_t kept = 0;
  for (const ParetoEntry& e : *set) {
    if (beaten(e)) continue;
    auto at = front.insert_or_assign(e.kept_bytes, e.working_bytes).first;
    for (++at; at != front.end() && at->second >= e.working_bytes;) at = front.erase(at);
    (*set)[kept++] = e;
  }
  set->resize(kept);
}

}  // namespace meshwright
