#include "meshwright/degrees/pipeline_passes.h"

#include <algorithm>

namespace meshwright::transformer {
namespace {

double MessageSeconds(const Link& link, double bytes) {
  return link.latency_seconds + bytes / link.achievable();
}

// Whether any GPU of the group at `position` and its partner in the next are on different nodes.
bool CrossesNodes(const GroupShape& pipeline, int64_t position, int64_t node) {
  if (pipeline.inside > 0) return (position + 1) % pipeline.inside == 0;
  const int64_t first = position * pipeline.stride, last = (position + 2) * pipeline.stride - 1;
  return pipeline.stride >= node || last / node > first / node;
}

}  // namespace

std::vector<double> SendSeconds(const Configuration& c, const Cluster& cluster,
                                const GroupLayout& layout, double bytes, GroupTimes& times) {
  std::vector<double> seconds(c.pp - 1);
  for (int64_t i = 0; i + 1 < c.pp; ++i) {
    if (!CrossesNodes(layout.pipeline, i, cluster.devices_per_node)) {
      seconds[i] = MessageSeconds(cluster.intra_node, bytes);
    } else if (cluster.fabric.unit_nodes == 0) {
      seconds[i] = MessageSeconds(cluster.inter_node, bytes);
    } else {
      seconds[i] = times.Of(layout.pipeline).permute.Seconds(WholeBytes(bytes));
    }
  }
  return seconds;
}

std::vector<double> LeastSendSeconds(const Configuration& c, const Cluster& cluster, double bytes) {
  // Two groups share a node at best.
  const bool in_node = cluster.devices_per_node > 1;
  const bool between = cluster.nodes > 1;
  double least = in_node ? MessageSeconds(cluster.intra_node, bytes) : 0;
  if (between) {
    const double other = MessageSeconds(cluster.inter_node, bytes);
    least = in_node ? std::min(least, other) : other;
  }
  return std::vector<double>(c.pp - 1, least);
}

double TiedSeconds(const Cluster& cluster, const GroupLayout& layout, double bytes) {
  const GroupShape& pipeline = layout.pipeline;
  const bool in_node = pipeline.inside > 0
                           ? pipeline.inside == pipeline.members
                           : pipeline.members * pipeline.stride <= cluster.devices_per_node;
  return MessageSeconds(in_node ? cluster.intra_node : cluster.inter_node, bytes);
}

std::vector<StageSeconds> PassSimulator::Stages(const Configuration& c,
                                                const PipelineCost& pipeline) const {
  std::vector<StageSeconds> stages(partition_->content_of.size());
  for (size_t i = 0; i < stages.size(); ++i) {
    stages[i] = PassesOf(pipeline.groups[GroupAt(c, *partition_, static_cast<int64_t>(i))]);
    if (i < sends_.size()) stages[i].send = sends_[i];
  }
  return stages;
}

const PipelinePasses& PassSimulator::Of(const Configuration& c, const PipelineCost& pipeline) {
  const std::tuple recompute(c.recompute, c.recompute_layers, c.recompute_stages);
  const auto known = std::find_if(known_.begin(), known_.end(),
                                  [&](const Known& one) { return one.recompute == recompute; });
  if (known != known_.end()) return known->passes;
  const auto part = [](const Known& one) {
    return std::get<1>(one.recompute) != 0 || std::get<2>(one.recompute) != 0;
  };
  known_.erase(std::remove_if(known_.begin(), known_.end(), part), known_.end());
  PipelinePasses& passes = known_.emplace_back(Known{recompute, {}}).passes;
  std::vector<StageSeconds> stages = Stages(c, pipeline);
  OneForwardOneBackwardEnds(stages, micro_batches_, Sends::kExchanged, &passes.ends);
  passes.without_sends = passes.ends.front();
  if (!sends_.empty()) {
    for (StageSeconds& stage : stages) stage.send = 0;
    std::vector<double> ends;
    OneForwardOneBackwardEnds(stages, micro_batches_, Sends::kExchanged, &ends);
    passes.without_sends = ends.front();
  }
  return passes;
}

std::vector<double> PassSimulator::EndsWith(const Configuration& c, const PipelineCost& pipeline,
                                            const std::vector<StageSeconds>& more) const {
  std::vector<StageSeconds> stages = Stages(c, pipeline);
  for (size_t i = 0; i < stages.size(); ++i) {
    const StageSeconds& longer = more[GroupAt(c, *partition_, static_cast<int64_t>(i))];
    stages[i].forward += longer.forward;
    stages[i].backward += longer.backward;
  }
  std::vector<double> ends;
  OneForwardOneBackwardEnds(stages, micro_batches_, Sends::kExchanged, &ends);
  return ends;
}

}  // namespace meshwright::transformer
