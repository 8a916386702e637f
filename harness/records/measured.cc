#include "harness/records/measured.h"

#include <nlohmann/json.hpp>
#include <string>

#include "reports/record/reader.h"

namespace thinpipe {

Records measured_records(const nlohmann::json& header, const std::vector<nlohmann::json>& points) {
  std::string text = header.dump() + "\n";
  for (const nlohmann::json& point : points) text += point.dump() + "\n";
  return parse_records(text, "what was measured");
}

}  // namespace thinpipe
