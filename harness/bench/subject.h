// One compressor on one tensor, ready to be timed. Also checks the compressor's output: no time is
// reported unless the checks pass.
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

/// A timed result is wrong. The message has the difference.
class ValidationError : public RunError {
 public:
  using RunError::RunError;
};

/// A buffer for a payload, followed by guard bytes that must stay unchanged.
class GuardedPayload {
 public:
  GuardedPayload() = default;
  explicit GuardedPayload(std::size_t size);
  std::span<std::byte> room() { return bytes_.first(size_); }
  /// Returns the first `encoded_bytes` bytes. @throws ValidationError when these exceed the buffer,
  /// or when a guard byte has changed.
  std::span<const std::byte> payload(std::size_t encoded_bytes) const;

 private:
  Buffer<std::byte> bytes_;
  std::size_t size_ = 0;
};

/// Makes a fresh compressor of the measured spec.
using CompressorFactory =
    std::function<std::unique_ptr<Compressor>(const TensorInfo&, const CompressorSettings&)>;

/// Epoch of all steps, on a GPU too. It is after every warm-up, so that a compressor is measured as
/// it will be for most of a training.
inline constexpr double kAfterWarmUp = 1e6;

/// Number of steps of validate_start(): each step checks the memory of the step before.
inline constexpr std::size_t kPlainSteps = 3;

/// Quality of a compressor, apart from its speed: means over steps.
struct Quality {
  double selected_share = 0;    ///< k-hat / k; NaN where the method has no target
  double bits_per_element = 0;  ///< 8 * payload bytes / d
  double relative_error = 0;    ///< |decoded - c| / |c|
  double passes = 0;            ///< over the d elements
};

/// Adds up the quality of steps.
class QualityMean {
 public:
  void add(const EncodeReport& report, std::size_t elements, const Distortion& distortion);
  Quality mean() const;

 private:
  Quality sum_;
  double steps_ = 0;
};

/// Returns the quality for Google Benchmark's rows, without NaN.
std::map<std::string, double> quality_counters(const Quality& quality);

/// Settings of a subject and its compressor.
struct SubjectOptions {
  CompressorFactory make;
  CompressorSettings settings;
  std::string simd;  ///< of set_simd_target()
  /// The method sends coefficients of a transform: one sent element may affect many decoded ones.
  bool spreads = false;
};

/// A compressor to be timed, with its payload and the number of steps so far. Only encode() and
/// decode() are timed; all other work happens before or after. Inputs must outlive the subject.
class Subject {
 public:
  Subject(SubjectOptions options, const Inputs& inputs);

  /// Encodes `steps` steps, so that memories fill and estimates settle, and returns the quality of
  /// the second half. decode() then decodes the last payload.
  Quality warm_up(int steps);

  /// Sets the SIMD target; called before a series of encode() or decode().
  void begin() const;
  /// Encodes the next step: the next input into the same payload.
  void encode();
  /// Adds the last payload of warm_up() to the next output.
  void decode();

  /// Compares the first steps with those of the plainest kernels on one thread: payloads byte for
  /// byte, and decoded values bit for bit. Also checks the error that the compressor reports.
  /// @throws ValidationError
  void validate_start() const;
  /// Checks that a second compressor decodes the last payload to the same bits, and that all
  /// decoded values are finite. Also checks that at most k-hat decoded values are not zero, where
  /// k-hat is the reported number of selected elements.
  /// @throws ValidationError
  void validate_last() const;

 private:
  GradientInput input() const;

  SubjectOptions options_;
  const Inputs* inputs_;
  std::unique_ptr<Compressor> compressor_;
  GuardedPayload payload_;
  std::vector<std::byte> kept_;  ///< the payload that decode() decodes
  EncodeReport last_;
  std::size_t step_ = 0, decoded_ = 0;
};

}  // namespace thinpipe
