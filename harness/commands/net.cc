// `thinpipe net verify`: does a link deliver what it is set to?
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/units.h"
#include "harness/commands/net_topology.h"
#include "harness/commands/output.h"
#include "harness/commands/topology_options.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "netem/link_json.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "netem/verify.h"

namespace thinpipe {
namespace {

// What TCP makes of lost, doubled or reordered frames does not tell whether the link is as it was
// set: such a link is measured and not judged.
bool fails(const LinkCheck& check, double tolerance) {
  return !check.link.disturbs() && std::fabs(check.deviation()) > tolerance;
}

nlohmann::ordered_json holds_json(const LinkCheck& check, double tolerance) {
  if (check.link.disturbs()) return nullptr;
  return !fails(check, tolerance);
}

nlohmann::ordered_json to_json(const LinkCheck& check, double tolerance) {
  return {{"link", check.link.to_string()},
          {"goodput", check.goodput},
          {"goodput_low", check.goodput_low},
          {"goodput_high", check.goodput_high},
          {"ceiling", check.ceiling},
          {"deviation", check.deviation()},
          {"round_trip", check.round_trip},
          {"round_trip_p95", check.round_trip_p95},
          {"round_trip_set", check.round_trip_set},
          {"probes_lost", check.probes_lost},
          {"spec", link_json(check.link)},
          {"wire_ratio", check.wire_ratio},
          {"holds", holds_json(check, tolerance)}};
}

// Of a link with a delay, what it was set to; of one that loses frames, how many probes it took.
std::string set_part(const LinkCheck& check) {
  std::string text;
  if (check.round_trip_set > 0)
    text += fmt::format("; {} of it are the link's", format_time(check.round_trip_set));
  if (check.probes_lost > 0) text += fmt::format("; {} probes were lost", check.probes_lost);
  return text;
}

std::string verdict(const LinkCheck& check, double tolerance) {
  if (check.link.disturbs())
    return "not judged: what TCP makes of lost, late or reordered frames is no property of the "
           "link";
  if (fails(check, tolerance))
    return fmt::format("DOES NOT HOLD, not within {:.2f} % of its ceiling", 100 * tolerance);
  return fmt::format("holds, within {:.2f} % of its ceiling", 100 * std::fabs(check.deviation()));
}

std::string to_text(const LinkCheck& check, double tolerance) {
  return fmt::format(
      "{}: {}\n"
      "  goodput     {} (windows {} to {}); TCP's ceiling is {}\n"
      "  round trip  {} (95 % within {}), idle link{}\n"
      "  wire bytes  {:.2f} % of what the payload needs, by the qdisc's counter\n",
      check.link.to_string(), verdict(check, tolerance), format_rate(check.goodput),
      format_rate(check.goodput_low), format_rate(check.goodput_high), format_rate(check.ceiling),
      format_time(check.round_trip), format_time(check.round_trip_p95), set_part(check),
      100 * check.wire_ratio);
}

int verify(const Arguments& arguments) {
  if (arguments.given("topology") || arguments.given("ranks")) return verify_network(arguments);
  std::vector<LinkSpec> links;
  for (const std::string& text : arguments.texts("link"))
    for (const LinkSpec& link : expand_link_specs(text)) links.push_back(link);
  require_kernel_features(links);
  VerifyOptions options;
  options.seconds = arguments.real("seconds");
  const double tolerance = arguments.real("tolerance") / 100;
  return run_in_sandbox([&](const Sandbox&) {
    Network network(2);
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    bool hold = true;
    for (const LinkSpec& link : links) {
      const LinkCheck check = verify_link(network, link, options);
      hold = hold && !fails(check, tolerance);
      if (arguments.flag("json"))
        all.push_back(to_json(check, tolerance));
      else
        write_stdout(to_text(check, tolerance));
    }
    if (arguments.flag("json")) write_stdout(all.dump(2) + "\n");
    return static_cast<int>(hold ? kExitGood : kExitFailed);
  });
}

}  // namespace

Verb net_verify_verb() {
  using Type = OptionInfo::Type;
  return {
      .name = "net verify",
      .summary = "Measure whether an emulated link delivers its rate",
      .description =
          "Builds a pair of emulated hosts, sets both their links, sends TCP over them and UDP"
          " datagrams back and forth, and compares the goodput with the most that TCP can deliver"
          " at that rate: 1448 of every 1514 bytes on the wire are payload. Exit code 4 when a"
          " link does not hold. Links that lose, double or reorder frames are measured and not "
          "judged:"
          " TCP gets less than its ceiling there.\n\n"
          "With --topology or --ranks it builds that network instead and measures every distinct"
          " link of it, with as many flows as it takes to fill it.",
      .options =
          {
              {.name = "link",
               .letter = 'l',
               .value_name = "SPEC",
               .type = Type::kText,
               .default_value = "rate=100mbit",
               .help = "as for `thinpipe run`",
               .repeatable = true},
              topology_option(),
              hosts_option(),
              {.name = "seconds",
               .value_name = "S",
               .type = Type::kReal,
               .default_value = "3",
               .help = "how long to measure each link, in seconds",
               .minimum = 0.5,
               .maximum = 600},
              {.name = "tolerance",
               .value_name = "PERCENT",
               .type = Type::kReal,
               .default_value = "3",
               .help = "deviation from the ceiling that still holds, in %",
               .minimum = 0.01,
               .maximum = 100},
              {.name = "json", .help = "print JSON: rates in bit/s, times in seconds"},
          },
      .examples = {{.purpose = "Three rates",
                    .command = "thinpipe net verify --link 'rate=10mbit|100mbit|1gbit'"},
                   {.purpose = "Two racks with an uplink for a quarter of their traffic",
                    .command = "thinpipe net verify --topology racks:oversubscription=4"
                               " --ranks 8 --link rate=40mbit"}},
      .run = verify,
  };
}

}  // namespace thinpipe
