// Codecs of the values of selected elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compressors/wire/bytes.h"

namespace thinpipe {

/// Codec of values. The encoded size depends on their number alone, so that any value can be
/// decoded by its index.
class ValueCodec {
 public:
  virtual ~ValueCodec() = default;

  /// Drops elements whose values this codec does not send (exp4), keeping the order; both arrays
  /// have the same length. @returns the number that stays. Called before encode().
  virtual std::size_t admit(std::span<std::uint32_t> /*positions*/, std::span<float> values) const {
    return values.size();
  }
  /// Returns the exact bytes of `count` values.
  virtual std::size_t size(std::size_t count) const = 0;
  /// Writes size(values.size()) bytes and replaces each value by the one that receivers decode.
  virtual void encode(std::span<float> values, ByteWriter& out) const = 0;
  /// Reads the values first ... first + values.size() - 1 of an encoded array. @throws PayloadError
  virtual void decode(std::span<const std::byte> encoded, std::size_t first,
                      std::span<float> values) const = 0;
  /// Returns true where values are written as in memory, and none is dropped.
  virtual bool verbatim() const { return false; }
  /// Returns the bits per value of a large number of values.
  virtual double expected_bits() const = 0;
};

/// Makes the codec of Strom's values, which are all a step of the same size. Each value takes one
/// bit, lowest bit first, which is 1 for a negative step. Values decode to +tau or -tau; sender and
/// receiver know tau from the spec. The unused bits of the last byte are written as 0 and not read.
std::unique_ptr<ValueCodec> make_tau_codec(float tau);

/// Return the names of all other codecs, and a codec by name.
/// * fp32: 32-bit floats, exact;
/// * fp16, bf16: 16-bit floats, rounded to the nearest (element_type.h);
/// * int8: 255 levels, scaled by the greatest magnitude (the "8-bit int" of 3LC section 5.1);
/// * int2: a sign and one of two magnitudes per value. Each group of 512 values has its own two
///   magnitudes: the mean of all magnitudes below the group's mean magnitude, and the mean of all
///   other magnitudes;
/// * exp4: a sign and a 3-bit exponent, which counts down from the greatest exponent. Values too
///   small for 3 bits are not sent (Tsuzuku et al., section 4.2);
/// * sign: a sign per value, and one mean magnitude for all;
/// * mean: one 32-bit float, the mean of all (SBC alg. 2).
/// @throws InputError for an unknown name.
const std::vector<std::string>& value_codec_names();
std::unique_ptr<ValueCodec> make_value_codec(const std::string& name);

}  // namespace thinpipe
