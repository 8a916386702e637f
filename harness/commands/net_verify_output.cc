#include "harness/commands/net_verify_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/plain_table.h"
#include "base/units.h"
#include "harness/options/terminal.h"
#include "netem/link/link_keys.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

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

// Summary of several links, for a person to repeat.

const char* word_of(const LinkVerdict& verdict) {
  const std::optional<bool> holds = verdict.holds();
  if (!holds) return verdict.valid() ? "not judged" : "NOT VALID";
  return *holds ? "holds" : "DOES NOT HOLD";
}

std::string goodput_of(const JudgedLink& link, GoodputWay GoodputReport::*way) {
  const std::optional<GoodputReport>& found = link.report.goodput;
  return found ? format_rate(((*found).*way).figures.goodput) : "-";
}

std::string slower_goodput_of(const JudgedLink& link) {
  const GoodputReport& found = *link.report.goodput;
  return format_rate(std::min(found.there.figures.goodput, found.back.figures.goodput));
}

// Largest deviation of the four goodputs, signed; none without a ceiling to compare with.
std::optional<double> farthest_off(const JudgedLink& link) {
  const std::optional<GoodputReport>& found = link.report.goodput;
  if (!found || link.report.link.disturbs()) return std::nullopt;
  std::optional<double> most;
  for (const GoodputWay* way : {&found->there, &found->back, &found->both_there, &found->both_back})
    if (way->ceiling > 0 && link.report.disturbed.count(Measure::kGoodput) == 0 &&
        (!most || std::fabs(way->deviation()) > std::fabs(*most)))
      most = way->deviation();
  return most;
}

std::string table_of(const std::vector<JudgedLink>& links) {
  PlainTable table({"link", "goodput\nthere", "goodput\nback", "farthest\noff", "round trip\nidle",
                    "\nverdict"});
  for (const JudgedLink& link : links) {
    const std::optional<double> off = farthest_off(link);
    const std::optional<RoundTripReport>& trips = link.report.round_trip;
    table.add({link.report.link.to_string(), goodput_of(link, &GoodputReport::there),
               goodput_of(link, &GoodputReport::back),
               off ? fmt::format("{:+.2f} %", 100 * *off) : "-",
               trips ? format_time(trips->idle.median) : "-", word_of(link.verdict)});
  }
  return table.text();
}

std::string count_of(std::size_t count, std::size_t all) {
  if (all == 1) return "The link";
  if (count == all) return fmt::format("All {} links", all);
  return fmt::format("{} of {} links", count, all);
}

std::string how_many_hold(const std::vector<JudgedLink>& links) {
  std::size_t good = 0, bad = 0;
  const JudgedLink* first_bad = nullptr;
  for (const JudgedLink& link : links) {
    const std::optional<bool> holds = link.verdict.holds();
    good += holds == true;
    bad += holds == false;
    if (holds == false && first_bad == nullptr) first_bad = &link;
  }
  if (first_bad != nullptr)
    return fmt::format("{} {} not hold{}: {}.", count_of(bad, links.size()),
                       bad == 1 || links.size() == 1 ? "does" : "do",
                       links.size() == 1 ? "" : "; " + first_bad->report.link.to_string(),
                       first_bad->verdict.reasons.front());
  if (good == 0 && std::any_of(links.begin(), links.end(),
                               [](const JudgedLink& link) { return !link.verdict.valid(); }))
    return "";
  if (good == 0)
    return links.size() == 1 && !links[0].report.link.throttled() && links[0].report.goodput
               ? fmt::format("There is no rate to hold; the machine carries {} between two hosts.",
                             slower_goodput_of(links[0]))
               : "Nothing that was measured can be held against what was set.";
  return fmt::format("{} {}.", count_of(good, links.size()), good == 1 ? "holds" : "hold");
}

std::string how_many_are_invalid(const std::vector<JudgedLink>& links) {
  const auto is_invalid = [](const JudgedLink& link) { return !link.verdict.valid(); };
  const auto first = std::find_if(links.begin(), links.end(), is_invalid);
  if (first == links.end()) return "";
  return fmt::format("The machine was too busy to judge {}: {}. {}",
                     links.size() == 1 ? "the link"
                                       : fmt::format("{} of {} links; {}",
                                                     std::count_if(first, links.end(), is_invalid),
                                                     links.size(), first->report.link.to_string()),
                     first->verdict.disturbed.front(), kBusyAdvice);
}

std::string how_far_off(const std::vector<JudgedLink>& links) {
  const JudgedLink* worst = nullptr;
  double most = 0;
  for (const JudgedLink& link : links)
    if (const std::optional<double> off = farthest_off(link);
        off && (worst == nullptr || std::fabs(*off) > std::fabs(most))) {
      worst = &link;
      most = *off;
    }
  if (worst == nullptr) return "";
  return fmt::format("Goodput is at most {:.2f} % off what TCP can deliver{}.",
                     100 * std::fabs(most),
                     links.size() > 1 ? " (" + worst->report.link.to_string() + ")" : "");
}

// As a row of a Markdown table.

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

// For programs.

