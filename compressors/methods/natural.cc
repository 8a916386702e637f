// Natural compression: stochastic rounding to powers of two, nine bits per element in two arrays.
#include <cstdint>
#include <memory>

#include "compressors/kernels/quantize.h"
#include "compressors/methods/dense.h"
#include "compressors/methods/quantizers.h"

namespace thinpipe {
namespace {

class NaturalBucket : public BucketCodec {
 public:
  std::size_t max_size(std::size_t n) const override { return n + (n + 7) / 8; }
  std::size_t encode(Signal& signal, const BucketContext& context, std::span<float> remainder,
                     ByteWriter& out) override {
    const auto c = signal.values();
    auto* const bytes = reinterpret_cast<std::uint8_t*>(out.free().data());
    natural_pack(c, context.key, remainder, bytes, bytes + c.size());
    out.advance(max_size(c.size()));
    return c.size();
  }
  void decode_add(ByteReader& in, float factor, std::span<float> out) const override {
    const auto exponents = in.get_bytes(out.size(), "exponents");
    const auto signs = in.get_bytes((out.size() + 7) / 8, "signs");
    const std::size_t used = out.size() % 8;
    if (used != 0 && (static_cast<unsigned>(signs.back()) >> used) != 0) {
      throw PayloadError("bits after the last element's sign are not zero");
    }
    if (!natural_unpack_add(reinterpret_cast<const std::uint8_t*>(exponents.data()),
                            reinterpret_cast<const std::uint8_t*>(signs.data()), factor, out)) {
      throw PayloadError("an exponent in the payload is 255; expected at most 254");
    }
  }
  int passes(bool /*keeps*/) const override { return 1; }
};

}  // namespace

std::unique_ptr<BucketCodec> make_natural_bucket() { return std::make_unique<NaturalBucket>(); }

namespace {

const Registration kNatural{dense_method({
    .name = "natural",
    .summary = "a sign and an 8-bit exponent, rounded stochastically: unbiased",
    .source = "Horvath et al., Natural Compression for Distributed Deep Learning, 2019",
    .quantizer =
        [](const Parameters&, const TensorInfo& tensor, const CompressorSettings& settings) {
          return make_bucket_quantizer(make_natural_bucket(), whole_tensor(tensor, settings));
        },
    .expected_bits = [](const Parameters&) { return 9.0; },
})};

}  // namespace
}  // namespace thinpipe
