#include "reports/record/calibration.h"

#include <algorithm>
#include <cmath>

namespace thinpipe {
namespace {

using nlohmann::json;

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<double> number_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// The objects of a list; none of anything else.
std::vector<json> objects_of(const json& object, const char* key) {
  std::vector<json> objects;
  if (!object.is_object() || !object.contains(key) || !object[key].is_array()) return objects;
  for (const json& one : object[key])
    if (one.is_object()) objects.push_back(one);
  return objects;
}

std::optional<CalibratedWay> way_of(const json& object) {
  const auto ceiling = number_of(object, "ceiling"), goodput = number_of(object, "goodput"),
             ratio = number_of(object, "ratio");
  if (!ceiling || !goodput || !ratio) return std::nullopt;
  return CalibratedWay{
      text_in(object, "where"),       text_in(object, "set"), *ceiling, *goodput, *ratio,
      number_of(object, "round_trip")};
}

}  // namespace

const CalibratedWay* CalibratedLinkRecord::farthest() const {
  const auto found = std::max_element(ways.begin(), ways.end(),
                                      [](const CalibratedWay& a, const CalibratedWay& b) {
                                        return std::fabs(a.ratio - 1) < std::fabs(b.ratio - 1);
                                      });
  return found == ways.end() ? nullptr : &*found;
}

std::vector<CalibratedLinkRecord> calibrated_links(const Records& records) {
  std::vector<CalibratedLinkRecord> links;
  for (std::size_t launch = 0; launch < records.headers.size(); ++launch)
    for (const json& object : objects_of(records.headers[launch].calibration, "links")) {
      CalibratedLinkRecord link{launch,
                                text_in(object, "link"),
                                text_in(object, "verdict"),
                                text_in(object, "reason"),
                                {}};
      if (link.link.empty() || link.verdict.empty()) continue;
      for (const json& one : objects_of(object, "ways"))
        if (std::optional<CalibratedWay> way = way_of(one)) link.ways.push_back(std::move(*way));
      links.push_back(std::move(link));
    }
  return links;
}

}  // namespace thinpipe
