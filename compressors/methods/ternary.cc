// Quantises to three values, scaled by the greatest magnitude, and packs five values into a byte.
// The methods are 3LC, which also encodes runs of zeros, and the stochastic ternary quantiser of
// the 3LC paper, which does not. One pass over the elements computes the scale. A second pass
// quantises, packs and stores the error. For 3LC, a third pass reads the packed bytes to encode
// runs of zeros. A bucket stays in the cache between the first two passes, so with buckets they
// read the memory once.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "compressors/kernels/buffer.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/quantize.h"
#include "compressors/kernels/random.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/dense.h"
#include "compressors/methods/quantizers.h"
#include "compressors/wire/scale.h"

namespace thinpipe {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighs = 0x80 * kOnes;

/// Returns a word of eight bytes. A byte is 0 if and only if the input's byte is kQuarticZero.
std::uint64_t differences(const std::uint8_t* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word ^ (kQuarticZero * kOnes);
}

/// Returns the index of the first byte from i on that is not kQuarticZero; `count` if none is.
std::size_t end_of_zeros(const std::uint8_t* packed, std::size_t i, std::size_t count) {
  for (; i + 8 <= count; i += 8) {
    const std::uint64_t word = differences(packed + i);
    if (word != 0) return i + static_cast<std::size_t>(std::countr_zero(word)) / 8;
  }
  while (i < count && packed[i] == kQuarticZero) ++i;
  return i;
}

/// Returns the index of the first byte from i on that is kQuarticZero; `count` if none is.
std::size_t end_of_literals(const std::uint8_t* packed, std::size_t i, std::size_t count) {
  for (; i + 8 <= count; i += 8) {
    const std::uint64_t word = differences(packed + i);
    // Subtracting 1 from every byte sets the high bit of each byte that is 0. `~word` leaves out
    // bytes whose high bit was set before. A borrow can mark other bytes by mistake, but only bytes
    // after the first zero byte. So the lowest set bit marks the first zero byte.
    const std::uint64_t zeros = (word - kOnes) & ~word & kHighs;
    if (zeros != 0) return i + static_cast<std::size_t>(std::countr_zero(zeros)) / 8;
  }
  while (i < count && packed[i] != kQuarticZero) ++i;
  return i;
}

/// Number of elements whose sum is computed and then coded while it is in the first-level cache.
constexpr std::size_t kFusedTernary = 4096;

// Returns whether no byte stands for a run of zeros.
bool are_literals(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kBlock = 64;  // a block's maximum takes a few vector instructions
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(kBlock, bytes.size()))) {
    std::uint8_t largest = 0;
    for (const std::uint8_t byte : bytes.first(std::min(kBlock, bytes.size())))
      largest = std::max(largest, byte);
    if (largest > kQuarticMax) return false;
  }
  return true;
}

class TernaryQuantizer : public Quantizer {
 public:
  TernaryQuantizer(std::size_t elements, const TernaryOptions& options)
      : options_(options), packed_(quartic_bytes(elements)) {}

  std::size_t max_encoded_size(std::size_t elements) const override {
    return scale_bytes(elements) + quartic_bytes(elements);
  }

  QuantizeReport encode(Signal& signal, const QuantizeContext& context, std::span<float> remainder,
                        ByteWriter& out) override {
    const std::size_t elements = signal.size();
    if (count_of(elements) == 0) return {.nonzero = 0, .passes = 1};
    const auto space = out.free();
    auto* const scales = reinterpret_cast<std::uint8_t*>(space.data());
    auto* const bytes = scales + scale_bytes(elements);
    std::uint8_t* const packed = options_.zero_run ? packed_.data() : bytes;
    const bool whole = bucket_of(elements) >= elements;
    const std::size_t nonzero = whole ? encode_whole(signal, context, remainder, scales, packed)
                                      : encode_buckets(signal, remainder, scales, packed);
    const std::size_t count = quartic_bytes(elements);
    out.advance(scale_bytes(elements));
    out.advance(options_.zero_run ? zero_run_encode(packed, count, bytes) : count);
    return {.nonzero = nonzero, .passes = whole ? 2 : 1};
  }

