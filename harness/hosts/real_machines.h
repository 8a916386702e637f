// Machines of the user's, reached through ssh or Slurm.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/hosts/guards.h"
#include "harness/hosts/hosts_options.h"
#include "harness/launch/machines.h"

namespace thinpipe {

class RealMachines : public Machines {
 public:
  /// Starts the guards where an interface is to be throttled.
  /// @param scratch  folder on this machine for what the guards' connections complain about
  /// @param ranks    the most that will be launched: machines beyond are left alone
  /// @throws RunError naming the host that is not reached, or that refuses and why.
  RealMachines(HostsOptions options, const std::string& scratch, int ranks);

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
  std::vector<GuardCommand> guard_commands() const;

  HostsOptions options_;
  std::vector<std::string> control_addresses_;
  std::unique_ptr<Guards> guards_;
};

/// `word` as a shell reads it back whole.
std::string shell_quoted(const std::string& word);

}  // namespace thinpipe
