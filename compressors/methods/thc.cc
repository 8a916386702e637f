// THC with evenly spread levels. Its payloads are all-gathered, not summed by a switch.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "compressors/kernels/blocks.h"
#include "compressors/kernels/random.h"
#include "compressors/kernels/sums.h"
#include "compressors/kernels/transforms.h"
#include "compressors/methods/dense.h"
#include "compressors/methods/quantizers.h"

namespace thinpipe {
namespace {

/// Blocks whose squares are summed in one call.
constexpr std::size_t kManyBlocks = 64;

/// Returns the sum of squares of x, with elements as the kernel treats them: NaN counts as 0, and
/// magnitudes are at most 2^100. `sum` is the sum of squares of x as it is. If `sum` is finite and
/// small, no element is NaN or beyond the limit, and the function returns `sum`.
double tamed_squares(std::span<const float> x, double sum) {
  if (std::isfinite(sum) && sum < 0x1p200) return sum;
  double tame = 0;
  for (float value : x) {
    const double part = std::isnan(value) ? 0 : std::clamp<double>(value, -0x1p100, 0x1p100);
    tame += part * part;
  }
  return tame;
}

class ThcQuantizer : public Quantizer, public ScaleOf {
 public:
  explicit ThcQuantizer(const ThcOptions& options)
      : format_(thc_format(options.bits, options.block)),
        range_(options.range),
        stream_(options.stream),
        signs_(kMaxBlock) {
    random_signs(options.sign_seed, signs_);
  }

  std::size_t max_encoded_size(std::size_t elements) const override {
    return sizeof(float) + code_bytes(format_, elements);
  }

  float scale_of(std::span<const float> c) const override {
    double most = 0;
    std::array<double, kManyBlocks> squares;
    for (std::size_t at = 0; at < c.size(); at += kManyBlocks * format_.block) {
      const auto some = c.subspan(at, std::min(kManyBlocks * format_.block, c.size() - at));
      const std::size_t blocks = (some.size() + format_.block - 1) / format_.block;
      sums_of_squares(some, format_.block, std::span(squares).first(blocks));
      for (std::size_t i = 0; i < blocks; ++i) {
        const std::size_t from = i * format_.block;
        const auto block = some.subspan(from, std::min(format_.block, some.size() - from));
        // The rotation keeps the norm.
        most = std::max(most, tamed_squares(block, squares[i]) /
                                  static_cast<double>(coded_elements(format_, block.size())));
      }
    }
    if (most == 0) return 0;
    return std::max(static_cast<float>(std::sqrt(most)), std::numeric_limits<float>::min());
  }

  QuantizeReport encode(Signal& signal, const QuantizeContext& context, std::span<float> remainder,
                        ByteWriter& out) override {
    const auto c = signal.values();
    const bool shared = std::isfinite(context.shared_scale) && context.shared_scale > 0;
    const float scale = shared ? context.shared_scale : scale_of(c);
    BlockFormat format = format_;
    // The greatest level is at the end of the range.
    format.given = std::min(range_ * scale, 0x1p120F) / element_max(format.element);
    if (scale != 0) format.given = std::max(format.given, std::numeric_limits<float>::min());
    out.put(format.given);
    auto* const codes = reinterpret_cast<std::uint8_t*>(out.free().data());
    out.advance(code_bytes(format, c.size()));
    const RandomKey key = random_key(stream_, context.step);
    const std::size_t nonzero =
        encode_blocks(format, {.sign_bits = signs_}, key, c, remainder, nullptr, codes);
    return {.nonzero = nonzero, .passes = shared ? 1 : 2};
  }

  void decode_add(ByteReader in, float factor, std::span<float> out) const override {
    BlockFormat format = format_;
    format.given = in.get<float>("the distance of two levels");
    if (!std::isfinite(format.given) || std::signbit(format.given)) {
      throw PayloadError(
          "distance of two levels in the payload is not a finite number of at least 0");
    }
    const auto codes = in.get_bytes(code_bytes(format, out.size()), "codes");
    in.expect_end();
    decode_blocks(format, {.sign_bits = signs_}, nullptr,
                  reinterpret_cast<const std::uint8_t*>(codes.data()), factor, out);
  }

 private:
  BlockFormat format_;
  float range_;
  std::uint64_t stream_;
  std::vector<std::uint32_t> signs_;
};

const Registration kThc{dense_method({
    .name = "thc",
    .summary = "rotated, clamped to a shared range, rounded stochastically to levels",
    .source = "Li et al., THC, NSDI 2024, sections 4 and 5 (Uniform THC), arXiv 2302.08545",
    .memory = "residual",
    .parameters = {choice_parameter("bits", "4", "bits per element", {"4", "8"}),
                   choice_parameter("block", "2048", "elements rotated together",
                                    {"32", "64", "128", "256", "512", "1024", "2048"}),
                   // A normal distribution has 1 in 32 outside 2.154 standard deviations: the
                   // paper's fraction p.
                   above_minimum(real_parameter(
                       "range", "2.154", "root mean squares at which rotated elements are clamped",
                       0, 1000))},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_thc_quantizer(
              {.bits = static_cast<int>(parameters.integer("bits")),
               .block = parameters.count("block"),
               .range = static_cast<float>(parameters.real("range")),
               .sign_seed = settings.seed ^ hash_name(tensor.name),
               .stream = random_stream(settings.seed, settings.rank, tensor.name)});
        },
    .expected_bits =
        [](const Parameters& parameters) {
          return static_cast<double>(parameters.integer("bits"));
        },
    // The range is that of the greatest block.
    .traffic =
        [](const Parameters& parameters) {
          const BlockFormat format =
              thc_format(static_cast<int>(parameters.integer("bits")), parameters.count("block"));
          return EncodeTraffic{.sweeps = 2, .multiply_adds = rotation_adds(format)};
        },
})};

}  // namespace

BlockFormat thc_format(int bits, std::size_t block) {
  return {.element = bits == 4 ? BlockElement::kLevels16 : BlockElement::kLevels256,
          .scale = BlockScale::kGiven,
          .block = block,
          .hadamard = true,
          .stochastic = true};
}

std::unique_ptr<Quantizer> make_thc_quantizer(const ThcOptions& options) {
  return std::make_unique<ThcQuantizer>(options);
}

}  // namespace thinpipe
