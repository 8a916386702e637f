// 3LC: one pass for the scale, one that quantises, packs and leaves the error, one over the bytes.
#include "compressors/quantize/ternary.h"

#include <cmath>
#include <limits>

#include "compressors/encode/zero_run.h"
#include "compressors/kernels/buffer.h"
#include "compressors/kernels/int8.h"
#include "compressors/kernels/stochastic_ternary.h"
#include "compressors/kernels/ternary.h"

namespace thinpipe {
namespace {

class TernaryQuantizer : public Quantizer {
 public:
  TernaryQuantizer(std::size_t elements, const TernaryOptions& options)
      : options_(options), packed_(quartic_size(elements)) {}

  std::size_t max_encoded_size(std::size_t elements) const override {
    return sizeof(float) + quartic_size(elements);
  }

  QuantizeReport encode(std::span<const float> c, const QuantizeContext& context,
                        std::span<float> remainder, ByteWriter& out) override {
    Signal signal(c);
    return encode_signal(signal, context, remainder, out);
  }

  QuantizeReport encode_signal(Signal& signal, const QuantizeContext& context,
                               std::span<float> remainder, ByteWriter& out) override {
    // A product that overflows, an infinity or a NaN would make every decoded value infinite or
    // NaN: the scale is at most the greatest float.
    float scale = options_.sparsity * signal.max_magnitude();
    if (!std::isfinite(scale)) scale = std::numeric_limits<float>::max();
    out.put(scale);
    const auto c = signal.values();
    auto* const bytes = reinterpret_cast<std::uint8_t*>(out.free().data());
    std::uint8_t* const packed = options_.zero_run ? packed_.data() : bytes;
    const std::size_t nonzero =
        options_.stochastic
            ? stochastic_ternary_pack(c, scale, random_key(options_.stream, context.step),
                                      remainder, packed)
            : ternary_pack(c, scale, remainder, packed);
    const std::size_t count = quartic_size(c.size());
    out.advance(options_.zero_run ? zero_run_encode(packed, count, bytes) : count);
    return {.nonzero = nonzero, .passes = 2};
  }

  void decode_add(ByteReader in, float factor, std::span<float> out) const override {
    const auto scale = in.get<float>("the scale");
    if (!std::isfinite(scale) || std::signbit(scale)) {
      throw PayloadError("scale in the payload is not a finite number of at least 0");
    }
    const auto rest = in.rest();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(rest.data());
    const std::size_t expected = quartic_size(out.size());
    const float value = factor * scale;
    std::size_t at = 0;  // quartic bytes decoded so far
    std::size_t i = 0;
    while (i < rest.size()) {
      if (bytes[i] > kQuarticMax) {
        if (!options_.zero_run) fail("byte over 242 without zero-run encoding");
        at += run_length(bytes[i++]);
        // A run adds zeros; only the last byte of an array may have missing elements, whose digits
        // are 0 and not the 1 of a zero.
        if (at > expected || (at == expected && out.size() % 5 != 0)) fail("run past the end");
        continue;
      }
      std::size_t literals = 1;
      while (i + literals < rest.size() && bytes[i + literals] <= kQuarticMax) ++literals;
      if (literals > expected - at) fail("more bytes than the tensor needs");
      if (!ternary_unpack_add(bytes + i, literals, at, value, out)) fail("padding is not zero");
      at += literals;
      i += literals;
    }
    if (at != expected) fail("fewer bytes than the tensor needs");
  }

 private:
  [[noreturn]] static void fail(const char* problem) {
    throw PayloadError(std::string("ternary payload: ") + problem);
  }

  TernaryOptions options_;
  Buffer<std::uint8_t> packed_;
};

}  // namespace

std::unique_ptr<Quantizer> make_ternary_quantizer(std::size_t elements,
                                                  const TernaryOptions& options) {
  return std::make_unique<TernaryQuantizer>(elements, options);
}

}  // namespace thinpipe
