// One value for all (SBC alg. 2).
#include <algorithm>

#include "compressors/encode/scale.h"
#include "compressors/encode/value_codec.h"
#include "compressors/kernels/value_sum.h"

namespace thinpipe {
namespace {

class MeanCodec : public ValueCodec {
 public:
  std::size_t size(std::size_t count) const override { return count == 0 ? 0 : sizeof(float); }
  void encode(std::span<float> values, ByteWriter& out) const override {
    if (values.empty()) return;
    const double sum =
        sum_of_values(values.size(), [&](std::size_t i) { return static_cast<double>(values[i]); });
    const float mean = one_nan(static_cast<float>(sum / static_cast<double>(values.size())));
    out.put(mean);
    std::fill(values.begin(), values.end(), mean);
  }
  void decode(std::span<const std::byte> encoded, std::size_t /*first*/,
              std::span<float> values) const override {
    if (values.empty()) return;
    float mean = 0;
    std::memcpy(&mean, encoded.data(), sizeof mean);
    std::fill(values.begin(), values.end(), mean);
  }
  double expected_bits() const override { return 0; }
};

}  // namespace

std::unique_ptr<ValueCodec> make_mean_codec() { return std::make_unique<MeanCodec>(); }

}  // namespace thinpipe
