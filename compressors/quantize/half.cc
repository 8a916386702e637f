// The array in 16-bit floats.
#include "compressors/quantize/half.h"

#include "compressors/kernels/half.h"

namespace thinpipe {
namespace {

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

}  // namespace

std::unique_ptr<BucketCodec> make_half_bucket(HalfFormat format) {
  return std::make_unique<HalfBucket>(format);
}

}  // namespace thinpipe
