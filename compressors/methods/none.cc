// No compression: the payload is the array itself, which is summed element by element. This is the
// dense fp32 baseline. The file also has the same baseline with gradients accumulated over several
// steps.
#include <algorithm>
#include <cstring>
#include <memory>

#include "compressors/memory/memory.h"
#include "compressors/methods/common.h"
#include "compressors/methods/dense.h"
#include "compressors/methods/quantizers.h"
#include "compressors/quantize/quantizer.h"
#include "compressors/registry.h"

namespace thinpipe {
namespace {

class Fp32Quantizer : public Quantizer {
 public:
  std::size_t max_encoded_size(std::size_t elements) const override {
    return elements * sizeof(float);
  }
  QuantizeReport encode(Signal& signal, const QuantizeContext& /*context*/,
                        std::span<float> remainder, ByteWriter& out) override {
    const auto c = signal.values();
    out.put_bytes(std::as_bytes(c));
    std::fill(remainder.begin(), remainder.end(), 0.0F);
    return {.nonzero = c.size(), .passes = 1};
  }
  void decode_add(ByteReader in, float factor, std::span<float> out) const override {
    const std::byte* values = in.get_bytes(out.size_bytes(), "values").data();
    in.expect_end();
    // A payload has no alignment.
    for (std::size_t i = 0; i < out.size(); ++i) {
      float value = 0;
      std::memcpy(&value, values + i * sizeof value, sizeof value);
      out[i] += factor * value;
    }
  }
};

const Registration kNone{{
    .name = "none",
    .summary = "every element as a 32-bit float",
    .source = "the baseline of all papers",
    .aggregation = Aggregation::kAllReduce,
    .parameters = {},
    .expected_bits = [](const Parameters&) { return 32.0; },
    .make =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_dense_compressor(identity_of(parameters, tensor),
                                       {.memory = make_no_memory(tensor.elements, false),
                                        .quantizer = make_fp32_quantizer(),
                                        .verbatim = true});
        },
}};

// Local steps: the sum of several gradients, uncompressed, in one exchange.
const Registration kFedAvg{dense_method({
    .name = "fedavg",
    .summary = "every element as a 32-bit float, accumulated over several steps",
    .source =
        "McMahan et al., 2017, as in SBC section III (delay n); delay=2 is 3LC's `2 local steps`",
    .aggregation = Aggregation::kAllReduce,
    .delay = "100",
    .quantizer = [](const Parameters&, const TensorInfo&,
                    const CompressorSettings&) { return make_fp32_quantizer(); },
    .expected_bits = [](const Parameters&) { return 32.0; },
})};

}  // namespace

std::unique_ptr<Quantizer> make_fp32_quantizer() { return std::make_unique<Fp32Quantizer>(); }

}  // namespace thinpipe
