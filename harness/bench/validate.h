// What must hold of a compressor's output before its time may be told.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "compressors/compressor.h"
#include "compressors/kernels/buffer.h"

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

}  // namespace thinpipe
