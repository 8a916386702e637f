// Frames: what is put around a payload that leaves the process as a file, so that a reader who
// shares no configuration decodes it. docs/wire-format.md section 4 is normative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compressors/compressor.h"

namespace thinpipe {

/// One tensor's payload of one step with all that decoding it takes.
struct Frame {
  std::string spec;         ///< method with every parameter: Parameters::text()
  TensorInfo tensor;        ///< d = product of the shape, at most 2^32 - 1
  std::uint64_t seed = 1;   ///< CompressorSettings::seed of who encoded
  std::uint64_t step = 0;   ///< GradientInput::step of the encode
  std::uint32_t index = 0;  ///< this frame's place in its file, and how many frames the file has:
  std::uint32_t count = 1;  ///< a file cut between two frames is found out
  bool held = false;     ///< a step of a longer period in which nothing is sent: decodes to zeros
  bool checksum = true;  ///< a CRC-32C follows the payload
  std::span<const std::byte> payload = {};  ///< empty when held
};

/// Longest spec and longest name of a tensor in a frame, and most dimensions.
inline constexpr std::size_t kMaxFrameText = 4096;
inline constexpr std::size_t kMaxFrameDimensions = 64;

/// Appends the frame's bytes to `out`.
/// @throws InputError when a text is too long or the name is not UTF-8.
void append_frame(const Frame& frame, std::vector<std::byte>& out);

/// Reads the frames of a file one after the other. Every length is checked before it is used,
/// nothing is allocated by a length alone, and both checksums are held against the bytes.
class FrameReader {
 public:
  /// `file` must outlive the reader and the frames it gives.
  explicit FrameReader(std::span<const std::byte> file) : file_(file) {}

  /// All `count` frames were read. At least one is always expected.
  bool done() const { return count_ != 0 && next_ == count_; }

  /// @throws PayloadError "frame 2: field 'tensor shape' at byte 1234: found ..., expected ...".
  Frame next();

  /// Nothing may follow the last frame. @throws PayloadError
  void expect_end() const;

  /// Place of the frame that next() gave last, for messages: "frame 2 at byte 1234 (tensor 'w')".
  const std::string& place() const { return place_; }

 private:
  std::span<const std::byte> file_;
  std::size_t at_ = 0;
  std::uint32_t next_ = 0;
  std::uint32_t count_ = 0;  ///< as the first frame says; 0 before it was read
  std::string place_;
};

}  // namespace thinpipe
