// Results of a training run, step by step, and its target quality.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "workloads/trace/json_fields.h"

namespace thinpipe {

/// The quality that a training run must reach; the time to reach it is a metric.
struct Target {
  enum class Figure { kAccuracy, kLoss, kPerplexity };
  Figure figure = Figure::kAccuracy;
  double value = 0;

  /// Parses `acc=0.9`, `loss=0.1` or `ppl=20`. @throws InputError with the text found and expected
  static Target parse(const std::string& text);
  std::string to_string() const;
  /// Returns true for an accuracy of at least, or a loss or perplexity of at most, `value`.
  bool reached(double found) const {
    return figure == Figure::kAccuracy ? found >= value : found <= value;
  }
};

/// Evaluation on the held-out data.
struct HeldOut {
  std::uint64_t steps = 0;  ///< taken before it
  double loss = 0;
  double figure = 0;       ///< accuracy or perplexity
  double rate_factor = 1;  ///< of a plateau schedule from then on (RateSchedule::plateau)
};

struct TrainSeries {
  std::vector<double> loss;  ///< mean over workers, of each step's mini-batches before its update
  std::vector<double> seconds;  ///< emulated, of each step: the slowest worker's
  /// Bytes of each step and one worker: payloads sent, and payloads pulled from servers.
  std::vector<double> bytes;
  std::vector<double> pulled;  ///< the pulled bytes among `bytes`
  /// k-hat over k of each exchange, each summed over workers and tensors; empty without a target k.
  std::vector<double> quality;
  std::vector<HeldOut> held_out;

  std::uint64_t steps() const { return loss.size(); }
  /// Returns the sum over the first `count` steps.
  double seconds_after(std::uint64_t count) const;
  double bytes_after(std::uint64_t count) const;
  /// Returns the first evaluation that reaches the target; null for none.
  const HeldOut* reaching(const Target& target) const;
  /// Returns the losses on the held-out data, by evaluation.
  std::vector<double> held_out_losses() const;
  /// Returns the factor after the last evaluation; 1 before the first.
  double rate_factor() const { return held_out.empty() ? 1 : held_out.back().rate_factor; }

  nlohmann::json to_json() const;
  /// @throws InputError naming a field that to_json() cannot have written
  static TrainSeries from_json(const JsonField& field);
  /// Returns the `training` of docs/records.md: seconds and bytes are sums from the first step on.
  nlohmann::json record(bool perplexity) const;
};

}  // namespace thinpipe
