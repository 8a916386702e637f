// Position codecs on the GPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compressors/cuda/encode/device_decodes.h"
#include "compressors/cuda/encode/fixed_positions.h"
#include "compressors/cuda/encode/packed_positions.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/laid_positions.h"
#include "compressors/cuda/kernels/sample.h"
#include "compressors/cuda/kernels/state_scan.h"
#include "compressors/encode/position_codec.h"
#include "compressors/methods/selectors.h"

namespace thinpipe::cuda {

// Elias gamma and delta codes and Golomb-Rice codes of gaps (compressors/encode/gap_codes.cc).

/// Gamma code: up to 31 zeros, a one, and as many digits as zeros.
struct GammaCode {
  static constexpr std::uint32_t kMaxDigits = 31;

  THINPIPE_KERNEL static std::uint32_t bits(std::uint32_t n) { return 2 * highest(n) + 1; }
  THINPIPE_KERNEL static void put(auto& block, std::uint32_t* words, std::uint64_t bit,
                                  std::uint32_t n) {
    const std::uint32_t digits = highest(n);
    lay(block, words, bit + digits, 1 | (n - (std::uint32_t{1} << digits)) << 1);
  }
  /// Returns an upper bound of the bits of `count` gaps that sum to at most n. It is close to the
  /// smallest bound that most_digits_in_all() in compressors/encode/gap_codes.cc gives.
  THINPIPE_KERNEL static std::uint64_t most(std::uint32_t count, std::uint32_t n) {
    return count + 2 * most_digits(count, n);
  }
  THINPIPE_KERNEL static std::uint64_t most_digits(std::uint32_t count, std::uint32_t n) {
    const std::uint32_t mean = n / count;
    const std::uint32_t j = mean < 2 ? 1 : highest(mean);
    return std::uint64_t{count} * (j - 1) + (n >> j);
  }
  /// Reads the code at bit `bit` of the payload. @returns its length in bits; 0: no valid code
  THINPIPE_KERNEL static std::uint32_t read(const PayloadView& payload, std::uint64_t bit,
                                            std::uint32_t most_digits, std::uint32_t& n) {
    const std::uint32_t digits = lowest(payload.bits_at(bit));
    if (digits > most_digits) return 0;
    const std::uint32_t one = std::uint32_t{1} << digits;
    n = one | (payload.bits_at(bit + digits + 1) & (one - 1));
    return 2 * digits + 1;
  }
  THINPIPE_KERNEL static std::uint32_t read(const PayloadView& payload, std::uint64_t bit,
                                            std::uint32_t& n) {
    return read(payload, bit, kMaxDigits, n);
  }
};

/// Delta code: the number of digits plus one in gamma code, then the digits.
struct DeltaCode {
  static constexpr std::uint32_t kMaxGammaDigits = 5;

  THINPIPE_KERNEL static std::uint32_t bits(std::uint32_t n) {
    const std::uint32_t digits = highest(n);
    return GammaCode::bits(digits + 1) + digits;
  }
  THINPIPE_KERNEL static void put(auto& block, std::uint32_t* words, std::uint64_t bit,
                                  std::uint32_t n) {
    const std::uint32_t digits = highest(n);
    GammaCode::put(block, words, bit, digits + 1);
    lay(block, words, bit + GammaCode::bits(digits + 1), n - (std::uint32_t{1} << digits));
  }
  /// Returns Delta::most_bits() in compressors/encode/gap_codes.cc for one i near the best.
  THINPIPE_KERNEL static std::uint64_t most(std::uint32_t count, std::uint32_t n) {
    const std::uint64_t digits = GammaCode::most_digits(count, n);
    const std::uint32_t i = highest(static_cast<std::uint32_t>(digits / count) + 2);
    const std::uint64_t power = std::uint64_t{1} << i;
    return ((power + 2) * digits + (power * (2 * i - 1) + 2) * count) / power;
  }
  THINPIPE_KERNEL static std::uint32_t read(const PayloadView& payload, std::uint64_t bit,
                                            std::uint32_t& n) {
    std::uint32_t more = 0;
    const std::uint32_t bits = GammaCode::read(payload, bit, kMaxGammaDigits, more);
    if (bits == 0 || more - 1 > GammaCode::kMaxDigits) return 0;
    const std::uint32_t digits = more - 1;
    const std::uint32_t one = std::uint32_t{1} << digits;
    n = one | (payload.bits_at(bit + bits) & (one - 1));
    return bits + digits;
  }
};

/// Positions as Elias codes, written by LayPositions (laid_positions.h).
template <class Code>
struct EliasPositions : ConstantCode<EliasPositions<Code>> {
  THINPIPE_KERNEL static std::uint64_t most(std::uint32_t count, std::uint32_t n) {
    return count == 0 ? 0 : (Code::most(count, n) + 7) / 8;
  }
  THINPIPE_KERNEL std::uint32_t bits(std::uint32_t gap) const { return Code::bits(gap + 1); }
  THINPIPE_KERNEL void put(auto& block, std::uint32_t* words, std::uint64_t bit,
                           std::uint32_t /*position*/, std::uint32_t gap) const {
    Code::put(block, words, bit, gap + 1);
  }
};

/// The Elias codes of one payload, as a stream for state_scan.h. A segment may begin with up to 62
/// bits of a code from an earlier segment.
template <class Code>
struct EliasStream : CodeStream {
  const PayloadView& payload;

