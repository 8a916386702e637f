// The links before they were used.
#include "reports/record/calibration.h"
#include "reports/tables/table.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

std::string verdict_text(const CalibratedLinkRecord& link) {
  if (link.verdict == "off") return "does not hold";
  if (link.verdict == "unjudged") return "not judged: the network was left as it is";
  if (link.reason.empty()) return link.verdict;
  return (link.verdict == "unmeasured" ? "not measured: " : link.verdict + ": ") + link.reason;
}

std::vector<TableCell> calibration_row(const CalibratedLinkRecord& link, const CalibratedWay* way,
                                       bool several_launches) {
  std::vector<TableCell> row = {{link.link}};
  if (several_launches) row.push_back({std::to_string(link.launch + 1)});
  row.push_back({way != nullptr ? way->where : kAbsent});
  row.push_back({way == nullptr || way->set.empty() ? kAbsent : way->set});
  row.push_back({verdict_text(link)});
  if (way != nullptr) {
    row.push_back({format_rate(way->goodput), "", way->goodput});
    row.push_back({format_rate(way->ceiling), "", way->ceiling});
    row.push_back({format_percent(way->ratio), "", way->ratio});
  } else {
    for (int i = 0; i < 3; ++i) row.push_back({kAbsent});
  }
  row.push_back(way != nullptr && way->round_trip
                    ? TableCell{format_time(*way->round_trip), "", *way->round_trip}
                    : TableCell{kAbsent});
  for (TableCell& cell : row) cell.is_doubtful = link.verdict == "off" || link.verdict == "broken";
  return row;
}

}  // namespace

Table calibration_table(const Records& records) {
  const bool several = records.headers.size() > 1;
  Table table;
  table.columns = {"link"};
  if (several) table.columns.emplace_back("launch");
  for (const char* column : {"way", "set to", "verdict"}) table.columns.emplace_back(column);
  table.text_columns = table.columns.size();
  for (const char* column : {"goodput", "TCP at most", "share of it", "round trip, idle"})
    table.columns.emplace_back(column);
  for (const CalibratedLinkRecord& link : calibrated_links(records)) {
    if (link.ways.empty()) table.rows.push_back(calibration_row(link, nullptr, several));
    for (const CalibratedWay& way : link.ways)
      table.rows.push_back(calibration_row(link, &way, several));
  }
  return table;
}

}  // namespace thinpipe
