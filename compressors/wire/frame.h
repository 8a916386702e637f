// Frames: the envelope of a payload that leaves the process as a file, so that a reader without
// shared configuration can decode it. docs/wire-format.md section 4 is normative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compressors/compressor.h"

namespace thinpipe {

/// One tensor's payload of one step with everything that decoding needs.
struct Frame {
  std::string spec;         ///< method with every parameter: Parameters::text()
  TensorInfo tensor;        ///< d = product of the shape, at most 2^32 - 1
  std::uint64_t seed = 1;   ///< CompressorSettings::seed of the sender
  std::uint64_t step = 0;   ///< GradientInput::step of the encode
  std::uint32_t index = 0;  ///< of this frame in its file
  std::uint32_t count = 1;  ///< frames of the file: reveals a file cut between two frames
  bool held = false;        ///< a step whose gradient is accumulated, not sent: decodes to zeros
  bool checksum = true;     ///< a CRC-32C follows the payload
  std::span<const std::byte> payload = {};  ///< empty when held
};

/// Longest spec and longest tensor name of a frame, in bytes, and its greatest number of
/// dimensions.
inline constexpr std::size_t kMaxFrameText = 4096;
inline constexpr std::size_t kMaxFrameDimensions = 64;

/// Appends the frame's bytes to `out`.
/// @throws InputError when the spec or the tensor's name is too long, or when the name is not
/// UTF-8.
void append_frame(const Frame& frame, std::vector<std::byte>& out);

/// Reads the frames of a file one after the other. Every length is checked before it is used, no
/// length alone causes an allocation, and both checksums are compared with the bytes.
class FrameReader {
 public:
  /// Reads `file`, which must outlive the reader and its frames.
  explicit FrameReader(std::span<const std::byte> file) : file_(file) {}

  /// Returns true when all `count` frames were read. At least one is always expected.
  bool done() const { return count_ != 0 && next_ == count_; }

  /// Reads the next frame.
  /// @throws PayloadError "frame 2: field 'tensor shape' at byte 1234: found ..., expected ...".
  Frame next();

  /// Checks that nothing follows the last frame. @throws PayloadError
  void expect_end() const;

  /// Returns the position of the last frame read, for messages: "frame 2 at byte 1234 (tensor
  /// 'w')".
  const std::string& place() const { return place_; }

 private:
  std::span<const std::byte> file_;
  std::size_t at_ = 0;
  std::uint32_t next_ = 0;
  std::uint32_t count_ = 0;  ///< of the first frame; 0 before it was read
  std::string place_;
};

}  // namespace thinpipe
