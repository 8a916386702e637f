// Codecs of the positions of selected elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compressors/wire/bits.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {

/// State of decoding. Made by PositionCodec::start, advanced by PositionCodec::decode.
struct PositionCursor {
  ByteReader bytes;
  BitReader bits = {};
  int parameter = 0;           ///< read by the codec at its start, or for its current block
  std::uint64_t left = 0;      ///< rest of the codec's current block
  std::uint64_t count = 0;     ///< positions not read yet, for codecs that need the number
  std::uint64_t next = 0;      ///< the lowest position that may follow
  std::uint64_t elements = 0;  ///< d

  /// Takes a position. @throws PayloadError unless it is in range and after the one before.
  std::uint32_t take(std::uint64_t position) {
    if (position < next || position >= elements) throw_position(position);
    next = position + 1;
    return static_cast<std::uint32_t>(position);
  }
  /// Accepts positions that are at least `next` and ascend, which their encoding guarantees. `end`
  /// is the last position plus 1.
  /// @throws PayloadError unless `end`, and therefore every position, is in range.
  void accept_up_to(std::uint64_t end) {
    if (end > elements) throw_position(end - 1);
    next = end;
  }
  /// Takes arbitrary positions. @throws PayloadError
  void take_all(std::span<const std::uint32_t> positions) {
    if (positions.empty()) return;
    // The loop has no branch, so compilers vectorise it.
    bool ascending = positions[0] >= next;
    for (std::size_t i = 1; i < positions.size(); ++i) {
      ascending &= positions[i] > positions[i - 1];
    }
    if (ascending) return accept_up_to(std::uint64_t{positions.back()} + 1);
    for (std::uint32_t position : positions) take(position);  // finds the one for the message
  }

 private:
  [[noreturn]] void throw_position(std::uint64_t position) const {
    throw PayloadError("position " + std::to_string(position) + " in the payload; expected " +
                       std::to_string(next) + " to " + std::to_string(elements) + " (exclusive)");
  }
};

/// Codec of ascending, distinct positions. Sender and receiver know the number of positions and d,
/// the number of the tensor's elements. Codecs have no state, so one object serves any number of
/// cursors.
class PositionCodec {
 public:
  virtual ~PositionCodec() = default;

  /// Returns an upper bound of the bytes for any `count` <= max_count <= elements positions out of
  /// `elements`.
  /// @throws InputError when the codec cannot address so many elements.
  virtual std::size_t max_size(std::size_t max_count, std::size_t elements) const = 0;

  /// Writes the positions.
  virtual void encode(std::span<const std::uint32_t> positions, std::size_t elements,
                      ByteWriter& out) const = 0;

  /// Starts to decode `count` positions from the rest of a payload.
  virtual PositionCursor start(ByteReader bytes, std::size_t count, std::size_t elements) const = 0;
  /// Reads the next positions.size() positions. @throws PayloadError
  virtual void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const = 0;
  /// Checks that nothing is left after the last position. @throws PayloadError
  virtual void finish(const PositionCursor& cursor) const = 0;

  /// Returns true where positions are written as in memory.
  virtual bool verbatim() const { return false; }

  /// Returns the mean bits per position at density p = count / d, computed for randomly placed
  /// elements, not measured.
  virtual double expected_bits(double density) const = 0;
};

/// Makes a codec of 32 bits per position.
std::unique_ptr<PositionCodec> make_raw32_codec();
/// Makes a codec of 28 bits per position, for tensors of at most 2^28 elements (Tsuzuku et al.,
/// section 4.2).
std::unique_ptr<PositionCodec> make_index28_codec();
/// Makes a codec of one bit per element of the tensor.
std::unique_ptr<PositionCodec> make_bitmap_codec();
/// Makes a codec of Golomb-Rice coded gaps (SBC eq. 5).
std::unique_ptr<PositionCodec> make_golomb_codec();
/// Make codecs of gaps in Elias's gamma and delta codes (Elias, "Universal codeword sets", 1975).
std::unique_ptr<PositionCodec> make_elias_gamma_codec();
std::unique_ptr<PositionCodec> make_elias_delta_codec();
/// Makes a codec of blocks of gaps, each with as many bits per gap as its largest gap needs.
std::unique_ptr<PositionCodec> make_packed_codec();
/// Makes a codec of the 16-bit lengths of the runs of zeros between positions (DGC alg. 1).
std::unique_ptr<PositionCodec> make_run16_codec();

/// Return the names of the codecs, and a codec by name. @throws InputError for an unknown name.
const std::vector<std::string>& position_codec_names();
std::unique_ptr<PositionCodec> make_position_codec(const std::string& name);

}  // namespace thinpipe
