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
  virtual PositionCursor start(ByteReader bytes, std::size_t count, std::size_t elements) const {
    return {.bytes = bytes, .count = count, .elements = elements};
  }
  /// Reads the next positions.size() positions. @throws PayloadError
  virtual void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const = 0;
  /// Checks that nothing is left after the last position. @throws PayloadError
  virtual void finish(const PositionCursor& cursor) const { cursor.bytes.expect_end(); }

  /// Returns true where positions are written as in memory.
  virtual bool verbatim() const { return false; }

  /// Returns the mean bits per position at density p = count / d, computed for randomly placed
  /// elements, not measured.
  virtual double expected_bits(double density) const = 0;
};

/// Makes a codec of Golomb-Rice coded gaps (SBC eq. 5).
std::unique_ptr<PositionCodec> make_golomb_codec();
/// Make codecs of gaps in Elias's gamma and delta codes (Elias, "Universal codeword sets", 1975).
std::unique_ptr<PositionCodec> make_elias_gamma_codec();
std::unique_ptr<PositionCodec> make_elias_delta_codec();

/// Return the names of all codecs, and a codec by name: those above, and
/// * raw32: 32 bits per position;
/// * index28: 28 bits per position, for tensors of at most 2^28 elements (Tsuzuku et al., section
///   4.2);
/// * bitmap: one bit per element of the tensor;
/// * packed: blocks of gaps, each with as many bits per gap as its largest gap needs;
/// * run16: the 16-bit lengths of the runs of zeros between positions (DGC alg. 1).
/// @throws InputError for an unknown name.
const std::vector<std::string>& position_codec_names();
std::unique_ptr<PositionCodec> make_position_codec(const std::string& name);

// Lengths of codes of gaps: the parameter of Golomb-Rice codes, and the entropy bound that is
// reported beside position codecs.

/// Greatest number of bits of a remainder.
constexpr int kMaxGolombBits = 31;

/// Returns b* = 1 + floor(log2(ln(phi - 1) / ln(1 - p))) of SBC eq. 5, phi the golden ratio, in
/// [0, kMaxGolombBits].
int golomb_bits(double density);

/// Returns the mean bits per gap at density p with remainders of b bits:
/// b + 1 / (1 - (1 - p)^(2^b)). (SBC eq. 5: the mean of the unary part is the mean of floor((n - 1)
/// / 2^b) plus its stop bit.)
double golomb_mean_bits(double density, int bits);

/// Returns H(p)/p: the bits per position below which no code can go on average when each element is
/// selected with probability p = `density`, independently (Shannon).
/// H(p) = -p log2 p - (1-p) log2(1-p). 0 at density 1; grows without bound towards 0.
/// @param density in (0, 1]
double position_entropy_bits(double density);

}  // namespace thinpipe
