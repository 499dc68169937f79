#include <algorithm>
#include <utility>

#include "meshwright/blocks/block_growth.h"

namespace meshwright {
namespace {

class Attacher {
 public:
  Attacher(BlockContext& context, const std::vector<Phase>& phases,
           std::vector<GrowingBlock>* blocks)
      : context_(context),
        graph_(context.graph),
        phases_(phases),
        blocks_(*blocks),
        block_of_(graph_.ops.size(), -1) {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      for (OpId op : blocks_[b].ops) block_of_[op.index()] = static_cast<int32_t>(b);
    }
  }

  void Run() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!MayJoin(OpId(i))) continue;
      for (ValueId v : graph_.ops[i].operands) {
        if (Attach(OpId(i), block_of_[graph_[v].producer.index()])) break;
      }
    }
    for (size_t i = graph_.ops.size(); i-- > 0;) {
      if (!MayJoin(OpId(i))) continue;
      for (ValueId v : graph_.ops[i].results) {
        for (OpId user : graph_[v].users) {
          if (block_of_[i] < 0) Attach(OpId(i), block_of_[user.index()]);
        }
      }
    }
    for (GrowingBlock& block : blocks_) std::sort(block.ops.begin(), block.ops.end());
  }

 private:
  bool MayJoin(OpId id) const {
    const Op& op = graph_[id];
    return block_of_[id.index()] < 0 && phases_[id.index()] != Phase::kUpdate &&
           !op.operands.empty() && !op.results.empty() &&
           (op.kind == OpKind::kInstruction || op.kind == OpKind::kSelectBranch);
  }

  // Whether every cut of block `b` goes through `op`, which then is a member.
  bool Attach(OpId op, int32_t b) {
    if (b < 0 || blocks_[b].cuts.empty()) return false;
    std::vector<const AxisChoice*> choices;
    for (const BlockCut& cut : blocks_[b].cuts) {
      choices.push_back(ChoiceWithin(context_, cut, op));
      if (choices.back() == nullptr) return false;
    }
    for (size_t k = 0; k < choices.size(); ++k)
      AddMember(context_, op, choices[k], &blocks_[b].cuts[k]);
    blocks_[b].ops.push_back(op);
    block_of_[op.index()] = b;
    return true;
  }

  BlockContext& context_;
  const Graph& graph_;
  const std::vector<Phase>& phases_;
  std::vector<GrowingBlock>& blocks_;
  std::vector<int32_t> block_of_;
};

}  // namespace

void AttachOperators(BlockContext& context, const std::vector<Phase>& phases,
                     std::vector<GrowingBlock>* blocks) {
  Attacher(context, phases, blocks).Run();
}

}  // namespace meshwright
