// QSGD: stochastic levels of a bucket's L2 norm, as codes of equal length or as Elias codes.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "compressors/kernels/buffer.h"
#include "compressors/kernels/quantize.h"
#include "compressors/methods/dense.h"
#include "compressors/methods/quantizers.h"
#include "compressors/wire/bits.h"
#include "compressors/wire/scale.h"

namespace thinpipe {
namespace {

/// Returns the L2 norm as a step of level_step(); the payload holds step * levels.
float step_of(std::span<const float> c, int bits) {
  return level_step(l2_norm(c), static_cast<float>(levels_of(bits)));
}

LevelRounding rounding(int bits, const BucketContext& context) {
  return {.bits = bits, .key = context.key, .first = context.first};
}

float get_step(ByteReader& in) {
  const auto step = in.get<float>("the step of a bucket");
  check_scale(step, "the step of a bucket");
  return step;
}

class QsgdBucket : public BucketCodec {
 public:
  explicit QsgdBucket(int bits) : bits_(bits) {}

  std::size_t max_size(std::size_t n) const override {
    return sizeof(float) + packed_size(n, bits_);
  }
  std::size_t encode(Signal& signal, const BucketContext& context, std::span<float> remainder,
                     ByteWriter& out) override {
    const auto c = signal.values();
    const float step = step_of(c, bits_);
    out.put(step);
    const std::size_t nonzero = pack_levels(c, step, rounding(bits_, context), remainder,
                                            reinterpret_cast<std::uint8_t*>(out.free().data()));
    out.advance(packed_size(c.size(), bits_));
    return nonzero;
  }
  std::size_t encode_buckets(std::span<const float> c, std::size_t bucket,
                             const BucketContext& context, std::span<float> remainder,
                             std::span<std::byte> out) override {
    return pack_level_buckets(c, bucket, LevelRange::kNorm, rounding(bits_, context), remainder,
                              reinterpret_cast<std::uint8_t*>(out.data()));
  }
  void decode_add(ByteReader& in, float factor, std::span<float> out) const override {
    const float step = get_step(in);
    get_levels(in, factor * step, bits_, out);
  }
  int passes(bool /*keeps*/) const override { return 2; }

 private:
  int bits_;
};

class QsgdEliasBucket : public BucketCodec {
 public:
  QsgdEliasBucket(int bits, std::size_t largest) : bits_(bits), codes_(largest) {}

  std::size_t max_size(std::size_t n) const override {
    const std::size_t most = stream_bytes(n);
    return sizeof(float) + varint_size(most) + most;
  }
  bool fixed_size() const override { return false; }
  std::size_t encode(Signal& signal, const BucketContext& context, std::span<float> remainder,
                     ByteWriter& out) override {
    const auto c = signal.values();
    const float step = step_of(c, bits_);
    out.put(step);
    const std::size_t nonzero =
        stochastic_levels(c, step, rounding(bits_, context), remainder, codes_.data());
    out.put_varint(bytes_of(c.size(), nonzero));
    BitWriter bits(out.free());
    put_bits(bits, c.size(), nonzero);
    out.advance(bits.finish());
    return nonzero;
  }
  void decode_add(ByteReader& in, float factor, std::span<float> out) const override {
    const float step = factor * get_step(in);
    const std::size_t bytes = in.get_varint(stream_bytes(out.size()), "the length of a bucket");
    BitReader bits(in.get_bytes(bytes, "Elias codes"));
    const auto levels = static_cast<std::uint64_t>(levels_of(bits_));
    const std::uint64_t count = get_omega(bits, out.size() + 1) - 1;
    std::size_t next = 0;  // the first element that may follow
    for (std::uint64_t i = 0; i < count; ++i) {
      if (next == out.size()) throw PayloadError("more levels than the bucket has elements");
      next += get_omega(bits, out.size() - next);
      const bool negative = bits.get(1) != 0;
      const auto level = static_cast<float>(get_omega(bits, levels));
      out[next - 1] += step * (negative ? -level : level);
    }
    bits.expect_end();
  }
  int passes(bool /*keeps*/) const override { return 2; }

 private:
  /// Calls visit(distance, negative, level) for every level that is not 0.
  template <class Visit>
  void for_each_level(std::size_t n, Visit visit) const {
    const unsigned levels = static_cast<unsigned>(levels_of(bits_));
    std::size_t before = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const unsigned code = codes_[i];
      if (code == 0) continue;
      visit(i + 1 - before, code > levels, code & levels);
      before = i + 1;
    }
  }
  std::size_t bytes_of(std::size_t n, std::size_t nonzero) const {
    auto bits = static_cast<std::size_t>(omega_size(nonzero + 1));
    for_each_level(n, [&](std::size_t distance, bool /*negative*/, unsigned level) {
      bits += static_cast<std::size_t>(omega_size(distance) + 1 + omega_size(level));
    });
    return (bits + 7) / 8;
  }
  void put_bits(BitWriter& out, std::size_t n, std::size_t nonzero) const {
    put_omega(nonzero + 1, out);
    for_each_level(n, [&](std::size_t distance, bool negative, unsigned level) {
      put_omega(distance, out);
      out.put(negative ? 1 : 0, 1);
      put_omega(level, out);
    });
  }
  /// Returns the bytes of the longest possible stream. A code is the distance from the previous
  /// nonzero element, a sign and a level. The longest stream has a code with the greatest level for
  /// every element: one code of distance g takes fewer bits than g codes of distance 1, and no
  /// level takes more bits than the greatest.
  std::size_t stream_bytes(std::size_t n) const {
    const int longest = omega_size(static_cast<std::uint64_t>(levels_of(bits_)));
    const auto bits = static_cast<std::size_t>(omega_size(n + 1)) +
                      n * static_cast<std::size_t>(omega_size(1) + 1 + longest);
    return (bits + 7) / 8;
  }

  int bits_;
  Buffer<std::uint8_t> codes_;  ///< of one bucket
};

const Registration kQsgd{dense_method({
    .name = "qsgd",
    .summary = "levels of a bucket's L2 norm, rounded stochastically: unbiased",
    .source = "Alistarh et al., QSGD, 2017, section 3.1 and appendix A.2",
    .parameters = {integer_parameter("bits", "4", "bits per code: a sign and a level", 2, 8),
                   bucket_parameter("512"),
                   choice_parameter("coding", "fixed", "codes of equal length, or Elias codes",
                                    {"fixed", "elias"})},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          const auto bits = static_cast<int>(parameters.integer("bits"));
          const BucketOptions options = bucket_of(parameters, tensor, settings);
          if (parameters.choice("coding") == "fixed") {
            return make_bucket_quantizer(make_qsgd_bucket(bits), options);
          }
          const std::size_t largest =
              options.bucket == 0 ? tensor.elements : std::min(options.bucket, tensor.elements);
          return make_bucket_quantizer(make_qsgd_elias_bucket(bits, largest), options);
        },
    // Elias codes are shorter; how much depends on the data.
    .expected_bits =
        [](const Parameters& parameters) {
          return static_cast<double>(parameters.integer("bits")) + bits_per_bucket(parameters, 32);
        },
    .traffic = traffic_of_scales,
})};

}  // namespace

std::unique_ptr<BucketCodec> make_qsgd_bucket(int bits) {
  return std::make_unique<QsgdBucket>(bits);
}
std::unique_ptr<BucketCodec> make_qsgd_elias_bucket(int bits, std::size_t largest) {
  return std::make_unique<QsgdEliasBucket>(bits, largest);
}

}  // namespace thinpipe
