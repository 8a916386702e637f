#include "harness/commands/net_topology.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/units.h"
#include "harness/commands/net_verify_output.h"
#include "harness/commands/output.h"
#include "harness/commands/topology_options.h"
#include "harness/options/arguments.h"
#include "harness/options/layout.h"
#include "harness/sweep/progress.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "netem/topology/drawing.h"
#include "netem/verify_topology.h"

namespace thinpipe {

namespace {

using Json = nlohmann::ordered_json;

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

// Of the two or three goodputs, the farthest off.
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

}  // namespace

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

}  // namespace thinpipe
