// `thinpipe net verify`: checks that an emulated link matches its configuration.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/plain_table.h"
#include "base/units.h"
#include "harness/commands/net_verify_output.h"
#include "harness/commands/shared_options.h"
#include "harness/commands/verbs.h"
#include "harness/launch/thresholds.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "netem/schedule/links.h"
#include "netem/topology/drawing.h"
#include "netem/verify/link_report.h"
#include "netem/verify/trial.h"
#include "netem/verify/verify_topology.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kQuickMeasures = "goodput,rtt";
constexpr double kQuickSeconds = 0.5;
constexpr int kPair = 2;               // hosts
constexpr double kDefaultSeconds = 4;  // longer than the period of most schedules

// --topology and --ranks: every distinct link of a network.

// Returns the largest deviation of the two or three goodputs. If switches drop frames,
// bidirectional flows may get less than their ceilings because of each other's acknowledgements,
// but never more.
double worst(const ProbeCheck& check) {
  double most = std::fabs(check.deviation());
  if (!check.both) return most;
  for (const double deviation : {check.both->forward / check.both->forward_ceiling - 1,
                                 check.both->reverse / check.both->reverse_ceiling - 1})
    most = std::max(most, check.both->backpressure ? std::fabs(deviation) : deviation);
  return most;
}

// Returns nothing if the machine was too busy for a verdict.
std::optional<bool> verdict_on(const ProbeCheck& check, double tolerance) {
  return check.disturbed.empty() ? std::optional(worst(check) <= tolerance) : std::nullopt;
}

std::string flows_in_words(const Topology& topology, const LinkProbe& probe) {
  const auto name = [&](int host) { return topology.hosts[static_cast<std::size_t>(host)].name; };
  const std::string first = name(probe.flows[0].from) + " to " + name(probe.flows[0].to);
  const std::size_t more = probe.flows.size() - 1;
  return more == 0 ? first : fmt::format("{} and {} more flow{}", first, more, more > 1 ? "s" : "");
}

std::string to_text(const Topology& topology, const ProbeCheck& check, double tolerance) {
  const std::optional<bool> verdict = verdict_on(check, tolerance);
  std::string text = fmt::format(
      "{} {} ({}): {}\n"
      "  goodput     {} of {}, {}\n",
      check.link, check.probe.hop.up ? "up" : "down",
      link_in_words(topology.link(check.probe.hop.link)),
      !verdict   ? fmt::format("INVALID, the machine was too busy ({})", check.disturbed)
      : *verdict ? fmt::format("passed, within {:.2f} %", 100 * worst(check))
                 : fmt::format("FAILED, not within {:.2f} %", 100 * tolerance),
      format_rate(check.goodput), format_rate(check.probe.goodput),
      flows_in_words(topology, check.probe));
  if (!check.probe.fills) text += "              limited by the hosts, not by this link\n";
  if (check.both)
    text += fmt::format("  duplex      {} of {} forward,\n              {} of {} reverse\n",
                        format_rate(check.both->forward), format_rate(check.both->forward_ceiling),
                        format_rate(check.both->reverse), format_rate(check.both->reverse_ceiling));
  text += fmt::format("  RTT         {}", format_time(check.round_trip));
  if (check.round_trip_set > 0) text += fmt::format("; set: {}", format_time(check.round_trip_set));
  return text + "\n";
}

Json to_json(const ProbeCheck& check, double tolerance) {
  const std::optional<bool> verdict = verdict_on(check, tolerance);
  Json flows = Json::array();
  for (const Flow& flow : check.probe.flows) flows.push_back({flow.from, flow.to});
  Json both;
  if (check.both)
    both = {{"there", check.both->forward},
            {"there_ceiling", check.both->forward_ceiling},
            {"back", check.both->reverse},
            {"back_ceiling", check.both->reverse_ceiling},
            {"judged_if_low", check.both->backpressure}};
  return {{"link", check.link},
          {"direction", check.probe.hop.up ? "up" : "down"},
          {"spec", check.spec},
          {"flows", flows},
          {"filled", check.probe.fills},
          {"goodput", check.goodput},
          {"ceiling", check.probe.goodput},
          {"deviation", check.deviation()},
          {"both", both},
          {"round_trip", check.round_trip},
          {"round_trip_set", check.round_trip_set},
          {"holds", verdict ? Json(*verdict) : Json()},
          {"valid", verdict.has_value()},
          {"disturbed", check.disturbed}};
}

