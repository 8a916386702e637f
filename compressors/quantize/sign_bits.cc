// All of them are two values and a bit for each element; they differ in the values.
#include "compressors/quantize/sign_bits.h"

#include <cstring>

#include "compressors/encode/scale.h"
#include "compressors/kernels/sign_bits.h"

namespace thinpipe {
namespace {

std::size_t bytes_of(std::size_t n) { return (n + 7) / 8; }

void add_bits(ByteReader& in, SignValues values, std::span<float> out) {
  const auto bits = in.get_bytes(bytes_of(out.size()), "bits");
  const std::size_t used = out.size() % 8;
  if (used != 0 && (static_cast<unsigned>(bits.back()) >> used) != 0) {
    throw PayloadError("bits after the last element's are not zero");
  }
  sign_unpack_add(reinterpret_cast<const std::uint8_t*>(bits.data()), values, out);
}

/// Values found in the pass that packs the bits; what is left takes another one.
class ScaledSignBucket : public BucketCodec {
 public:
  explicit ScaledSignBucket(SignScale scale)
      : scale_(scale), header_((scale == SignScale::kMeans ? 2 : 1) * sizeof(float)) {}

  std::size_t max_size(std::size_t n) const override { return header_ + bytes_of(n); }
  std::size_t encode(Signal& c, const BucketContext& /*context*/, std::span<float> remainder,
                     ByteWriter& out) override {
    const auto room = out.free();
    auto* const bits = reinterpret_cast<std::uint8_t*>(room.data()) + header_;
    const PendingSum* const sum = c.take_sum();
    const SignedSums sums = sum != nullptr ? pack_signs_of_sum(*sum, scale_, bits)
                                           : pack_signs(c.values(), scale_, bits);
    const SignValues values = sign_values(scale_, sums, c.size());
    std::memcpy(room.data(), &values, header_);
    if (!remainder.empty()) leave_signs(c.values(), values, remainder);
    out.advance(max_size(c.size()));
    return (values.positive == 0 ? 0 : c.size() - sums.negatives) +
           (values.negative == 0 ? 0 : sums.negatives);
  }
  std::size_t encode_buckets(std::span<const float> c, std::size_t bucket,
                             const BucketContext& context, std::span<float> remainder,
                             std::span<std::byte> out) override {
    // Greater ones are added up as whole tensors are, on GPUs as well.
    if (bucket > kMostFused) return BucketCodec::encode_buckets(c, bucket, context, remainder, out);
    return sign_buckets(c, bucket, scale_, remainder, reinterpret_cast<std::uint8_t*>(out.data()));
  }
  void decode_add(ByteReader& in, float factor, std::span<float> out) const override {
    SignValues values;
    if (scale_ == SignScale::kMagnitude) {
      values.positive = in.get<float>("the mean magnitude");
      check_scale(values.positive, "the mean magnitude");
      values.negative = -values.positive;
    } else {
      values.positive = in.get<float>("the mean of the non-negative");
      values.negative = in.get<float>("the mean of the negative");
      check_finite(values.positive, "the mean of the non-negative");
      check_finite(values.negative, "the mean of the negative");
    }
    add_bits(in, {factor * values.positive, factor * values.negative}, out);
  }
  int passes(bool keeps) const override { return keeps ? 2 : 1; }

 private:
  static constexpr std::size_t kMostFused = 2 * kSignBlock;

  SignScale scale_;
  std::size_t header_;  ///< bytes of the values
};

class SignBucket : public BucketCodec {
 public:
  explicit SignBucket(float scale) : scale_(scale) {}

  std::size_t max_size(std::size_t n) const override { return bytes_of(n); }
  std::size_t encode(Signal& signal, const BucketContext& /*context*/, std::span<float> remainder,
                     ByteWriter& out) override {
    const auto c = signal.values();
    sign_pack(c, {scale_, -scale_}, remainder, reinterpret_cast<std::uint8_t*>(out.free().data()));
    out.advance(bytes_of(c.size()));
    return c.size();
  }
  void decode_add(ByteReader& in, float factor, std::span<float> out) const override {
    add_bits(in, {factor * scale_, -(factor * scale_)}, out);
  }
  int passes(bool /*keeps*/) const override { return 1; }

 private:
  float scale_;
};

}  // namespace

std::unique_ptr<BucketCodec> make_two_means_bucket() {
  return std::make_unique<ScaledSignBucket>(SignScale::kMeans);
}
std::unique_ptr<BucketCodec> make_mean_magnitude_bucket() {
  return std::make_unique<ScaledSignBucket>(SignScale::kMagnitude);
}
std::unique_ptr<BucketCodec> make_sign_bucket(float scale) {
  return std::make_unique<SignBucket>(scale);
}

}  // namespace thinpipe
