#ifndef MESHWRIGHT_INTER_LAYERS_OBSTACLE_TEXTS_H_
#define MESHWRIGHT_INTER_LAYERS_OBSTACLE_TEXTS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/hlo/graph.h"

namespace meshwright {

// "gather.3 (model.py:12) takes", "gather.3 (model.py:12) and 2 more operators take": the first of
// `ops`, where the user's program has it, and the verb in its two forms.
std::string OpsText(const Graph& graph, const std::vector<OpId>& ops, std::string_view one,
                    std::string_view several);

// What keeps the batch from being divided, in the order of `why`'s first operators: one text for
// each reason, with what would help. Reasons begin with a verb: "takes samples by their number".
std::vector<std::string> ObstacleTexts(const Graph& graph, const std::map<OpId, std::string>& why);

// What is called for its effect only (jax.debug.print, io_callback), of which no slice has
// anything, as none of its results is read: one text, or none.
std::vector<std::string> EffectTexts(const Graph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_OBSTACLE_TEXTS_H_
