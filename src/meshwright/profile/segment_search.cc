// Dynamic programming over the sequence, with Pareto sets of (seconds, kept bytes, working bytes)
// for every two layouts at the ends of a part (pareto_products.h), over a tree in which repeated
// parts are worked out once (sequence_grammar.h): it takes as many steps for twice the depth as one
// more symbol needs.
//
// Before that, the same products with one entry each, the one of least seconds + price * kept
// bytes, give choices that fit and a bound on all that do (Lagrangian relaxation; Everett, 1963).
// What a part takes, with the least that everything else could take, is held against both: few
// entries of the Pareto sets survive that. Where sets still grow too large some entries are left
// out; then the choice is the best that was found, and the bound that of the relaxation.
//
// The largest of the working bytes is not linear. The relaxation takes a limit on it (no option
// above takes part) and one on the sum of kept bytes that holds for all choices that come near the
// first limit; the bound is the lowest over a partition of the working bytes that there are.

#include "meshwright/profile/segment_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "meshwright/profile/pareto_products.h"
#include "meshwright/profile/sequence_grammar.h"

namespace meshwright {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Parts into which working bytes are divided for the relaxation.
constexpr size_t kWorkingGroups = 16;
constexpr int kMostPrices = 64;
// Sums of the same terms in another order are equal up to this.
constexpr double kRounding = 1e-12;
// What sets are cut to once the steps are used up.
constexpr size_t kFewEntries = 64;

// What a part of the sequence takes.
struct Sums {
  double seconds = 0;
  int64_t kept_bytes = 0, working_bytes = 0;
  static Sums Of(const SegmentOption& option, double more_seconds) {
    return {option.seconds + more_seconds, option.kept_bytes, option.working_bytes};
  }
  friend Sums operator+(const Sums& a, const Sums& b) {
    return {a.seconds + b.seconds, a.kept_bytes + b.kept_bytes,
            std::max(a.working_bytes, b.working_bytes)};
  }
};

// A choice for the whole sequence.
struct Candidate {
  std::vector<int32_t> choice;
  double seconds = kInfinite, resharding_seconds = 0;
  int64_t kept_bytes = 0, working_bytes = 0;
  // Needs a choice.
  int64_t bytes() const { return kept_bytes + working_bytes; }
};

Candidate Evaluate(const SegmentProblem& problem, std::vector<int32_t> choice) {
  Candidate result{std::move(choice), 0};
  const SegmentOption* before = nullptr;
  for (size_t i = 0; i < problem.sequence.size(); ++i) {
    const int32_t segment = problem.sequence[i];
    const SegmentOption& option = problem.options[segment][result.choice[i]];
    result.seconds += option.seconds;
    result.kept_bytes += option.kept_bytes;
    result.working_bytes = std::max(result.working_bytes, option.working_bytes);
    if (before != nullptr) {
      result.resharding_seconds +=
          problem.resharding.at({problem.sequence[i - 1], segment})[before->exit][option.entry];
    }
    before = &option;
  }
  result.seconds += result.resharding_seconds;
  return result;
}

// The entry of least seconds + price * kept bytes of each set; infinite price: least kept bytes.
class PricedPolicy : public ParetoPolicy {
 public:
  PricedPolicy(double price, int64_t most_working) : price_(price), most_working_(most_working) {}
  bool Allows(const SegmentOption& option) const override {
    return option.working_bytes <= most_working_;
  }
  void Reduce(ParetoSet* set) override {
    if (set->empty()) return;
    *set = {*std::min_element(set->begin(), set->end(),
                              [this](const auto& a, const auto& b) { return Less(a, b); })};
  }
  bool Less(const ParetoEntry& a, const ParetoEntry& b) const {
    if (std::isinf(price_)) {
      return std::pair(a.kept_bytes, a.seconds) < std::pair(b.kept_bytes, b.seconds);
    }
    const double priced_a = a.seconds + price_ * static_cast<double>(a.kept_bytes);
    const double priced_b = b.seconds + price_ * static_cast<double>(b.kept_bytes);
    return std::pair(priced_a, a.kept_bytes) < std::pair(priced_b, b.kept_bytes);
  }

 private:
  const double price_;
  const int64_t most_working_;
};

// Everything that nothing beats and that may be part of a choice that fits and is no slower than
// the best known.
class FrontPolicy : public ParetoPolicy {
 public:
  FrontPolicy(const SegmentProblem& problem, const SequenceGrammar& grammar, double most_seconds,
              double price, const SegmentSearchOptions& options)
      : limit_(problem.memory_limit),
        most_seconds_(most_seconds * (1 + kRounding)),
        price_(price),
        most_steps_(options.most_steps),
        most_entries_(static_cast<size_t>(options.most_entries)) {
    std::vector<Least> least;  // by symbol
    for (const SequenceGrammar::Symbol& symbol : grammar.symbols) {
      if (symbol.letter < 0) {
        const Least &left = least[symbol.left], &right = least[symbol.right];
        least.push_back({left.seconds + right.seconds, left.kept_bytes + right.kept_bytes,
                         left.priced + right.priced});
        continue;
      }
      Least& l =
          least.emplace_back(Least{kInfinite, std::numeric_limits<int64_t>::max(), kInfinite});
      for (const SegmentOption& option : problem.options[symbol.letter]) {
        l.seconds = std::min(l.seconds, option.seconds);
        l.kept_bytes = std::min(l.kept_bytes, option.kept_bytes);
        l.priced =
            std::min(l.priced, option.seconds + price * static_cast<double>(option.kept_bytes));
      }
    }
    for (const Least& l : least) {
      rest_.push_back({least.back().seconds - l.seconds, least.back().kept_bytes - l.kept_bytes,
                       least.back().priced - l.priced});
    }
  }

