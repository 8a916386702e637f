// Variance-based compression, in which an element waits until its accumulated value stands out from
// its variance; Strom's steps of a fixed size; and the hybrid of both. The selecting pass updates
// the variances; afterwards they are corrected for the elements sent.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "compressors/encode/value_codec.h"
#include "compressors/kernels/select.h"
#include "compressors/memory/memory.h"
#include "compressors/methods/selectors.h"
#include "compressors/methods/sparse.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {
namespace {

/// Selector of variance-based compression (tau == 0), which sends the value itself, and of the
/// hybrid method. The latter has |r| > tau as a second condition. It sends S = tau with the sign of
/// r, after which v = max(v - 2 S r + S^2, 0) (Tsuzuku et al., fig. 2). Combine it with a residual
/// memory.
class VarianceSelector : public Selector {
 public:
  VarianceSelector(std::size_t elements, float tau, VarianceOptions options)
      : options_(options),
        tau_(tau),
        variances_(elements, 0.0F),
        chosen_(tau > 0 ? elements : 0),
        corrected_(elements) {}

  std::size_t max_selected() const override { return variances_.size(); }

  bool needs_squares() const override { return true; }

  void select(Signal& signal, const SelectContext& context, Selection& selection) override {
    const AmbiguityOptions options{.alpha = options_.alpha,
                                   .zeta = options_.zeta,
                                   .limit = tau_ > 0 ? key_above(static_cast<double>(tau_)) : 0};
    selection.count =
        signal.choose_unambiguous(context.squares, options, variances_, selection.positions.data(),
                                  selection.values.data(), corrected_.data());
    selection.target = 0;
    selection.threshold =
        tau_ > 0 ? static_cast<double>(tau_) : std::numeric_limits<double>::quiet_NaN();
    selection.passes = 1;
    if (tau_ > 0) send_steps(selection);
  }

  bool minds_sent() const override { return true; }
  void sent(std::span<const std::uint32_t> positions) override {
    if (tau_ == 0) return clear_at(positions, variances_);
    std::size_t i = 0;  // both are ascending, and every sent element was chosen
    for (std::uint32_t position : positions) {
      while (chosen_[i] != position) ++i;
      variances_[position] = corrected_[i];
    }
  }

  void reset() override { std::fill(variances_.begin(), variances_.end(), 0.0F); }
  std::size_t state_size() const override { return variances_.size() * sizeof(float); }
  void save(ByteWriter& out) const override { save_floats(out, variances_); }
  void load(ByteReader& in) override { load_floats(in, variances_, "variances"); }

 private:
  /// Replaces r by S, and v by its value after S is sent.
  void send_steps(Selection& selection) {
    for (std::size_t i = 0; i < selection.count; ++i) {
      const float r = selection.values[i];
      const float step = std::copysign(tau_, r);
      const float variance = corrected_[i] - 2 * step * r + step * step;
      // A NaN or an infinity becomes 0.
      corrected_[i] = variance > 0 && std::isfinite(variance) ? variance : 0.0F;
      chosen_[i] = selection.positions[i];
      selection.values[i] = step;
    }
  }

  VarianceOptions options_;
  float tau_;
  std::vector<float> variances_;  ///< v
  Buffer<std::uint32_t> chosen_;  ///< positions of the last selection; hybrid only
  Buffer<float> corrected_;       ///< v of these elements after sending
};

/// Sends tau with the sign of c where |c| > tau (Strom, 2015). Combine it with a residual.
class StromSelector : public Selector {
 public:
  StromSelector(std::size_t elements, float tau) : elements_(elements), tau_(tau) {}

  std::size_t max_selected() const override { return elements_; }
  void select(Signal& signal, const SelectContext& /*context*/, Selection& selection) override {
    selection.count = signal.compact(key_above(static_cast<double>(tau_)),
                                     selection.positions.data(), selection.values.data());
    for (float& value : selection.values.first(selection.count)) {
      value = std::copysign(tau_, value);
    }
    selection.target = 0;
    selection.threshold = static_cast<double>(tau_);
    selection.passes = 1;
  }