Json stream_json(const GoodputWay& way) {
  Json result = {{"goodput", way.figures.goodput}, {"low", way.figures.low},
                 {"high", way.figures.high},       {"ceiling", nullptr},
                 {"deviation", nullptr},           {"acks_per_second", way.figures.acks},
                 {"payload", way.figures.payload}, {"wire_ratio", nullptr}};
  if (way.ceiling > 0) {
    result["ceiling"] = way.ceiling;
    result["deviation"] = way.deviation();
  }
  if (way.wire_ratio > 0) result["wire_ratio"] = way.wire_ratio;
  return result;
}

Json goodput_json(const GoodputReport& found) {
  Json result = {{"there", stream_json(found.there)},
                 {"back", stream_json(found.back)},
                 {"both_there", stream_json(found.both_there)},
                 {"both_back", stream_json(found.both_back)},
                 {"up", nullptr},
                 {"down", nullptr}};
  if (found.up) result["up"] = stream_json(*found.up);
  if (found.down) result["down"] = stream_json(*found.down);
  return result;
}

Json trips_json(const RoundTrips& found) {
  Json result = {{"median", nullptr},
                 {"p95", nullptr},
                 {"most", nullptr},
                 {"sent", found.sent},
                 {"lost", found.lost}};
  if (found.sent > found.lost) {
    result["median"] = found.median;
    result["p95"] = found.p95;
    result["most"] = found.most;
  }
  return result;
}

Json round_trip_json(const RoundTripReport& found) {
  return {{"set", found.set},
          {"idle", trips_json(found.idle)},
          {"beside_stream", trips_json(found.beside_stream)},
          {"full_queue", found.full ? trips_json(*found.full) : Json()},
          {"queue_wait", found.full ? Json(found.wait.seconds) : Json()}};
}

Json loss_way_json(const LossWay& way) {
  return {{"sent", way.figures.sent},          {"lost", way.figures.lost},
          {"share", way.figures.share()},      {"low", way.interval.low},
          {"high", way.interval.high},         {"duplicates", way.figures.duplicates},
          {"overtaken", way.figures.overtaken}};
}

Json loss_json(const LossReport& found) {
  return {{"expected", found.expected},
          {"confidence", kLossConfidence},
          {"there", loss_way_json(found.there)},
          {"back", loss_way_json(found.back)}};
}

Json burst_json(const BurstReport& found) {
  const auto way = [](const BurstFigures& one) -> Json {
    return {{"credit", one.credit}, {"low", one.low}, {"high", one.high}, {"frame", one.frame}};
  };
  return {
      {"expected", found.there.expected}, {"there", way(found.there)}, {"back", way(found.back)}};
}

Json change_json(const ChangeFigures& found) {
  return {{"median", found.changes > found.unseen ? Json(found.median) : Json()},
          {"most", found.changes > found.unseen ? Json(found.most) : Json()},
          {"changes", found.changes},
          {"unseen", found.unseen},
          {"sent", found.sent},
          {"lost", found.lost}};
}

Json figure_json(const ToolFigure& figure) {
  return {{"tool", figure.tool},
          {"value", figure.value ? Json(*figure.value) : Json()},
          {"trouble", figure.trouble.empty() ? Json() : Json(figure.trouble)}};
}

Json tools_json(const ToolReport& found) {
  return {{"goodput_there", figure_json(found.there)},
          {"goodput_back", figure_json(found.back)},
          {"round_trip", figure_json(found.round_trip)}};
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

std::string links_summary(const std::vector<JudgedLink>& links) {
  std::string sentences;
  for (const std::string& one :
       {how_many_are_invalid(links), how_many_hold(links), how_far_off(links)})
    if (!one.empty()) sentences += (sentences.empty() ? "" : " ") + one;
  return "\n" + (links.size() > 1 ? table_of(links) + "\n" : "") + wrap(sentences, 0) + "\n";
}

int verification_code(bool holds, bool valid) {
  if (!holds) return kExitFailed;
  return valid ? kExitGood : kExitInconclusive;
}

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

Json link_report_json(const LinkReport& report, const LinkVerdict& verdict) {
  const std::optional<bool> holds = verdict.holds();
  return {{"link", report.link.to_string()},
          {"spec", link_json(report.link)},
          {"holds", holds ? Json(*holds) : Json()},
          {"valid", verdict.valid()},
          {"reasons", verdict.reasons},
          {"disturbed", verdict.disturbed},
          {"warnings", verdict.warnings},
          {"checked", verdict.passed},
          {"not_measured", report.not_measured},
          {"goodput", report.goodput ? goodput_json(*report.goodput) : Json()},
          {"round_trip", report.round_trip ? round_trip_json(*report.round_trip) : Json()},
          {"loss", report.loss ? loss_json(*report.loss) : Json()},
          {"burst_credit", report.burst ? burst_json(*report.burst) : Json()},
          {"change_latency", report.change ? change_json(*report.change) : Json()},
          {"tools", report.tools ? tools_json(*report.tools) : Json()},
          {"seconds", report.seconds},
          {"units",
           {{"goodput", "bit/s; payload: bytes"},
            {"round_trip", "s"},
            {"loss", "datagrams; shares from 0 to 1"},
            {"burst_credit", "bytes"},
            {"change_latency", "s; sent and lost: datagrams"},
            {"tools", "bit/s; round_trip: s"},
            {"seconds", "s"}}}};
}

}  // namespace thinpipe
