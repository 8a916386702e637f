#include "harness/commands/net_verify_schedule.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/units.h"
#include "harness/commands/net_verify_output.h"
#include "harness/commands/output.h"
#include "harness/options/arguments.h"
#include "harness/options/layout.h"
#include "harness/sweep/progress.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "netem/schedule/links.h"
#include "netem/schedule/trial.h"
#include "netem/verify/link_report.h"

namespace thinpipe {

namespace {

using Json = nlohmann::ordered_json;

// Changes that come later make the points of a run invalid; docs/measuring.md.
constexpr double kLatestChange = 20e-3;
constexpr int kPair = 2;               // hosts
constexpr double kDefaultSeconds = 4;  // long enough for most schedules' periods to come round

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
        // What TCP makes of lost frames and of delays that change is no measure of the link.
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

}  // namespace

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

}  // namespace thinpipe
