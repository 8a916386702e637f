// Which elements of a tensor are sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "compressors/kernels/buffer.h"
#include "compressors/select/signal.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {

/// What a selector may know besides the elements.
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
};

/// One tensor's selector with what it learned from earlier steps.
class Selector {
 public:
  virtual ~Selector() = default;

  /// The most elements select() ever chooses.
  virtual std::size_t max_selected() const = 0;

  /// Fills `selection`, whose buffers have room for all elements and kCompactSlack more.
  virtual void select(std::span<const float> c, const SelectContext& context,
                      Selection& selection) = 0;

  /// The same; a selector that reads c only through Signal's passes saves one.
  virtual void select_signal(Signal& signal, const SelectContext& context, Selection& selection) {
    select(signal.values(), context, selection);
  }

  /// What of the selection was really sent: a value codec may have dropped some (exp4).
  virtual void sent(std::span<const std::uint32_t> /*positions*/) {}

  // State carried between steps; most selectors have none.
  virtual void reset() {}
  virtual std::size_t state_size() const { return 0; }
  virtual void save(ByteWriter& /*out*/) const {}
  virtual void load(ByteReader& /*in*/) {}
};

}  // namespace thinpipe
