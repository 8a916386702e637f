// How the values of selected elements are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compressors/wire/bytes.h"

namespace thinpipe {

/// Values whose encoded size depends on their number alone, so that any one of them can be decoded
/// by its index.
class ValueCodec {
 public:
  virtual ~ValueCodec() = default;

  /// Drops elements whose values this codec does not send (exp4), keeping the order; both arrays
  /// have the same length. @returns how many stay. Called before encode().
  virtual std::size_t admit(std::span<std::uint32_t> /*positions*/, std::span<float> values) const {
    return values.size();
  }
  /// Exact bytes of `count` values.
  virtual std::size_t size(std::size_t count) const = 0;
  /// Writes size(values.size()) bytes and replaces each value by what receivers will decode.
  virtual void encode(std::span<float> values, ByteWriter& out) const = 0;
  /// Values first ... first + values.size() - 1 of an encoded array.
  virtual void decode(std::span<const std::byte> encoded, std::size_t first,
                      std::span<float> values) const = 0;
  /// True: values are written as they lie in memory, and none is dropped.
  virtual bool verbatim() const { return false; }
  /// Bits a value when there are many.
  virtual double expected_bits() const = 0;
};

/// 32-bit floats, exact.
std::unique_ptr<ValueCodec> make_fp32_codec();
/// 16-bit floats, rounded to the nearest (element_type.h).
std::unique_ptr<ValueCodec> make_fp16_codec();
std::unique_ptr<ValueCodec> make_bf16_codec();
/// 255 levels, scaled by the greatest magnitude (the "8-bit int" of 3LC section 5.1).
std::unique_ptr<ValueCodec> make_int8_codec();
/// A sign and one of two magnitudes for each group of 512: the means of those below the group's
/// mean magnitude and of the others.
std::unique_ptr<ValueCodec> make_int2_codec();
/// A sign and an exponent of 3 bits below the greatest; smaller values are not sent (Tsuzuku et
/// al., section 4.2).
std::unique_ptr<ValueCodec> make_exp4_codec();
/// A sign, and one mean magnitude for all.
std::unique_ptr<ValueCodec> make_sign_codec();
/// One 32-bit float, the mean of all (SBC alg. 2).
std::unique_ptr<ValueCodec> make_mean_codec();

/// Strom's values, a fixed step with a sign, one bit each: they decode to +tau or -tau, which both
/// ends know from the spec. 1 bit each, set for negative ones, lowest bit first; what is left of
/// the last byte is 0 and not looked at.
std::unique_ptr<ValueCodec> make_tau_codec(float tau);

/// The codecs by name, and one of them. @throws InputError for an unknown name.
const std::vector<std::string>& value_codec_names();
std::unique_ptr<ValueCodec> make_value_codec(const std::string& name);

}  // namespace thinpipe
