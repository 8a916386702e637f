// `thinpipe net play`: plays a schedule on a link and measures the goodput of a TCP stream.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/terminal.h"
#include "base/units.h"
#include "harness/commands/net_verify_output.h"
#include "harness/commands/shared_options.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "netem/schedule/links.h"
#include "netem/topology/flows.h"
#include "netem/verify/trial.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

// A schedule to play, with its settings.
struct Played {
  TopologySpec topology;
  int hosts = 2;
  LinkSpec link;
  ScheduleSpec schedule;
  TrialOptions options;
  std::vector<LinkSpec> needed;  // links that need kernel features
  double tolerance = 0;          // fraction
  bool disturbed = false;        // whether the network itself loses or reorders frames
};

bool judged(const Played& played, const TrialResult& result) {
  return judges_goodput(played.disturbed, played.schedule, result);
}

bool holds(const Played& played, const TrialResult& result) {
  return !judged(played, result) || std::fabs(result.deviation()) <= played.tolerance;
}

// Returns whether the measurement is valid. Without a verdict, it is valid on a busy machine too.
bool valid(const Played& played, const TrialResult& result) {
  return !judged(played, result) || result.machine.reason().empty();
}

// Returns delay and loss of the link.
std::string rest_of(const LinkMean& link) {
  std::string text;
  if (link.delay > 0) text += fmt::format(", delay {}", format_time(link.delay));
  if (link.loss > 0) text += fmt::format(", loss {:.3g} %", 100 * link.loss);
  return text;
}

std::string row(const TrialWindow& window) {
  const std::string percentage =
      window.expected > 0 ? fmt::format("{:.1f} %", 100 * window.goodput / window.expected) : "";
  return fmt::format("{:>7.2f} s  {:>11}  {:>11}  {:>11}  {:>8}{}\n", window.begin,
                     format_rate(window.rate), format_rate(window.expected),
                     format_rate(window.goodput), percentage, rest_of(window.link));
}

// Status line during the measurement. The bar shows the goodput relative to the maximum so far.
class Live {
 public:
  explicit Live(double seconds) : seconds_(seconds) {}
  void show(const TrialWindow& window) {
    if (!can_redraw(STDERR_FILENO)) return;
    highest_ = std::max({highest_, window.expected, window.goodput, 1.0});
    constexpr int kColumns = 20;
    const auto bar = static_cast<std::size_t>(std::lround(kColumns * window.goodput / highest_));
    std::string line =
        fmt::format("{:6.1f} s, {:.0f} s left  link {:>10}  goodput {:>10}  {}", window.end,
                    std::max(seconds_ - window.end, 0.0), format_rate(window.rate),
                    format_rate(window.goodput), std::string(bar, '#'));
    // A line that the terminal breaks would not be erased whole. All characters are of one byte.
    line.resize(std::min(line.size(), columns_of_terminal(STDERR_FILENO) - 1));
    // fmt::print() would throw on a terminal that is gone.
    std::fputs(("\r\033[K" + line).c_str(), stderr);
    std::fflush(stderr);
    drawn_ = true;
  }
  ~Live() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }

 private:
  double seconds_, highest_ = 0;
  bool drawn_ = false;
};

Json to_json(const Played& played, const TrialResult& result) {
  Json windows = Json::array();
  for (const TrialWindow& window : result.windows)
    windows.push_back({{"begin", window.begin},
                       {"end", window.end},
                       {"rate", window.rate},
                       {"rate_up", window.link.up_rate},
                       {"rate_down", window.link.down_rate},
                       {"delay", window.link.delay},
                       {"loss", window.link.loss},
                       {"expected", window.expected},
                       {"goodput", window.goodput}});
  return {{"link", played.link.to_string()},
          {"topology", played.topology.to_string()},
          {"from", played.options.from},
          {"to", played.options.to},
          {"schedule", played.schedule.to_string()},
          {"digest", played.schedule.digest()},
          {"expected", result.expected},
          {"goodput", result.goodput},
          {"deviation", result.deviation()},
          {"judged", judged(played, result)},
          {"holds", valid(played, result) ? Json(holds(played, result)) : Json()},
          {"valid", valid(played, result)},
          {"disturbed", result.machine.reason()},
          {"longest_gap", result.longest_gap},
          {"changes", result.player.changes},
          {"late_median", result.player.late_median},
          {"late_p95", result.player.late_p95},
          {"late_most", result.player.late_most},
          {"windows", windows}};
}

