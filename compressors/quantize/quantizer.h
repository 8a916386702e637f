// Codecs that send every element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/signal.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {

/// A quantiser's report on one tensor.
struct QuantizeReport {
  std::size_t nonzero = 0;  ///< elements that decode to something other than zero
  int passes = 0;           ///< over the d elements
};

struct QuantizeContext {
  std::uint64_t step = 0;
  float shared_scale = 0;  ///< greatest scale_of() over all workers; 0: this worker's own
};

/// One tensor's quantiser with its state between steps, if any (PowerSGD's Q).
class Quantizer {
 public:
  virtual ~Quantizer() = default;

  /// Returns the upper bound of a payload in bytes.
  virtual std::size_t max_encoded_size(std::size_t elements) const = 0;

  /// Writes the payload of c to `out`. If `remainder` is not empty, writes the quantisation error
  /// to it: c minus the decoded payload. `remainder` may be the same array as c.
  virtual QuantizeReport encode(std::span<const float> c, const QuantizeContext& context,
                                std::span<float> remainder, ByteWriter& out) = 0;

  /// Encodes c, the sum of gradient and error-feedback memory, which need not be computed yet. A
  /// quantiser that begins with Signal::moments() computes the sum in the same pass, which saves
  /// one pass.
  virtual QuantizeReport encode_signal(Signal& c, const QuantizeContext& context,
                                       std::span<float> remainder, ByteWriter& out) {
    return encode(c.values(), context, remainder, out);
  }

  /// Computes out += factor * decoded. @throws PayloadError
  virtual void decode_add(ByteReader in, float factor, std::span<float> out) const = 0;

  // State carried between steps; most quantisers have none.
  virtual void reset() {}
  virtual std::size_t state_size() const { return 0; }
  virtual void save(ByteWriter& /*out*/) const {}
  virtual void load(ByteReader& /*in*/) {}
};

/// A quantiser whose scale all workers may share (SharedScale).
class ScaleOf {
 public:
  /// Returns this worker's scale for c, > 0 unless c is all zeros.
  virtual float scale_of(std::span<const float> c) const = 0;

 protected:
  ~ScaleOf() = default;
};

/// A quantiser that needs several all-reduces per step (MultiRound). c, the sum of gradient and
/// error-feedback memory, is the same array in all rounds of a step. The last round writes c minus
/// this worker's own contribution to `remainder`.
class QuantizerRounds {
 public:
  virtual int rounds() const = 0;
  virtual QuantizeReport first_round(std::span<const float> c, std::span<const float> remainder,
                                     ByteWriter& out) = 0;
  /// Receives `mean`, the all-reduced mean of the floats of round `round` (counted from 1). Writes
  /// this worker's floats of the next round. After the last round, rounds(), writes the payload
  /// instead.
  virtual void next_round(int round, std::span<const float> mean, std::span<const float> c,
                          std::span<float> remainder, ByteWriter& out) = 0;
  virtual void own_payload(ByteWriter& out) const = 0;

 protected:
  ~QuantizerRounds() = default;
};

}  // namespace thinpipe