std::string summary(const std::vector<ProbeCheck>& checks, double tolerance) {
  std::size_t holding = 0, invalid = 0;
  const ProbeCheck* off = nullptr;
  for (const ProbeCheck& check : checks) {
    const std::optional<bool> verdict = verdict_on(check, tolerance);
    holding += verdict == true;
    invalid += !verdict;
    if (verdict && (off == nullptr || worst(*off) < worst(check))) off = &check;
  }
  std::string text = fmt::format("{} of {} link directions passed within {:.3g} %", holding,
                                 checks.size(), 100 * tolerance);
  if (off != nullptr)
    text += fmt::format("; the worst, {} {}, deviates by {:.2f} % from its TCP ceiling", off->link,
                        off->probe.hop.up ? "up" : "down", 100 * worst(*off));
  text += ".";
  if (invalid > 0)
    text += fmt::format(" {} invalid: the machine was too busy. {}", invalid, kBusyAdvice);
  return wrap(text, 0) + "\n";
}

int verify_network(const TopologySpec& spec, int hosts, const std::vector<LinkSpec>& links,
                   const std::vector<LinkSpec>& needed, const Arguments& arguments) {
  require_kernel_features(needed);
  TopologyCheckOptions options;
  if (arguments.given("seconds")) options.seconds = arguments.real("seconds");
  options.both = true;
  const double tolerance = arguments.real("tolerance") / 100;
  return run_in_sandbox(until_output_closes([&](const Sandbox&) {
    Network network(hosts, spec);
    Json all = Json::array();
    bool hold = true, valid = true;
    std::vector<ProbeCheck> all_checks;
    Progress progress(static_cast<double>(links.size()));
    for (const LinkSpec& link : links) {
      const auto done = static_cast<double>(all.size());
      options.progress = [&progress, done](const std::string& name, double fraction) {
        progress.reach(done + fraction);
        progress.describe(name);
      };
      const std::vector<ProbeCheck> checks = verify_topology(network, link, options);
      progress.hide();
      Json found = Json::array();
      std::string text =
          fmt::format("{}, {} hosts, link {}\n", spec.to_string(), hosts, link.to_string());
      for (const ProbeCheck& check : checks) {
        hold = hold && verdict_on(check, tolerance) != false;
        valid = valid && check.disturbed.empty();
        found.push_back(to_json(check, tolerance));
        text += to_text(network.topology(), check, tolerance);
      }
      const std::vector<std::string> left_out = links_without_probe(network.topology());
      for (const std::string& name : left_out)
        text += fmt::format(
            "{}: not measured, as its paths lose, reorder or unevenly delay frames\n", name);
      all_checks.insert(all_checks.end(), checks.begin(), checks.end());
      if (!arguments.flag("json")) write_text(text);
      all.push_back({{"topology", spec.to_string()},
                     {"hosts", hosts},
                     {"link", link.to_string()},
                     {"probes", found},
                     {"not_measured", left_out}});
    }
    arguments.flag("json") ? write_json(all) : write_text("\n" + summary(all_checks, tolerance));
    return verification_code(hold, valid);
  }));
}

// Verifies a topology other than a pair of hosts. Exit code as of `net verify`.
Action prepare_network(const Arguments& arguments) {
  const TopologySpec spec = parse_topology(arguments.text("topology"));
  const int hosts = hosts_of(arguments, spec);
  std::vector<LinkSpec> links, needed;
  for (const std::string& text : arguments.texts("link"))
    for (const LinkSpec& link : expand_link_specs(text)) {
      links.push_back(link);
      const Topology planned = spec.plan(hosts, link);
      if (link_probes(planned).empty())
        throw InputError(fmt::format("topology '{}' with link '{}': {}", spec.to_string(),
                                     link.to_string(),
                                     hosts < kPair ? "one host has no peer to exchange traffic "
                                                     "with; expected --ranks of at least 2"
                                     : !links_without_probe(planned).empty()
                                         ? "every path loses, reorders or unevenly delays "
                                           "frames, so no goodput can be expected. Without "
                                           "--ranks and --topology, `net verify --link` "
                                           "measures such a link"
                                         : "no link has a rate to verify"));
      for (const LinkSpec& set : links_as_set(planned)) needed.push_back(set);
    }
  return [=, &arguments] { return verify_network(spec, hosts, links, needed, arguments); };
}

