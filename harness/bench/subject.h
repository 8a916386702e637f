// One compressor on one tensor, ready to be timed, and what must hold of its output before its time
// may be told.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compressors/compressor.h"
#include "compressors/kernels/buffer.h"
#include "harness/bench/inputs.h"

namespace thinpipe {

/// A timed result is wrong. The message says in what.
class ValidationError : public RunError {
 public:
  using RunError::RunError;
};

/// Room for a payload with bytes behind it that nobody may write.
class GuardedPayload {
 public:
  GuardedPayload() = default;
  explicit GuardedPayload(std::size_t size);
  std::span<std::byte> room() { return bytes_.first(size_); }
  /// The first bytes, as many as were encoded. @throws ValidationError when they are more than
  /// there is room, or when something was written behind the room.
  std::span<const std::byte> payload(std::size_t encoded_bytes) const;

 private:
  Buffer<std::byte> bytes_;
  std::size_t size_ = 0;
};

/// A fresh compressor of the spec that is measured.
using CompressorFactory =
    std::function<std::unique_ptr<Compressor>(const TensorInfo&, const CompressorSettings&)>;

/// The report of one encode against what its payload decodes to.
/// @param decoded   by the compressor that encoded
/// @param elsewhere by decode_plainly()
/// @param spreads   the method sends coefficients of a transform: an element that was sent may
///                  touch many of the decoded ones
/// @throws ValidationError unless at most k-hat <= d elements are not zero, both decode to the same
/// bits, and all of them are finite.
void validate_result(const Compressor& compressor, const EncodeReport& report,
                     std::span<const float> decoded, std::span<const float> elsewhere,
                     bool spreads);

/// out = what a fresh compressor decodes by the plainest instruction set on one thread.
void decode_plainly(const CompressorFactory& make, const TensorInfo& tensor,
                    CompressorSettings settings, std::span<const std::byte> payload,
                    std::span<float> out);

/// How many first steps: the memory of the first is in the second, and so on.
inline constexpr std::size_t kPlainSteps = 3;

/// First steps of a small tensor: the instruction set and the threads in use now give the payload
/// that the plainest instruction set gives on one thread, byte for byte, and decode it to the same
/// bits; and the error that the compressor reports is the distance of what is decoded from what was
/// given, where its memory left that as it was.
/// @param gradient  of tensor.elements elements; `squares` as many or none
/// @throws ValidationError when either does not hold.
void validate_against_plain(const CompressorFactory& make, const TensorInfo& tensor,
                            const CompressorSettings& settings, std::span<const float> gradient,
                            std::span<const float> squares);

/// What a compressor keeps, apart from its speed: means over steps.
struct Quality {
  double selected_share = 0;    ///< k-hat / k; NaN where the method has no target
  double bits_per_element = 0;  ///< 8 * payload bytes / d
  double relative_error = 0;    ///< |decoded - c| / |c|
  double passes = 0;            ///< over the d elements
};

/// The same for Google Benchmark's rows; what is no number is left out.
std::map<std::string, double> quality_counters(const Quality& quality);

/// What there is to know before a compressor can be made.
struct SubjectOptions {
  CompressorFactory make;
  CompressorSettings settings;
  std::string simd;      ///< of set_simd_target()
  bool spreads = false;  ///< see validate_result()
};

/// Holds compressor, payload and the count of steps. encode() and decode() are what is timed; the
/// rest happens before and after. Inputs must outlive it.
class Subject {
 public:
  Subject(SubjectOptions options, const Inputs& inputs);

  /// Encodes `steps` steps, so that memories fill and estimates settle; the quality is that of
  /// the second half. What decode() decodes from then on is the payload of the last.
  Quality warm_up(int steps);

  /// Chooses the SIMD target; before a series of encode() or decode().
  void begin() const;
  /// The next step: the next input into the same payload.
  void encode();
  /// Adds the payload that warm_up() left to the next output.
  void decode();

  /// Holds the first steps against the plainest kernels; see validate_against_plain().
  /// @throws ValidationError
  void validate_start() const;
  /// Holds the last encode against a second compressor; see validate_result().
  /// @throws ValidationError
  void validate_last() const;

 private:
  GradientInput input() const;

  SubjectOptions options_;
  const Inputs* inputs_;
  std::unique_ptr<Compressor> compressor_;
  GuardedPayload payload_;
  std::vector<std::byte> kept_;  ///< what decode() decodes
  EncodeReport last_;
  std::size_t step_ = 0, decoded_ = 0;
};

}  // namespace thinpipe
