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

/// How many first steps validate_start() takes: the memory of the first is in the second, and so
/// on.
inline constexpr std::size_t kPlainSteps = 3;

/// Quality of a compressor, apart from its speed: means over steps.
struct Quality {
  double selected_share = 0;    ///< k-hat / k; NaN where the method has no target
  double bits_per_element = 0;  ///< 8 * payload bytes / d
  double relative_error = 0;    ///< |decoded - c| / |c|
  double passes = 0;            ///< over the d elements
};

/// The same for Google Benchmark's rows; what is no number is left out.
std::map<std::string, double> quality_counters(const Quality& quality);

/// Settings from which a compressor is made.
struct SubjectOptions {
  CompressorFactory make;
  CompressorSettings settings;
  std::string simd;  ///< of set_simd_target()
  /// The method sends coefficients of a transform: an element that was sent may touch many of the
  /// decoded ones.
  bool spreads = false;
};

/// Holds compressor, payload and the count of steps. encode() and decode() are what is timed; the
/// rest happens before and after. Inputs must outlive it.
class Subject {
 public:
  Subject(SubjectOptions options, const Inputs& inputs);

  /// Encodes `steps` steps, so that memories fill and estimates settle; the quality is that of
  /// the second half. From then on decode() decodes the payload of the last.
  Quality warm_up(int steps);

  /// Chooses the SIMD target; before a series of encode() or decode().
  void begin() const;
  /// The next step: the next input into the same payload.
  void encode();
  /// Adds the payload that warm_up() left to the next output.
  void decode();

  /// Holds the first steps against the plainest kernels on one thread: payloads byte for byte, what
  /// they decode to bit for bit, and the error that the compressor reports.
  /// @throws ValidationError
  void validate_start() const;
  /// Holds the last encode against a second compressor, which decodes to the same bits: finite
  /// ones, of which at most k-hat are not zero.
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
