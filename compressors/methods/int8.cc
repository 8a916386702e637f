// 8-bit integers scaled by the greatest magnitude: one pass for the step, one that rounds and
// stores the error.
#include <cstdint>
#include <memory>

#include "compressors/kernels/quantize.h"
#include "compressors/methods/dense.h"
#include "compressors/methods/quantizers.h"
#include "compressors/wire/scale.h"

namespace thinpipe {
namespace {

class Int8Bucket : public BucketCodec {
 public:
  std::size_t max_size(std::size_t n) const override { return sizeof(float) + n; }
  std::size_t encode(Signal& signal, const BucketContext& /*context*/, std::span<float> remainder,
                     ByteWriter& out) override {
    const float step = level_step(signal.max_magnitude(), 127);
    const auto c = signal.values();
    out.put(step);
    const std::size_t nonzero =
        int8_quantize(c, step, remainder, reinterpret_cast<std::int8_t*>(out.free().data()));
    out.advance(c.size());
    return nonzero;
  }
  std::size_t encode_buckets(std::span<const float> c, std::size_t bucket,
                             const BucketContext& /*context*/, std::span<float> remainder,
                             std::span<std::byte> out) override {
    return int8_buckets(c, bucket, remainder, reinterpret_cast<std::uint8_t*>(out.data()));
  }
  void decode_add(ByteReader& in, float factor, std::span<float> out) const override {
    const auto step = in.get<float>("the step");
    check_scale(step, "the step");
    const auto codes = in.get_bytes(out.size(), "codes");
    int8_add(reinterpret_cast<const std::int8_t*>(codes.data()), factor * step, out);
  }
  int passes(bool /*keeps*/) const override { return 2; }
};

}  // namespace

std::unique_ptr<BucketCodec> make_int8_bucket() { return std::make_unique<Int8Bucket>(); }

namespace {

const Registration kInt8{dense_method({
    .name = "int8",
    .summary = "255 equal levels up to the greatest magnitude",
    .source = "Lim et al., 3LC, section 5.1: 8-bit int",
    .parameters = {bucket_parameter("0")},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_bucket_quantizer(make_int8_bucket(), bucket_of(parameters, tensor, settings));
        },
    .expected_bits =
        [](const Parameters& parameters) { return 8 + bits_per_bucket(parameters, 32); },
})};

}  // namespace
}  // namespace thinpipe
