// Predictions of a sweep's points. Results that several points share are computed once.
#pragma once

#include <cstdint>
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

/// Least speed-up over a baseline that is reported: models are not accurate enough for less.
inline constexpr double kWorthSaying = 1.05;

/// The break-even rate, below which a compressor should be faster than the baseline: the rate at
/// which the difference of two predicted step times changes its sign.
struct PredictedBreakEven {
  /// Highest rate in bit/s below which the compressor is faster and above which it is not; nothing
  /// where there is none.
  std::optional<double> rate = {};
  bool pays_at_least = false;  ///< the compressor is faster at the lowest rate tried
  bool pays_at_most = false;   ///< the compressor is faster at the highest rate tried
  /// Fraction of the uncompressed bytes that the compressor sends. Set only where it is so large
  /// that noise of the codec times would decide, and there is no break-even rate.
  std::optional<double> sends = {};

  /// Returns the reason why no rate was searched; "" where one was.
  std::string reason() const;
};

inline constexpr double kMinRate = 1e5;    ///< bit/s, the lowest rate tried
inline constexpr double kMaxRate = 100e9;  ///< bit/s, the highest rate tried

/// Returns each rank's compute time in a step, in s. @param index  of the step, with warm-up steps
std::vector<double> compute_of_ranks(const Trace& trace, const SweepOptions& options,
                                     const SweepPoint& point, std::uint64_t index);

/// Returns the order of a step's tasks.
PipelineKind pipeline_kind(const Bucketing& bucketing);

/// How a break-even rate is searched: first at some rates of each decade, then by bisection.
struct RateSearch {
  double least = kMinRate, most = kMaxRate;
  int each_decade = 10;
  double precision = 1e-3;  ///< relative
};

/// Finds the break-even rate.
/// @param gain  seconds by which the compressor shortens a step on a link of that rate
PredictedBreakEven predicted_break_even(const std::function<double(double rate)>& gain,
                                        const RateSearch& search = {});

/// Returns `rate` (or null), `pays_at_least_rate`, `pays_at_most_rate` and `reason` if there is
/// one.
nlohmann::json break_even_json(const PredictedBreakEven& result);

/// The machines of the ranks.
struct PredictedMachines {
  MachineFigures network;
  /// Cores that all ranks share, as emulated hosts do; 0: every rank has a machine of its own.
  double cores = 0;
};

/// Returns the point with a baseline instead of its compressor: with the same collective, or with a
/// ring where that collective cannot exchange the baseline.
SweepPoint with_baseline(SweepPoint point, const CompressorRules& baseline);

/// Returns the same link at another rate in bit/s; its directions keep their proportion.
LinkSpec with_rate(const LinkSpec& link, double rate);

/// Source of codec times.
enum class CodecTimes {
  kTimed,   ///< measured on this machine or recorded
  kMemory,  ///< bound by the memory bandwidth of the trace's GPU: compute_device()
};

class Predictor {
 public:
  /// Both must outlive the predictor.
  Predictor(const Trace& trace, const SweepOptions& options)
      : trace_(trace), options_(options), device_(compute_device(trace)) {}

  /// Sets the codec profile of a compressor with this bucketing and collective. Collectives that
  /// sum or all-gather payloads have their profile in common. Other profiles are measured when they
  /// are first needed.
  void know(const CompressorRules& compressor, const Bucketing& bucketing, const Spec& collective,
            CodecProfile profile);
  /// Returns the profile, measured if necessary. @throws InputError as measure_codec()
  const CodecProfile& codec(const CompressorRules& compressor, const Bucketing& bucketing,
                            const Spec& collective);

  /// Predicts the point. Returns nothing where a model is missing: of the collective, of a schedule
  /// or of lost frames.
  /// @throws InputError for an impossible network or compressor
  /// @param times  kMemory only where compute_device() finds a GPU
  std::optional<Prediction> predict(const SweepPoint& point, const PredictedMachines& machines,
                                    CodecTimes times = CodecTimes::kTimed);
  /// Predicts the point with this profile of its compressor. Returns nothing where a model is
  /// missing.
  std::optional<Prediction> predict(const SweepPoint& point, const PredictedMachines& machines,
                                    const CodecProfile& profile);

  /// Returns the compute times of a step: the slowest rank's, as the median over steps.
  const ComputeTimes& times(const SweepPoint& point);

  /// Returns the basis of the prediction, for records.
  nlohmann::json basis(const SweepPoint& point, const PredictedMachines& machines);

  /// Returns the rate below which the point's compressor is faster than the fastest baseline, on
  /// links that differ only in their rate.
  PredictedBreakEven break_even(const SweepPoint& point, const PredictedMachines& machines,
                                const std::vector<CompressorRules>& baselines,
                                CodecTimes times = CodecTimes::kTimed);

  /// Returns the highest rate, at most kMaxRate, at which no link of the point's network is faster
  /// than links can be. An uplink may be faster than the hosts' links.
  double highest_rate(const SweepPoint& point) const;

  /// Returns the figures of the point's links as set, with time dilation, without the machines'
  /// overhead.
  LinkFigures expected_links(const SweepPoint& point) const;

  /// Returns the reason why predict() returns nothing for the point; "" where it does not.
  std::string refusal(const SweepPoint& point) const;

 private:
  bool knows(const SweepPoint& point) const;
  /// Returns the payload bytes of the point's compressor over those of an uncompressed gradient.
  double fraction_sent(const SweepPoint& point);
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
