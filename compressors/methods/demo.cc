// DeMo: a decaying momentum whose greatest cosine coefficients are sent and subtracted. Chunks are
// copied next to each other, padded with zeros where the tensor ends, and transformed in
// first-level cache. Their greatest coefficients are selected and written as a sparse method writes
// elements.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "compressors/encode/value_codec.h"
#include "compressors/kernels/buffer.h"
#include "compressors/kernels/select.h"
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
        selector_(make_chunked_top_k_selector(coefficients(), chunks_)),
        values_(make_value_codec(options.values)),
        positions_(make_chunked_codec(chunks_)),
        coefficients_(coefficients()) {
    selection_.positions = Buffer<std::uint32_t>(coefficients() + kCompactSlack);
    selection_.values = Buffer<float>(coefficients() + kCompactSlack);
  }

  std::size_t max_encoded_size(std::size_t /*elements*/) const override {
    const std::size_t most = selector_->max_selected();
    return varint_size(most) + values_->size(most) + positions_->max_size(most, coefficients());
  }

  QuantizeReport encode(Signal& signal, const QuantizeContext& context, std::span<float> remainder,
                        ByteWriter& out) override {
    const auto c = signal.values();
    for (std::size_t first = 0; first < grid_.chunks(); first += batch()) {
      gather(c, first);
      transform(first, false);
    }
    selector_->select(coefficients_.first(coefficients()), {.step = context.step}, selection_);
    selection_.count = values_->admit(selection_.positions.first(selection_.count),
                                      selection_.values.first(selection_.count));
    const auto positions = selection_.positions.first(selection_.count);
    const auto values = selection_.values.first(selection_.count);
    out.put_varint(selection_.count);
    values_->encode(values, out);
    positions_->encode(positions, coefficients(), out);
    if (!remainder.empty()) {
      clear();
      for (std::size_t i = 0; i < values.size(); ++i) coefficients_[positions[i]] = values[i];
      for_each_decoded([&](std::size_t at, const float* decoded, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
          const float left = c[at + i] - decoded[i];
          remainder[at + i] = std::isfinite(left) ? left : 0.0F;
        }
      });
    }
    // One coefficient changes all elements of its chunk.
    return {.nonzero = selection_.count == 0 ? 0 : c.size(), .passes = remainder.empty() ? 2 : 3};
  }

  void decode_add(ByteReader in, float factor, std::span<float> out) const override {
    const std::size_t count = in.get_varint(coefficients(), "the count of coefficients");
    const auto encoded = in.get_bytes(values_->size(count), "values");
    PositionCursor cursor = positions_->start(in, count, coefficients());
    std::array<std::uint32_t, kBlock> positions;
    std::array<float, kBlock> values;
    clear();
    for (std::size_t first = 0; first < count; first += kBlock) {
      const std::size_t n = std::min(kBlock, count - first);
      positions_->decode(cursor, std::span(positions).first(n));
      values_->decode(encoded, first, std::span(values).first(n));
      for (std::size_t i = 0; i < n; ++i) coefficients_[positions[i]] = values[i];
    }
    positions_->finish(cursor);
    for_each_decoded([&](std::size_t at, const float* decoded, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) out[at + i] += factor * decoded[i];
    });
  }

 private:
  static constexpr std::size_t kBlock = 1024;
  /// Lines transformed together.
  static constexpr std::size_t kLines = 16;

  std::size_t coefficients() const { return grid_.coefficients(); }
  /// Returns the number of chunks transformed together: enough lines to fill the transform where
  /// chunks are flat.
  std::size_t batch() const { return std::max<std::size_t>(1, kLines / grid_.height); }
  std::size_t end_of(std::size_t first) const { return std::min(grid_.chunks(), first + batch()); }

  void clear() const {
    if (coefficients() != 0) {
      std::memset(coefficients_.data(), 0, coefficients() * sizeof(float));
    }
  }

  /// Calls body(index of the first element in the tensor, its index in coefficients_, number of
  /// elements) for each row of a chunk that lies within the matrix.
  template <class Body>
  void for_each_row(std::size_t chunk, Body body) const {
    const std::size_t top = chunk / grid_.across() * grid_.height;
    const std::size_t left = chunk % grid_.across() * grid_.width;
    const std::size_t n = std::min(grid_.width, grid_.columns - left);
    for (std::size_t row = 0; row < grid_.height && top + row < grid_.rows; ++row) {
      body((top + row) * grid_.columns + left, chunk * grid_.size() + row * grid_.width, n);
    }
  }

  void gather(std::span<const float> c, std::size_t first) {
    const std::size_t end = end_of(first);
    std::memset(coefficients_.data() + first * grid_.size(), 0,
                (end - first) * grid_.size() * sizeof(float));
    for (std::size_t chunk = first; chunk < end; ++chunk) {
      for_each_row(chunk, [&](std::size_t from, std::size_t to, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) coefficients_[to + i] = dct_input(c[from + i]);
      });
    }
  }

  /// Transforms a batch of chunks, forward or inverse.
  void transform(std::size_t first, bool inverse) const {
    const auto run = inverse ? inverse_dct : dct;
    float* const begin = coefficients_.data() + first * grid_.size();
    const std::size_t chunks = end_of(first) - first;
    run({.base = begin,
         .count = chunks * grid_.height,
         .line_step = grid_.width,
         .length = grid_.width,
         .step = 1});
    for (std::size_t chunk = 0; chunk < chunks && grid_.height > 1; ++chunk) {
      run({.base = begin + chunk * grid_.size(),
           .count = grid_.width,
           .line_step = 1,
           .length = grid_.height,
           .step = grid_.width});
    }
  }

  /// Transforms coefficients_ back and calls body(index in the tensor, decoded elements, number of
  /// elements).
  template <class Body>
  void for_each_decoded(Body body) const {
    for (std::size_t first = 0; first < grid_.chunks(); first += batch()) {
      transform(first, true);
      for (std::size_t chunk = first; chunk < end_of(first); ++chunk) {
        for_each_row(chunk, [&](std::size_t at, std::size_t from, std::size_t n) {
          body(at, coefficients_.data() + from, n);
        });
      }
    }
  }

  DemoGrid grid_;
  Chunks chunks_;
  std::unique_ptr<Selector> selector_;
  std::unique_ptr<ValueCodec> values_;
  std::unique_ptr<PositionCodec> positions_;
  Selection selection_;
  mutable Buffer<float> coefficients_;  ///< chunk after chunk; also workspace of decode_add
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
                                      .chunk = std::stoul(parameters.choice("chunk")),
                                      .k = static_cast<std::size_t>(parameters.integer("topk")),
                                      .values = parameters.choice("values")});
        },
    // Expected bits of a matrix. A vector sends more bits per element, because its chunks have
    // fewer elements: they are only as long as a matrix's chunks are wide.
    .expected_bits =
        [](const Parameters& parameters) {
          const double side = std::stod(parameters.choice("chunk"));
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
          const double side = std::stod(parameters.choice("chunk"));
          return EncodeTraffic{.multiply_adds = 2 * std::log2(side)};
        },
})};

}  // namespace

std::unique_ptr<Quantizer> make_demo_quantizer(const DemoOptions& options) {
  return std::make_unique<DemoQuantizer>(demo_grid(options.shape, options.elements, options.chunk),
                                         options);
}

}  // namespace thinpipe
