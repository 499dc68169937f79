#include "meshwright/explain/json.h"

#include "meshwright/base/printable.h"

namespace meshwright {

std::string JsonText(const ExplainJson& json) {
  return JsonPrintable(json.dump(1, ' ', false, ExplainJson::error_handler_t::replace)) + "\n";
}

ExplainJson CollectivesJson(const std::vector<PlanCollective>& collectives) {
  ExplainJson list = ExplainJson::array();
  for (const PlanCollective& one : collectives) {
    list.push_back({{"kind", one.kind},
                    {"axes", one.axes},
                    {"count", one.count},
                    {"bytes_per_device", one.bytes_per_device},
                    {"seconds", one.seconds}});
  }
  return list;
}

ExplainJson MemoryJson(const MemoryByCategory& memory) {
  ExplainJson json = ExplainJson::object();
  for (size_t i = 0; i < memory.size(); ++i)
    json[std::string(MemoryCategoryName(static_cast<MemoryCategory>(i)))] = memory[i];
  return json;
}

}  // namespace meshwright
