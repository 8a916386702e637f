// 16-bit floats, summed as NCCL and PyTorch sum them.
#include <cstdint>
#include <memory>
#include <string>

#include "compressors/element_type.h"
#include "compressors/kernels/quantize.h"
#include "compressors/methods/dense.h"
#include "compressors/methods/quantizers.h"
#include "compressors/registry.h"

namespace thinpipe {
namespace {

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
          [type](const Parameters&, const TensorInfo& tensor, const CompressorSettings& settings) {
            return make_bucket_quantizer(make_half_bucket(half_format(type)),
                                         whole_tensor(tensor, settings));
          },
      .expected_bits = [](const Parameters&) { return 16.0; },
  });
}

}  // namespace

std::unique_ptr<BucketCodec> make_half_bucket(HalfFormat format) {
  return std::make_unique<HalfBucket>(format);
}

namespace {

const Registration kFp16{half_method("fp16", "every element as a 16-bit float, IEEE 754 binary16",
                                     ElementType::kFloat16)};

const Registration kBf16{
    half_method("bf16", "every element as a 16-bit float, the upper half of a binary32",
                ElementType::kBfloat16)};

}  // namespace
}  // namespace thinpipe
