// The checks of a point's links and host: the `fidelity` of docs/records.md.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace thinpipe {

/// An unknown figure is nullopt.
struct Fidelity {
  std::optional<double> goodput_ratio = {};         ///< goodput / TCP ceiling, in the calibration
  std::optional<double> wire_bytes_predicted = {};  ///< B a host sends in a step in full frames
  std::optional<double> wire_bytes_most = {};       ///< B with every message in frames of its own
  std::optional<double> wire_ratio = {};            ///< B measured / predicted
  std::optional<double> idle_cpu = {};              ///< idle fraction of the CPU time
  std::optional<double> burst_bytes = {};           ///< B, the depth of the largest token bucket
  std::optional<double> burst_seconds = {};         ///< s that burst_bytes take at the link's rate
  std::uint64_t drops = 0;                          ///< frames
  bool shared_machine = false;  ///< another run measured on this machine meanwhile
  /// By rank; empty where not counted.
  std::vector<double> wire_bytes_by_rank = {};
  std::vector<double> tcp_segments_by_rank = {};
  std::vector<double> tcp_retransmitted_by_rank = {};
};

nlohmann::json fidelity_json(const Fidelity& fidelity);
/// Reads the figures; a missing one, or one that is not a finite number, is unknown.
Fidelity parse_fidelity(const nlohmann::json& object);

}  // namespace thinpipe
