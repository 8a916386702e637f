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

#include "compressors/spec.h"
#include "harness/advise/tensor_sample.h"
#include "harness/files/open_trace.h"
#include "harness/plan/plan.h"
#include "harness/predict/codec_profile.h"
#include "harness/predict/output.h"
#include "harness/predict/predictor.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// A row of a recipe's page (docs/results/reproduce/RECIPE.md) and the row that it is compared
/// with. A test looks both rows up in the page.
struct TrainingResult {
  const char* compressor;  ///< a spec
  const char* recipe;
  const char* training;  ///< model, data and optimiser
  const char* row;       ///< of the page's table of figures
  const char* figure;    ///< in that row, with its 95 % interval: accuracy, or perplexity
  const char* baseline_row;
  const char* baseline_figure;
};

const std::vector<TrainingResult>& training_results();

/// Returns the results of trainings with this compressor and all its parameters.
std::vector<TrainingResult> trainings_with(const Spec& compressor);

/// Returns "accuracy 93.52 ± 1.25 %, without compression 93.16 ± 0.79 %: LeNet-5 on generated
/// digits, SGD (recipe error-feedback)".
std::string to_string(const TrainingResult& result);

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
  /// Tensors with fewer elements can go uncompressed: with each recommended compressor a step takes
  /// at most 1 % longer.
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
  /// Returns fastest() and fastest_within(), each once and without nulls.
  std::vector<const SpecAdvice*> recommended(double max_error) const;
};

/// The bucketing of the advice: that of thinpipe.torch's hook, each tensor compressed by itself and
/// the buckets of DDP exchanged during the backward pass.
Bucketing advised_bucketing();

/// @param progress  called after each measured compressor with the fraction that is done
/// @throws InputError for compressors that do not fit the trace, and where nothing can be predicted
Advice advise(const AdviceRequest& request, const Trace& trace,
              const std::function<void(double done, const std::string& compressor)>& progress);

// Codec times and payload sizes of a compressor by tensor, from which the profile of any bucketing
// of these tensors can be put together.

/// Measures a compressor on the sample and returns its profile on the whole trace, with one bucket
/// for each tensor, in the order of the trace. The figures of a tensor are those of the sampled
/// tensor that represents it, in proportion to their elements.
/// @param collective  decides the operation on payloads
/// @param seconds     no further step is measured after this time; at least two are
/// @throws InputError as measure_codec()
CodecProfile profile_by_tensor(const TensorSample& sample, const Trace& trace,
                               const CompressorRules& compressor, const Spec& collective,
                               const SweepOptions& options, double seconds);

/// Joins the buckets of a profile by tensor: the i-th bucket of the result has the tensors
/// groups[i]. Tensors that are in no group are left out.
CodecProfile joined_profile(const CodecProfile& by_tensor,
                            const std::vector<std::vector<std::size_t>>& groups);

/// Returns `by_tensor` with the buckets of the given tensors from `other`, whose compressor they
/// have in place of the first profile's.
CodecProfile with_tensors_of(CodecProfile by_tensor, const CodecProfile& other,
                             const std::vector<std::size_t>& tensors);

/// Returns tables and sentences, at most 80 columns wide.
std::string advice_text(const Advice& advice, const AdviceRequest& request, const Trace& trace,
                        const PredictedOrigin& origin);
nlohmann::ordered_json advice_json(const Advice& advice, const AdviceRequest& request,
                                   const Trace& trace, const PredictedOrigin& origin);

}  // namespace thinpipe
