#include "meshwright/explain/json.h"

#include "meshwright/base/json_value.h"
#include "meshwright/base/printable.h"

namespace meshwright {

std::string JsonText(const Json& json) {
  return JsonPrintable(json.dump(1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

Json CollectivesJson(const std::vector<PlanCollective>& collectives) {
  Json list = Json::array();
  for (const PlanCollective& one : collectives) {
    list.push_back({{"kind", one.kind},
                    {"axes", one.axes},
                    {"count", one.count},
                    {"bytes_per_device", one.bytes_per_device},
                    {"seconds", one.seconds}});
  }
  return list;
}

Json MemoryJson(const MemoryByCategory& memory) {
  Json json = Json::object();
  for (size_t i = 0; i < memory.size(); ++i) json[kWords<MemoryCategory>[i].data()] = memory[i];
  return json;
}

}  // namespace meshwright
