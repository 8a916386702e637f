// Selection of the elements to send: their number, the selection itself, and the interface of
// selectors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "compressors/kernels/buffer.h"
#include "compressors/kernels/select.h"
#include "compressors/kernels/signal.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {

/// Returns k = max(ceil(ratio * d), 1), at most d, for d elements. `ratio` counts as the exact
/// decimal number in the spec, without rounding errors. So 0.07 of 100 is 7, although 0.07 * 100
/// exceeds 7 in doubles.
inline std::size_t target_count(double ratio, std::size_t elements) {
  if (elements == 0) return 0;
  const double exact = ratio * static_cast<double>(elements);
  // The ratio and the product are each rounded by half an epsilon at most.
  constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();
  const auto k = static_cast<std::size_t>(std::ceil(exact * (1 - kRounding)));
  return std::clamp<std::size_t>(k, 1, elements);
}

/// The fraction of elements to send: one ratio per epoch of the warm-up, then the final one (DGC
/// section 4.1).
struct RatioSchedule {
  double ratio = 0.001;
  std::vector<double> warmup = {};

  double at(double epoch) const {
    if (!(epoch >= 0)) epoch = 0;
    return epoch < static_cast<double>(warmup.size()) ? warmup[static_cast<std::size_t>(epoch)]
                                                      : ratio;
  }
  double greatest() const {
    return warmup.empty() ? ratio
                          : std::max(ratio, *std::max_element(warmup.begin(), warmup.end()));
  }
};

/// A selector's input besides the elements.
struct SelectContext {
  std::uint64_t step = 0;
  double epoch = 0;
  std::span<const float> squares = {};  ///< GradientInput::squares; checked where needed
};

/// The chosen elements, by ascending position. The pipeline owns it and reuses it in every step.
struct Selection {
  Buffer<std::uint32_t> positions;
  Buffer<float> values;
  std::size_t count = 0;
  std::size_t target = 0;                                       ///< k; 0 without a target
  double threshold = std::numeric_limits<double>::quiet_NaN();  ///< on |c|; NaN: none was used
  int passes = 0;                                               ///< over all d elements

  /// Permits choose() to leave unchosen elements in the buffers, for the reader of the buffers to
  /// filter.
  bool may_leave_cut = false;
  /// Selects the `count` chosen elements among the first `held` of the buffers.
  std::optional<Cut> cut = std::nullopt;
  std::size_t held = 0;

  /// Begins to choose k elements by a threshold. @returns whether k > 0
  bool begin(std::size_t k) {
    target = k;
    count = 0;
    passes = 0;
    threshold = 0;
    return k > 0;
  }

  /// Chooses some of the `count` elements in the buffers; `kept` is their number where it is known.
  void choose(const Cut& which, std::optional<std::size_t> kept = std::nullopt) {
    if (!may_leave_cut) {
      count = filter(which, count, positions.data(), values.data());
      return;
    }
    cut = which;
    held = count;
    count = kept ? *kept : count_kept(which, values.first(held));
  }
};

/// One tensor's selector with its state from earlier steps.
class Selector {
 public:
  virtual ~Selector() = default;

  /// Returns the greatest number of elements that select() ever chooses.
  virtual std::size_t max_selected() const = 0;

  /// Returns whether select() reads SelectContext::squares, one for each element.
  virtual bool needs_squares() const { return false; }

  /// Writes the chosen elements to `selection`, whose buffers have space for all elements and
  /// kCompactSlack more. A selector that reads c only through Signal's own passes saves one pass,
  /// because Signal can compute c within the first one.
  virtual void select(Signal& c, const SelectContext& context, Selection& selection) = 0;
  void select(std::span<const float> c, const SelectContext& context, Selection& selection) {
    Signal signal(c);
    select(signal, context, selection);
  }

  /// Receives the positions actually sent: a value codec may have dropped some (exp4).
  virtual void sent(std::span<const std::uint32_t> /*positions*/) {}
  /// Returns false where sent() does nothing and need not be called.
  virtual bool minds_sent() const { return false; }

  // State carried between steps; most selectors have none.
  virtual void reset() {}
  virtual std::size_t state_size() const { return 0; }
  virtual void save(ByteWriter& /*out*/) const {}
  virtual void load(ByteReader& /*in*/) {}
};

}  // namespace thinpipe
