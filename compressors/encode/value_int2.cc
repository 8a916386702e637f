// Two bits a value: its sign and whether its magnitude is above the mean of its group.
#include <algorithm>
#include <cstring>

#include "compressors/encode/int2.h"
#include "compressors/encode/scale.h"
#include "compressors/encode/value_codec.h"

namespace thinpipe {
namespace {

constexpr std::size_t kGroup = kInt2Group;
constexpr std::size_t kLevelBytes = 2 * sizeof(float);
constexpr std::size_t kGroupBytes = kLevelBytes + kGroup / 4;

class Int2Codec : public ValueCodec {
 public:
  std::size_t size(std::size_t count) const override {
    const std::size_t last = count % kGroup;
    return count / kGroup * kGroupBytes + (last == 0 ? 0 : kLevelBytes + (last + 3) / 4);
  }
  void encode(std::span<float> values, ByteWriter& out) const override {
    for (std::size_t first = 0; first < values.size(); first += kGroup) {
      encode_group(values.subspan(first, std::min(kGroup, values.size() - first)), out);
    }
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    std::size_t done = 0;
    while (done < values.size()) {
      const std::size_t at = first + done;
      const std::size_t within = at % kGroup;
      const std::size_t n = std::min(kGroup - within, values.size() - done);
      decode_group(encoded.data() + at / kGroup * kGroupBytes, within, values.subspan(done, n));
      done += n;
    }
  }
  double expected_bits() const override {
    return 2 + 8.0 * static_cast<double>(kLevelBytes) / static_cast<double>(kGroup);
  }

 private:
  static Int2Levels levels_of(std::span<const float> values) {
    double sums[kInt2Lanes] = {};
    for (std::size_t i = 0; i < values.size(); ++i) {
      sums[i % kInt2Lanes] += int2_magnitude(values[i]);
    }
    Int2Levels levels;
    for (double sum : sums) levels.mean += sum;
    levels.mean /= static_cast<double>(values.size());
    Int2Sum lanes[2][kInt2Lanes];
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double magnitude = int2_magnitude(values[i]);
      lanes[magnitude < levels.mean ? 0 : 1][i % kInt2Lanes].add({magnitude, 1});
    }
    Int2Sum low;
    for (const Int2Sum& lane : lanes[0]) low.add(lane);
    Int2Sum high;
    for (const Int2Sum& lane : lanes[1]) high.add(lane);
    levels.low = low.mean();
    levels.high = high.mean();
    return levels;
  }

  static void encode_group(std::span<float> values, ByteWriter& out) {
    const Int2Levels levels = levels_of(values);
    out.put(levels.low);
    out.put(levels.high);
    for (std::size_t first = 0; first < values.size(); first += 4) {
      unsigned byte = 0;
      for (std::size_t i = first; i < std::min(first + 4, values.size()); ++i) {
        const unsigned code = levels.code(values[i]);
        byte |= code << (2 * (i - first));
        values[i] = levels.value(code);
      }
      out.put(static_cast<std::uint8_t>(byte));
    }
  }

  static void decode_group(const std::byte* group, std::size_t first, std::span<float> values) {
    Int2Levels levels;
    std::memcpy(&levels.low, group, sizeof levels.low);
    std::memcpy(&levels.high, group + sizeof levels.low, sizeof levels.high);
    check_scale(levels.low, "a lower level of the values");
    check_scale(levels.high, "an upper level of the values");
    const std::byte* codes = group + kLevelBytes;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto byte = static_cast<unsigned>(codes[(first + i) / 4]);
      values[i] = levels.value((byte >> (2 * ((first + i) % 4))) & 3);
    }
  }
};

}  // namespace

std::unique_ptr<ValueCodec> make_int2_codec() { return std::make_unique<Int2Codec>(); }

}  // namespace thinpipe