  void decode_add(ByteReader in, float factor, std::span<float> out) const override {
    const auto scales = in.get_bytes(scale_bytes(out.size()), "scales");
    const auto rest = in.rest();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(rest.data());
    Cursor cursor(out, bucket_of(out.size()), scales, factor);
    if (options_.zero_run)
      add_runs({bytes, rest.size()}, cursor);
    else if (are_literals({bytes, rest.size()}))
      cursor.add(bytes, rest.size());
    else
      fail("byte over 242 without zero-run encoding");
    if (!cursor.at_end()) fail("fewer bytes than the tensor needs");
  }

 private:
  /// Position up to which a payload is decoded: a quartic byte of a bucket.
  class Cursor {
   public:
    Cursor(std::span<float> out, std::size_t bucket, std::span<const std::byte> scales,
           float factor)
        : rest_(out), bucket_(bucket), scales_(scales), factor_(factor) {
      open();
    }

    bool at_end() const { return rest_.empty(); }

    /// Skips `count` bytes of zeros.
    void skip(std::size_t count) {
      while (count > 0) {
        if (at_end()) fail("run past the end");
        const std::size_t some = std::min(count, length_ - at_);
        // A digit without an element is 0, whereas a zero element has the digit 1.
        if (at_ + some > full_quartic_bytes(here_.size())) fail("run past the end of a bucket");
        advance(some);
        count -= some;
      }
    }
    void add(const std::uint8_t* bytes, std::size_t count) {
      while (count > 0) {
        if (at_end()) fail("more bytes than the tensor needs");
        const std::size_t some = std::min(count, length_ - at_);
        if (!ternary_unpack_add(bytes, some, at_, value_, here_)) {
          fail("padding is not zero");
        }
        advance(some);
        bytes += some;
        count -= some;
      }
    }

   private:
    void open() {
      here_ = rest_.first(std::min(bucket_, rest_.size()));
      length_ = quartic_size(here_.size());
      at_ = 0;
      if (scales_.remaining() == 0) return;
      const auto scale = scales_.get<float>("the scale");
      check_scale(scale, "the scale");
      value_ = factor_ * scale;
    }
    void advance(std::size_t count) {
      at_ += count;
      if (at_ < length_) return;
      rest_ = rest_.subspan(here_.size());
      open();
    }

    std::span<float> rest_;  ///< the output from the current bucket on
    std::span<float> here_;  ///< the output of the current bucket
    std::size_t bucket_;
    ByteReader scales_;  ///< scales of the following buckets
    float factor_;
    float value_ = 0;
    std::size_t length_ = 0;  ///< quartic bytes of the current bucket
    std::size_t at_ = 0;      ///< index of the next byte in the current bucket
  };

  static void add_runs(std::span<const std::uint8_t> bytes, Cursor& cursor) {
    std::size_t i = 0;
    while (i < bytes.size()) {
      if (bytes[i] > kQuarticMax) {
        cursor.skip(run_length(bytes[i++]));
        continue;
      }
      std::size_t literals = 1;
      while (i + literals < bytes.size() && bytes[i + literals] <= kQuarticMax) ++literals;
      cursor.add(bytes.data() + i, literals);
      i += literals;
    }
  }

  std::size_t bucket_of(std::size_t elements) const {
    return options_.bucket == 0 ? elements : options_.bucket;
  }
  /// Returns the number of scales. Without buckets, a tensor has one scale even if it has no
  /// elements.
  std::size_t count_of(std::size_t elements) const {
    const std::size_t bucket = bucket_of(elements);
    return bucket == 0 ? 1 : (elements + bucket - 1) / bucket;
  }
  std::size_t scale_bytes(std::size_t elements) const { return count_of(elements) * sizeof(float); }
  std::size_t quartic_bytes(std::size_t elements) const {
    const std::size_t bucket = bucket_of(elements);
    if (bucket == 0) return 0;
    return elements / bucket * quartic_size(bucket) + quartic_size(elements % bucket);
  }

  std::size_t encode_whole(Signal& signal, const QuantizeContext& context,
                           std::span<float> remainder, std::uint8_t* scales,
                           std::uint8_t* packed) const {
    const float scale = ternary_scale(options_.sparsity, signal.max_magnitude());
    std::memcpy(scales, &scale, sizeof scale);
    const auto c = signal.values();
    if (!options_.stochastic) return ternary_pack(c, scale, remainder, packed);
    return stochastic_ternary_pack(c, scale, random_key(options_.stream, context.step), remainder,
                                   packed);
  }

