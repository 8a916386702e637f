// Predictions of a sweep's points: what is the same for many of them is found once.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/plan/plan.h"
#include "harness/predict/codec_profile.h"
#include "harness/predict/network_model.h"
#include "harness/predict/prediction.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// The link rate below which a compressor should pay: where the difference of two predicted step
/// times changes its sign.
struct PredictedBreakEven {
  /// bit/s: the highest at which it pays below and does not above; nothing where there is none
  std::optional<double> rate;
  bool pays_at_least = false;  ///< at the lowest rate that was looked at
  bool pays_at_most = false;   ///< at the highest
};

inline constexpr double kLeastRate = 1e5;  ///< bit/s looked at
inline constexpr double kMostRate = 100e9;

/// @param gain  seconds that a step is shorter with the compressor on a link of that rate. Looked
/// at ten times a decade, then bisected to a thousandth.
PredictedBreakEven predicted_break_even(const std::function<double(double rate)>& gain,
                                        double least = kLeastRate, double most = kMostRate);

/// `rate` (or null), `pays_at_least_rate`, `pays_at_most_rate`.
nlohmann::json break_even_json(const PredictedBreakEven& result);

/// The machines on which ranks run.
struct PredictedMachines {
  MachineFigures network;
  /// Cores that all ranks share, as emulated hosts do; 0: every rank has a machine of its own.
  double cores = 0;
};

/// The point with a baseline instead of its compressor: by the same pattern, or by a ring where
/// that cannot carry it.
SweepPoint with_baseline(SweepPoint point, const CompressorRules& baseline);

/// How long codecs take.
enum class CodecTimes {
  kTimed,   ///< as measured here or recorded
  kMemory,  ///< as the memory beside the trace's GPU has it: compute_device()
};

class Predictor {
 public:
  /// Both must outlive it.
  Predictor(const Trace& trace, const SweepOptions& options)
      : trace_(trace), options_(options), device_(compute_device(trace)) {}

  /// From then on this compressor is taken as known, fed in that way and exchanged by a pattern
  /// that sums or gathers payloads; else it is measured when it is first asked for.
  void know(const CompressorRules& compressor, const Feed& feed, CodecProfile profile);
  /// @throws InputError as measure_codec()
  const CodecProfile& codec(const CompressorRules& compressor, const Feed& feed,
                            const Spec& pattern);

  /// Nothing where there is no model: of the pattern, of a schedule, of lost frames.
  /// @throws InputError for a network or a compressor that cannot be
  /// @param times  kMemory only where compute_device() finds one
  std::optional<Prediction> predict(const SweepPoint& point, const PredictedMachines& machines,
                                    CodecTimes times = CodecTimes::kTimed);

  /// From what predict() makes it, for records.
  nlohmann::json basis(const SweepPoint& point, const PredictedMachines& machines);

  /// The rate below which the point's compressor pays, on links that differ in nothing else: the
  /// shortest step of the baselines against its own.
  PredictedBreakEven break_even(const SweepPoint& point, const PredictedMachines& machines,
                                const std::vector<CompressorRules>& baselines,
                                CodecTimes times = CodecTimes::kTimed);

  /// The links of the point as they are set, time scale and all, without what machines add.
  LinkFigures expected_links(const SweepPoint& point) const;

  /// Why predict() gives nothing for it; "" where it does.
  std::string refusal(const SweepPoint& point) const;

 private:
  bool knows(const SweepPoint& point) const;
  const ComputeTimes& times(const SweepPoint& point);
  PredictionInput input_of(const SweepPoint& point, const PredictedMachines& machines);

  const Trace& trace_;
  const SweepOptions& options_;
  std::optional<ComputeDevice> device_;
  std::map<std::string, CodecProfile> codecs_;
  ExchangeTimes exchanges_;
  std::map<std::string, PredictedBreakEven> break_evens_;
  std::map<std::pair<int, std::string>, ComputeTimes> times_;  ///< by ranks and stragglers
};

}  // namespace thinpipe
