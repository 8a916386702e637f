// DeMo: a decaying momentum whose greatest cosine coefficients are sent and subtracted. One chunk
// after another is copied to first-level cache, padded with zeros where the tensor ends,
// transformed, and its greatest coefficients are selected. The selected coefficients of all chunks
// are then written as a sparse method writes elements.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "compressors/encode/value_codec.h"
#include "compressors/kernels/buffer.h"
#include "compressors/kernels/transforms.h"
#include "compressors/methods/dense.h"
#include "compressors/methods/quantizers.h"
#include "compressors/methods/selectors.h"

namespace thinpipe {
namespace {

class DemoQuantizer : public Quantizer {
 public:
  DemoQuantizer(const DemoGrid& grid, const DemoOptions& options)
      : grid_(grid),
        chunks_{.size = grid.size(), .k = options.k},
        top_k_(chunks_),
        values_(make_value_codec(options.values)),
        positions_(make_chunked_codec(chunks_)) {
    selection_.positions = Buffer<std::uint32_t>(most());
    selection_.values = Buffer<float>(most());
  }

  std::size_t max_encoded_size(std::size_t /*elements*/) const override {
    return varint_size(most()) + values_->size(most()) +
           positions_->max_size(most(), coefficients());
  }

  QuantizeReport encode(Signal& signal, const QuantizeContext& /*context*/,
                        std::span<float> remainder, ByteWriter& out) override {
    const auto c = signal.values();
    selection_.count = 0;
    alignas(64) float work[kMaxWork];
    for (std::size_t first = 0; first < grid_.chunks(); first += batch()) {
      const std::size_t size = (end_of(first) - first) * grid_.size();
      std::memset(work, 0, size * sizeof(float));
      for_each_patch(first, [&](std::size_t at, std::size_t to, const Patch& patch) {
        take_dct_input(patch, c.data() + at, work + to);
      });
      transform(work, first, false);
      for (std::size_t at = 0; at < size; at += grid_.size()) {
        top_k_.append({work + at, grid_.size()}, first * grid_.size() + at, selection_);
      }
    }
    selection_.count = values_->admit(selection_.positions.first(selection_.count),
                                      selection_.values.first(selection_.count));
    const auto positions = selection_.positions.first(selection_.count);
    const auto values = selection_.values.first(selection_.count);
    const std::byte* const payload = out.free().data();
    const std::size_t before = out.size();
    out.put_varint(selection_.count);
    values_->encode(values, out);
    positions_->encode(positions, coefficients(), out);
    if (!remainder.empty()) {
      decode(ByteReader({payload, out.size() - before}),
             [&](std::size_t at, const float* decoded, const Patch& patch) {
               leave_decoded(patch, c.data() + at, decoded, remainder.data() + at);
             });
    }
    // One coefficient changes all elements of its chunk.
    return {.nonzero = selection_.count == 0 ? 0 : c.size(), .passes = remainder.empty() ? 1 : 2};
  }

  void decode_add(ByteReader in, float factor, std::span<float> out) const override {
    decode(in, [&](std::size_t at, const float* decoded, const Patch& patch) {
      add_decoded(patch, decoded, factor, out.data() + at);
    });
  }

 private:
  /// Coefficients decoded together.
  static constexpr std::size_t kBlock = 1024;
  /// Lines transformed together.
  static constexpr std::size_t kLines = 16;
  /// Coefficients of a batch: one chunk of at most kMaxDct x kMaxDct, or kLines lines.
  static constexpr std::size_t kMaxWork = kMaxDct * kMaxDct;
  static_assert(kLines <= kMaxDct);

  std::size_t coefficients() const { return grid_.coefficients(); }
  /// Returns the number of coefficients sent.
  std::size_t most() const { return chunks_.selected(coefficients()); }
  /// Returns the number of chunks transformed together: enough lines to fill the transform where
  /// chunks are flat.
  std::size_t batch() const { return std::max<std::size_t>(1, kLines / grid_.height); }
  std::size_t end_of(std::size_t first) const { return std::min(grid_.chunks(), first + batch()); }

  /// Calls body(index in the tensor, index in the batch, patch) for the part of each chunk of a
  /// batch that lies within the matrix; both indices are those of the patch's first element.
  template <class Body>
  void for_each_patch(std::size_t first, Body body) const {
    for (std::size_t chunk = first; chunk < end_of(first); ++chunk) {
      const std::size_t top = chunk / grid_.across() * grid_.height;
      const std::size_t left = chunk % grid_.across() * grid_.width;
      body(top * grid_.columns + left, (chunk - first) * grid_.size(),
           Patch{.rows = std::min(grid_.height, grid_.rows - top),
                 .columns = std::min(grid_.width, grid_.columns - left),
                 .step = grid_.columns,
                 .chunk_step = grid_.width});
    }
  }