// --schedule: a link that changes during the measurement.

struct ScheduledDirection {
  TrialResult result;
  std::vector<std::string> reasons;  // of a failure
  std::string disturbed;             // reason of an invalid measurement
  bool judged = false;               // the goodput
};

ScheduledDirection try_direction(Network& network, const LinkSpec& link,
                                 const ScheduleSpec& schedule, const TrialOptions& options,
                                 double tolerance, Progress& progress) {
  ScheduledDirection one;
  one.result = try_schedule(network, link, schedule, options, [&](const TrialWindow& window) {
    progress.advance(window.end - window.begin);
  });
  one.disturbed = one.result.machine.reason();
  one.judged = judges_goodput(link.disturbs(), schedule, one.result);
  if (!one.disturbed.empty()) return one;
  if (one.judged && std::fabs(one.result.deviation()) > tolerance)
    one.reasons.push_back(fmt::format("goodput {:+.1f} % off the integral ({:.3g} % allowed)",
                                      100 * one.result.deviation(), 100 * tolerance));
  if (one.result.player.late_p95 > kLateChangeSeconds)
    one.reasons.push_back(fmt::format("5 % of the changes were late by {} or more ({} allowed)",
                                      format_time(one.result.player.late_p95),
                                      format_time(kLateChangeSeconds)));
  return one;
}

std::string scheduled_text(const char* name, const ScheduledDirection& one) {
  const TrialResult& result = one.result;
  const auto line = [](const std::string& words) { return folded("           " + words, 11, " "); };
  std::string text =
      fmt::format("  {:<9}{}, {:.2f} % of the schedule's ceiling of {}\n", name,
                  format_rate(result.goodput), 100 * result.goodput / result.expected,
                  format_rate(result.expected)) +
      line(fmt::format("{} changes, late by {} (95 % within {}); longest gap {}",
                       result.player.changes, format_time(result.player.late_median),
                       format_time(result.player.late_p95), format_time(result.longest_gap)));
  for (const std::string& reason : one.reasons) text += line("failed: " + reason);
  if (!one.disturbed.empty()) text += line("invalid: " + one.disturbed);
  return text;
}

Json scheduled_json(const ScheduledDirection& one) {
  const TrialResult& result = one.result;
  return {{"goodput", result.goodput},
          {"expected", result.expected},
          {"deviation", result.deviation()},
          {"longest_gap", result.longest_gap},
          {"changes", result.player.changes},
          {"late_median", result.player.late_median},
          {"late_p95", result.player.late_p95},
          {"late_most", result.player.late_most},
          {"reasons", one.reasons},
          {"valid", one.disturbed.empty()},
          {"disturbed", one.disturbed}};
}

