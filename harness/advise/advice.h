// Advice on the compressor and the collective for a model on a network: compressors are measured on
// a sample of the gradients (tensor_sample.h), and the steps are predicted by the models of
// `thinpipe predict`.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/advise/tensor_sample.h"
#include "harness/advise/training_results.h"
#include "harness/files/open_trace.h"
#include "harness/plan/plan.h"
#include "harness/predict/output.h"
#include "harness/predict/predictor.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

struct AdviceRequest {
  /// Compressors (a spec each), baselines, collectives, the link, the number of ranks, topology,
  /// threads and seed. Only the first link and the first number of ranks count.
  SweepOptions sweep;
  std::vector<CompressorRules> unserved;  ///< defaults that no collective can exchange
  PredictedMachines machines;
  /// Source of the codec times that rank the compressors; kMemory only where the trace has a
  /// compute_device().
  CodecTimes codecs = CodecTimes::kTimed;
  BadValues bad_values = BadValues::kRefuse;
  double max_error = 0.1;  ///< |decoded - c| / |c| of the compressor that loses little
  double seconds = 6;      ///< after this time no further compressor is measured
};

/// Predicted steps that differ by less count as equally long.
inline constexpr double kEquallyFast = 1.02;

/// A compressor with the collective that has the shortest predicted step.
struct SpecAdvice {
  SweepPoint point;
  bool is_baseline = false;
  PredictedStep step;            ///< the baselines' steps are with the fastest collective of each
  std::optional<double> on_cpu;  ///< s of the step with this CPU's codec times, under kMemory
  /// |decoded - c| / |c| of one rank's payloads; c is gradient plus memory. Two shots compress the
  /// mean once more, which is not in it.
  double error = 0;
  std::optional<double> estimation;  ///< k-hat / k; none where the method has no target
  PredictedBreakEven break_even;     ///< against the faster baseline
  std::vector<TrainingResult> trainings;
};

/// The exchange of one class of tensors by itself: codec and network, without overlap.
struct ClassAdvice {
  struct Row {
    std::string compressor, collective;
    double seconds = 0;
    double error = 0;
  };
  TensorClass tensor_class = TensorClass::kMatrix;
  std::size_t tensors = 0;
  double elements = 0;
  std::vector<Row> rows = {};  ///< of all compressors, the shortest time first
};

struct Advice {
  std::vector<SpecAdvice> specs;  ///< the shortest step first
  std::vector<ClassAdvice> classes;
  /// Compressors without advice and collectives without a model, each with the reason.
  std::vector<std::pair<std::string, std::string>> left_out;
  /// Tensors with fewer elements can go uncompressed: with the fastest compressor a step takes at
  /// most 1 % longer.
  std::size_t min_elements = 0;
  double uncompressed_elements = 0;  ///< of the tensors below min_elements
  std::size_t sampled_tensors = 0;
  double sampled_elements = 0;

  /// Returns the fastest compressor: of those whose step is at most kEquallyFast times as long as
  /// the shortest, the one with the least error. Null where it is not at least kWorthSaying times
  /// as fast as the faster baseline.
  const SpecAdvice* fastest() const;
  /// Returns likewise the fastest of those with an error of at most `max_error`.
  const SpecAdvice* fastest_within(double max_error) const;
};

/// The bucketing of the advice: that of thinpipe.torch's hook, each tensor compressed by itself and
/// the buckets of DDP exchanged during the backward pass.
Bucketing advised_bucketing();

/// @param progress  called after each measured compressor with the fraction that is done
/// @throws InputError for compressors that do not fit the trace, and where nothing can be predicted
Advice advise(const AdviceRequest& request, const Trace& trace,
              const std::function<void(double done, const std::string& compressor)>& progress);

/// Returns tables and sentences, at most 80 columns wide.
std::string advice_text(const Advice& advice, const AdviceRequest& request, const Trace& trace,
                        const PredictedOrigin& origin);
nlohmann::ordered_json advice_json(const Advice& advice, const AdviceRequest& request,
                                   const Trace& trace, const PredictedOrigin& origin);

}  // namespace thinpipe