  /// Transforms the batch that begins with chunk `first`, forward or inverse.
  void transform(float* work, std::size_t first, bool inverse) const {
    const auto run = inverse ? inverse_dct : dct;
    const std::size_t chunks = end_of(first) - first;
    run({.base = work,
         .count = chunks * grid_.height,
         .line_step = grid_.width,
         .length = grid_.width,
         .step = 1});
    for (std::size_t chunk = 0; chunk < chunks && grid_.height > 1; ++chunk) {
      run({.base = work + chunk * grid_.size(),
           .count = grid_.width,
           .line_step = 1,
           .length = grid_.height,
           .step = grid_.width});
    }
  }

  /// Reads a payload, transforms it back and calls body(index in the tensor, decoded elements,
  /// patch) for every chunk. @throws PayloadError
  template <class Body>
  void decode(ByteReader in, Body body) const {
    const std::size_t count = in.get_varint(coefficients(), "the count of coefficients");
    const auto encoded = in.get_bytes(values_->size(count), "values");
    PositionCursor cursor = positions_->start(in, count, coefficients());
    std::array<std::uint32_t, kBlock> positions;
    std::array<float, kBlock> values;
    std::size_t decoded = 0;  // coefficients in blocks so far
    std::size_t size = 0;     // of the current block
    std::size_t next = 0;     // in this block
    // Returns true if a coefficient is left at a position less than `end`.
    const auto has_before = [&](std::size_t end) {
      if (next == size) {
        size = std::min(kBlock, count - decoded);
        positions_->decode(cursor, std::span(positions).first(size));
        values_->decode(encoded, decoded, std::span(values).first(size));
        decoded += size;
        next = 0;
      }
      return next < size && positions[next] < end;
    };
    alignas(64) float work[kMaxWork];
    for (std::size_t first = 0; first < grid_.chunks(); first += batch()) {
      const std::size_t begin = first * grid_.size();
      const std::size_t end = end_of(first) * grid_.size();
      std::memset(work, 0, (end - begin) * sizeof(float));
      for (; has_before(end); ++next) work[positions[next] - begin] = values[next];
      transform(work, first, true);
      for_each_patch(first, [&](std::size_t at, std::size_t from, const Patch& patch) {
        body(at, work + from, patch);
      });
    }
    positions_->finish(cursor);
  }

  DemoGrid grid_;
  Chunks chunks_;
  ChunkTopK top_k_;
  std::unique_ptr<ValueCodec> values_;
  std::unique_ptr<PositionCodec> positions_;
  Selection selection_;
};

const Registration kDemo{dense_method({
    .name = "demo",
    .summary = "the greatest cosine coefficients of every chunk of a decaying momentum",
    .source = "Peng, Quesnelle and Kingma, DeMo, alg. 1, arXiv 2411.19870",
    .needs_whole = true,
    .memory = "residual",
    .decay = "0.999",
    .parameters = {choice_parameter("chunk", "64", "side of a matrix chunk; length of a vector's",
                                    {"16", "32", "64"}),
                   integer_parameter("topk", "32", "coefficients sent per chunk", 1, 4096),
                   choice_parameter("values", "fp32", "encoding of the coefficients",
                                    value_codec_names())},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_demo_quantizer({.shape = tensor.shape,
                                      .elements = tensor.elements,
                                      .chunk = parameters.count("chunk"),
                                      .k = parameters.count("topk"),
                                      .values = parameters.choice("values")});
        },
    // Expected bits of a matrix. A vector sends more bits per element, because its chunks have
    // fewer elements: they are only as long as a matrix's chunks are wide.
    .expected_bits =
        [](const Parameters& parameters) {
          const double side = static_cast<double>(parameters.integer("chunk"));
          const double size = side * side;
          const double sent = std::min(static_cast<double>(parameters.integer("topk")), size);
          const auto codec = make_value_codec(parameters.choice("values"));
          return sent / size * (codec->expected_bits() + std::log2(size));
        },
    // Known fast cosine transforms have at least the additions of a Walsh-Hadamard transform:
    // log2(side) per element for rows, and as many for columns. The transform back, of few
    // coefficients, is not counted.
    .traffic =
        [](const Parameters& parameters) {
          const double side = static_cast<double>(parameters.integer("chunk"));
          return EncodeTraffic{.multiply_adds = 2 * std::log2(side)};
        },
})};

}  // namespace

std::unique_ptr<Quantizer> make_demo_quantizer(const DemoOptions& options) {
  const DemoGrid grid = demo_grid(options.shape, options.elements, options.chunk);
  if (grid.coefficients() > std::numeric_limits<std::uint32_t>::max())
    throw InputError(fmt::format(
        "{} coefficients, with those that fill up chunks of {} by {}; expected at most {}",
        grid.coefficients(), options.chunk, options.chunk,
        std::numeric_limits<std::uint32_t>::max()));
  return std::make_unique<DemoQuantizer>(grid, options);
}

}  // namespace thinpipe
