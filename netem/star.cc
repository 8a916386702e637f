#include "netem/star.h"

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

void set_link(Netlink& netlink, const std::string& interface, const LinkSpec& link) {
  netlink.delete_root_qdisc(interface);
  if (link.throttled())
    netlink.set_tbf(interface, link.rate, link.burst, link.queue);
  else
    netlink.add_fifo(interface);  // counts, as every link must
}

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
  set_links(LinkSpec{});
}

void Star::set_links(const LinkSpec& link) {
  const LinkSpec filled = link.with_defaults();
  for (int i = 0; i < size(); ++i) {
    set_link(*host_netlinks_[static_cast<std::size_t>(i)], kData, filled);
    set_link(switch_, data_port(i), filled);
  }
}

LinkCounters Star::counters(int index) {
  return {host_netlinks_[static_cast<std::size_t>(index)]->root_counters(kData),
          switch_.root_counters(data_port(index))};
}

std::string Star::enter_table() const {
  std::string table;
  for (int i = 0; i < size(); ++i)
    table += fmt::format("{}{}={}:{}", i > 0 ? ";" : "", control_address(i), host(i).network_path(),
                         host(i).uts_path());
  return table;
}

}  // namespace thinpipe