  THINPIPE_KERNEL EliasStream(const PayloadView& of, PayloadParts& parts) : payload(of) {
    if (parts.problem != PayloadProblem::kNone) return;
    const std::uint32_t left = payload.bytes - parts.positions;
    if ((parts.count == 0) != (left == 0)) parts.problem = PayloadProblem::kLength;
    begin = std::uint64_t{8} * parts.positions;
    bits = std::uint64_t{8} * left;
  }
  THINPIPE_KERNEL static PayloadView view_of(const DecodeJob& job) { return job.payload; }
  /// ReadStates checks the bits after the last code.
  THINPIPE_KERNEL static bool good(const PayloadParts& parts, const Passed& all) {
    return all.count == parts.count;
  }

  THINPIPE_KERNEL void read(std::uint32_t segment, Passed& passed, auto body) const {
    const auto read_gap = [&](std::uint64_t bit, std::uint32_t& gap) {
      return Code::read(payload, bit, gap);
    };
    read_codes(segment, passed, read_gap, [&](std::uint64_t end) { body(passed.count, end); });
  }
};

constexpr std::uint32_t kMaxRemainder = 31;  ///< bits

/// The Golomb-Rice codes of one payload, as a stream for state_scan.h: a quotient in unary, then a
/// remainder of fixed length. A code may begin in one segment and end in the next. A segment's
/// state is the number of bits at its beginning that belong to the remainder of a code from an
/// earlier segment. The state is 0 if the segment begins within a quotient or with a new code.
struct GolombStream : BitStream<kMaxRemainder + 1, 16, 1024> {
  const PayloadView& payload;
  std::uint32_t remainder = 0;  ///< number of bits of each code's remainder

  THINPIPE_KERNEL GolombStream(const PayloadView& of, PayloadParts& parts) : payload(of) {
    if (parts.problem != PayloadProblem::kNone) return;
    const std::uint32_t left = payload.bytes - parts.positions;
    if (parts.count == 0 ? left != 0 : left == 0) parts.problem = PayloadProblem::kLength;
    if (parts.problem != PayloadProblem::kNone || left == 0) return;
    remainder = payload.byte_at(parts.positions);
    if (remainder > kMaxRemainder) parts.problem = PayloadProblem::kPosition;
    begin = std::uint64_t{8} * (parts.positions + 1);
    bits = std::uint64_t{8} * (left - 1);
  }
  THINPIPE_KERNEL static PayloadView view_of(const DecodeJob& job) { return job.payload; }
  THINPIPE_KERNEL std::uint32_t states() const { return remainder + 1; }
  /// Returns whether the totals are those of a valid payload. Padding zeros after the last code are
  /// read as the start of a quotient, which leaves state 0.
  THINPIPE_KERNEL bool good(const PayloadParts& parts, const Passed& all) const {
    return all.count == parts.count && all.state == 0;
  }

  /// Reads a segment and adds its number of codes and its elements to `passed`, the totals before
  /// the segment. Calls body(i, end) for each code that ends in the segment. The code is the i-th
  /// of the payload and ends right before bit `end` of the stream.
  THINPIPE_KERNEL void read(std::uint32_t segment, Passed& passed, auto body) const {
    std::uint64_t at = std::uint64_t{kBits} * segment;
    const std::uint64_t end = at + kBits < bits ? at + kBits : bits;
    while (at < end) {
      const auto left = end - at < 32 ? static_cast<std::uint32_t>(end - at) : 32;
      const std::uint32_t word = payload.bits_at(begin + at);
      if (passed.state == 0) {
        const std::uint32_t zeros = lowest(word);
        if (zeros >= left) {
          passed.elements += std::uint64_t{left} << remainder;
          at += left;
          continue;
        }
        passed.elements += std::uint64_t{zeros} << remainder;
        at += zeros + 1;
        passed.state = remainder;
      } else {
        const std::uint32_t some = passed.state < left ? passed.state : left;
        const std::uint64_t taken = word & ((std::uint64_t{1} << some) - 1);
        passed.elements += taken << (remainder - passed.state);
        at += some;
        passed.state -= some;
      }
      if (passed.state > 0) continue;
      ++passed.elements;
      body(passed.count, at);
      ++passed.count;
    }
  }
};

// The codecs: which kernels write and read positions.

template <class Device>
class DevicePositions {
 public:
  virtual ~DevicePositions() = default;

