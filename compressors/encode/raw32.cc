// Positions as they are: the baseline that published sparsifiers send.
#include "compressors/encode/position_codec.h"
#include "compressors/kernels/parallel.h"

namespace thinpipe {
namespace {

class Raw32Codec : public PositionCodec {
 public:
  std::size_t max_size(std::size_t max_count, std::size_t /*elements*/) const override {
    return max_count * sizeof(std::uint32_t);
  }
  void encode(std::span<const std::uint32_t> positions, std::size_t /*elements*/,
              ByteWriter& out) const override {
    copy_bytes(out.free().data(), positions.data(), positions.size_bytes());
    out.advance(positions.size_bytes());
  }
  PositionCursor start(ByteReader bytes, std::size_t /*count*/,
                       std::size_t elements) const override {
    return {.bytes = bytes, .elements = elements};
  }
  void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const override {
    const auto bytes = cursor.bytes.get_bytes(positions.size_bytes(), "positions");
    if (!bytes.empty()) std::memcpy(positions.data(), bytes.data(), bytes.size());
    cursor.take_all(positions);
  }
  void finish(const PositionCursor& cursor) const override { cursor.bytes.expect_end(); }
  bool verbatim() const override { return true; }
  double expected_bits(double /*density*/) const override { return 32; }
};

}  // namespace

std::unique_ptr<PositionCodec> make_raw32_codec() { return std::make_unique<Raw32Codec>(); }

}  // namespace thinpipe
