// A link's report as a row of a Markdown table.
#include <fmt/format.h>

#include "base/units.h"
#include "harness/commands/net_verify_output.h"

namespace thinpipe {

namespace {

std::string cell(const std::string& text) { return " " + text + " |"; }

std::string goodput_cells(const std::optional<GoodputReport>& found) {
  if (!found) return cell("") + cell("") + cell("") + cell("");
  const auto measured = [](const GoodputWay& way) { return format_rate(way.figures.goodput); };
  const auto ceiling = [](const GoodputWay& way) {
    return way.ceiling > 0 ? " of " + format_rate(way.ceiling) : "";
  };
  return cell(found->there.ceiling > 0 ? format_rate(found->there.ceiling) : "") +
         cell(measured(found->there)) + cell(measured(found->back)) +
         cell(fmt::format("{}{}; {}{}", measured(found->both_there), ceiling(found->both_there),
                          measured(found->both_back), ceiling(found->both_back)));
}

std::string round_trip_cells(const std::optional<RoundTripReport>& found) {
  if (!found) return cell("") + cell("") + cell("");
  return cell(format_time(found->idle.median)) + cell(format_time(found->beside_stream.median)) +
         cell(found->full ? fmt::format("{} of {}", format_time(found->full->median),
                                        format_time(found->set + found->wait.seconds))
                          : "");
}

std::string loss_cell(const std::optional<LossReport>& found) {
  if (!found) return cell("");
  return cell(fmt::format("{} of {}; {} of {}", found->there.figures.lost,
                          found->there.figures.sent, found->back.figures.lost,
                          found->back.figures.sent));
}

std::string burst_cell(const std::optional<BurstReport>& found) {
  if (!found) return cell("");
  return cell(fmt::format("{}; {} of {}", format_bytes(found->there.credit),
                          format_bytes(found->back.credit), format_bytes(found->there.expected)));
}

std::string tool_cell(const std::optional<ToolReport>& found) {
  if (!found || !found->there.value || !found->back.value) return cell("");
  return cell(
      fmt::format("{}; {}", format_rate(*found->there.value), format_rate(*found->back.value)));
}

}  // namespace

std::string link_table_head() {
  std::string names = "|", rule = "|";
  for (const char* name :
       {"link", "TCP's ceiling", "there", "back", "both at once", "round trip idle",
        "beside a stream", "queue full", "lost there; back", "burst credit there; back",
        "new rate seen after", "iperf3 there; back", "verdict"}) {
    names += cell(name);
    rule += "---|";
  }
  return names + "\n" + rule + "\n";
}

std::string link_table_row(const LinkReport& report, const LinkVerdict& verdict) {
  const std::optional<bool> holds = verdict.holds();
  return "|" + cell("`" + report.link.to_string() + "`") + goodput_cells(report.goodput) +
         round_trip_cells(report.round_trip) + loss_cell(report.loss) + burst_cell(report.burst) +
         cell(report.change ? format_time(report.change->median) : "") + tool_cell(report.tools) +
         cell(!holds   ? verdict.valid() ? "not judged" : "not valid"
              : *holds ? "holds"
                       : "does not hold") +
         "\n";
}

}  // namespace thinpipe