  bool Useful(int32_t symbol, const ParetoEntry& e) const override {
    ++steps_;
    const Least& rest = rest_[symbol];
    if (e.seconds + rest.seconds > most_seconds_) return false;
    const int64_t room = limit_ - e.working_bytes;
    if (e.kept_bytes + rest.kept_bytes > room) return false;
    const double priced = e.seconds + price_ * static_cast<double>(e.kept_bytes) + rest.priced;
    return priced - price_ * static_cast<double>(room) <= most_seconds_;
  }

  void Reduce(ParetoSet* set) override {
    steps_ += static_cast<int64_t>(set->size());
    KeepParetoEntries(set);
    const size_t most = steps_ > most_steps_ ? std::min(kFewEntries, most_entries_) : most_entries_;
    if (set->size() <= most) return;
    complete_ = false;
    for (size_t i = 0; i < most; ++i) (*set)[i] = (*set)[i * (set->size() - 1) / (most - 1)];
    set->resize(most);
  }

  bool complete() const { return complete_; }

 private:
  struct Least {
    double seconds = 0;
    int64_t kept_bytes = 0;
    double priced = 0;
  };
  const int64_t limit_;
  const double most_seconds_, price_;
  const int64_t most_steps_;
  const size_t most_entries_;
  std::vector<Least> rest_;  // by symbol: the least that all other positions take
  mutable int64_t steps_ = 0;
  bool complete_ = true;
};

class SegmentSearch {
 public:
  SegmentSearch(const SegmentProblem& problem, const SegmentSearchOptions& options)
      : problem_(problem), options_(options), grammar_(MakeSequenceGrammar(problem.sequence)) {
    std::set<int64_t> working;
    for (const SequenceGrammar::Symbol& symbol : grammar_.symbols) {
      if (symbol.letter < 0) continue;
      for (const SegmentOption& option : problem.options[symbol.letter])
        working.insert(option.working_bytes);
    }
    working_.assign(working.begin(), working.end());
  }

  SegmentSearchResult Run() {
    const std::optional<Candidate> fastest = Priced(0, working_.back());
    if (!fastest.has_value()) return {.possible = false};
    if (fastest->bytes() <= problem_.memory_limit) return Result(*fastest, fastest->seconds, true);
    const Candidate smallest = LeastMemory();
    if (smallest.bytes() > problem_.memory_limit) {
      SegmentSearchResult result = Result(smallest, kInfinite, true);
      result.fits = false;
      return result;
    }
    best_ = smallest;
    Relax();
    if (best_.seconds <= bound_ * (1 + kRounding)) return Result(best_, best_.seconds, true);
    if (best_.seconds <= bound_ * (1 + options_.target_gap)) return Result(best_, bound_, false);
    return SearchFronts();
  }

 private:
  // The choice of least seconds + price * kept bytes among options of up to `most_working`; none
  // if there is none.
  std::optional<Candidate> Priced(double price, int64_t most_working) {
    PricedPolicy policy(price, most_working);
    const ParetoProducts products(problem_, grammar_, policy);
    const auto whole = products.Whole();
    const auto best = std::min_element(
        whole.begin(), whole.end(),
        [&](const auto& a, const auto& b) { return policy.Less(a.second, b.second); });
    if (best == whole.end()) return std::nullopt;
    Candidate found = Evaluate(problem_, products.ChoiceOf(best->first));
    if (found.bytes() <= problem_.memory_limit && found.seconds < best_.seconds) best_ = found;
    return found;
  }

  Candidate LeastMemory() {
    std::optional<Candidate> best;
    for (const int64_t working : working_) {
      std::optional<Candidate> found = Priced(kInfinite, working);
      if (found.has_value() && (!best.has_value() || found->bytes() < best->bytes()))
        best = std::move(found);
    }
    return *best;
  }

  void Relax() {
    bound_ = kInfinite;
    const size_t groups = std::min(kWorkingGroups, working_.size());
    for (size_t g = 0; g < groups; ++g) {
      const int64_t least = working_[g * working_.size() / groups];
      const int64_t most = working_[(g + 1) * working_.size() / groups - 1];
      const auto [bound, price] = RelaxWithin(problem_.memory_limit - least, most);
      if (bound >= bound_) continue;
      bound_ = bound;
      price_ = price;
    }
  }

