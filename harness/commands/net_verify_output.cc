#include "harness/commands/net_verify_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/plain_table.h"
#include "base/units.h"
#include "harness/options/terminal.h"
#include "netem/link/link_keys.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

// "  goodput forward  95.6 Mbit/s ..."
std::string line(const char* name, const std::string& text) {
  return folded(fmt::format("  {:<17}{}", name, text), 19, " ");
}

std::string slower_goodput(const GoodputReport& found) {
  return format_rate(std::min(found.forward.figures.goodput, found.reverse.figures.goodput));
}

std::string title(const LinkReport& report, const LinkVerdict& verdict) {
  const std::optional<bool> holds = verdict.holds();
  if (holds == false) return "FAILED";
  if (!verdict.valid()) return "INVALID, the machine was too busy";
  if (!report.link.throttled() && report.goodput)
    return fmt::format("no rate configured; this machine carries {}{}",
                       slower_goodput(*report.goodput), holds ? "; other checks passed" : "");
  if (!holds) return "not judged";
  if (report.goodput && report.link.disturbs()) return "passed; goodput not judged";
  return "passed";
}

// "79.8 to 80.9 Mbit/s"
std::string span(double low, double high) {
  std::string from = format_rate(low);
  const std::string to = format_rate(high);
  const std::size_t unit = from.find(' ');
  if (to.ends_with(from.substr(unit))) from.resize(unit);
  return from + " to " + to;
}

std::string goodput_line(const DirectionGoodput& direction) {
  std::string text = fmt::format("{} ({})", format_rate(direction.figures.goodput),
                                 span(direction.figures.low, direction.figures.high));
  if (direction.ceiling > 0)
    text += fmt::format(", {:+.2f} % of {}", 100 * direction.deviation(),
                        format_rate(direction.ceiling));
  return text;
}

std::string goodput_text(const GoodputReport& found) {
  std::string text = line("goodput forward", goodput_line(found.forward)) +
                     line("goodput reverse", goodput_line(found.reverse)) +
                     line("duplex forward", goodput_line(found.both_forward)) +
                     line("duplex reverse", goodput_line(found.both_reverse));
  if (found.up) text += line("uplink alone", goodput_line(*found.up));
  if (found.down) text += line("downlink alone", goodput_line(*found.down));
  return text + line("wire bytes",
                     fmt::format("{:.2f} % forward, {:.2f} % reverse of the expected bytes",
                                 100 * found.forward.wire_ratio, 100 * found.reverse.wire_ratio));
}

std::string trips(const RoundTrips& found) {
  if (found.sent == found.lost) return fmt::format("all {} probes were lost", found.sent);
  std::string text =
      fmt::format("{} (95 % within {})", format_time(found.median), format_time(found.p95));
  if (found.lost > 0) text += fmt::format(", {} of {} lost", found.lost, found.sent);
  return text;
}

std::string median_of(const RoundTrips& found) {
  return found.sent > found.lost ? format_time(found.median) : "-";
}

std::string round_trip_text(const RoundTripReport& found) {
  std::string text = line(
      "RTT idle", trips(found.idle) + (found.set > 0 ? "; set: " + format_time(found.set) : ""));
  text += line("RTT with TCP", trips(found.beside_stream));
  if (found.full)
    return text + line("RTT bufferbloat",
                       trips(*found.full) + "; expected: +" + format_time(found.wait.seconds));
  return text + line("RTT bufferbloat", "not measured: " + found.full_not_measured);
}

std::string loss_line(const DirectionLoss& direction) {
  const LossFigures& figures = direction.figures;
  std::string text = fmt::format("{} of {} ({:.3g} to {:.3g} %)", figures.lost, figures.sent,
                                 100 * direction.interval.low, 100 * direction.interval.high);
  if (figures.duplicates > 0) text += fmt::format(", {} duplicated", figures.duplicates);
  if (figures.overtaken > 0) text += fmt::format(", {} reordered", figures.overtaken);
  return text;
}

std::string loss_text(const LossReport& found) {
  return line("lost forward", loss_line(found.forward)) +
         line("lost reverse", loss_line(found.reverse)) +
         (found.expected > 0 ? line("", fmt::format("set: {:.3g} %", 100 * found.expected)) : "");
}

std::string burst_text(const BurstReport& found) {
  return line("bucket depth",
              fmt::format("{} forward, {} reverse; set: {}", format_bytes(found.forward.depth),
                          format_bytes(found.reverse.depth), format_bytes(found.forward.expected)));
}

std::string change_text(const ChangeFigures& found) {
  std::string text =
      found.changes == found.unseen
          ? std::string("none seen")
          : fmt::format("seen after {} (at most {}) in {} changes", format_time(found.median),
                        format_time(found.most), found.changes - found.unseen);
  if (found.unseen > 0) text += fmt::format(", {} unseen", found.unseen);
  return line("rate change", text) +
         line("", fmt::format("{} of {} datagrams lost meanwhile", found.lost, found.sent));
}

std::string tool_text(const ToolFigure& figure, std::string (*format)(double)) {
  return figure.value ? format(*figure.value) : figure.trouble;
}

