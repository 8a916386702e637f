// Machines of the user's, reached through ssh or Slurm.
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

class Guards;  // of the interfaces that are throttled, one a host

class RealMachines : public Machines {
 public:
  /// Starts the guards where an interface is to be throttled.
  /// @param scratch  folder on this machine for what the guards' connections complain about
  /// @param ranks    the most that will be launched: machines beyond are left alone
  /// @throws RunError naming the host that is not reached, or that refuses and why.
  RealMachines(HostsOptions options, const std::string& scratch, int ranks);
  ~RealMachines() override;

  int size() const override { return static_cast<int>(options_.names.size()); }
  Boarding board(int ranks) override;
  void set_links(const LinkSpec& link, double time_scale) override;
  WireCount count_wire(int ranks) override;
  std::uint32_t mtu(const LinkSpec& link) const override;
  /// By streams of the ranks round a ring: what each received of the one before it.
  LinkCalibration calibrate(const LinkSpec& link, double time_scale, Launch* launch) override;
  bool needs_ranks_to_calibrate() const override { return true; }
  std::vector<std::string> alterations() override;
  bool sets_links() const override { return guards_ != nullptr; }
  std::map<std::string, std::string> sysctls() const override { return {}; }
  nlohmann::json description() const override;

 private:
  HostsOptions options_;
  std::vector<std::string> control_addresses_;
  std::unique_ptr<Guards> guards_;
};

}  // namespace thinpipe
