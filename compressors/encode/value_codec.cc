// The value codecs: small enough to live in one file.
#include "compressors/encode/value_codec.h"

#include <algorithm>
#include <utility>

namespace thinpipe {
namespace {

class Fp32Codec : public ValueCodec {
 public:
  std::size_t size(std::size_t count) const override { return count * sizeof(float); }
  void encode(std::span<float> values, ByteWriter& out) const override {
    out.put_bytes(std::as_bytes(values));
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    if (values.empty()) return;
    std::memcpy(values.data(), encoded.data() + first * sizeof(float), values.size_bytes());
  }
  double expected_bits() const override { return 32; }
};

class MeanCodec : public ValueCodec {
 public:
  std::size_t size(std::size_t count) const override { return count == 0 ? 0 : sizeof(float); }
  void encode(std::span<float> values, ByteWriter& out) const override {
    if (values.empty()) return;
    double sum = 0;
    for (float value : values) sum += static_cast<double>(value);
    const auto mean = static_cast<float>(sum / static_cast<double>(values.size()));
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

using Make = std::unique_ptr<ValueCodec> (*)();
constexpr std::pair<const char*, Make> kCodecs[] = {{"fp32", make_fp32_codec},
                                                    {"mean", make_mean_codec}};

}  // namespace

std::unique_ptr<ValueCodec> make_fp32_codec() { return std::make_unique<Fp32Codec>(); }
std::unique_ptr<ValueCodec> make_mean_codec() { return std::make_unique<MeanCodec>(); }

const std::vector<std::string>& value_codec_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, make] : kCodecs) list.emplace_back(name);
    return list;
  }();
  return names;
}

std::unique_ptr<ValueCodec> make_value_codec(const std::string& name) {
  for (const auto& [known, make] : kCodecs) {
    if (name == known) return make();
  }
  throw InputError("unknown value codec '" + name + "'");
}

}  // namespace thinpipe
