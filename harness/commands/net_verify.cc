// `thinpipe net verify`: does a link deliver what it is set to?
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
#include "base/units.h"
#include "harness/commands/net_verify_output.h"
#include "harness/commands/topology_options.h"
#include "harness/commands/verbs.h"
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

// Changes that come later make the points of a run invalid; docs/measuring.md.
constexpr double kLatestChange = 20e-3;
constexpr int kPair = 2;               // hosts
constexpr double kDefaultSeconds = 4;  // long enough for most schedules' periods to come round

// --topology and --ranks: every distinct link of a network.

// Where switches drop what does not fit, flows that meet each other's acknowledgements may get
// less; more than there is they may not get.
bool both_hold(const BothWays& both, double tolerance) {
  const double there = both.there / both.there_ceiling - 1;
  const double back = both.back / both.back_ceiling - 1;
  return std::max(there, back) <= tolerance &&
         (!both.held_back || std::min(there, back) >= -tolerance);
}

bool holds(const ProbeCheck& check, double tolerance) {
  return std::fabs(check.deviation()) <= tolerance &&
         (!check.both || both_hold(*check.both, tolerance));
}

// Nothing where the machine was too busy to tell.
std::optional<bool> verdict_on(const ProbeCheck& check, double tolerance) {
  return check.disturbed.empty() ? std::optional(holds(check, tolerance)) : std::nullopt;
}

// Largest deviation of the two or three goodputs.
double worst(const ProbeCheck& check) {
  double most = std::fabs(check.deviation());
  if (check.both && check.both->held_back)
    most = std::max({most, std::fabs(check.both->there / check.both->there_ceiling - 1),
                     std::fabs(check.both->back / check.both->back_ceiling - 1)});
  return most;
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
      "  goodput     {} of {} by {}\n",
      check.link, check.probe.hop.up ? "up" : "down",
      link_in_words(topology.link(check.probe.hop.link)),
      !verdict   ? fmt::format("NOT VALID, the machine was too busy ({})", check.disturbed)
      : *verdict ? fmt::format("holds, within {:.2f} %", 100 * worst(check))
                 : fmt::format("DOES NOT HOLD, not within {:.2f} %", 100 * tolerance),
      format_rate(check.goodput), format_rate(check.probe.goodput),
      flows_in_words(topology, check.probe));
  if (!check.probe.fills) text += "              which is all the hosts can send over it\n";
  if (check.both)
    text += fmt::format("  both ways   {} of {} there,\n              {} of {} back, at once\n",
                        format_rate(check.both->there), format_rate(check.both->there_ceiling),
                        format_rate(check.both->back), format_rate(check.both->back_ceiling));
  text += fmt::format("  round trip  {}", format_time(check.round_trip));
  if (check.round_trip_set > 0)
    text += fmt::format("; {} of it are the links'", format_time(check.round_trip_set));
  return text + "\n";
}

Json to_json(const ProbeCheck& check, double tolerance) {
  const std::optional<bool> verdict = verdict_on(check, tolerance);
  Json flows = Json::array();
  for (const Flow& flow : check.probe.flows) flows.push_back({flow.from, flow.to});
  Json both;
  if (check.both)
    both = {{"there", check.both->there},
            {"there_ceiling", check.both->there_ceiling},
            {"back", check.both->back},
            {"back_ceiling", check.both->back_ceiling},
            {"judged_if_low", check.both->held_back}};
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
  std::string text =
      fmt::format("{} of {} ways held within {:.3g} %", holding, checks.size(), 100 * tolerance);
  if (off != nullptr)
    text += fmt::format("; the farthest off, {} {}, is {:.2f} % off what its hosts can get of it",
                        off->link, off->probe.hop.up ? "up" : "down", 100 * worst(*off));
  text += ".";
  if (invalid > 0) text += fmt::format(" {} could not be judged. {}", invalid, kBusyAdvice);
  return wrap(text, 0) + "\n";
}

