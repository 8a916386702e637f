// The user's machines, reached through ssh or Slurm.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/hosts/hosts.h"
#include "harness/launch/machines.h"

namespace thinpipe {

class Guards;  // of the throttled interfaces, one on each host

class RealMachines : public Machines {
 public:
  /// If an interface is to be throttled, starts a guard on each host, which throttles and restores
  /// the interface.
  /// @param scratch  folder on this machine for the error output of the guards' connections
  /// @param ranks  maximum number of ranks to be launched; machines beyond this number are left
  /// alone
  /// @throws RunError naming the host that cannot be reached, or that refuses, with its reason.
  RealMachines(HostsOptions options, const std::string& scratch, int ranks);
  ~RealMachines() override;

  int size() const override { return static_cast<int>(options_.names.size()); }
  Boarding board(int ranks) override;
  void set_links(const LinkSpec& link, double time_scale) override;
  WireCount count_wire(int ranks) override;
  std::uint32_t mtu(const LinkSpec& link) const override;
  /// Measures streams of the ranks round a ring: the rate at which each receives from its
  /// predecessor.
  LinkCalibration calibrate(const LinkSpec& link, double time_scale, Launch* launch) override;
  bool needs_ranks_to_calibrate() const override { return true; }
  std::vector<std::string> drift() override;
  bool sets_links() const override { return guards_ != nullptr; }
  std::map<std::string, std::string> sysctls() const override { return {}; }
  nlohmann::json description() const override;

 private:
  HostsOptions options_;
  std::vector<std::string> control_addresses_;
  std::unique_ptr<Guards> guards_;
};

}  // namespace thinpipe