  std::size_t encode_buckets(Signal& signal, std::span<float> remainder, std::uint8_t* scales,
                             std::uint8_t* packed) const {
    const std::size_t bucket = options_.bucket;
    const PendingSum* const sum = signal.take_sum();
    const auto c = signal.values();
    // If a sum is still to be computed, few buckets are processed at a time, so that they are
    // coded in the first-level cache.
    const std::size_t some =
        sum == nullptr ? c.size() : std::max(bucket, kFusedTernary / bucket * bucket);
    return sum_of_stretches(c.size(), bucket, [&](std::size_t begin, std::size_t end) {
      std::size_t nonzero = 0;
      for (std::size_t at = begin; at < end; at += some) {
        const std::size_t n = std::min(some, end - at);
        if (sum != nullptr) accumulate({sum->g + at, n}, sum->decay, sum->scale, {sum->r + at, n});
        nonzero += ternary_pack_buckets(c.subspan(at, n), bucket, options_.sparsity,
                                        remainder.empty() ? remainder : remainder.subspan(at, n),
                                        scales + at / bucket * sizeof(float),
                                        packed + at / bucket * quartic_size(bucket));
      }
      return nonzero;
    });
  }

  [[noreturn]] static void fail(const char* problem) {
    throw PayloadError(std::string("ternary payload: ") + problem);
  }

  TernaryOptions options_;
  Buffer<std::uint8_t> packed_;
};

// 3LC: three values, five to a byte, runs of zeros encoded.
const Registration kThreeLc{dense_method({
    .name = "3lc",
    .summary = "three-valued quantisation, quartic and zero-run encoding",
    .source = "Lim et al., 3LC, section 3",
    .memory = "residual",
    .parameters = {below_maximum(real_parameter(
                       "s", "1", "sparsity multiplier; the scale is s times the greatest magnitude",
                       1, 2)),
                   flag_parameter("zre", "true", "zero-run encoding"), bucket_parameter("0")},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_ternary_quantizer(tensor.elements,
                                        {.sparsity = static_cast<float>(parameters.real("s")),
                                         .zero_run = parameters.flag("zre"),
                                         .bucket = bucket_of(parameters, tensor, settings).bucket});
        },
    // Zero-run encoding is not taken into account, since its gain depends on the data.
    .expected_bits =
        [](const Parameters& parameters) { return 1.6 + bits_per_bucket(parameters, 32); },
    .traffic = traffic_of_scales,
})};

// Stochastic ternary quantisation and quartic encoding.
const Registration kStoch3{dense_method({
    .name = "stoch3",
    .summary = "three values chosen stochastically, quartic encoding: unbiased",
    .source = "Lim et al., 3LC, section 5.1: Stoch 3-value + QE",
    .quantizer =
        [](const Parameters&, const TensorInfo& tensor, const CompressorSettings& settings) {
          return make_ternary_quantizer(
              tensor.elements,
              {.sparsity = 1,
               .zero_run = false,
               .stochastic = true,
               .stream = random_stream(settings.seed, settings.rank, tensor.name)});
        },
    .expected_bits = [](const Parameters&) { return 1.6; },
    .traffic = traffic_of_scales,
})};

}  // namespace

std::size_t zero_run_encode(const std::uint8_t* packed, std::size_t count, std::uint8_t* out) {
  std::size_t written = 0;
  for (std::size_t i = 0; i < count;) {
    const std::size_t literals = end_of_literals(packed, i, count);
    std::memcpy(out + written, packed + i, literals - i);
    written += literals - i;
    i = end_of_zeros(packed, literals, count);
    const std::size_t run = i - literals;
    const std::size_t longest = run / kLongestRun;
    std::memset(out + written, kFirstRunByte + (kLongestRun - 2), longest);
    written += longest;
    const std::size_t rest = run % kLongestRun;
    if (rest == 0) continue;
    out[written++] =
        rest == 1 ? kQuarticZero : static_cast<std::uint8_t>(kFirstRunByte + (rest - 2));
  }
  return written;
}

std::unique_ptr<Quantizer> make_ternary_quantizer(std::size_t elements,
                                                  const TernaryOptions& options) {
  return std::make_unique<TernaryQuantizer>(elements, options);
}

}  // namespace thinpipe
