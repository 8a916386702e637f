// A link's report for people.
#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"
#include "harness/commands/net_verify_output.h"

namespace thinpipe {

namespace {

// "  goodput there     95.6 Mbit/s ..."
std::string line(const char* name, const std::string& text) {
  return fmt::format("  {:<14}{}\n", name, text);
}

std::string title(const LinkReport& report, const LinkVerdict& verdict) {
  const std::optional<bool> holds = verdict.holds();
  if (holds == false) return "DOES NOT HOLD";
  if (!verdict.valid()) return "NOT VALID, the machine was too busy";
  if (!report.link.throttled() && report.goodput)
    return fmt::format("no rate to hold; the machine carries {}{}",
                       format_rate(std::min(report.goodput->there.figures.goodput,
                                            report.goodput->back.figures.goodput)),
                       holds ? "; the rest holds" : "");
  if (!holds) return "not judged";
  if (report.goodput && report.link.disturbs())
    return "holds, but for the goodput, which is not judged";
  return "holds";
}

// "79.8 to 80.9 Mbit/s"
std::string span(double low, double high) {
  std::string from = format_rate(low);
  const std::string to = format_rate(high);
  const std::size_t unit = from.find(' ');
  if (to.ends_with(from.substr(unit))) from.resize(unit);
  return from + " to " + to;
}

std::string goodput_line(const GoodputWay& way) {
  std::string text = fmt::format("{} ({})", format_rate(way.figures.goodput),
                                 span(way.figures.low, way.figures.high));
  if (way.ceiling > 0)
    text += fmt::format(", {:+.2f} % of {}", 100 * way.deviation(), format_rate(way.ceiling));
  return text;
}

std::string goodput_text(const GoodputReport& found) {
  std::string text = line("goodput there", goodput_line(found.there)) +
                     line("goodput back", goodput_line(found.back)) +
                     line("both, there", goodput_line(found.both_there)) +
                     line("both, back", goodput_line(found.both_back));
  if (found.up) text += line("up alone", goodput_line(*found.up));
  if (found.down) text += line("down alone", goodput_line(*found.down));
  return text +
         line("wire bytes", fmt::format("{:.2f} % there, {:.2f} % back of what the payload needs",
                                        100 * found.there.wire_ratio, 100 * found.back.wire_ratio));
}

std::string trips(const RoundTrips& found) {
  if (found.sent == found.lost) return fmt::format("all {} probes were lost", found.sent);
  std::string text =
      fmt::format("{} (95 % within {})", format_time(found.median), format_time(found.p95));
  if (found.lost > 0) text += fmt::format(", {} of {} lost", found.lost, found.sent);
  return text;
}

std::string round_trip_text(const RoundTripReport& found) {
  std::string text = line(
      "round trip", trips(found.idle) + (found.set > 0 ? "; set: " + format_time(found.set) : ""));
  text += line("  beside TCP", trips(found.beside_stream));
  if (found.full)
    return text +
           line("  queue full", trips(*found.full) + fmt::format("; should add {}",
                                                                 format_time(found.wait.seconds)));
  return text + line("  queue full", "not measured: " + found.full_not_measured);
}

std::string loss_way(const LossWay& way) {
  std::string text = fmt::format("{} of {}, so {:.3g} to {:.3g} %", way.figures.lost,
                                 way.figures.sent, 100 * way.interval.low, 100 * way.interval.high);
  if (way.figures.duplicates > 0) text += fmt::format(", {} twice", way.figures.duplicates);
  if (way.figures.overtaken > 0) text += fmt::format(", {} overtaken", way.figures.overtaken);
  return text;
}

std::string loss_text(const LossReport& found) {
  return line("lost there", loss_way(found.there)) + line("lost back", loss_way(found.back)) +
         (found.expected > 0 ? line("", fmt::format("{:.3g} % were set", 100 * found.expected))
                             : "");
}

std::string burst_text(const BurstReport& found) {
  return line("burst credit",
              fmt::format("{} there, {} back; {} were set", format_bytes(found.there.credit),
                          format_bytes(found.back.credit), format_bytes(found.there.expected)));
}

std::string change_text(const ChangeFigures& found) {
  std::string text =
      fmt::format("seen after {} (at most {}) in {} changes", format_time(found.median),
                  format_time(found.most), found.changes - found.unseen);
  if (found.unseen > 0) text += fmt::format(", {} not seen", found.unseen);
  return line("new rate", text) +
         line("", fmt::format("{} of {} datagrams were lost meanwhile", found.lost, found.sent));
}

std::string said(const ToolFigure& figure, std::string (*format)(double)) {
  return figure.value ? format(*figure.value) : figure.trouble;
}

std::string tools_text(const ToolReport& found) {
  const std::string there = said(found.there, format_rate), back = said(found.back, format_rate);
  return line("iperf3",
              found.there.value || found.back.value ? there + " there, " + back + " back" : there) +
         line(found.round_trip.tool.c_str(), said(found.round_trip, format_time));
}

// Breaks at blanks so that the lines behind the first, indented, hold 80 columns.
std::string wrapped(const std::string& head, const std::string& text) {
  constexpr std::size_t kColumns = 80;
  std::string result, current = "  " + head;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (current.size() + 1 + end - at > kColumns) {
      result += current + "\n";
      current = "   ";
    }
    current += " " + text.substr(at, end - at);
    at = end + 1;
  }
  return result + current + "\n";
}

}  // namespace

std::string link_report_text(const LinkReport& report, const LinkVerdict& verdict) {
  std::string text = fmt::format("{}: {}\n", report.link.to_string(), title(report, verdict));
  for (const std::string& reason : verdict.reasons) text += wrapped("does not hold:", reason);
  for (const std::string& one : verdict.disturbed) text += wrapped("not valid:", one);
  for (const std::string& warning : verdict.warnings) text += wrapped("suspicious:", warning);
  if (report.goodput) text += goodput_text(*report.goodput);
  if (report.round_trip) text += round_trip_text(*report.round_trip);
  if (report.loss) text += loss_text(*report.loss);
  if (report.burst) text += burst_text(*report.burst);
  if (report.change) text += change_text(*report.change);
  if (report.tools) text += tools_text(*report.tools);
  for (const std::string& one : report.not_measured) text += wrapped("not measured:", one);
  return text;
}

}  // namespace thinpipe
