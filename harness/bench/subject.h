// One compressor on one tensor, ready to be timed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/bench/inputs.h"
#include "harness/bench/validate.h"

namespace thinpipe {

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