  /// Returns the maximum number of positions in a payload of `bytes` bytes: one for each bit.
  virtual std::size_t most(std::size_t bytes) const { return 8 * bytes; }
  /// Sets the job fields that writing needs.
  virtual void prepare(Device& /*device*/, Job& /*job*/) const {}
  /// Launches the kernels that write the positions of all tensors.
  virtual void write(Device& device, const Batch& batch) const = 0;
  /// Plans the kernels that read the positions of a payload of the job's tensor.
  virtual void plan_read(const Job& own, DecodeJob& job, DecodePlan& plan) const = 0;
  /// Launches the kernels that read the positions of payloads into DecodeJob::positions.
  virtual void read(Device& device, const DecodeBatch& batch) const = 0;
};

/// raw32 and index28.
template <class Device, std::uint32_t bits>
class CodedFixed : public DevicePositions<Device> {
 public:
  std::size_t most(std::size_t bytes) const override { return 8 * bytes / bits; }
  void write(Device& device, const Batch& batch) const override {
    batch.launch_parts<WritePositions<FixedPositions<bits>>>(device);
  }
  void plan_read(const Job& own, DecodeJob& job, DecodePlan& plan) const override {
    const std::size_t elements = std::min<std::size_t>(own.n, most(job.payload.bytes));
    plan[DecodeGrid::kPositions] = tiles_of(static_cast<std::uint32_t>(elements), kTile);
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    batch.launch(device, DecodeGrid::kPositions, ReadFixedPositions<bits>{});
  }
};

template <class Code, class Lay = LayPositions<Code>, class Device>
void write_laid(Device& device, const Batch& batch) {
  batch.launch_parts<ClearPositions<Code>>(device);
  batch.launch_tiles<Lay>(device);
}

template <class Device>
class CodedRun16 : public DevicePositions<Device> {
 public:
  std::size_t most(std::size_t bytes) const override { return bytes / sizeof(std::uint16_t); }
  void write(Device& device, const Batch& batch) const override {
    write_laid<Run16Positions>(device, batch);
  }
  void plan_read(const Job& /*own*/, DecodeJob& job, DecodePlan& plan) const override {
    plan_scan(job.payload.bytes / sizeof(std::uint16_t), plan);
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    read_scanned<Run16Units>(device, batch);
  }
};

template <class Device>
class CodedBitmap : public DevicePositions<Device> {
 public:
  void write(Device& device, const Batch& batch) const override {
    write_laid<BitmapPositions>(device, batch);
  }
  void plan_read(const Job& own, DecodeJob& /*job*/, DecodePlan& plan) const override {
    plan_scan(own.n / 32, plan);
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    read_scanned<BitmapUnits>(device, batch);
  }
};

/// Random-k's positions, which the receiver draws again.
template <class Device>
class CodedSeeded : public DevicePositions<Device> {
 public:
  std::size_t most(std::size_t /*bytes*/) const override { return 0xffffffff; }
  void write(Device& device, const Batch& batch) const override {
    batch.launch_parts<WritePositions<SeededTag>>(device);
  }
  void plan_read(const Job& own, DecodeJob& job, DecodePlan& plan) const override {
    job.drawn = own.drawn;
    job.seed = own.sample_seed;
    plan_scan(own.n / 32, plan);
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    batch.launch(device, DecodeGrid::kEach, DrawForPayload{});
    read_scanned<BitmapUnits>(device, batch);
  }
};

/// Codes of variable length, each of which begins where the previous one ends (state_scan.h).
template <class Device, class Laid, class Stream>
class CodedStream : public DevicePositions<Device> {
 public:
  void write(Device& device, const Batch& batch) const override { write_laid<Laid>(device, batch); }
  void plan_read(const Job& /*own*/, DecodeJob& job, DecodePlan& plan) const override {
    plan_states<Stream>(job.payload, plan);
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    batch.launch(device, DecodeGrid::kPositions, PassStates<Stream>{});
    batch.launch(device, DecodeGrid::kEach, JoinStates<Stream>{});
    batch.launch(device, DecodeGrid::kPositions, ReadStates<Stream>{});
  }
};

template <class Device, class Code>
using CodedElias = CodedStream<Device, EliasPositions<Code>, EliasStream<Code>>;

template <class Device>
class CodedPacked : public DevicePositions<Device> {
 public:
  /// A block whose gaps are all 0 takes one byte.
  std::size_t most(std::size_t bytes) const override { return kPackedBlock * bytes; }
  void write(Device& device, const Batch& batch) const override {
    write_laid<PackedPositions, LayPacked>(device, batch);
  }
  void plan_read(const Job& own, DecodeJob& job, DecodePlan& plan) const override {
    plan[DecodeGrid::kPositions] = PackedWorkspace::segments(job.payload);
    plan[DecodeGrid::kTiles] = tiles_of(own.n, kTile);
    plan.passed = PackedWorkspace::of_states(job.payload) + plan[DecodeGrid::kTiles];
    plan.begins = own.n / kPackedBlock + 1;
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    batch.launch(device, DecodeGrid::kPositions, PassPacked{});
    batch.launch(device, DecodeGrid::kEach, JoinStates<PackedStream>{});
    batch.launch(device, DecodeGrid::kPositions, FindPacked{});
    batch.launch(device, DecodeGrid::kTiles, ScanPacked<false>{});
    batch.launch(device, DecodeGrid::kTiles, ScanPacked<true>{});
  }
};

template <class Device>
class CodedGolomb : public CodedStream<Device, GolombPositions, GolombStream> {
 public:
  void prepare(Device& device, Job& job) const override {
    // The parameter decreases as the count grows. Only the host computes the logarithms behind it.
    std::vector<std::uint32_t> densities(kMaxGolombBits + 2, 0);
    const auto parameter = [&](std::uint32_t count) {
      return golomb_bits(static_cast<double>(count) / static_cast<double>(job.n));
    };
    for (int bits = 1; bits <= kMaxGolombBits; ++bits) {
      std::uint32_t low = 0;  // the maximum count with this parameter
      for (std::uint32_t high = job.n; low < high;) {
        const std::uint32_t middle = low + (high - low + 1) / 2;
        if (parameter(middle) >= bits) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      densities[static_cast<std::size_t>(bits)] = low;
    }
    job.densities = uploaded(device, densities);
  }
};

/// Returns the chunk layout of a tensor of n elements.
inline ChunkLayout layout_of(const Chunks& chunks, std::size_t n) {
  return {.n = static_cast<std::uint32_t>(n),
          .bits = static_cast<std::uint32_t>(chunks.position_bits()),
          .k = static_cast<std::uint32_t>(chunks.k)};
}

/// Launches the kernels that read chunked positions; kPositions has one block for each kTile
/// selected elements.
void read_chunked(auto& device, const DecodeBatch& batch) {
  batch.launch(device, DecodeGrid::kEach, FindChunks{});
  batch.launch(device, DecodeGrid::kPositions, ReadChunked{});
}

/// Positions within chunks.
template <class Device>
class CodedChunked : public DevicePositions<Device> {
 public:
  explicit CodedChunked(const Chunks& chunks) : chunks_(chunks) {}

