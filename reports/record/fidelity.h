// How far the figures of a point can be trusted: the `fidelity` of docs/records.md.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace thinpipe {

/// An unknown figure is nullopt.
struct Fidelity {
  std::optional<double> goodput_ratio = {};         ///< goodput / TCP ceiling, in the calibration
  std::optional<double> wire_bytes_predicted = {};  ///< B a host sends in a step, every frame full
  std::optional<double> wire_bytes_most = {};       ///< B, every message in frames of its own
  std::optional<double> wire_ratio = {};            ///< B measured / predicted
  std::optional<double> idle_cpu = {};              ///< share of the processors' time nobody used
  std::optional<double> burst_bytes = {};    ///< B that the longest bucket lets through for free
  std::optional<double> burst_seconds = {};  ///< s that they take at the link's rate
  std::uint64_t drops = 0;                   ///< frames
  bool shared_machine = false;               ///< another run measured here meanwhile
  /// By rank; empty where nobody counted.
  std::vector<double> wire_bytes_by_rank = {};
  std::vector<double> tcp_segments_by_rank = {};
  std::vector<double> tcp_retransmitted_by_rank = {};
};

nlohmann::json fidelity_json(const Fidelity& fidelity);
/// A figure that is missing, or is no finite number, is not known.
Fidelity parse_fidelity(const nlohmann::json& object);

}  // namespace thinpipe
