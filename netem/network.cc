#include "netem/network.h"

#include <sys/mount.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/probe.h"

namespace thinpipe {
namespace {

constexpr const char* kControl = "ctl0";
// Open files that each host or switch needs: two namespaces, a netlink socket, two more files for a
// schedule, and a rank's connection. mpirun has the same limit and needs a connection, three pipes
// and a channel per host. A link between switches needs the two files of a schedule.
constexpr std::uint64_t kFilesOfOne = 8;
constexpr std::uint64_t kFilesOfTrunk = 2;

std::string data_port(int host) { return fmt::format("data{}", host); }
std::string trunk_port(int trunk) { return fmt::format("trunk{}", trunk); }

// Host numbers from 1 within a /16. The third byte stays below 5.
std::string address(int network, int number) {
  return fmt::format("198.{}.{}.{}", network, number / 250, 1 + number % 250);
}

std::string switch_address(int index) { return fmt::format("198.18.255.{}", index + 1); }

// Returns the bytes in flight when TCP fills a path: its bandwidth-delay product plus the queues.
double window_of(const PathFigures& forward, const PathFigures& reverse) {
  const double round_trip = forward.delay + reverse.delay;
  if (round_trip == 0) return 0;
  return std::max(forward.rate, reverse.rate) / 8 * round_trip + forward.queue + reverse.queue;
}

int next_generation() {
  static int generation = 0;
  return generation++;
}

Topology first_plan(const TopologySpec& spec, int hosts) {
  if (hosts < 1 || hosts > kMaxHosts)
    throw InputError(fmt::format("{} hosts (allowed: 1 to {})", hosts, kMaxHosts));
  // Only the shape matters yet. Links that are multiples of another need a rate.
  Topology plan = spec.plan(hosts, parse_link_spec("rate=1mbit"));
  for (TopologyHost& host : plan.hosts) host.link = {};
  for (Trunk& trunk : plan.trunks) trunk.link = {};
  return plan;
}

}  // namespace

std::string Network::data_address(int index) const { return address(18, index); }
std::string Network::control_address(int index) const { return address(19, index + 1); }

Network::Network(int hosts, TopologySpec spec)
    : spec_(std::move(spec)),
      topology_(first_plan(spec_, hosts)),
      routes_(topology_),
      generation_(next_generation()),
      control_bridge_(fmt::format("control{}", generation_)) {
  allow_open_files(kFilesOfOne * (static_cast<std::uint64_t>(hosts) + topology_.switches.size()) +
                       kFilesOfTrunk * topology_.trunks.size(),
                   fmt::format("{} emulated hosts", hosts));
  control_.set_up("lo");
  control_.add_link(control_bridge_, "bridge");
  control_.set_up(control_bridge_);
  control_.add_address(control_bridge_, address(19, 0) + "/16");
  for (int i = 0; i < static_cast<int>(topology_.switches.size()); ++i) add_switch(i);
  for (int i = 0; i < hosts; ++i) add_host(i);
  for (int i = 0; i < static_cast<int>(topology_.trunks.size()); ++i) add_trunk(i);
  add_routes();
  for (int i = 0; i < topology_.links(); ++i) links_[as_index(i)].set(LinkSpec{}, kManySegments);
}

std::string Network::control_port(int host) const {
  return fmt::format("ctl{}.{}", generation_, host);
}

// The kernel deletes the control network's veth pairs in the background, together with the hosts'
// namespaces. This includes the ends on the bridge. Deleting the pairs or the bridge here would
// take some 20 ms per host.
Network::~Network() {
  try {
    control_.set_down(control_bridge_);
  } catch (const RunError&) {
    // The bridge ends with the sandbox.
  }
}

void Network::add_switch(int index) {
  const Host& one = switches_.emplace_back(topology_.switches[as_index(index)]);
  one.inside([&] {
    forward_packets();
    Netlink& netlink = *switch_netlinks_.emplace_back(std::make_unique<Netlink>());
    netlink.set_up("lo");
    netlink.add_address("lo", switch_address(index) + "/32");
  });
}

void Network::add_host(int index) {
  const TopologyHost& planned = topology_.hosts[as_index(index)];
  const Host& host = hosts_.emplace_back(planned.name);
  const std::string port = data_port(index), gateway = switch_address(planned.at);
  Netlink& above = *switch_netlinks_[as_index(planned.at)];
  control_.add_veth(control_port(index), kControl, host.network_namespace());
  control_.enslave(control_port(index), control_bridge_);
  control_.set_up(control_port(index));
  above.add_veth(port, kDataInterface, host.network_namespace());
  above.set_up(port);
  host.inside([&] {
    sysctls_ = tune_tcp();
    Netlink& netlink = *host_netlinks_.emplace_back(std::make_unique<Netlink>());
    netlink.add_address(kDataInterface, data_address(index) + "/16", false);
    netlink.add_address(kControl, control_address(index) + "/16");
    for (const char* interface : {"lo", kDataInterface, kControl}) netlink.set_up(interface);
    netlink.add_neighbour(kDataInterface, gateway, above.hardware_address(port));
    netlink.add_route(kDataNetwork, kDataInterface, gateway);
    above.add_neighbour(port, data_address(index), netlink.hardware_address(kDataInterface));
    links_.emplace_back(LinkEnd{&netlink, kDataInterface}, LinkEnd{&above, port}, index);
  });
  above.add_route(data_address(index) + "/32", port);
}

void Network::add_trunk(int index) {
  const Trunk& trunk = topology_.trunks[as_index(index)];
  Netlink& a = *switch_netlinks_[as_index(trunk.a)];
  Netlink& b = *switch_netlinks_[as_index(trunk.b)];
  const std::string port = trunk_port(index);
  a.add_veth(port, port, switches_[as_index(trunk.b)].network_namespace());
  a.set_up(port);
  b.set_up(port);
  a.add_neighbour(port, switch_address(trunk.b), b.hardware_address(port));
  b.add_neighbour(port, switch_address(trunk.a), a.hardware_address(port));
  links_.emplace_back(LinkEnd{&a, port}, LinkEnd{&b, port}, size() + index);
}

void Network::add_routes() {
  const int switches = static_cast<int>(topology_.switches.size());
  for (int from = 0; from < switches; ++from)
    for (int to = 0; to < switches; ++to) {
      if (from == to) continue;
      const int index = routes_.next_trunk(from, to);
      const Trunk& trunk = topology_.trunks[as_index(index)];
      const std::string gateway = switch_address(trunk.other(from));
      Netlink& netlink = *switch_netlinks_[as_index(from)];
      netlink.add_route(switch_address(to) + "/32", trunk_port(index), gateway);
      for (int host = 0; host < size(); ++host)
        if (topology_.hosts[as_index(host)].at == to)
          netlink.add_route(data_address(host) + "/32", trunk_port(index), gateway);
    }
}

void Network::set_topology(Topology planned) {
  topology_ = std::move(planned);
  const std::vector<LinkSpec> links = links_as_set(topology_);
  // A GSO packet of one host reaches other links' qdiscs unsegmented. If one link needs single
  // frames, all hosts must send single frames.
  const bool single = std::any_of(links.begin(), links.end(),
                                  [](const LinkSpec& one) { return one.needs_single_frames(); });
  set_tcp_buffers();
  for (std::size_t i = 0; i < links.size(); ++i)
    links_[i].set(links[i], single ? kSingleFrames : kManySegments);
}

// TCP fills a long path only with a window of one bandwidth-delay product plus the queues. Buffers
// never shrink, because existing connections keep theirs.
void Network::set_tcp_buffers() {
  double window = 0;
  for (int from = 0; from < size(); ++from)
    for (int to = 0; to < from; ++to)
      window = std::max(window, window_of(figures({from, to}), figures({to, from})));
  if (window <= tcp_window_) return;
  tcp_window_ = window;
  for (const Host& host : hosts_) host.inside([&] { widen_tcp_buffers(window, sysctls_); });
}

const Host& Network::lower(int link) const {
  return topology_.is_trunk(link) ? switch_at(topology_.trunk_of(link).a) : host(link);
}

const Host& Network::upper(int link) const {
  return switch_at(topology_.is_trunk(link) ? topology_.trunk_of(link).b
                                            : topology_.hosts[as_index(link)].at);
}

LinkCounters Network::counters(int link) const { return links_[as_index(link)].counters(); }

std::vector<std::string> Network::interruptions() const {
  std::vector<std::string> found;
  for (int i = 0; i < topology_.links(); ++i)
    if (const std::string one = links_[as_index(i)].interruption(); !one.empty())
      found.push_back(fmt::format("link {}: {}", topology_.link_name(i), one));
  return found;
}

std::vector<std::string> Network::drift() const {
  std::vector<std::string> found;
  for (int i = 0; i < topology_.links(); ++i)
    for (const std::string& one : links_[as_index(i)].drift())
      found.push_back(fmt::format("link {}: {}", topology_.link_name(i), one));
  return found;
}

std::string Network::enter_table() const {
  std::string table;
  for (int i = 0; i < size(); ++i)
    table += fmt::format("{}{}={}:{}", i > 0 ? ";" : "", control_address(i), host(i).network_path(),
                         host(i).uts_path());
  return table;
}

bool name_hosts(const Network& network, const std::string& scratch) {
  const std::string path = scratch + "/hosts";
  std::ofstream file(path);
  file << "127.0.0.1 localhost\n::1 localhost\n";
  for (int i = 0; i < network.size(); ++i)
    file << network.data_address(i) << ' ' << network.host(i).name() << '\n';
  file.close();
  return file && mount(path.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
}

std::string host_addresses(const Network& network) {
  std::string text;
  for (int i = 0; i < network.size(); ++i)
    text +=
        fmt::format("{}{}={}", i > 0 ? " " : "", network.host(i).name(), network.data_address(i));
  return text;
}

}  // namespace thinpipe
