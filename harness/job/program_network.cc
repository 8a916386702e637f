#include "harness/job/program_network.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/units.h"
#include "harness/options/terminal.h"
#include "netem/schedule/links.h"

namespace thinpipe {
namespace {

// Returns a sentence on the uplink or downlink that carried the most traffic.
std::string busiest_direction(const ProgramNetwork& programs, const ProgramTraffic& traffic) {
  double most = 0, rate = 0;
  std::string text;
  for (std::size_t i = 0; i < traffic.wire.sent_by.size(); ++i) {
    const TopologyHost& host = programs.planned().hosts[i];
    for (const bool sent : {true, false}) {
      const auto bytes =
          static_cast<double>(sent ? traffic.wire.sent_by[i] : traffic.wire.received_by[i]);
      if (bytes <= most) continue;
      most = bytes;
      rate = (sent ? host.link.up : host.link.down).rate;
      text = fmt::format("Busiest: {} of {}", sent ? "uplink" : "downlink", host.name);
    }
  }
  if (most == 0 || traffic.seconds <= 0) return "No traffic.\n";
  text += fmt::format(", {} on average", format_rate(8 * most / traffic.seconds));
  if (rate > 0 && programs.point().schedule.empty())
    text +=
        fmt::format(", {:.0f} % of {}", 100 * 8 * most / traffic.seconds / rate, format_rate(rate));
  return wrap(text + ".", 0) + "\n";
}

}  // namespace

ProgramNetwork::ProgramNetwork(const TopologySpec& spec, int hosts, const LinkSpec& link,
                               const ScheduleSpec& schedule)
    : spec_(spec), planned_(spec.plan(hosts, link)) {
  point_.link = link;
  point_.schedule = schedule;
  point_.ranks = static_cast<int>(planned_.hosts.size());
  if (!schedule.empty()) scheduled_links(planned_, schedule);  // reports what does not fit
}

void ProgramNetwork::name_hosts_for_programs(const Network& network, const Sandbox& sandbox) {
  if (!name_hosts(network, sandbox.scratch))
    std::fputs("thinpipe: cannot replace /etc/hosts: hosts have addresses but no names\n", stderr);
  setenv("THINPIPE_HOST_ADDRESSES", host_addresses(network).c_str(), 1);
}

std::unique_ptr<HostProgram> start_program(const Host& host, const std::vector<std::string>& words,
                                           int output) {
  setenv("THINPIPE_HOST", host.name().c_str(), 1);
  try {
    return std::make_unique<HostProgram>(host, words, HostProgram::Streams::kOurs, output);
  } catch (const SystemError& error) {
    if (error.error() == ENOENT || error.error() == EACCES) throw InputError(error.what());
    throw;
  }
}

void print_traffic(const ProgramNetwork& programs, const ProgramTraffic& traffic) {
  constexpr std::size_t kMaxLines = 16;
  const WireCount& wire = traffic.wire;
  std::string text = fmt::format("thinpipe: traffic after {}\n", format_time(traffic.seconds));
  for (std::size_t i = 0; i < wire.sent_by.size() && i < kMaxLines; ++i)
    text += fmt::format("  {:<8} sent {:>9}, received {:>9}, dropped {} packets\n",
                        programs.planned().hosts[i].name, format_bytes(wire.sent_by[i]),
                        format_bytes(wire.received_by[i]), wire.drops_by[i]);
  if (wire.sent_by.size() > kMaxLines)
    text += fmt::format("  and {} more\n", wire.sent_by.size() - kMaxLines);
  text += busiest_direction(programs, traffic);
  std::fputs(text.c_str(), stderr);
}

}  // namespace thinpipe
