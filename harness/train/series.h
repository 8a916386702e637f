// Results of a training run, step by step, and the quality that it is timed to.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "workloads/trace/json_fields.h"

namespace thinpipe {

/// The quality that a training run is timed to.
struct Target {
  enum class Figure { kAccuracy, kLoss, kPerplexity };
  Figure figure = Figure::kAccuracy;
  double value = 0;

  /// `acc=0.9`, `loss=0.1` or `ppl=20`. @throws InputError naming what was found and expected
  static Target parse(const std::string& text);
  std::string to_string() const;
  /// Accuracy at least, loss and perplexity at most.
  bool reached(double found) const {
    return figure == Figure::kAccuracy ? found >= value : found <= value;
  }
};

/// On the held-out data, with the parameters after so many steps.
struct HeldOut {
  std::uint64_t steps = 0;
  double loss = 0;
  double figure = 0;       ///< accuracy or perplexity
  double rate_factor = 1;  ///< of a plateau schedule from here on (RateSchedule::plateau)
};

struct TrainSeries {
  std::vector<double> loss;  ///< mean over workers, of each step's mini-batches before its update
  std::vector<double> seconds;  ///< emulated, of each step: the slowest worker's
  std::vector<double>
      bytes;  ///< of each step, of one worker: payloads sent, and pulled from servers
  std::vector<double> pulled;  ///< of these, those pulled
  std::vector<HeldOut> held_out;

  std::uint64_t steps() const { return loss.size(); }
  /// Sums of the first so many steps.
  double seconds_after(std::uint64_t count) const;
  double bytes_after(std::uint64_t count) const;
  /// The first evaluation that reaches it; null for none.
  const HeldOut* reaching(const Target& target) const;
  /// Losses on the held-out data, by evaluation.
  std::vector<double> held_out_losses() const;
  /// After the last evaluation; 1 before the first.
  double rate_factor() const { return held_out.empty() ? 1 : held_out.back().rate_factor; }

  nlohmann::json to_json() const;
  /// @throws InputError naming the field of what to_json() has not written
  static TrainSeries from_json(const JsonField& field);
  /// The `training` of docs/records.md: seconds and bytes are sums from the first step on.
  nlohmann::json record(bool perplexity) const;
};

}  // namespace thinpipe