std::string tools_text(const ToolReport& found) {
  const std::string forward = tool_text(found.forward, format_rate),
                    reverse = tool_text(found.reverse, format_rate);
  return line("iperf3", found.forward.value || found.reverse.value
                            ? forward + " forward, " + reverse + " reverse"
                            : forward) +
         line(found.round_trip.tool.c_str(), tool_text(found.round_trip, format_time));
}

// Summary of several links.

const char* word_of(const LinkVerdict& verdict) {
  const std::optional<bool> holds = verdict.holds();
  if (!holds) return verdict.valid() ? "not judged" : "INVALID";
  return *holds ? "passed" : "FAILED";
}

std::string goodput_of(const JudgedLink& link, DirectionGoodput GoodputReport::*direction) {
  const std::optional<GoodputReport>& found = link.report.goodput;
  return found ? format_rate(((*found).*direction).figures.goodput) : "-";
}

// Returns the signed largest deviation of the four goodputs; nothing without a ceiling.
std::optional<double> farthest_off(const JudgedLink& link) {
  const std::optional<GoodputReport>& found = link.report.goodput;
  if (!found || link.report.link.disturbs()) return std::nullopt;
  std::optional<double> most;
  for (const DirectionGoodput* direction :
       {&found->forward, &found->reverse, &found->both_forward, &found->both_reverse})
    if (direction->ceiling > 0 && link.report.disturbed.count(Measure::kGoodput) == 0 &&
        (!most || std::fabs(direction->deviation()) > std::fabs(*most)))
      most = direction->deviation();
  return most;
}

std::string table_of(const std::vector<JudgedLink>& links) {
  PlainTable table({"link", "goodput\nforward", "goodput\nreverse", "worst\ndeviation", "RTT\nidle",
                    "\nverdict"});
  for (const JudgedLink& link : links) {
    const std::optional<double> off = farthest_off(link);
    const std::optional<RoundTripReport>& trips = link.report.round_trip;
    table.add({link.report.link.to_string(), goodput_of(link, &GoodputReport::forward),
               goodput_of(link, &GoodputReport::reverse),
               off ? fmt::format("{:+.2f} %", 100 * *off) : "-",
               trips ? median_of(trips->idle) : "-", word_of(link.verdict)});
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
    return fmt::format("{} failed{}: {}.", count_of(bad, links.size()),
                       links.size() == 1 ? "" : "; " + first_bad->report.link.to_string(),
                       first_bad->verdict.reasons.front());
  if (good == 0 && std::any_of(links.begin(), links.end(),
                               [](const JudgedLink& link) { return !link.verdict.valid(); }))
    return "";
  if (good == 0)
    return links.size() == 1 && !links[0].report.link.throttled() && links[0].report.goodput
               ? fmt::format("No rate is configured. This machine carries {} between two hosts.",
                             slower_goodput(*links[0].report.goodput))
               : "No measurement can be compared with the configuration.";
  return fmt::format("{} passed.", count_of(good, links.size()));
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
  return fmt::format("Goodput deviates by at most {:.2f} % from the TCP ceiling{}.",
                     100 * std::fabs(most),
                     links.size() > 1 ? " (" + worst->report.link.to_string() + ")" : "");
}

// Row of a Markdown table.

std::string cell(const std::string& text) { return " " + text + " |"; }

std::string goodput_cells(const std::optional<GoodputReport>& found) {
  if (!found) return cell("") + cell("") + cell("") + cell("");
  const auto measured = [](const DirectionGoodput& direction) {
    return format_rate(direction.figures.goodput);
  };
  const auto ceiling = [](const DirectionGoodput& direction) {
    return direction.ceiling > 0 ? " of " + format_rate(direction.ceiling) : "";
  };
  return cell(found->forward.ceiling > 0 ? format_rate(found->forward.ceiling) : "") +
         cell(measured(found->forward)) + cell(measured(found->reverse)) +
         cell(fmt::format("{}{}; {}{}", measured(found->both_forward), ceiling(found->both_forward),
                          measured(found->both_reverse), ceiling(found->both_reverse)));
}

std::string round_trip_cells(const std::optional<RoundTripReport>& found) {
  if (!found) return cell("") + cell("") + cell("");
  return cell(median_of(found->idle)) + cell(median_of(found->beside_stream)) +
         cell(found->full ? fmt::format("{} of {}", median_of(*found->full),
                                        format_time(found->set + found->wait.seconds))
                          : "");
}

std::string loss_cell(const std::optional<LossReport>& found) {
  if (!found) return cell("");
  return cell(fmt::format("{} of {}; {} of {}", found->forward.figures.lost,
                          found->forward.figures.sent, found->reverse.figures.lost,
                          found->reverse.figures.sent));
}

std::string burst_cell(const std::optional<BurstReport>& found) {
  if (!found) return cell("");
  return cell(fmt::format("{}; {} of {}", format_bytes(found->forward.depth),
                          format_bytes(found->reverse.depth),
                          format_bytes(found->forward.expected)));
}

std::string tool_cell(const std::optional<ToolReport>& found) {
  if (!found || !found->forward.value || !found->reverse.value) return cell("");
  return cell(fmt::format("{}; {}", format_rate(*found->forward.value),
                          format_rate(*found->reverse.value)));
}

// JSON.

Json stream_json(const DirectionGoodput& direction) {
  const bool limited = direction.ceiling > 0;
  return {{"goodput", direction.figures.goodput},
          {"low", direction.figures.low},
          {"high", direction.figures.high},
          {"ceiling", limited ? Json(direction.ceiling) : Json()},
          {"deviation", limited ? Json(direction.deviation()) : Json()},
          {"acks_per_second", direction.figures.acks},
          {"payload", direction.figures.payload},
          {"wire_ratio", direction.wire_ratio > 0 ? Json(direction.wire_ratio) : Json()}};
}

Json goodput_json(const GoodputReport& found) {
  return {{"there", stream_json(found.forward)},
          {"back", stream_json(found.reverse)},
          {"both_there", stream_json(found.both_forward)},
          {"both_back", stream_json(found.both_reverse)},
          {"up", found.up ? stream_json(*found.up) : Json()},
          {"down", found.down ? stream_json(*found.down) : Json()}};
}

Json trips_json(const RoundTrips& found) {
  const bool answered = found.sent > found.lost;
  return {{"median", answered ? Json(found.median) : Json()},
          {"p95", answered ? Json(found.p95) : Json()},
          {"most", answered ? Json(found.most) : Json()},
          {"sent", found.sent},
          {"lost", found.lost}};
}

Json round_trip_json(const RoundTripReport& found) {
  return {{"set", found.set},
          {"idle", trips_json(found.idle)},
          {"beside_stream", trips_json(found.beside_stream)},
          {"full_queue", found.full ? trips_json(*found.full) : Json()},
          {"queue_wait", found.full ? Json(found.wait.seconds) : Json()}};
}

Json loss_way_json(const DirectionLoss& direction) {
  return {{"sent", direction.figures.sent},          {"lost", direction.figures.lost},
          {"share", direction.figures.share()},      {"low", direction.interval.low},
          {"high", direction.interval.high},         {"duplicates", direction.figures.duplicates},
          {"overtaken", direction.figures.overtaken}};
}

Json loss_json(const LossReport& found) {
  return {{"expected", found.expected},
          {"confidence", kLossConfidence},
          {"there", loss_way_json(found.forward)},
          {"back", loss_way_json(found.reverse)}};
}

Json burst_json(const BurstReport& found) {
  const auto direction = [](const BurstFigures& one) -> Json {
    return {{"credit", one.depth}, {"low", one.low}, {"high", one.high}, {"frame", one.frame}};
  };
  return {{"expected", found.forward.expected},
          {"there", direction(found.forward)},
          {"back", direction(found.reverse)}};
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
  return {{"goodput_there", figure_json(found.forward)},
          {"goodput_back", figure_json(found.reverse)},
          {"round_trip", figure_json(found.round_trip)}};
}

}  // namespace