int verify_network(const TopologySpec& spec, int hosts, const std::vector<LinkSpec>& links,
                   const std::vector<LinkSpec>& needed, const Arguments& arguments) {
  require_kernel_features(needed);
  TopologyCheckOptions options;
  if (arguments.given("seconds")) options.seconds = arguments.real("seconds");
  options.both = true;
  const double tolerance = arguments.real("tolerance") / 100;
  return run_in_sandbox([&](const Sandbox&) {
    Network network(hosts, spec);
    Json all = Json::array();
    bool hold = true, valid = true;
    std::vector<ProbeCheck> all_checks;
    Progress progress(static_cast<double>(links.size()));
    for (const LinkSpec& link : links) {
      const auto done = static_cast<double>(all.size());
      options.progress = [&progress, done](const std::string& name, double share) {
        progress.reach(done + share);
        progress.describe(name);
      };
      const std::vector<ProbeCheck> checks = verify_topology(network, link, options);
      progress.hide();
      if (checks.empty())
        throw InputError(fmt::format("topology '{}' with link '{}': no link has a rate to verify",
                                     spec.to_string(), link.to_string()));
      Json found = Json::array();
      std::string text =
          fmt::format("{}, {} hosts, link {}\n", spec.to_string(), hosts, link.to_string());
      for (const ProbeCheck& check : checks) {
        hold = hold && verdict_on(check, tolerance) != false;
        valid = valid && check.disturbed.empty();
        found.push_back(to_json(check, tolerance));
        text += to_text(network.topology(), check, tolerance);
      }
      all_checks.insert(all_checks.end(), checks.begin(), checks.end());
      if (!arguments.flag("json")) write_text(text);
      all.push_back({{"topology", spec.to_string()},
                     {"hosts", hosts},
                     {"link", link.to_string()},
                     {"probes", found}});
    }
    arguments.flag("json") ? write_stdout(all.dump(2) + "\n")
                           : write_text("\n" + summary(all_checks, tolerance));
    return verification_code(hold, valid);
  });
}

// For a topology other than a plain star, or a number of hosts. Exit code as of net verify.
Action prepare_network(const Arguments& arguments) {
  const TopologySpec spec = parse_topology(arguments.text("topology"));
  const int hosts = hosts_of(arguments, spec);
  std::vector<LinkSpec> links, needed;
  for (const std::string& text : arguments.texts("link"))
    for (const LinkSpec& link : expand_link_specs(text)) {
      links.push_back(link);
      for (const LinkSpec& set : links_as_set(spec.plan(hosts, link))) needed.push_back(set);
    }
  return [=, &arguments] { return verify_network(spec, hosts, links, needed, arguments); };
}

// --schedule: a link that changes meanwhile.

struct WayUnderSchedule {
  TrialResult result;
  std::vector<std::string> reasons;  // why it does not hold
  std::string disturbed;             // why it is not valid
};

WayUnderSchedule try_way(Network& network, const LinkSpec& link, const ScheduleSpec& schedule,
                         const TrialOptions& options, bool judged, double tolerance,
                         Progress& progress) {
  WayUnderSchedule way;
  way.result = try_schedule(network, link, schedule, options, [&](const TrialWindow& window) {
    progress.advance(window.end - window.begin);
  });
  way.disturbed = way.result.machine.reason();
  if (!way.disturbed.empty()) return way;
  if (judged && std::fabs(way.result.deviation()) > tolerance)
    way.reasons.push_back(fmt::format("goodput {:+.1f} % off the integral ({:.3g} % are allowed)",
                                      100 * way.result.deviation(), 100 * tolerance));
  if (way.result.player.late_p95 > kLatestChange)
    way.reasons.push_back(fmt::format("5 % of the changes came {} late or later ({} are allowed)",
                                      format_time(way.result.player.late_p95),
                                      format_time(kLatestChange)));
  return way;
}

std::string way_text(const char* name, const WayUnderSchedule& way) {
  const TrialResult& result = way.result;
  std::string text = fmt::format(
      "  {:<7}{}, {:.2f} % of the {} that the schedule lets through\n"
      "         {} changes, late by {} (95 % within {}); longest gap {}\n",
      name, format_rate(result.goodput), 100 * result.goodput / result.expected,
      format_rate(result.expected), result.player.changes, format_time(result.player.late_median),
      format_time(result.player.late_p95), format_time(result.longest_gap));
  for (const std::string& reason : way.reasons)
    text += fmt::format("         does not hold: {}\n", reason);
  if (!way.disturbed.empty()) text += fmt::format("         not valid: {}\n", way.disturbed);
  return text;
}