  // A bound on choices of options of up to `most_working` that keep up to `room`, and its price.
  // The price goes where the lines of two answers meet, one that keeps too much and one that does
  // not, until no answer lies below.
  std::pair<double, double> RelaxWithin(int64_t room, int64_t most_working) {
    const std::optional<Candidate> fast = Priced(0, most_working);
    if (!fast.has_value()) return {kInfinite, 0};
    if (fast->kept_bytes <= room) return {fast->seconds, 0};
    const std::optional<Candidate> small = Priced(kInfinite, most_working);
    if (small->kept_bytes > room) return {kInfinite, 0};
    double bound = fast->seconds, best_price = 0;
    Candidate above = *fast, below = *small;
    for (int i = 0; i < kMostPrices; ++i) {
      const double price = (below.seconds - above.seconds) /
                           static_cast<double>(above.kept_bytes - below.kept_bytes);
      const std::optional<Candidate> found = Priced(price, most_working);
      const double value = found->seconds + price * static_cast<double>(found->kept_bytes - room);
      if (value > bound) {
        bound = value;
        best_price = price;
      }
      const double line = above.seconds + price * static_cast<double>(above.kept_bytes - room);
      if (value >= line - std::abs(line) * kRounding) break;
      (found->kept_bytes > room ? above : below) = *found;
    }
    Cross(above, below);
    Cross(below, above);
    return {bound * (1 - kRounding), best_price};
  }

  // Tries `first` up to some position and `second` from there on, for every position: layers in a
  // row make the same choice in an answer to a price, and a limit lies between two of those.
  void Cross(const Candidate& first, const Candidate& second) {
    const size_t n = problem_.sequence.size();
    std::vector<Sums> tail(n + 1);  // of `second` from a position on, with the way into it
    for (size_t i = n; i-- > 0;) {
      const SegmentOption& option = OptionAt(second, i);
      tail[i] = Sums::Of(option, i + 1 < n ? MoveSeconds(i, option, OptionAt(second, i + 1)) : 0) +
                tail[i + 1];
    }
    Sums head;
    std::optional<size_t> best;
    double best_seconds = best_.seconds;
    for (size_t i = 0; i + 1 < n; ++i) {
      const SegmentOption& option = OptionAt(first, i);
      const Sums whole =
          head + Sums::Of(option, MoveSeconds(i, option, OptionAt(second, i + 1))) + tail[i + 1];
      if (whole.kept_bytes + whole.working_bytes <= problem_.memory_limit &&
          whole.seconds < best_seconds) {
        best_seconds = whole.seconds;
        best = i;
      }
      head = head + Sums::Of(option, MoveSeconds(i, option, OptionAt(first, i + 1)));
    }
    if (!best.has_value()) return;
    std::vector<int32_t> choice = second.choice;
    std::copy_n(first.choice.begin(), *best + 1, choice.begin());
    Candidate crossed = Evaluate(problem_, std::move(choice));
    if (crossed.seconds < best_.seconds) best_ = std::move(crossed);
  }

  const SegmentOption& OptionAt(const Candidate& candidate, size_t position) const {
    return problem_.options[problem_.sequence[position]][candidate.choice[position]];
  }
  // Behind `position`.
  double MoveSeconds(size_t position, const SegmentOption& from, const SegmentOption& to) const {
    return problem_.resharding.at(
        {problem_.sequence[position], problem_.sequence[position + 1]})[from.exit][to.entry];
  }

  SegmentSearchResult SearchFronts() {
    FrontPolicy policy(problem_, grammar_, best_.seconds, price_, options_);
    const ParetoProducts products(problem_, grammar_, policy);
    const auto whole = products.Whole();
    const auto fastest = std::min_element(
        whole.begin(), whole.end(),
        [](const auto& a, const auto& b) { return a.second.seconds < b.second.seconds; });
    if (fastest != whole.end() && fastest->second.seconds < best_.seconds)
      best_ = Evaluate(problem_, products.ChoiceOf(fastest->first));
    return Result(best_, policy.complete() ? best_.seconds : bound_, policy.complete());
  }

  static SegmentSearchResult Result(const Candidate& candidate, double bound, bool exact) {
    return {.possible = true,
            .fits = true,
            .choice = candidate.choice,
            .seconds = candidate.seconds,
            .resharding_seconds = candidate.resharding_seconds,
            .bound = std::isinf(bound) ? bound : std::min(bound, candidate.seconds),
            .kept_bytes = candidate.kept_bytes,
            .working_bytes = candidate.working_bytes,
            .exact = exact};
  }

  const SegmentProblem& problem_;
  const SegmentSearchOptions& options_;
  const SequenceGrammar grammar_;
  std::vector<int64_t> working_;  // all that options have, ascending
  Candidate best_;                // that fits
  double bound_ = 0, price_ = 0;
};

}  // namespace

SegmentSearchResult SearchSegments(const SegmentProblem& problem,
                                   const SegmentSearchOptions& options) {
  if (problem.sequence.empty()) return {.exact = true};
  return SegmentSearch(problem, options).Run();
}

}  // namespace meshwright
