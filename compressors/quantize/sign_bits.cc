// All of them are two values and a bit for each element; they differ in the values.
#include "compressors/quantize/sign_bits.h"

#include "compressors/encode/scale.h"
#include "compressors/kernels/moments.h"
#include "compressors/kernels/sign_bits.h"

namespace thinpipe {
namespace {

std::size_t bytes_of(std::size_t n) { return (n + 7) / 8; }

void put_bits(std::span<const float> c, float positive, float negative, std::span<float> remainder,
              ByteWriter& out) {
  sign_pack(c, positive, negative, remainder, reinterpret_cast<std::uint8_t*>(out.free().data()));
  out.advance(bytes_of(c.size()));
}

void add_bits(ByteReader& in, float positive, float negative, std::span<float> out) {
  const auto bits = in.get_bytes(bytes_of(out.size()), "bits");
  const std::size_t used = out.size() % 8;
  if (used != 0 && (static_cast<unsigned>(bits.back()) >> used) != 0) {
    throw PayloadError("bits after the last element's are not zero");
  }
  sign_unpack_add(reinterpret_cast<const std::uint8_t*>(bits.data()), positive, negative, out);
}

class TwoMeansBucket : public BucketCodec {
 public:
  std::size_t max_size(std::size_t n) const override { return 2 * sizeof(float) + bytes_of(n); }
  std::size_t encode(std::span<const float> c, const BucketContext& /*context*/,
                     std::span<float> remainder, ByteWriter& out) override {
    const SignedSums sums = signed_sums(c);
    const std::size_t others = c.size() - sums.negatives;
    const float positive = others == 0 ? 0 : finite(sums.positive / static_cast<double>(others));
    const float negative =
        sums.negatives == 0 ? 0 : finite(sums.negative / static_cast<double>(sums.negatives));
    out.put(positive);
    out.put(negative);
    put_bits(c, positive, negative, remainder, out);
    return (positive == 0 ? 0 : others) + (negative == 0 ? 0 : sums.negatives);
  }
  void decode_add(ByteReader& in, float factor, std::span<float> out) const override {
    const auto positive = in.get<float>("the mean of the non-negative");
    const auto negative = in.get<float>("the mean of the negative");
    check_finite(positive, "the mean of the non-negative");
    check_finite(negative, "the mean of the negative");
    add_bits(in, factor * positive, factor * negative, out);
  }
  int passes() const override { return 2; }
};

class MeanMagnitudeBucket : public BucketCodec {
 public:
  std::size_t max_size(std::size_t n) const override { return sizeof(float) + bytes_of(n); }
  std::size_t encode(std::span<const float> c, const BucketContext& /*context*/,
                     std::span<float> remainder, ByteWriter& out) override {
    const float mean = finite(magnitude_moments(c).sum_magnitude / static_cast<double>(c.size()));
    out.put(mean);
    put_bits(c, mean, -mean, remainder, out);
    return mean == 0 ? 0 : c.size();
  }
  void decode_add(ByteReader& in, float factor, std::span<float> out) const override {
    const auto mean = in.get<float>("the mean magnitude");
    check_scale(mean, "the mean magnitude");
    add_bits(in, factor * mean, -(factor * mean), out);
  }
  int passes() const override { return 2; }
};

class SignBucket : public BucketCodec {
 public:
  explicit SignBucket(float scale) : scale_(scale) {}

  std::size_t max_size(std::size_t n) const override { return bytes_of(n); }
  std::size_t encode(std::span<const float> c, const BucketContext& /*context*/,
                     std::span<float> remainder, ByteWriter& out) override {
    put_bits(c, scale_, -scale_, remainder, out);
    return c.size();
  }
  void decode_add(ByteReader& in, float factor, std::span<float> out) const override {
    add_bits(in, factor * scale_, -(factor * scale_), out);
  }
  int passes() const override { return 1; }

 private:
  float scale_;
};

}  // namespace

std::unique_ptr<BucketCodec> make_two_means_bucket() { return std::make_unique<TwoMeansBucket>(); }
std::unique_ptr<BucketCodec> make_mean_magnitude_bucket() {
  return std::make_unique<MeanMagnitudeBucket>();
}
std::unique_ptr<BucketCodec> make_sign_bucket(float scale) {
  return std::make_unique<SignBucket>(scale);
}

}  // namespace thinpipe