std::string to_text(const Played& played, const TrialResult& result) {
  std::string text =
      fmt::format("{}{} under {}\n", played.link.to_string(),
                  played.topology.is_star() && played.hosts == 2
                      ? ""
                      : fmt::format(", host{} to host{} of {}", played.options.from,
                                    played.options.to, played.topology.to_string()),
                  played.schedule.empty() ? "no schedule" : played.schedule.to_string());
  text += fmt::format("{:>9}  {:>11}  {:>11}  {:>11}\n", "time", "link", "TCP ceiling", "goodput");
  for (const TrialWindow& window : result.windows) text += row(window);
  text += fmt::format(
      "{}: goodput {}, {:.2f} % of the schedule's ceiling of {}\n"
      "  changes      {}, late by {} (95 % within {}, at most {})\n"
      "  longest gap  {} without data\n",
      !judged(played, result)  ? "not judged"
      : !valid(played, result) ? "INVALID"
      : holds(played, result)  ? "passed"
                               : "FAILED",
      format_rate(result.goodput), 100 * result.goodput / result.expected,
      format_rate(result.expected), result.player.changes, format_time(result.player.late_median),
      format_time(result.player.late_p95), format_time(result.player.late_most),
      format_time(result.longest_gap));
  if (result.links_take_turns)
    text += "  the bottleneck moves between links, whose queues let more through\n";
  if (!valid(played, result))
    text += wrap(fmt::format("The machine was too busy to judge the link ({}). {}",
                             result.machine.reason(), kBusyAdvice),
                 2) +
            "\n";
  return text;
}

Played read_played(const Arguments& arguments) {
  Played played;
  played.topology = parse_topology(arguments.text("topology"));
  played.hosts = hosts_of(arguments, played.topology);
  played.link = parse_link_spec(arguments.text("link"));
  played.schedule = parse_schedule(arguments.text("schedule"));
  played.options.seconds = arguments.real("seconds");
  played.options.window = arguments.real("window");
  played.options.player.interval = arguments.real("interval");
  played.options.from = static_cast<int>(arguments.integer("from"));
  played.options.to =
      arguments.given("to") ? static_cast<int>(arguments.integer("to")) : played.hosts - 1;
  played.tolerance = arguments.real("tolerance") / 100;
  // Reports errors before the sandbox starts.
  const Topology planned = played.topology.plan(played.hosts, played.link);
  check_ends(played.options, static_cast<int>(planned.hosts.size()));
  const std::vector<ScheduledLink> scheduled = scheduled_links(planned, played.schedule);
  played.needed = links_as_set(planned);
  for (const LinkSpec& link : links_as_played(scheduled)) played.needed.push_back(link);
  played.disturbed = disturbs(planned);
  return played;
}

int play(const Played& played, const Arguments& arguments) {
  require_kernel_features(played.needed);
  return run_in_sandbox(until_output_closes([&](const Sandbox&) {
    Network network(played.hosts, played.topology);
    TrialResult result;
    {
      Live live(played.options.seconds);
      result = try_schedule(network, played.link, played.schedule, played.options,
                            [&](const TrialWindow& window) { live.show(window); });
    }
    arguments.flag("json") ? write_json(to_json(played, result))
                           : write_text(to_text(played, result));
    const bool is_valid = valid(played, result);
    return verification_code(!is_valid || holds(played, result), is_valid);
  }));
}

Action prepare_play(const Arguments& arguments) {
  return [&arguments, played = read_played(arguments)] { return play(played, arguments); };
}

}  // namespace

Verb net_play_verb() {
  return {
      .name = "net play",
      .summary = "Play a schedule on a link and measure TCP goodput",
      .description =
          "Builds a pair of emulated hosts (or a topology), changes their links as the schedule "
          "specifies, and sends one TCP stream at full speed. The goodput is compared with the "
          "integral of the bottleneck's rate; 1448 of every 1514 bytes on the wire are payload. "
          "Exits with 4 if the deviation exceeds --tolerance, and with 3 if the machine was too "
          "busy for a verdict. There is no verdict if delays or losses change, or if the "
          "bottleneck moves between links. On a terminal, a status line shows the link during the "
          "measurement.",
      .options =
          {
              link_option("one link, as for `thinpipe run`"),
              required(text_option("schedule", "SPEC", "",
                                   "changes of the link over time: parts such as "
                                   "'outage:every=10s,lasts=1s' joined by `;`; the prefix of a "
                                   "link's name ('host1:sine:...') restricts a part to that link; "
                                   "or a file of such lines, a CSV table or a mahimahi trace")),
              topology_option(),
              hosts_option("2", 2),
              integer_option("from", "N", "0", {0, 999}, "number of the sending host"),
              integer_option("to", "N", "", {0, 999},
                             "number of the receiving host; by default the last one"),
              real_option("seconds", "S", "10", {0.1, 86400},
                          "duration of the measurement, in seconds"),
              real_option("window", "S", "1", {0.01, 3600},
                          "duration of one row of the table, in seconds"),
              real_option("interval", "S", "0.05", {0.001, 60},
                          "update interval of a link that changes continuously, in seconds"),
              tolerance_option("allowed deviation from the integral, in percent"),
              {.name = "json", .help = "print JSON: rates in bit/s, times in seconds"},
          },
      .examples = {{"An outage of 1 s every 10 s",
                    "thinpipe net play --link rate=50mbit --schedule 'outage:every=10s,lasts=1s' "
                    "--seconds 20"},
                   {"Outages of one rack's uplink, measured from its first host to the other "
                    "rack's last host",
                    "thinpipe net play --topology racks --ranks 4 --schedule "
                    "'rack0:outage:every=4s,lasts=500ms'"},
                   {"A recorded cellular link",
                    "thinpipe net play --link rate=10mbit --schedule verizon.down"}},
      .prepare = prepare_play,
  };
}

}  // namespace thinpipe
