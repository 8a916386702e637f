// Emulated hosts of the sandbox that this process is in.
#pragma once

#include "harness/launch/machines.h"
#include "netem/network.h"
#include "netem/sandbox.h"

namespace thinpipe {

class EmulatedMachines : public Machines {
 public:
  EmulatedMachines(int hosts, const TopologySpec& topology, const Sandbox& sandbox)
      : network_(hosts, topology), scratch_(sandbox.scratch) {}

  int size() const override { return network_.size(); }
  Boarding board(int ranks) override;
  void set_links(const LinkSpec& link, double time_scale) override {
    network_.set_links(link, time_scale);
  }
  WireCount count_wire(int) override { return thinpipe::count_wire(network_); }
  std::uint32_t mtu(const LinkSpec& link) const override { return link.mtu; }
  LinkCalibration calibrate(const LinkSpec& link, double time_scale, Launch* launch) override;
  std::vector<std::string> alterations() override { return network_.alterations(); }
  bool sets_links() const override { return true; }
  Network* network() override { return &network_; }
  std::map<std::string, std::string> sysctls() const override { return network_.sysctls(); }
  nlohmann::json description() const override { return {{"kind", "emulated"}}; }

 private:
  Network network_;
  std::string scratch_;
};

}  // namespace thinpipe