 private:
  std::size_t elements_;
  float tau_;
};

/// Returns the parameters that the methods of Tsuzuku et al. share.
std::vector<ParameterInfo> variance_parameters() {
  return {real_parameter("alpha", "1",
                         "variances that an element's squared sum must exceed; the paper: 1 to 2",
                         0, 1e6),
          real_parameter("zeta", "0.999", "decay of the variances in every step", 0, 1)};
}

/// Returns the parameter of Strom's step.
ParameterInfo tau_parameter() {
  return real_parameter("tau", "0.01", "threshold and decoded magnitude", 1e-30,
                        std::numeric_limits<float>::max());
}

/// Returns the fraction of parameters that is sent, from Tsuzuku et al., table 2, momentum SGD. The
/// table has the inverse, parameters over parameters sent, at alpha 1, 1.5 and 2; the nearest alpha
/// is used.
double density_of(const Parameters& parameters) {
  const double alpha = parameters.real("alpha");
  return 1 / (alpha < 1.25 ? 103.8 : alpha < 1.75 ? 400.7 : 990.7);
}

/// Returns the traffic of both methods with variances: their squares are a second input, and every
/// step changes all variances.
EncodeTraffic traffic_of_variances(const Parameters& /*parameters*/) {
  return {.inputs = 2, .states = 1};
}

const Registration kVariance{sparse_method({
    .name = "variance",
    .summary = "elements whose accumulated value is unambiguous, by the variance over the batch",
    .source = "Tsuzuku et al., Variance-based Gradient Compression, fig. 1, eq. 3",
    .ratio_name = "",
    .memory = "clear",
    .values = "exp4",
    .positions = "index28",
    .parameters = variance_parameters(),
    .needs_squares = true,
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_variance_selector(tensor.elements, variance_options(parameters));
        },
    .density = density_of,
    .traffic = traffic_of_variances,
})};

// Variance-based compression with Strom's steps as values.
const Registration kHybrid{sparse_method({
    .name = "hybrid",
    .summary = "steps of a fixed size where the accumulated value is large and unambiguous",
    .source = "Tsuzuku et al., Variance-based Gradient Compression, section 4.5, fig. 2",
    .ratio_name = "",
    .values = "tau",
    .parameters = join({{tau_parameter()}, variance_parameters()}),
    .needs_squares = true,
    .own =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          const auto tau = static_cast<float>(parameters.real("tau"));
          return OwnParts{.selector = std::make_unique<VarianceSelector>(
                              tensor.elements, tau, variance_options(parameters)),
                          .values = make_tau_codec(tau)};
        },
    // Table 2, momentum SGD, the smaller of two thresholds.
    .density = [](const Parameters&) { return 1 / 470.9; },
    .traffic = traffic_of_variances,
})};

// Strom's method: steps of a fixed size where the residual exceeds it.
const Registration kStrom{sparse_method({
    .name = "strom",
    .summary = "steps of a fixed size where the accumulated value is larger, one bit each",
    .source = "Strom, Scalable distributed DNN training using commodity GPU cloud computing, "
              "Interspeech 2015",
    .ratio_name = "",
    .values = "tau",
    .parameters = {tau_parameter()},
    .own =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          const auto tau = static_cast<float>(parameters.real("tau"));
          return OwnParts{.selector = std::make_unique<StromSelector>(tensor.elements, tau),
                          .values = make_tau_codec(tau)};
        },
    // Tsuzuku et al., table 2, momentum SGD, the middle of three thresholds.
    .density = [](const Parameters&) { return 1 / 35.2; },
})};

}  // namespace

std::unique_ptr<Selector> make_variance_selector(std::size_t elements,
                                                 const VarianceOptions& options) {
  return std::make_unique<VarianceSelector>(elements, 0.0F, options);
}

VarianceOptions variance_options(const Parameters& parameters) {
  if (period_of(parameters) != 1 || parameters.real("clip") != 0) {
    throw InputError("spec '" + parameters.text() +
                     "': second moments of accumulated or clipped gradients are unknown; expected "
                     "delay=1 and clip=0");
  }
  return {.alpha = static_cast<float>(parameters.real("alpha")),
          .zeta = static_cast<float>(parameters.real("zeta"))};
}

}  // namespace thinpipe
