#ifndef MESHWRIGHT_PROFILE_PARETO_PRODUCTS_H_
#define MESHWRIGHT_PROFILE_PARETO_PRODUCTS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "meshwright/profile/segment_search.h"
#include "meshwright/profile/sequence_grammar.h"

namespace meshwright {

// One way to run a part of the sequence: what it takes, and of what it consists.
struct ParetoEntry {
  double seconds = 0;
  int64_t kept_bytes = 0, working_bytes = 0;
  // In a leaf `left` is the option; in a pair these are the layouts between its parts, and the
  // entries of those.
  int32_t exit = 0, entry = 0;
  int32_t left = 0, right = 0;
};

using ParetoSet = std::vector<ParetoEntry>;

// What is kept of all the ways to run a part between two given layouts.
class ParetoPolicy {
 public:
  virtual ~ParetoPolicy() = default;
  // Whether an option may be used at all.
  virtual bool Allows(const SegmentOption& option) const { return true; }
  // Whether what is made of the part `symbol` can be of use.
  virtual bool Useful(int32_t symbol, const ParetoEntry& entry) const { return true; }
  // Leaves out what is not worth keeping.
  virtual void Reduce(ParetoSet* set) = 0;
};

// For every symbol of a grammar, and every two layouts at its ends, the ways to run that part:
// products of matrices over the semiring of Pareto sets (addition: union; multiplication: seconds
// and kept bytes add up, of working bytes the larger counts).
class ParetoProducts {
 public:
  // All must outlive it.
  ParetoProducts(const SegmentProblem& problem, const SequenceGrammar& grammar,
                 ParetoPolicy& policy);

  // The front of the whole sequence, for any layouts at its ends.
  struct End {
    int32_t entry = 0, exit = 0;  // layouts
    int32_t index = 0;
  };
  std::vector<std::pair<End, ParetoEntry>> Whole() const;
  // By position: the option.
  std::vector<int32_t> ChoiceOf(const End& end) const;

 private:
  struct Part {
    int32_t entries = 0, exits = 0;
    std::vector<ParetoSet> sets;  // [entry][exit]
    const ParetoSet& at(int32_t entry, int32_t exit) const { return sets[entry * exits + exit]; }
    ParetoSet& at(int32_t entry, int32_t exit) { return sets[entry * exits + exit]; }
  };
  Part Leaf(int32_t symbol) const;
  Part Product(int32_t symbol) const;
  void Unfold(int32_t symbol, int32_t entry, int32_t exit, int32_t index,
              std::vector<int32_t>* choice) const;

  const SegmentProblem& problem_;
  const SequenceGrammar& grammar_;
  ParetoPolicy& policy_;
  std::vector<Part> parts_;  // by symbol
};

// Keeps what nothing else of the set beats in seconds, kept and working bytes; of equals the first.
// Ascending in seconds.
void KeepParetoEntries(ParetoSet* set);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_PARETO_PRODUCTS_H_
