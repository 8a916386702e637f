// Codecs that send something for every element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

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
  float shared_scale = 0;  ///< greatest scale_of() over all workers; 0: use the own
};

/// One tensor's quantiser with what it carries between steps, if anything (PowerSGD's Q).
class Quantizer {
 public:
  virtual ~Quantizer() = default;

  virtual std::size_t max_encoded_size(std::size_t elements) const = 0;

  /// Writes the payload; where `remainder` is not empty, leaves c - decoded in it. It may be the
  /// same array as c.
  virtual QuantizeReport encode(std::span<const float> c, const QuantizeContext& context,
                                std::span<float> remainder, ByteWriter& out) = 0;

  /// The same of a memory's sum that need not be done yet: a quantiser that begins with
  /// Signal::moments() saves a pass.
  virtual QuantizeReport encode_signal(Signal& c, const QuantizeContext& context,
                                       std::span<float> remainder, ByteWriter& out) {
    return encode(c.values(), context, remainder, out);
  }

  /// out += factor * decoded. @throws PayloadError
  virtual void decode_add(ByteReader in, float factor, std::span<float> out) const = 0;

  /// Quantisers whose scale all workers may share (TernGrad): this worker's scale for c, > 0 unless
  /// c is all zeros.
  virtual bool shares_scale() const { return false; }
  virtual float scale_of(std::span<const float> /*c*/) const { return 0; }

  /// Quantisers that are exchanged in rounds of all-reduces (Compressor::rounds()). The memory's c
  /// is the same array in all rounds of a step; the last one leaves c - own part in `remainder`.
  virtual int rounds() const { return 1; }
  virtual QuantizeReport first_round(std::span<const float> /*c*/,
                                     std::span<const float> /*remainder*/, ByteWriter& /*out*/) {
    throw std::logic_error("first_round() of a quantiser that takes one round");
  }
  /// `round`: 1 with the mean of the first round's floats; at rounds() it writes the payload.
  virtual void next_round(int /*round*/, std::span<const float> /*mean*/,
                          std::span<const float> /*c*/, std::span<float> /*remainder*/,
                          ByteWriter& /*out*/) {
    throw std::logic_error("next_round() of a quantiser that takes one round");
  }
  virtual void own_payload(ByteWriter& /*out*/) const {
    throw std::logic_error("own_payload() of a quantiser that takes one round");
  }

  // State carried between steps; most quantisers have none.
  virtual void reset() {}
  virtual std::size_t state_size() const { return 0; }
  virtual void save(ByteWriter& /*out*/) const {}
  virtual void load(ByteReader& /*in*/) {}
};

}  // namespace thinpipe
