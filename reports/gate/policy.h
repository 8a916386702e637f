// The margins that a gate allows, by metric and point.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

/// A rule for the metrics that match its globs; empty fields keep the earlier values.
struct MetricRule {
  std::string metric = "*";  ///< glob of the metric's name
  std::string point = "*";   ///< glob of the point's id
  std::optional<bool> ignore = {};
  std::optional<double> margin = {};            ///< a fraction: 0.02 is 2 %
  std::optional<double> least = {}, most = {};  ///< bounds of quality metrics, in the metric's unit
};

/// A metric's margins after all rules.
struct GateMargins {
  bool ignore = false;
  double margin = 0;
  std::optional<double> least = {}, most = {};
};

struct GatePolicy {
  double margin = 0.02;         ///< of times measured in pairs
  double stored_margin = 0.10;  ///< of times compared with a stored baseline
  double quality_margin = 0.01;
  double alpha = 0.05;  ///< risk of a false alarm for a change of just the margin
  int pairs = 10;       ///< before the first look
  int looks = 3;        ///< each after twice as many pairs as the one before
  /// Rules for single metrics. If several rules match a metric, the last one that sets a field
  /// counts. The first rules ignore metrics that measure the machine rather than thinpipe, such as
  /// the time to read memory, to compute, or for a step without communication.
  std::vector<MetricRule> rules = machine_rules();

  static std::vector<MetricRule> machine_rules();

  /// Returns the margins of a metric of a point.
  /// @param standard  margin, stored_margin or quality_margin
  GateMargins of(const std::string& point, const std::string& metric, double standard) const;
  /// Returns the standard margin of a metric of this kind, compared with stored records.
  double stored(const std::string& kind) const {
    return kind == "timed" ? stored_margin : quality_margin;
  }
  int most_pairs() const { return pairs << (looks - 1); }
};

/// Parses a policy (docs/gate.md): `[gate]`, then sections named by globs.
/// @throws InputError naming line and key
GatePolicy parse_policy(std::string_view text, const std::filesystem::path& name);
GatePolicy read_policy(const std::filesystem::path& file);

}  // namespace thinpipe
