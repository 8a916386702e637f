// A worker's state between steps, and the input of compression derived from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compressors/compressor.h"
#include "compressors/kernels/signal.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {

/// One tensor's memory. In a step the compressor calls c = add(gradient) and sends C(c). Then a
/// sparse compressor calls sent() with positions and the values that receivers decode there; a
/// dense compressor writes c - decoded into remainder() itself.
class Memory {
 public:
  virtual ~Memory() = default;

  /// Adds the gradient and returns c, the array to be compressed now, valid until the next call.
  /// `scale` multiplies the gradient (local clipping).
  virtual std::span<const float> add(std::span<const float> gradient, float scale) = 0;
  /// Adds as add() does, but a memory may leave the sum to the first pass over it.
  virtual Signal add_later(std::span<const float> gradient, float scale) {
    return Signal(add(gradient, scale));
  }

  /// Accumulates the gradient of a step without an exchange (SBC fig. 2a "delay").
  /// @throws std::logic_error from a memory that was made without a buffer for it
  virtual void hold(std::span<const float> gradient, float scale) = 0;

  /// Subtracts the sent values. Non-finite results become 0, so that an infinity does not stay for
  /// ever.
  virtual void sent(std::span<const std::uint32_t> positions, std::span<const float> decoded) = 0;

  /// Returns false where sent() does nothing and need not be called.
  virtual bool minds_sent() const { return true; }

  /// Restores values that were encoded but dropped afterwards. Reverses, at these positions, what
  /// sent() did to the memory or what the pipeline did to mirror(). Positions are distinct and in
  /// range. Has no effect where neither of the two changed anything.
  virtual void give_back(std::span<const std::uint32_t> positions,
                         std::span<const float> values) = 0;

  /// Returns the array that holds c until a dense compressor replaces c by c - decoded. Empty
  /// without a residual.
  virtual std::span<float> remainder() = 0;

  /// Returns the array to which the pipeline adds what receivers decode from its payload; empty for
  /// all but EF21.
  virtual std::span<float> mirror() { return {}; }

  /// Returns the distortion of the last exchange; `gradient` is the one given to add().
  virtual Distortion distortion(std::span<const float> gradient,
                                std::span<const float> decoded) const = 0;

  /// Returns the passes over the d elements that one add() makes.
  virtual int passes() const = 0;

  virtual void reset() = 0;
  virtual std::size_t state_size() const = 0;
  virtual void save(ByteWriter& out) const = 0;
  virtual void load(ByteReader& in) = 0;
};

/// Sets x[p] = 0 at distinct positions, on the current threads.
void clear_at(std::span<const std::uint32_t> positions, std::span<float> x);

/// Makes a memory without residual: c = gradient. With `buffered` it can also scale and accumulate,
/// for which it has a buffer of d elements.
std::unique_ptr<Memory> make_no_memory(std::size_t elements, bool buffered);

/// Makes error feedback: c = decay * r + gradient; r = c - decoded (SBC eq. 2, 3LC fig. 3). Where
/// gradients are accumulated over several steps (`delay`), the decay applies once per exchange.
std::unique_ptr<Memory> make_residual_memory(std::size_t elements, float decay);

/// Makes error feedback in which a sent element is 0 afterwards, even where its decoded value is
/// rounded (Tsuzuku et al., alg. 1).
std::unique_ptr<Memory> make_clear_memory(std::size_t elements, float decay);

/// Makes EF21's memory (Richtarik et al., 2021, alg. 2): c = gradient - h, h += decoded; receivers
/// have the same h by summing what they decode.
std::unique_ptr<Memory> make_ef21_memory(std::size_t elements);

struct MomentumOptions {
  float momentum = 0.9F;
  bool nesterov = false;
  bool masking = true;  ///< momentum factor masking: u = 0 where something was sent (DGC 3.3)
};

/// Makes momentum correction (Deep Gradient Compression eqs. 7 and 10): u = m u + g, v = v + u,
/// c = v.
std::unique_ptr<Memory> make_momentum_memory(std::size_t elements, const MomentumOptions& options);

/// Makes local gradient clipping before another memory (Deep Gradient Compression appendix C):
/// scales the gradient to at most |g|_2 = threshold / sqrt(workers).
std::unique_ptr<Memory> make_clipped_memory(std::unique_ptr<Memory> inner, double threshold,
                                            int workers);

}  // namespace thinpipe
