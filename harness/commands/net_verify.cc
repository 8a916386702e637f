// `thinpipe net verify`: does a link deliver what it is set to?
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "harness/commands/net_topology.h"
#include "harness/commands/net_verify_output.h"
#include "harness/commands/net_verify_schedule.h"
#include "harness/commands/output.h"
#include "harness/commands/topology_options.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/sweep/progress.h"
#include "netem/probe.h"
#include "netem/sandbox.h"

namespace thinpipe {
namespace {

constexpr const char* kQuickMeasures = "goodput,rtt";
constexpr double kQuickSeconds = 0.5;

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
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
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
