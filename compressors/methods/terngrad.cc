// TernGrad: ternary values of two bits, unbiased except for its clipping. One pass computes the
// scale, one rounds.
#include <cmath>
#include <cstdint>
#include <memory>

#include "compressors/kernels/quantize.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/dense.h"
#include "compressors/methods/quantizers.h"
#include "compressors/wire/scale.h"

namespace thinpipe {
namespace {

constexpr int kTernaryBits = 2;
/// A variance under this fraction of the mean square is rounding error of equal values.
constexpr double kNoSpread = 1e-12;

class TernGradBucket : public BucketCodec, public ScaleOf {
 public:
  explicit TernGradBucket(double sigmas) : sigmas_(sigmas) {}

  std::size_t max_size(std::size_t n) const override {
    return sizeof(float) + packed_size(n, kTernaryBits);
  }
  std::size_t encode(Signal& c, const BucketContext& context, std::span<float> remainder,
                     ByteWriter& out) override {
    const float scale = context.shared_scale > 0 ? level_step(context.shared_scale, 1)
                        : sigmas_ == 0           ? level_step(c.max_magnitude(), 1)
                                                 : scale_of(c.values());
    out.put(scale);
    const std::size_t nonzero = pack_levels(c.values(), scale, rounding(context), remainder,
                                            reinterpret_cast<std::uint8_t*>(out.free().data()));
    out.advance(packed_size(c.size(), kTernaryBits));
    return nonzero;
  }
  std::size_t encode_buckets(std::span<const float> c, std::size_t bucket,
                             const BucketContext& context, std::span<float> remainder,
                             std::span<std::byte> out) override {
    if (sigmas_ > 0 || context.shared_scale > 0) {
      return BucketCodec::encode_buckets(c, bucket, context, remainder, out);
    }
    return pack_level_buckets(c, bucket, LevelRange::kMax, rounding(context), remainder,
                              reinterpret_cast<std::uint8_t*>(out.data()));
  }
  void decode_add(ByteReader& in, float factor, std::span<float> out) const override {
    const auto scale = in.get<float>("the scale");
    check_scale(scale, "the scale");
    get_levels(in, factor * scale, kTernaryBits, out);
  }
  int passes(bool /*keeps*/) const override { return 2; }

  float scale_of(std::span<const float> c) const override {
    if (sigmas_ == 0 || c.empty()) return level_step(max_magnitude(c), 1);
    const Spread spread = signed_spread(c);
    const float most = spread.max_magnitude;
    const double square = spread.squares / static_cast<double>(c.size());
    const double variance = spread.variance();
    if (!(variance > kNoSpread * square)) return level_step(most, 1);
    const double limit = sigmas_ * std::sqrt(variance);
    // A tensor with a NaN has no limit.
    return level_step(static_cast<double>(most) > limit ? finite(limit) : most, 1);
  }

 private:
  static LevelRounding rounding(const BucketContext& context) {
    return {.bits = kTernaryBits, .key = context.key, .first = context.first};
  }

  double sigmas_;
};

const Registration kTernGrad{dense_method({
    .name = "terngrad",
    .summary = "three values chosen stochastically, two bits each, one scale for all workers",
    .source = "Wen et al., TernGrad, 2017, sections 3.1 and 4",
    .parameters = {real_parameter("sigma", "2.5",
                                  "clip at this many standard deviations; 0: no clipping", 0, 1e6),
                   flag_parameter("shared", "true", "all workers use the greatest of their scales"),
                   bucket_parameter("0")},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          const double sigmas = parameters.real("sigma");
          const BucketOptions bucket = bucket_of(parameters, tensor, settings);
          if (!parameters.flag("shared"))
            return make_bucket_quantizer(make_terngrad_bucket(sigmas), bucket);
          if (bucket.bucket != 0)
            throw InputError("spec '" + parameters.text() +
                             "': scales of buckets cannot be shared; expected shared=false");
          return make_shared_terngrad_quantizer(sigmas, bucket.stream);
        },
    .expected_bits =
        [](const Parameters& parameters) { return 2 + bits_per_bucket(parameters, 32); },
    .traffic = traffic_of_scales,
})};

}  // namespace

std::unique_ptr<BucketCodec> make_terngrad_bucket(double sigmas) {
  return std::make_unique<TernGradBucket>(sigmas);
}

std::unique_ptr<Quantizer> make_shared_terngrad_quantizer(double sigmas, std::uint64_t stream) {
  return make_bucket_quantizer(make_terngrad_bucket(sigmas),
                               {.stream = stream, .shares_scale = true});
}

}  // namespace thinpipe