int verify_schedules(const std::vector<LinkSpec>& links, const std::vector<ScheduleSpec>& schedules,
                     const std::vector<LinkSpec>& needed, const Arguments& arguments) {
  require_kernel_features(needed);
  TrialOptions options;
  options.seconds = arguments.given("seconds") ? arguments.real("seconds") : kDefaultSeconds;
  constexpr int kWindows = 20;
  options.window = options.seconds / kWindows;
  const double tolerance = arguments.real("tolerance") / 100;
  return run_in_sandbox(until_output_closes([&](const Sandbox&) {
    Network network(kPair);
    Json all = Json::array();
    std::size_t holding = 0, invalid = 0;
    Progress progress(2 * options.seconds * static_cast<double>(links.size() * schedules.size()));
    for (const LinkSpec& link : links)
      for (const ScheduleSpec& schedule : schedules) {
        const auto measure = [&](const Flow& flow) {
          options.from = flow.from;
          options.to = flow.to;
          progress.describe(link.to_string());
          return try_direction(network, link, schedule, options, tolerance, progress);
        };
        const ScheduledDirection forward = measure(kForward), reverse = measure(kReverse);
        const bool judged = forward.judged && reverse.judged;
        const bool holds = forward.reasons.empty() && reverse.reasons.empty();
        const bool valid = forward.disturbed.empty() && reverse.disturbed.empty();
        holding += holds && valid ? 1 : 0;
        invalid += holds && !valid ? 1 : 0;
        progress.hide();
        if (!arguments.flag("json"))
          write_text(fmt::format("{} under {}: {}\n", link.to_string(),
                                 schedule.empty() ? "no schedule" : schedule.to_string(),
                                 !holds   ? "FAILED"
                                 : !valid ? "INVALID, the machine was too busy"
                                 : judged ? "passed"
                                          : "passed (timing); goodput not judged") +
                     scheduled_text("forward", forward) + scheduled_text("reverse", reverse));
        all.push_back({{"link", link.to_string()},
                       {"schedule", schedule.to_string()},
                       {"digest", schedule.digest()},
                       {"holds", holds && !valid ? Json() : Json(holds)},
                       {"goodput_judged", judged},
                       {"there", scheduled_json(forward)},
                       {"back", scheduled_json(reverse)},
                       {"units", {{"goodput, expected", "bit/s"}, {"times", "s"}}}});
      }
    arguments.flag("json")
        ? write_json(all)
        : write_text(
              fmt::format("\n{} of {} links passed under their schedule.\n", holding, all.size()) +
              (invalid > 0 ? wrap(fmt::format("{} invalid: the machine was too busy. {}", invalid,
                                              kBusyAdvice),
                                  0) +
                                 "\n"
                           : ""));
    return verification_code(holding + invalid == all.size(), invalid == 0);
  }));
}

// Verifies every link under every schedule, in both directions. The exit codes are those that `net
// verify` documents.
// @throws InputError if a schedule does not fit a link
Action prepare_schedules(const Arguments& arguments) {
  std::vector<LinkSpec> links;
  for (const std::string& text : arguments.texts("link"))
    for (const LinkSpec& link : expand_link_specs(text)) links.push_back(link);
  std::vector<ScheduleSpec> schedules;
  for (const std::string& text : arguments.texts("schedule"))
    schedules.push_back(parse_schedule(text));
  std::vector<LinkSpec> needed = links;
  for (const LinkSpec& link : links)
    for (const ScheduleSpec& schedule : schedules)  // reports errors before the sandbox starts
      for (const LinkSpec& played :
           links_as_played(scheduled_links(TopologySpec{}.plan(kPair, link), schedule)))
        needed.push_back(played);
  return [=, &arguments] { return verify_schedules(links, schedules, needed, arguments); };
}

// Neither option: all measurements of the link between a pair of hosts.

LinkReportOptions report_options(const Arguments& arguments) {
  LinkReportOptions options;
  if (arguments.flag("quick")) {
    options.measures = parse_measures(kQuickMeasures);
    options.seconds = kQuickSeconds;
  }
  if (arguments.given("only")) options.measures = parse_measures(arguments.text("only"));
  if (arguments.given("seconds")) options.seconds = arguments.real("seconds");
  return options;
}

void refuse_together(const Arguments& arguments, const char* first,
                     std::initializer_list<const char*> others) {
  for (const char* other : others)
    if (arguments.given(other))
      throw InputError(fmt::format("--{} and --{} cannot be combined", first, other));
}

int verify_links(const std::vector<LinkSpec>& links, LinkReportOptions options,
                 const Arguments& arguments) {
  require_kernel_features(links);
  const double tolerance = arguments.real("tolerance") / 100;
  const bool as_json = arguments.flag("json"), as_table = arguments.flag("markdown");
  return run_in_sandbox(until_output_closes([&](const Sandbox&) {
    Json all = Json::array();
    bool hold = true, valid = true;
    if (as_table) write_text(link_table_head());
    std::vector<JudgedLink> judged;
    Progress progress(static_cast<double>(links.size()));
    for (const LinkSpec& link : links) {
      options.progress = [&](const std::string& what, double fraction) {
        progress.reach(static_cast<double>(judged.size()) + fraction);
        progress.describe(link.to_string() + ": " + what);
      };
      const LinkReport report = report_link(link, options);
      const LinkVerdict verdict = judge(report, tolerance);
      hold = hold && verdict.holds() != false;
      valid = valid && verdict.valid();
      judged.push_back({report, verdict});
      progress.hide();
      if (as_json)
        all.push_back(link_report_json(report, verdict));
      else
        write_text(as_table ? link_table_row(report, verdict) : link_report_text(report, verdict));
    }
    if (as_json) write_json(all);
    if (!as_json && !as_table) write_text(links_summary(judged));
    return verification_code(hold, valid);
  }));
}

