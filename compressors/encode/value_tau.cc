// Signs, eight to a byte.
#include "compressors/encode/value_tau.h"

#include <algorithm>
#include <cmath>

namespace thinpipe {
namespace {

class TauCodec : public ValueCodec {
 public:
  explicit TauCodec(float tau) : tau_(tau) {}

  std::size_t size(std::size_t count) const override { return (count + 7) / 8; }
  void encode(std::span<float> values, ByteWriter& out) const override {
    for (std::size_t first = 0; first < values.size(); first += 8) {
      unsigned bits = 0;
      for (std::size_t i = first; i < std::min(first + 8, values.size()); ++i) {
        const bool negative = std::signbit(values[i]);
        bits |= (negative ? 1U : 0U) << (i - first);
        values[i] = negative ? -tau_ : tau_;
      }
      out.put(static_cast<std::uint8_t>(bits));
    }
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto bits = static_cast<unsigned>(encoded[(first + i) / 8]);
      values[i] = ((bits >> ((first + i) % 8)) & 1U) != 0 ? -tau_ : tau_;
    }
  }
  double expected_bits() const override { return 1; }

 private:
  float tau_;
};

}  // namespace

std::unique_ptr<ValueCodec> make_tau_codec(float tau) { return std::make_unique<TauCodec>(tau); }

}  // namespace thinpipe
