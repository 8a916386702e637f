// SparseLoCo: the largest elements of every chunk of a decayed error feedback, two bits each. Each
// chunk is processed in first-level cache. A search that starts from the last chunk's limit finds a
// limit that k to 2 k elements reach. These elements are compacted, and the k largest of them are
// kept.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/select.h"
#include "compressors/methods/selectors.h"
#include "compressors/methods/sparse.h"
#include "compressors/select/top_k.h"

namespace thinpipe {
namespace {

/// A quarter of an octave of magnitudes: the first step of the search.
constexpr std::int64_t kFirstStep = 1 << 21;
/// No key exceeds it.
constexpr std::int64_t kPastKeys = std::int64_t{1} << 31;

/// Returns a key that at least k elements of the chunk reach, and at most 2 k unless there are
/// ties. k is less than chunk.size().
std::int32_t limit_for(std::span<const float> chunk, std::size_t k, std::int32_t guess) {
  std::int64_t low = 0;           // all elements reach it
  std::int64_t high = kPastKeys;  // no element reaches it
  std::int64_t step = kFirstStep;
  std::int64_t limit = guess;
  while (high - low > 1) {
    const std::size_t count =
        count_at_least(chunk, KeyOrder::kMagnitude, static_cast<std::int32_t>(limit));
    if (count >= k && count <= 2 * k) return static_cast<std::int32_t>(limit);
    if (count >= k) {
      low = limit;
      limit += step;
    } else {
      high = limit;
      limit -= step;
    }
    step *= 2;
    if (limit <= low || limit >= high) limit = low + (high - low) / 2;
  }
  return static_cast<std::int32_t>(low);
}

class ChunkedTopK : public Selector {
 public:
  ChunkedTopK(std::size_t elements, const Chunks& chunks)
      : chunks_(chunks), elements_(elements), top_k_(chunks) {}

  std::size_t max_selected() const override { return chunks_.selected(elements_); }

  void select(Signal& signal, const SelectContext& /*context*/, Selection& selection) override {
    // On one thread, the sum is computed chunk by chunk, in first-level cache.
    const PendingSum* const sum = threads_for(signal.size()) == 1 ? signal.take_sum() : nullptr;
    const auto c = signal.values();
    std::int32_t lowest = kMaxKey;
    selection.count = 0;
    for (std::size_t at = 0; at < c.size(); at += chunks_.size) {
      const auto chunk = c.subspan(at, std::min(chunks_.size, c.size() - at));
      if (sum != nullptr) sum->compute(at, at + chunk.size());
      lowest = std::min(lowest, top_k_.append(chunk, at, selection));
    }
    selection.target = selection.count;
    // The least of the chunks' thresholds.
    selection.threshold = c.empty() ? 0.0 : static_cast<double>(magnitude_of(lowest));
    selection.passes = 1;
  }

 private:
  Chunks chunks_;
  std::size_t elements_;
  ChunkTopK top_k_;
};

class ChunkedCodec : public PositionCodec {
 public:
  explicit ChunkedCodec(const Chunks& chunks) : chunks_(chunks), bits_(chunks.position_bits()) {}

  std::size_t max_size(std::size_t max_count, std::size_t elements) const override {
    const auto bits = static_cast<std::size_t>(bits_);
    return (max_count * bits + chunks_.count(elements) * (bits + 1) + 7) / 8;
  }

  void encode(std::span<const std::uint32_t> positions, std::size_t elements,
              ByteWriter& out) const override {
    const bool complete = positions.size() == chunks_.selected(elements);
    BitWriter writer(out.free());
    std::size_t next = 0;
    for (std::size_t chunk = 0; chunk < chunks_.count(elements); ++chunk) {
      const std::uint64_t first = chunk * chunks_.size;
      std::size_t end = next;
      while (end < positions.size() && positions[end] < first + chunks_.size) ++end;
      if (!complete) writer.put(end - next, bits_ + 1);
      for (; next < end; ++next) writer.put(positions[next] - first, bits_);
    }
    out.advance(writer.finish());
  }

  PositionCursor start(ByteReader bytes, std::size_t count, std::size_t elements) const override {
    PositionCursor cursor{.bytes = bytes, .bits = {}, .elements = elements};
    if (count > chunks_.selected(elements)) {
      throw PayloadError(std::to_string(count) + " positions in the payload; expected at most " +
                         std::to_string(chunks_.selected(elements)));
    }
    cursor.parameter = count == chunks_.selected(elements) ? kComplete : 0;
    cursor.bits = BitReader(cursor.bytes.rest());
    return cursor;
  }

  void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const override {
    // One call decodes a block of positions, which may begin and end within a chunk. The current
    // chunk is the one with cursor.next, the lowest position that may follow. `parameter` counts
    // the positions left in that chunk.
    for (std::uint32_t& position : positions) {
      while (left(cursor) == 0) open_chunk(cursor);
      --cursor.parameter;
      const std::uint64_t local = cursor.bits.get(bits_);
      position = cursor.take(chunk_of(cursor) * chunks_.size + local);
      if (left(cursor) == 0) {
        close_chunk(cursor, position);
      } else if (cursor.next % chunks_.size == 0) {
        throw PayloadError("a chunk in the payload has positions after its last element");
      }
    }
  }