Json way_json(const WayUnderSchedule& way) {
  const TrialResult& result = way.result;
  return {{"goodput", result.goodput},
          {"expected", result.expected},
          {"deviation", result.deviation()},
          {"longest_gap", result.longest_gap},
          {"changes", result.player.changes},
          {"late_median", result.player.late_median},
          {"late_p95", result.player.late_p95},
          {"late_most", result.player.late_most},
          {"reasons", way.reasons},
          {"valid", way.disturbed.empty()},
          {"disturbed", way.disturbed}};
}

int verify_schedules(const std::vector<LinkSpec>& links, const std::vector<ScheduleSpec>& schedules,
                     const std::vector<LinkSpec>& needed, const Arguments& arguments) {
  require_kernel_features(needed);
  TrialOptions options;
  options.seconds = arguments.given("seconds") ? arguments.real("seconds") : kDefaultSeconds;
  constexpr int kTold = 20;  // times
  options.window = options.seconds / kTold;
  const double tolerance = arguments.real("tolerance") / 100;
  return run_in_sandbox([&](const Sandbox&) {
    Network network(kPair);
    Json all = Json::array();
    std::size_t holding = 0, invalid = 0;
    Progress progress(2 * options.seconds * static_cast<double>(links.size() * schedules.size()));
    for (const LinkSpec& link : links)
      for (const ScheduleSpec& schedule : schedules) {
        // TCP goodput under frame loss or changing delays does not measure the link.
        const bool judged = !link.disturbs() && !schedule.changes(Quantity::kDelay) &&
                            !schedule.changes(Quantity::kLoss);
        const auto way = [&](const Flow& flow) {
          options.from = flow.from;
          options.to = flow.to;
          progress.describe(link.to_string());
          return try_way(network, link, schedule, options, judged, tolerance, progress);
        };
        const WayUnderSchedule there = way(kThere), back = way(kBack);
        const bool holds = there.reasons.empty() && back.reasons.empty();
        const bool valid = there.disturbed.empty() && back.disturbed.empty();
        holding += holds && valid ? 1 : 0;
        invalid += holds && !valid ? 1 : 0;
        progress.hide();
        if (!arguments.flag("json"))
          write_text(fmt::format("{} under {}: {}\n", link.to_string(),
                                 schedule.empty() ? "no schedule" : schedule.to_string(),
                                 !holds   ? "DOES NOT HOLD"
                                 : !valid ? "NOT VALID, the machine was too busy"
                                 : judged ? "holds"
                                          : "holds its times; goodput not judged") +
                     way_text("there", there) + way_text("back", back));
        all.push_back({{"link", link.to_string()},
                       {"schedule", schedule.to_string()},
                       {"digest", schedule.digest()},
                       {"holds", holds && !valid ? Json() : Json(holds)},
                       {"goodput_judged", judged},
                       {"there", way_json(there)},
                       {"back", way_json(back)},
                       {"units", {{"goodput, expected", "bit/s"}, {"times", "s"}}}});
      }
    arguments.flag("json")
        ? write_stdout(all.dump(2) + "\n")
        : write_text(
              fmt::format("\n{} of {} links held under their schedule.\n", holding, all.size()) +
              (invalid > 0
                   ? wrap(fmt::format("{} could not be judged. {}", invalid, kBusyAdvice), 0) + "\n"
                   : ""));
    return verification_code(holding + invalid == all.size(), invalid == 0);
  });
}

// Every link under every schedule, each way. Exit code as of net verify.
// @throws InputError when a schedule does not fit a link.
Action prepare_schedules(const Arguments& arguments) {
  std::vector<LinkSpec> links;
  for (const std::string& text : arguments.texts("link"))
    for (const LinkSpec& link : expand_link_specs(text)) links.push_back(link);
  std::vector<ScheduleSpec> schedules;
  for (const std::string& text : arguments.texts("schedule"))
    schedules.push_back(parse_schedule(text));
  std::vector<LinkSpec> needed = links;
  for (const LinkSpec& link : links)
    for (const ScheduleSpec& schedule : schedules)  // says now what does not fit
      for (const LinkSpec& played :
           links_as_played(scheduled_links(TopologySpec{}.plan(kPair, link), schedule)))
        needed.push_back(played);
  return [=, &arguments] { return verify_schedules(links, schedules, needed, arguments); };
}