  std::size_t most(std::size_t bytes) const override {
    const auto bits = static_cast<std::size_t>(chunks_.position_bits());
    return bits == 0 ? 0xffffffff : 8 * bytes / bits;
  }
  void prepare(Device& /*device*/, Job& job) const override {
    job.chunks = layout_of(chunks_, job.n);
  }
  void write(Device& device, const Batch& batch) const override {
    write_laid<ChunkedPositions, LayChunked>(device, batch);
  }
  void plan_read(const Job& own, DecodeJob& job, DecodePlan& plan) const override {
    job.chunks = own.chunks;
    plan[DecodeGrid::kPositions] = tiles_of(own.chunks.selected(), kTile);
    plan.begins = own.chunks.chunks();
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    read_chunked(device, batch);
  }

 private:
  Chunks chunks_;
};

/// Returns null for codecs without a GPU implementation.
/// @param chunks  for positions=chunked
template <class Device>
std::unique_ptr<DevicePositions<Device>> make_positions(const std::string& name,
                                                        const Chunks& chunks) {
  if (name == "raw32") return std::make_unique<CodedFixed<Device, 32>>();
  if (name == "index28") return std::make_unique<CodedFixed<Device, 28>>();
  if (name == "bitmap") return std::make_unique<CodedBitmap<Device>>();
  if (name == "run16") return std::make_unique<CodedRun16<Device>>();
  if (name == "golomb") return std::make_unique<CodedGolomb<Device>>();
  if (name == "packed") return std::make_unique<CodedPacked<Device>>();
  if (name == "elias_gamma") return std::make_unique<CodedElias<Device, GammaCode>>();
  if (name == "elias_delta") return std::make_unique<CodedElias<Device, DeltaCode>>();
  if (name == "chunked") return std::make_unique<CodedChunked<Device>>(chunks);
  if (name == "seeded") return std::make_unique<CodedSeeded<Device>>();
  return nullptr;
}

}  // namespace thinpipe::cuda