std::string link_report_text(const LinkReport& report, const LinkVerdict& verdict) {
  std::string text = fmt::format("{}: {}\n", report.link.to_string(), title(report, verdict));
  for (const std::string& reason : verdict.reasons) text += folded("  failed: " + reason, 4, " ");
  for (const std::string& one : verdict.disturbed) text += folded("  invalid: " + one, 4, " ");
  for (const std::string& warning : verdict.warnings)
    text += folded("  warning: " + warning, 4, " ");
  if (report.goodput) text += goodput_text(*report.goodput);
  if (report.round_trip) text += round_trip_text(*report.round_trip);
  if (report.loss) text += loss_text(*report.loss);
  if (report.burst) text += burst_text(*report.burst);
  if (report.change) text += change_text(*report.change);
  if (report.tools) text += tools_text(*report.tools);
  for (const std::string& one : report.not_measured)
    text += folded("  not measured: " + one, 4, " ");
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
       {"link", "TCP ceiling", "forward", "reverse", "duplex", "RTT idle", "RTT with TCP",
        "RTT bufferbloat", "lost forward; reverse", "bucket depth forward; reverse",
        "rate change seen after", "iperf3 forward; reverse", "verdict"}) {
    names += cell(name);
    rule += "---|";
  }
  return names + "\n" + rule + "\n";
}

std::string link_table_row(const LinkReport& report, const LinkVerdict& verdict) {
  const std::optional<bool> holds = verdict.holds();
  return "|" + cell("`" + report.link.to_string() + "`") + goodput_cells(report.goodput) +
         round_trip_cells(report.round_trip) + loss_cell(report.loss) + burst_cell(report.burst) +
         cell(report.change && report.change->changes > report.change->unseen
                  ? format_time(report.change->median)
                  : "") +
         tool_cell(report.tools) +
         cell(!holds   ? verdict.valid() ? "not judged" : "invalid"
              : *holds ? "passed"
                       : "failed") +
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
            {"loss", "datagrams; fractions from 0 to 1"},
            {"burst_credit", "bytes"},
            {"change_latency", "s; sent and lost: datagrams"},
            {"tools", "bit/s; round_trip: s"},
            {"seconds", "s"}}}};
}

}  // namespace thinpipe
