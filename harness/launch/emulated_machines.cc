#include "harness/launch/emulated_machines.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "harness/launch/thresholds.h"
#include "harness/machine/programs.h"
#include "netem/topology/flows.h"
#include "netem/verify/measure_flows.h"
#include "netem/verify/verify_topology.h"

namespace thinpipe {
namespace {

// Numbers of time windows in which goodput is measured. The median over the windows is the result.
// A moment in which a busy machine stands still, or in which TCP delivers the data queued behind a
// lost frame, then spoils only one window.
constexpr int kWindows = 5, kMinWindows = 3;
constexpr double kWindow = 0.1;    // s: 100 times the default bucket
constexpr double kFrames = 50;     // least number in a window, so that one more or less is 2 %
constexpr double kLongWindow = 1;  // s; longer windows are kMinWindows in number
constexpr double kSettle = 0.2;    // s before the first: the bucket's credit, slow start
// Settling time and window where a switch's port is the limit, in s. At such a port, TCP's slow
// start ends in drops, and TCP recovers in 1 to 2 s.
constexpr double kSettleBehindSwitch = 2, kWindowBehindSwitch = 0.2;
constexpr double kDoublings = 20;  // of TCP's window, each a round trip
// Bytes that may remain in the queue of a sender after its flow was reset. TCP small queues admit
// two packets of 45 frames.
constexpr double kLeftOver = 2 * 45 * 1514;
// Maximum number of attempts to measure a link. The goodput may miss its ceiling because TCP had
// not recovered or the machine was busy. Each attempt therefore waits twice as long before the
// measurement as the attempt before. The last attempt counts.
constexpr int kAttempts = 3;
constexpr double kPingSeconds = 3;
constexpr int kMinPings = 5, kMaxPings = 20;

// Several flows may meet at a switch's port, even if each alone is limited at its sender.
bool limited_at_sender(const Network& network, const LinkProbe& probe) {
  const Flow& flow = probe.flows.at(0);
  return probe.flows.size() == 1 &&
         limited_at_sender(network.topology(), network.routes().path(flow.from, flow.to));
}

// Returns the median over the windows of all flows' goodput together.
double median_goodput(const std::vector<FlowFigures>& flows) {
  std::vector<double> sums(flows.at(0).windows.size(), 0.0);
  for (const FlowFigures& flow : flows)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += flow.windows.at(i);
  return median(sums);
}

// Measures all but the goodput, while nothing else is sent.
WayCalibration measure_idle(const Network& network, const LinkProbe& probe) {
  const Topology& topology = network.topology();
  const LinkSpec& link = topology.link(probe.hop.link);
  const Flow& first = probe.flows.at(0);
  WayCalibration way;
  way.where =
      fmt::format("{} {}", topology.link_name(probe.hop.link), probe.hop.up ? "up" : "down");
  way.set = link.to_string();
  way.ceiling = probe.goodput;
  way.flows = static_cast<int>(probe.flows.size());
  way.fills = probe.fills;
  way.round_trip_set = round_trip_of(topology, network.routes(), first);
  const int pings =
      way.round_trip_set > 0
          ? std::clamp(static_cast<int>(kPingSeconds / way.round_trip_set), kMinPings, kMaxPings)
          : kMaxPings;
  way.round_trip = measure_round_trip(network, first, pings);
  return way;
}

void measure_goodput(const Network& network, const LinkProbe& probe, WayCalibration& way) {
  const LinkSpec& link = network.topology().link(probe.hop.link);
  const bool at_sender = limited_at_sender(network, probe);
  const double window = std::max(at_sender ? kWindow : kWindowBehindSwitch,
                                 kFrames * 8 * link.frame_bytes() / probe.goodput);
  FlowOptions options;
  options.windows = window > kLongWindow ? kMinWindows : kWindows;
  options.seconds = options.windows * window;
  // If a sender's own link is the bottleneck, the sender has half a second of data in its socket
  // buffer and little in the link's queue. There is then no queue to drain after the measurement.
  options.drain = !at_sender;
  options.settle = (at_sender ? kSettle : kSettleBehindSwitch) + kDoublings * way.round_trip_set +
                   kLeftOver * 8 / probe.goodput;
  way.attempts = 0;
  const auto is_off = [&] { return std::fabs(way.goodput / way.ceiling - 1) > kGoodputTolerance; };
  while (way.attempts == 0 || (is_off() && way.attempts < kAttempts)) {
    way.goodput = median_goodput(measure_flows(network, probe.flows, options).flows);
    way.seconds += options.seconds;
    options.settle *= 2;
    ++way.attempts;
  }
}

// A lock at the offset "thinpipe", which no other program locks.
struct flock measuring(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0x7468696e70697065;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Boarding EmulatedMachines::board(int ranks) {
  namespace fs = std::filesystem;
  fs::remove(scratch_ + "/thinpipe-enter");
  fs::create_symlink(find_program("thinpipe-enter"), scratch_ + "/thinpipe-enter");
  setenv("THINPIPE_HOSTS", network_.enter_table().c_str(), 1);
  std::string hosts;
  for (int i = 0; i < ranks; ++i)
    hosts += fmt::format("{}{}:1", i > 0 ? "," : "", network_.control_address(i));
  Boarding boarding;
  boarding.shared_folder = scratch_;
  boarding.mpirun = {"--host", hosts};
  // mpirun splits the agent's path at blanks. The path of this symbolic link has none.
  boarding.set_agent(scratch_ + "/thinpipe-enter");
  boarding.set("plm_rsh_no_tree_spawn", "1");
  boarding.set("orte_tmpdir_base", scratch_);
  boarding.set("oob_tcp_if_include", Network::kControlNetwork);
  boarding.set("btl_tcp_if_include", Network::kDataNetwork);
  return boarding;
}

nlohmann::json EmulatedMachines::description() const { return {{"kind", "emulated"}}; }

LinkCalibration EmulatedMachines::calibrate(const LinkSpec& link, double time_scale, Launch*) {
  network_.set_links(link, time_scale);
  const Topology& topology = network_.topology();
  LinkCalibration result;
  const std::vector<LinkProbe> probes = link_probes(topology, true);
  for (const LinkProbe& probe : probes) result.ways.push_back(measure_idle(network_, probe));
  for (std::size_t i = 0; i < probes.size(); ++i)
    measure_goodput(network_, probes[i], result.ways[i]);
  if (!result.ways.empty()) return result;
  // TCP goodput over lost or reordered frames does not measure the link.
  result.unmeasured = size() < 2           ? "one host has no peer to send to"
                      : disturbs(topology) ? "the link loses, duplicates or reorders frames"
                                           : "the link has no rate";
  return result;
}

OtherRuns::OtherRuns() {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(none);
  folder_ = FileDescriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct flock lock = measuring(F_RDLCK);
  if (folder_.valid() && fcntl(folder_.get(), F_OFD_SETLK, &lock) != 0) folder_.reset();
}

bool OtherRuns::any() const {
  if (!folder_.valid()) return false;
  // A write lock conflicts with the read locks of other runs, not with our own.
  struct flock lock = measuring(F_WRLCK);
  return fcntl(folder_.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace thinpipe
