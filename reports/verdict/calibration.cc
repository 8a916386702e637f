// The sentence on how the links were held against what they were set to.
#include <algorithm>
#include <set>

#include "reports/record/calibration.h"
#include "reports/text/lists.h"
#include "reports/text/units.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

// The last launch that calibrated a link counts.
std::vector<CalibratedLinkRecord> last_of_each(const Records& records) {
  std::vector<CalibratedLinkRecord> links = calibrated_links(records);
  std::set<std::string> seen;
  std::vector<CalibratedLinkRecord> last;
  for (auto link = links.rbegin(); link != links.rend(); ++link)
    if (seen.insert(link->link + " " + std::to_string(link->ways.size())).second)
      last.push_back(std::move(*link));
  std::reverse(last.begin(), last.end());
  return last;
}

std::string count_of(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " link" : " links");
}

}  // namespace

std::string calibration_sentence(const Summary& summary) {
  double least = 0, most = 0;
  std::size_t held = 0;
  std::vector<std::string> off, unknown;
  for (const CalibratedLinkRecord& link : last_of_each(*summary.records)) {
    const CalibratedWay* farthest = link.farthest();
    if (link.held() && farthest != nullptr) {
      for (const CalibratedWay& way : link.ways) {
        least = held == 0 && &way == &link.ways.front() ? way.ratio : std::min(least, way.ratio);
        most = std::max(most, way.ratio);
      }
      ++held;
    } else if (link.verdict == "off" && farthest != nullptr) {
      off.push_back(link.link + " (" + farthest->where + ": " + format_percent(farthest->ratio) +
                    ")");
    } else if (link.verdict == "broken") {
      off.push_back(link.link + " (nothing came through)");
    } else {
      unknown.push_back(link.link);
    }
  }
  std::vector<std::string> clauses;
  if (held > 0) {
    const std::string low = format_percent(least), high = format_percent(most);
    clauses.push_back(count_of(held) + " held, at " + low + (low == high ? "" : " to " + high) +
                      " of what TCP can deliver");
  }
  if (!off.empty()) clauses.push_back(count_of(off.size()) + " did not: " + listed(off));
  if (!unknown.empty()) clauses.push_back("not judged: " + listed(unknown));
  return clauses.empty() ? "" : "Before they were used, " + joined(clauses, "; ") + ".";
}

}  // namespace thinpipe
