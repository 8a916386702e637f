// Which elements of a tensor are sent: how many, what a selection is, and the interface of
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

/// k = max(ceil(ratio * d), 1), at most d. `ratio` is meant as the decimal number that was
/// written: 0.07 of 100 is 7, although 0.07 * 100 exceeds 7 in doubles.
inline std::size_t target_count(double ratio, std::size_t elements) {
  if (elements == 0) return 0;
  const double exact = ratio * static_cast<double>(elements);
  const auto k = static_cast<std::size_t>(std::ceil(exact * (1 - 1e-12)));
  return std::clamp<std::size_t>(k, 1, elements);
}

/// The share of elements to send: one ratio per epoch of the warm-up, then the final one (DGC
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
  std::span<const float> squares = {};  ///< GradientInput::squares; checked by who needs them
};

/// The elements chosen, by ascending position. Owned by the pipeline, reused in every step.
struct Selection {
  Buffer<std::uint32_t> positions;
  Buffer<float> values;
  std::size_t count = 0;
  std::size_t target = 0;                                       ///< k; 0 where there is no target
  double threshold = std::numeric_limits<double>::quiet_NaN();  ///< on |c|; NaN: none was used
  int passes = 0;                                               ///< over all d elements

  /// True: choose() may leave it to the reader of the buffers to leave out what was not chosen.
  bool may_leave_cut = false;
  /// Which of the first `held` elements of the buffers are the `count` chosen.
  std::optional<Cut> cut = std::nullopt;
  std::size_t held = 0;

  /// Begins to choose k elements by a threshold. @returns whether there are any to choose
  bool begin(std::size_t k) {
    target = k;
    count = 0;
    passes = 0;
    threshold = 0;
    return k > 0;
  }

  /// Chooses some of the `count` elements in the buffers; `kept` of them where that is known.
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

/// One tensor's selector with what it learned from earlier steps.
class Selector {
 public:
  virtual ~Selector() = default;

  /// The most elements select() ever chooses.
  virtual std::size_t max_selected() const = 0;

  /// Fills `selection`, whose buffers have room for all elements and kCompactSlack more.
  /// A selector that reads c only through Signal's passes saves one.
  virtual void select(Signal& c, const SelectContext& context, Selection& selection) = 0;
  void select(std::span<const float> c, const SelectContext& context, Selection& selection) {
    Signal signal(c);
    select(signal, context, selection);
  }

  /// Takes the positions really sent: a value codec may have dropped some (exp4).
  virtual void sent(std::span<const std::uint32_t> /*positions*/) {}
  /// False: sent() does nothing and need not be called.
  virtual bool minds_sent() const { return false; }

  // State carried between steps; most selectors have none.
  virtual void reset() {}
  virtual std::size_t state_size() const { return 0; }
  virtual void save(ByteWriter& /*out*/) const {}
  virtual void load(ByteReader& /*in*/) {}
};

}  // namespace thinpipe
