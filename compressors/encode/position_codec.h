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
  BitReader bits = {};
  int parameter = 0;           ///< what the codec read at its start, or for its present block
  std::uint64_t left = 0;      ///< what the codec has still to give out of its present block
  std::uint64_t count = 0;     ///< positions not read yet, where the codec needs to know
  std::uint64_t next = 0;      ///< the lowest position that may follow
  std::uint64_t elements = 0;  ///< d

  /// Takes a position. @throws PayloadError unless it is in range and after the one before.
  std::uint32_t take(std::uint64_t position) {
    if (position < next || position >= elements) throw_position(position);
    next = position + 1;
    return static_cast<std::uint32_t>(position);
  }
  /// Takes positions that ascend from `next` on by the way they were made; `end` is one more than
  /// the last. @throws PayloadError unless that is in range, and with it all.
  void accept_up_to(std::uint64_t end) {
    if (end > elements) throw_position(end - 1);
    next = end;
  }
  /// Takes positions of which nothing is known. @throws PayloadError
  void take_all(std::span<const std::uint32_t> positions) {
    if (positions.empty()) return;
    // Without a branch for each: compilers make vectors of it.
    bool ascending = positions[0] >= next;
    for (std::size_t i = 1; i < positions.size(); ++i) {
      ascending &= positions[i] > positions[i - 1];
    }
    if (ascending) return accept_up_to(std::uint64_t{positions.back()} + 1);
    for (std::uint32_t position : positions) take(position);  // finds the one to name
  }

 private:
  [[noreturn]] void throw_position(std::uint64_t position) const {
    throw PayloadError("position " + std::to_string(position) + " in the payload; expected " +
                       std::to_string(next) + " to " + std::to_string(elements) + " (exclusive)");
  }
};

/// Positions are ascending and distinct; their number and d are known to both ends. Codecs have no
/// state, so one object serves any number of cursors.
class PositionCodec {
 public:
  virtual ~PositionCodec() = default;

  /// Bound of the bytes for any `count` <= max_count <= elements positions out of `elements`.
  /// @throws InputError when the codec cannot address so many elements.
  virtual std::size_t max_size(std::size_t max_count, std::size_t elements) const = 0;

  virtual void encode(std::span<const std::uint32_t> positions, std::size_t elements,
                      ByteWriter& out) const = 0;

  /// Starts to decode `count` positions from the rest of a payload.
  virtual PositionCursor start(ByteReader bytes, std::size_t count, std::size_t elements) const = 0;
  /// The next positions.size() positions. @throws PayloadError
  virtual void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const = 0;
  /// After the last one. @throws PayloadError when anything is left.
  virtual void finish(const PositionCursor& cursor) const = 0;

  /// True: positions are written as they lie in memory.
  virtual bool verbatim() const { return false; }

  /// Mean bits a position at density p = count / d, when the elements lie at random; not measured.
  virtual double expected_bits(double density) const = 0;
};

/// 32 bits each.
std::unique_ptr<PositionCodec> make_raw32_codec();
/// 28 bits each, for tensors of at most 2^28 elements (Tsuzuku et al., section 4.2).
std::unique_ptr<PositionCodec> make_index28_codec();
/// One bit for every element of the tensor.
std::unique_ptr<PositionCodec> make_bitmap_codec();
/// Golomb-Rice coded gaps (SBC eq. 5).
std::unique_ptr<PositionCodec> make_golomb_codec();
/// Gaps in Elias's gamma and delta codes (Elias, "Universal codeword sets", 1975).
std::unique_ptr<PositionCodec> make_elias_gamma_codec();
std::unique_ptr<PositionCodec> make_elias_delta_codec();
/// Blocks of gaps, each with as many bits a gap as its largest one needs.
std::unique_ptr<PositionCodec> make_packed_codec();
/// 16-bit lengths of the runs of zeros in between (DGC alg. 1).
std::unique_ptr<PositionCodec> make_run16_codec();

/// The codecs by name, and one of them. @throws InputError for an unknown name.
const std::vector<std::string>& position_codec_names();
std::unique_ptr<PositionCodec> make_position_codec(const std::string& name);

}  // namespace thinpipe
