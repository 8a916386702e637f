// Emulated hosts of the sandbox that this process is in, and other runs that share the machine.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/launch/machines.h"
#include "netem/file_descriptor.h"
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
  nlohmann::json description() const override;

 private:
  Network network_;
  std::string scratch_;
};

/// Whether somebody else measures on this machine at the same time.
///
/// As long as it lives, this process is known to others as one that measures: by a read lock of its
/// own open file (F_OFD_SETLK) on one byte, which nobody writes, of the folder for temporary files.
/// Nothing is made, so nothing is left; the lock ends with the process, however that ends. Those
/// who see another folder (TMPDIR, a container) do not know of each other. Where the folder takes
/// no locks, nobody is seen.
class OtherRuns {
 public:
  OtherRuns();
  /// True when another process has one now. A microsecond: ask often.
  bool any() const;

 private:
  FileDescriptor folder_;
};

}  // namespace thinpipe