  void finish(const PositionCursor& cursor) const override {
    PositionCursor rest = cursor;
    if (left(rest) != 0) throw PayloadError("payload ends within a chunk's positions");
    // Chunks without positions may follow, each with a count of 0.
    while (rest.parameter < kComplete && rest.next < rest.elements) {
      open_chunk(rest);
      if (left(rest) != 0) throw PayloadError("more positions in the payload than its count");
    }
    rest.bytes.expect_end();
    rest.bits.expect_end();
  }

  double expected_bits(double /*density*/) const override { return bits_; }

 private:
  /// Added to a cursor's parameter where every chunk is complete and the payload has no counts.
  static constexpr int kComplete = 1 << 24;

  static int left(const PositionCursor& cursor) { return cursor.parameter & (kComplete - 1); }

  /// Returns the chunk of `next`. At the border of two chunks it is the upper one.
  std::uint64_t chunk_of(const PositionCursor& cursor) const { return cursor.next / chunks_.size; }

  void open_chunk(PositionCursor& cursor) const {
    if (cursor.next >= cursor.elements) {
      throw PayloadError("fewer positions in the chunks of the payload than its count");
    }
    const std::uint64_t first = chunk_of(cursor) * chunks_.size;
    const std::uint64_t size = std::min<std::uint64_t>(chunks_.size, cursor.elements - first);
    const std::uint64_t most = std::min<std::uint64_t>(chunks_.k, size);
    std::uint64_t count = most;
    if (cursor.parameter < kComplete) count = cursor.bits.get(bits_ + 1);
    if (count > most) {
      throw PayloadError(std::to_string(count) + " positions in a chunk; expected at most " +
                         std::to_string(most));
    }
    cursor.parameter += static_cast<int>(count);
    if (count == 0) cursor.next = first + size;
  }

  /// Moves to the next chunk, which begins after this one's last position.
  void close_chunk(PositionCursor& cursor, std::uint64_t position) const {
    cursor.next = std::min(cursor.elements, (position / chunks_.size + 1) * chunks_.size);
  }

  Chunks chunks_;
  int bits_;
};

// The paper's 30 local steps are delay=30; a trace of plain gradients then sums 30 of them.
const Registration kSparseLoCo{sparse_method({
    .name = "sparseloco",
    .summary = "the k largest of every chunk, two bits each, with decaying error feedback",
    .source = "Sarfi et al., SparseLoCo, section 3, alg. 1, arXiv 2508.15706",
    .ratio_name = "",
    .decay = "0.95",
    .values = "int2",
    .positions = "chunked",
    .parameters = {choice_parameter("chunk", "4096", "elements per chunk",
                                    {"64", "256", "1024", "4096", "16384", "65536"}),
                   integer_parameter("k", "64", "elements sent per chunk", 1, 65536)},
    .counted = true,
    .own =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          const Chunks chunks = chunks_of(parameters);
          return OwnParts{.selector = make_chunked_top_k_selector(tensor.elements, chunks),
                          .positions = make_chunked_codec(chunks)};
        },
    .density =
        [](const Parameters& parameters) {
          const Chunks chunks = chunks_of(parameters);
          return static_cast<double>(std::min(chunks.k, chunks.size)) /
                 static_cast<double>(chunks.size);
        },
})};

}  // namespace

ChunkTopK::ChunkTopK(const Chunks& chunks) : k_(chunks.k), top_k_(chunks.size + kCompactSlack) {
  candidates_.positions = Buffer<std::uint32_t>(chunks.size + kCompactSlack);
  candidates_.values = Buffer<float>(chunks.size + kCompactSlack);
}

std::int32_t ChunkTopK::append(std::span<const float> chunk, std::size_t first,
                               Selection& selection) {
  const std::size_t k = std::min(k_, chunk.size());
  limit_ = k == chunk.size() ? 0 : limit_for(chunk, k, limit_);
  candidates_.count = compact(chunk, KeyOrder::kMagnitude, limit_, candidates_.positions.data(),
                              candidates_.values.data());
  const std::int32_t least = top_k_.refine(KeyOrder::kMagnitude, k, candidates_);
  for (std::size_t i = 0; i < k; ++i) {
    selection.positions[selection.count + i] =
        candidates_.positions[i] + static_cast<std::uint32_t>(first);
  }
  std::memcpy(selection.values.data() + selection.count, candidates_.values.data(),
              k * sizeof(float));
  selection.count += k;
  return least;
}

std::unique_ptr<Selector> make_chunked_top_k_selector(std::size_t elements, const Chunks& chunks) {
  return std::make_unique<ChunkedTopK>(elements, chunks);
}

std::unique_ptr<PositionCodec> make_chunked_codec(const Chunks& chunks) {
  return std::make_unique<ChunkedCodec>(chunks);
}

Chunks chunks_of(const Parameters& parameters) {
  return {.size = parameters.count("chunk"), .k = parameters.count("k")};
}

}  // namespace thinpipe
