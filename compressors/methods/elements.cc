// One number per element: a 16-bit float, an 8-bit integer, or a power of two.
#include <cstdint>
#include <memory>
#include <string>

#include "compressors/element_type.h"
#include "compressors/kernels/quantize.h"
#include "compressors/methods/dense.h"
#include "compressors/methods/quantizers.h"
#include "compressors/wire/scale.h"

namespace thinpipe {
namespace {

// 16-bit floats, summed as NCCL and PyTorch sum them.

/// Encodes the array as 16-bit floats.
class HalfBucket : public BucketCodec {
 public:
  explicit HalfBucket(HalfFormat format) : format_(format) {}

  std::size_t max_size(std::size_t n) const override { return n * sizeof(std::uint16_t); }
  std::size_t encode(Signal& signal, const BucketContext& /*context*/, std::span<float> remainder,
                     ByteWriter& out) override {
    const auto c = signal.values();
    half_pack(c, format_, remainder, reinterpret_cast<std::uint8_t*>(out.free().data()));
    out.advance(max_size(c.size()));
    return c.size();
  }
  void decode_add(ByteReader& in, float factor, std::span<float> out) const override {
    const auto halves = in.get_bytes(max_size(out.size()), "values");
    if (!half_unpack_add(reinterpret_cast<const std::uint8_t*>(halves.data()), format_, factor,
                         out)) {
      throw PayloadError("a value in the payload is not finite");
    }
  }
  int passes(bool /*keeps*/) const override { return 1; }

 private:
  HalfFormat format_;
};

MethodInfo half_method(const std::string& name, const std::string& summary, ElementType type) {
  return dense_method({
      .name = name,
      .summary = summary,
      .source = "Micikevicius et al. 2018; summed as NCCL and the hooks of PyTorch's DDP do",
      .aggregation_with = exchanged_as,
      .summation =
          [type](const Parameters& parameters) {
            return Summation{.element = type, .predivides = parameters.flag("predivide")};
          },
      .parameters = {exchange_parameter(
                         "allreduce: summed in 32 bits and rounded to 16 at every hop; "
                         "allgather: every worker's own array"),
                     flag_parameter(
                         "predivide", "true",
                         "divide by the number of workers before the sum, as DDP's hooks do; "
                         "false: after the sum")},
      .quantizer =
          in_buckets([type](const Parameters&) { return make_half_bucket(half_format(type)); }),
      .expected_bits = [](const Parameters&) { return 16.0; },
  });
}

const Registration kFp16{half_method("fp16", "every element as a 16-bit float, IEEE 754 binary16",
                                     ElementType::kFloat16)};

const Registration kBf16{
    half_method("bf16", "every element as a 16-bit float, the upper half of a binary32",
                ElementType::kBfloat16)};

// 8-bit integers scaled by the greatest magnitude: one pass for the step, one that rounds and
// stores the error.

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

const Registration kInt8{dense_method({
    .name = "int8",
    .summary = "255 equal levels up to the greatest magnitude",
    .source = "Lim et al., 3LC, section 5.1: 8-bit int",
    .parameters = {bucket_parameter("0")},
    .quantizer = in_buckets([](const Parameters&) { return make_int8_bucket(); }),
    .expected_bits =
        [](const Parameters& parameters) { return 8 + bits_per_bucket(parameters, 32); },
    .traffic = traffic_of_scales,
})};

// Natural compression: stochastic rounding to powers of two, nine bits per element in two arrays.

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

const Registration kNatural{dense_method({
    .name = "natural",
    .summary = "a sign and an 8-bit exponent, rounded stochastically: unbiased",
    .source = "Horvath et al., Natural Compression for Distributed Deep Learning, 2019",
    .quantizer = in_buckets([](const Parameters&) { return make_natural_bucket(); }),
    .expected_bits = [](const Parameters&) { return 9.0; },
})};

}  // namespace

std::unique_ptr<BucketCodec> make_half_bucket(HalfFormat format) {
  return std::make_unique<HalfBucket>(format);
}

std::unique_ptr<BucketCodec> make_int8_bucket() { return std::make_unique<Int8Bucket>(); }

std::unique_ptr<BucketCodec> make_natural_bucket() { return std::make_unique<NaturalBucket>(); }

}  // namespace thinpipe