Action prepare_links(const Arguments& arguments) {
  std::vector<LinkSpec> links;
  for (const std::string& text : arguments.texts("link"))
    for (const LinkSpec& link : expand_link_specs(text)) links.push_back(link);
  return [&arguments, links, options = report_options(arguments)] {
    return verify_links(links, options, arguments);
  };
}

Action prepare_verification(const Arguments& arguments) {
  if (arguments.flag("json")) refuse_together(arguments, "json", {"markdown"});
  if (arguments.given("schedule")) {
    refuse_together(arguments, "schedule", {"topology", "ranks", "only", "quick", "markdown"});
    return prepare_schedules(arguments);
  }
  if (arguments.given("topology") || arguments.given("ranks")) {
    refuse_together(arguments, arguments.given("topology") ? "topology" : "ranks",
                    {"only", "quick", "markdown"});
    return prepare_network(arguments);
  }
  return prepare_links(arguments);
}

}  // namespace

Verb net_verify_verb() {
  return {
      .name = "net verify",
      .summary = "Check that an emulated link matches its configuration",
      .description =
          "Builds a pair of emulated hosts, configures both links, and measures them with its own "
          "traffic: TCP goodput (forward, reverse and duplex), RTT (idle, with a TCP stream and "
          "with a full queue), packet loss, token-bucket depth and the latency of a rate change. "
          "iperf3 and ping measure too if they are installed. Every figure is compared with the "
          "configuration.\n\n"
          "Exits with 4 if a link fails, and prints the reasons. Exits with 3 if the machine was "
          "too busy for a verdict, and prints the evidence. The goodput of links that lose, delay "
          "at random or reorder frames has no verdict, because TCP stays below the ceiling of such "
          "links. For a link without a rate, the goodput is what this machine can carry.\n\n"
          "With --topology or --ranks, builds that network instead and measures the goodput of "
          "every distinct link, with as many flows as the link needs. With --schedule, the link "
          "changes during the measurement, and the goodput is compared with the integral of its "
          "rate.",
      .options =
          {
              repeatable(link_option("links as for `thinpipe run`")),
              text_option("only", "LIST", "",
                          "measure only these, separated by commas: goodput, rtt, loss, burst "
                          "(token-bucket depth), change (latency of a rate change), tools (iperf3 "
                          "and ping)"),
              {.name = "quick", .help = "the same as --only goodput,rtt --seconds 0.5"},
              topology_option(),
              hosts_option(),
              repeatable(text_option("schedule", "SPEC", "",
                                     "play this schedule on the link, in each direction, as for "
                                     "`thinpipe net play`")),
              real_option("seconds", "S", "", {0.2, 600},
                          "duration of each stream, in seconds [default: 1; 3 with --topology, 4 "
                          "with --schedule]"),
              tolerance_option("allowed deviation of the goodput from its ceiling, in percent"),
              {.name = "json", .help = "print JSON: rates in bit/s, times in seconds"},
              {.name = "markdown", .help = "print a Markdown table with a row for each link"},
          },
      .examples = {{"Three rates", "thinpipe net verify --link 'rate=10mbit|100mbit|1gbit'"},
                   {"Capacity of this machine without a throttle",
                    "thinpipe net verify --link unthrottled --only goodput"},
                   {"Two racks with uplinks oversubscribed by four",
                    "thinpipe net verify --topology racks:oversubscription=4 --ranks 8 --link "
                    "rate=40mbit"}},
      .prepare = prepare_verification,
  };
}

}  // namespace thinpipe
