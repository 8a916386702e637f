// How the positions of selected elements are written.
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

/// Where decoding stands. Made by PositionCodec::start, moved on by PositionCodec::decode.
struct PositionCursor {
  ByteReader bytes;
  BitReader bits;
  int parameter = 0;           ///< what the codec read at its start
  std::uint64_t next = 0;      ///< the lowest position that may follow
  std::uint64_t elements = 0;  ///< d

  /// Takes a position. @throws PayloadError unless it is in range and after the one before.
  std::uint32_t take(std::uint64_t position) {
    if (position < next || position >= elements) {
      throw PayloadError("position " + std::to_string(position) + " in the payload; expected " +
                         std::to_string(next) + " to " + std::to_string(elements) + " (exclusive)");
    }
    next = position + 1;
    return static_cast<std::uint32_t>(position);
  }
};

/// Positions are ascending and distinct; their number and d are known to both ends. Codecs have no
/// state, so one object serves any number of cursors.
class PositionCodec {
 public:
  virtual ~PositionCodec() = default;

  /// Bound of the bytes for any `count` <= max_count positions out of `elements`.
  virtual std::size_t max_size(std::size_t max_count, std::size_t elements) const = 0;

  virtual void encode(std::span<const std::uint32_t> positions, std::size_t elements,
                      ByteWriter& out) const = 0;

  /// Starts to decode `count` positions from the rest of a payload.
  virtual PositionCursor start(ByteReader bytes, std::size_t count, std::size_t elements) const = 0;
  /// The next positions.size() positions. @throws PayloadError
  virtual void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const = 0;
  /// After the last one. @throws PayloadError when anything is left.
  virtual void finish(const PositionCursor& cursor) const = 0;

  /// Mean bits a position at density p = count / d, when the elements lie at random; not measured.
  virtual double expected_bits(double density) const = 0;
};

/// 32 bits each.
std::unique_ptr<PositionCodec> make_raw32_codec();
/// Golomb-Rice coded gaps (SBC eq. 5).
std::unique_ptr<PositionCodec> make_golomb_codec();
/// 16-bit lengths of the runs of zeros in between (DGC alg. 1).
std::unique_ptr<PositionCodec> make_run16_codec();

/// The codecs by name, and one of them. @throws InputError for an unknown name.
const std::vector<std::string>& position_codec_names();
std::unique_ptr<PositionCodec> make_position_codec(const std::string& name);

}  // namespace thinpipe
