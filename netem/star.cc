#include "netem/star.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/sysctl.h"

namespace thinpipe {

namespace {

constexpr const char* kData = "thin0";
constexpr const char* kControl = "ctl0";
constexpr const char* kDataBridge = "data";
constexpr const char* kControlBridge = "control";
constexpr int kMostHosts = 1000;  // a bridge has at most 1023 ports

std::string data_port(int index) { return fmt::format("data{}", index); }
std::string control_port(int index) { return fmt::format("ctl{}", index); }

// Host numbers from 1 within a /16.
std::string address(int network, int number) {
  return fmt::format("198.{}.{}.{}", network, number / 250, 1 + number % 250);
}

std::string way_up(int index) { return fmt::format("up{}", index); }

constexpr std::uint32_t kKernelSegments = 65535;  // GSO_LEGACY_MAX_SIZE's count: not limited

}  // namespace

std::string Star::data_address(int index) const { return address(18, index); }
std::string Star::control_address(int index) const { return address(19, index + 1); }

Star::Star(int hosts) {
  if (hosts < 1 || hosts > kMostHosts)
    throw InputError(fmt::format("{} hosts: 1 to {} are possible", hosts, kMostHosts));
  switch_.set_up("lo");
  for (const char* bridge : {kDataBridge, kControlBridge}) {
    switch_.add_bridge(bridge);
    switch_.set_up(bridge);
  }
  switch_.add_address(kControlBridge, address(19, 0) + "/16");
  for (int i = 0; i < hosts; ++i) {
    const Host& host = hosts_.emplace_back(fmt::format("host{}", i));
    switch_.add_veth(data_port(i), kData, host.network_namespace());
    switch_.add_veth(control_port(i), kControl, host.network_namespace());
    switch_.enslave(data_port(i), kDataBridge);
    switch_.enslave(control_port(i), kControlBridge);
    switch_.set_up(data_port(i));
    switch_.set_up(control_port(i));
    host.inside([&] {
      sysctls_ = tune_tcp();
      Netlink& netlink = *host_netlinks_.emplace_back(std::make_unique<Netlink>());
      netlink.add_address(kData, data_address(i) + "/16");
      netlink.add_address(kControl, control_address(i) + "/16");
      for (const char* interface : {"lo", kData, kControl}) netlink.set_up(interface);
    });
  }
  frames_.assign(hosts_.size(), {LinkSpec{}.mtu, kKernelSegments});
  redirected_.assign(hosts_.size(), false);
  set_links(LinkSpec{});
}

void Star::set_links(const LinkSpec& link) {
  set_links(std::vector<LinkSpec>(hosts_.size(), link));
}

void Star::set_links(const std::vector<LinkSpec>& links) {
  if (links.size() != hosts_.size())
    throw InputError(fmt::format("{} links for {} hosts", links.size(), hosts_.size()));
  // What one host sends as one large packet reaches another's qdiscs so, so one that needs single
  // frames needs them of all.
  const bool single = std::any_of(links.begin(), links.end(),
                                  [](const LinkSpec& link) { return link.needs_single_frames(); });
  set_tcp_buffers(links);
  for (int i = 0; i < size(); ++i) {
    const LinkSpec& link = links[static_cast<std::size_t>(i)];
    set_link(i, link, {link.mtu, single ? 1 : kKernelSegments});
  }
}

void Star::set_link(int index, const LinkSpec& link, Frames frames) {
  const auto i = static_cast<std::size_t>(index);
  const LinkShaping shaping = shaping_of(link, i);
  if (frames_[i] != frames) {
    host_netlinks_[i]->set_frame_limits(kData, frames.mtu, frames.segments);
    switch_.set_frame_limits(data_port(index), frames.mtu, frames.segments);
    frames_[i] = frames;
  }
  install(*host_netlinks_[i], kData, shaping.host);
  set_way_up(index, shaping.way_up, frames);
  install(switch_, data_port(index), shaping.port);
}

void Star::set_way_up(int index, const std::optional<Shaping>& shaping, Frames frames) {
  const auto i = static_cast<std::size_t>(index);
  const std::string interface = way_up(index);
  if (shaping && !switch_.exists(interface)) {
    switch_.add_link(interface, "ifb");
    switch_.set_up(interface);
  }
  if (shaping) {
    switch_.set_frame_limits(interface, frames.mtu, frames.segments);
    install(switch_, interface, *shaping);
  }
  if (shaping && !redirected_[i]) switch_.redirect_arrivals(data_port(index), interface);
  if (!shaping && redirected_[i]) {
    switch_.stop_redirecting(data_port(index));
    switch_.delete_link(interface);  // takes the kernel some 20 ms: one that is needed again stays
  }
  redirected_[i] = shaping.has_value();
}

// TCP fills a long link only with a window of a round trip and the queues on it. Buffers are never
// made smaller: what a connection has been given it keeps.
void Star::set_tcp_buffers(const std::vector<LinkSpec>& links) {
  double window = 0;
  for (const LinkSpec& link : links) {
    const LinkSpec filled = link.with_defaults();
    if (filled.delay() > 0)
      window = std::max(
          window, filled.rate() / 8 * filled.round_trip() + filled.up.queue + filled.down.queue);
  }
  if (window <= tcp_window_) return;
  tcp_window_ = window;
  for (const Host& host : hosts_) host.inside([&] { widen_tcp_buffers(window, sysctls_); });
}

LinkCounters Star::counters(int index) {
  const auto i = static_cast<std::size_t>(index);
  return {host_netlinks_[i]->root_counters(kData), switch_.root_counters(data_port(index)),
          redirected_[i] ? switch_.root_counters(way_up(index)) : QdiscCounters{}};
}

std::string Star::enter_table() const {
  std::string table;
  for (int i = 0; i < size(); ++i)
    table += fmt::format("{}{}={}:{}", i > 0 ? ";" : "", control_address(i), host(i).network_path(),
                         host(i).uts_path());
  return table;
}

}  // namespace thinpipe
