// Values as they are.
#include "compressors/encode/value_codec.h"
#include "compressors/kernels/parallel.h"

namespace thinpipe {
namespace {

class Fp32Codec : public ValueCodec {
 public:
  std::size_t size(std::size_t count) const override { return count * sizeof(float); }
  void encode(std::span<float> values, ByteWriter& out) const override {
    copy_bytes(out.free().data(), values.data(), values.size_bytes());
    out.advance(values.size_bytes());
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    if (values.empty()) return;
    std::memcpy(values.data(), encoded.data() + first * sizeof(float), values.size_bytes());
  }
  bool verbatim() const override { return true; }
  double expected_bits() const override { return 32; }
};

}  // namespace

std::unique_ptr<ValueCodec> make_fp32_codec() { return std::make_unique<Fp32Codec>(); }

}  // namespace thinpipe