// Neither: a pair of hosts and all that can be measured of their link.

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
      throw InputError(fmt::format("--{} and --{} cannot be had together", first, other));
}

int verify_links(const std::vector<LinkSpec>& links, LinkReportOptions options,
                 const Arguments& arguments) {
  require_kernel_features(links);
  const double tolerance = arguments.real("tolerance") / 100;
  const bool as_json = arguments.flag("json"), as_table = arguments.flag("markdown");
  return run_in_sandbox([&](const Sandbox&) {
    Json all = Json::array();
    bool hold = true, valid = true;
    if (as_table) write_text(link_table_head());
    std::vector<JudgedLink> judged;
    Progress progress(static_cast<double>(links.size()));
    for (const LinkSpec& link : links) {
      options.progress = [&](const std::string& what, double share) {
        progress.reach(static_cast<double>(judged.size()) + share);
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
    if (as_json) write_stdout(all.dump(2) + "\n");
    if (!as_json && !as_table) write_text(links_summary(judged));
    return verification_code(hold, valid);
  });
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
  using Type = OptionInfo::Type;
  OptionInfo links = link_option("as for `thinpipe run`");
  links.repeatable = true;
  return {
      .name = "net verify",
      .summary = "Measure whether an emulated link is what it is set to",
      .description =
          "Builds a pair of emulated hosts, sets both their links, and measures with traffic of "
          "its own: goodput there, back, and both ways at once; round trips of the idle link, "
          "beside a TCP stream and with a full queue; the share of datagrams lost; what the link "
          "lets through for free after it idled; how long a new rate takes to be seen, and whether "
          "that costs frames. iperf3 and ping measure beside it where they are installed. Each "
          "figure is held against what was set, and a link that does not hold is reported, with "
          "the reason: exit code 4. Where the machine was too busy to tell, that is said instead, "
          "with the sign of it: exit code 3. Goodput is not judged where frames get lost, late or "
          "out of "
          "order: TCP gets less than its ceiling there. A link without a rate shows what the "
          "machine carries.\n\n"
          "With --topology or --ranks it builds that network instead and measures the goodput of "
          "every distinct link of it, with as many flows as it takes to fill it. With --schedule "
          "the link changes meanwhile, and the goodput is held against the integral of its rate.",
      .options =
          {
              links,
              {.name = "only",
               .value_name = "LIST",
               .type = Type::kText,
               .help = "measure only these: goodput, rtt, loss, burst, change, tools, with commas "
                       "between"},
              {.name = "quick", .help = "the same as --only goodput,rtt --seconds 0.5"},
              topology_option(),
              hosts_option(),
              {.name = "schedule",
               .value_name = "SPEC",
               .type = Type::kText,
               .help = "play this on the link, as `thinpipe net play` does, each way",
               .repeatable = true},
              {.name = "seconds",
               .value_name = "S",
               .type = Type::kReal,
               .help = "how long to measure each stream, in seconds [default: 1; 3 with "
                       "--topology, 4 with --schedule]",
               .minimum = 0.2,
               .maximum = 600},
              tolerance_option("deviation of the goodput from its ceiling that still holds, in %"),
              {.name = "json", .help = "print JSON: rates in bit/s, times in seconds"},
              {.name = "markdown", .help = "print a Markdown table, a row for each link"},
          },
      .examples = {{.purpose = "Three rates",
                    .command = "thinpipe net verify --link 'rate=10mbit|100mbit|1gbit'"},
                   {.purpose = "What this machine carries",
                    .command = "thinpipe net verify --link unthrottled --only goodput"},
                   {.purpose = "Two racks with an uplink for a quarter of their traffic",
                    .command = "thinpipe net verify --topology racks:oversubscription=4 --ranks 8 "
                               "--link rate=40mbit"}},
      .prepare = prepare_verification,
  };
}

}  // namespace thinpipe
