// The state v is updated in the pass that selects; what was really sent corrects it afterwards.
#include "compressors/select/variance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "compressors/kernels/ambiguity.h"
#include "compressors/kernels/compact.h"
#include "compressors/memory/state.h"

namespace thinpipe {
namespace {

/// tau == 0: the value itself is sent. Otherwise tau with its sign.
class VarianceSelector : public Selector {
 public:
  VarianceSelector(std::size_t elements, float tau, VarianceOptions options)
      : options_(std::move(options)),
        tau_(tau),
        variances_(elements, 0.0F),
        chosen_(tau > 0 ? elements : 0),
        corrected_(elements) {}

  std::size_t max_selected() const override { return variances_.size(); }

  void select(Signal& signal, const SelectContext& context, Selection& selection) override {
    const auto c = signal.values();
    if (context.squares.size() != c.size()) {
      throw InputError("tensor '" + options_.tensor +
                       "': " + std::to_string(context.squares.size()) + " second moments for " +
                       std::to_string(c.size()) +
                       " elements; this method needs one for each, and the trace carries none "
                       "unless it was captured with them");
    }
    const AmbiguityOptions options{.alpha = options_.alpha,
                                   .zeta = options_.zeta,
                                   .limit = tau_ > 0 ? key_above(static_cast<double>(tau_)) : 0};
    selection.count =
        choose_unambiguous(c, context.squares, options, variances_, selection.positions.data(),
                           selection.values.data(), corrected_.data());
    selection.target = 0;
    selection.threshold =
        tau_ > 0 ? static_cast<double>(tau_) : std::numeric_limits<double>::quiet_NaN();
    selection.passes = 1;
    if (tau_ > 0) send_steps(selection);
  }

  bool minds_sent() const override { return true; }
  void sent(std::span<const std::uint32_t> positions) override {
    if (tau_ == 0) {
      for (std::uint32_t position : positions) variances_[position] = 0.0F;
      return;
    }
    std::size_t i = 0;  // both are ascending, and all that was sent was chosen
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
  /// Replaces r by S and v by what it becomes where S is sent.
  void send_steps(Selection& selection) {
    for (std::size_t i = 0; i < selection.count; ++i) {
      const float r = selection.values[i];
      const float step = std::copysign(tau_, r);
      const float variance = corrected_[i] - 2 * step * r + step * step;
      // Neither a NaN nor an infinity stays.
      corrected_[i] = variance > 0 && std::isfinite(variance) ? variance : 0.0F;
      chosen_[i] = selection.positions[i];
      selection.values[i] = step;
    }
  }

  VarianceOptions options_;
  float tau_;
  std::vector<float> variances_;  ///< v
  Buffer<std::uint32_t> chosen_;  ///< positions of the last selection; hybrid only
  Buffer<float> corrected_;       ///< v of these where they are sent
};

class StromSelector : public Selector {
 public:
  StromSelector(std::size_t elements, float tau) : elements_(elements), tau_(tau) {}

  std::size_t max_selected() const override { return elements_; }
  void select(Signal& signal, const SelectContext& /*context*/, Selection& selection) override {
    const auto c = signal.values();
    selection.count = compact(c, KeyOrder::kMagnitude, key_above(static_cast<double>(tau_)),
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

}  // namespace

std::unique_ptr<Selector> make_variance_selector(std::size_t elements,
                                                 const VarianceOptions& options) {
  return std::make_unique<VarianceSelector>(elements, 0.0F, options);
}

std::unique_ptr<Selector> make_hybrid_selector(std::size_t elements, float tau,
                                               const VarianceOptions& options) {
  return std::make_unique<VarianceSelector>(elements, tau, options);
}

std::unique_ptr<Selector> make_strom_selector(std::size_t elements, float tau) {
  return std::make_unique<StromSelector>(elements, tau);
}

}  // namespace thinpipe
