// Emulated hosts in the sandbox of this process, and other runs on the same machine.
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
  std::uint32_t mtu(const LinkSpec& link, const Launch*) const override { return link.mtu; }
  LinkCalibration calibrate(const LinkSpec& link, double time_scale, Launch* launch) override;
  std::vector<std::string> drift() override { return network_.drift(); }
  bool sets_links() const override { return true; }
  Network* network() override { return &network_; }
  std::map<std::string, std::string> sysctls() const override { return network_.sysctls(); }
  nlohmann::json description() const override;

 private:
  Network network_;
  std::string scratch_;
};

/// Detects other runs that measure on this machine at the same time.
///
/// As long as an object lives, it announces this process to other runs by a read lock. The lock
/// belongs to an open file description (F_OFD_SETLK) and covers one byte, never written, of the
/// folder for temporary files. No file is created, so none is left behind. The lock ends with the
/// process, however the process ends. Runs with different temporary folders (TMPDIR, a container)
/// do not see each other. If the folder does not support locks, no run is seen.
class OtherRuns {
 public:
  OtherRuns();
  /// Returns true while another process has such a lock. Takes a microsecond, so call it often.
  bool any() const;

 private:
  FileDescriptor folder_;
};

}  // namespace thinpipe
