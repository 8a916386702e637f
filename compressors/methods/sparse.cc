// A compressor made of a memory, a selector, a value codec and a position codec, which run one
// after the other; and the maker of such a method from its declaration.
#include "compressors/methods/sparse.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/encode/position_codec.h"
#include "compressors/encode/value_codec.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/select.h"
#include "compressors/memory/memory.h"
#include "compressors/methods/common.h"
#include "compressors/select/selector.h"
#include "compressors/wire/bytes.h"
#include "compressors/wire/states.h"

namespace thinpipe {
namespace {

/// Elements decoded at a time: their positions and values stay in the first-level cache.
constexpr std::size_t kPairsBlock = 1024;

/// The parts of a sparse method; all are required.
struct SparseParts {
  std::unique_ptr<Memory> memory;
  std::unique_ptr<Selector> selector;
  std::unique_ptr<ValueCodec> values;
  std::unique_ptr<PositionCodec> positions;
  std::uint64_t period = 1;  ///< exchange every n-th step
  int threads = 1;           ///< of one encode or decode
  bool incremental = false;  ///< the memory is EF21's
};

/// Computes c = memory + gradient, selects, writes count, values and positions, and leaves the rest
/// in the memory.
class SparsePipeline : public Compressor, public SparsePayload {
 public:
  SparsePipeline(StateIdentity identity, SparseParts parts)
      : identity_(std::move(identity)), parts_(std::move(parts)) {
    const std::size_t d = identity_.elements;
    selection_.positions = Buffer<std::uint32_t>(d + kCompactSlack);
    selection_.values = Buffer<float>(d + kCompactSlack);
    // Elements written verbatim are filtered while they are copied.
    selection_.may_leave_cut = parts_.values->verbatim() && parts_.positions->verbatim() &&
                               !parts_.memory->minds_sent() && !parts_.selector->minds_sent();
    const std::size_t most = parts_.selector->max_selected();
    max_encoded_size_ =
        varint_size(most) + parts_.values->size(most) + parts_.positions->max_size(most, d);
  }

  std::size_t elements() const override { return identity_.elements; }
  std::size_t max_encoded_size() const override { return max_encoded_size_; }

  EncodeReport encode(const GradientInput& gradient, std::span<std::byte> payload) override {
    check_size(identity_, "the gradient", gradient.values.size());
    check_room(identity_, payload.size(), max_encoded_size_);
    // Before the memory changes, so that the caller can repeat the call.
    if (parts_.selector->needs_squares() && gradient.squares.size() != elements())
      throw InputError("tensor '" + identity_.tensor +
                       "': " + std::to_string(gradient.squares.size()) + " second moments for " +
                       std::to_string(elements()) +
                       " elements; this method needs one for each. Traces have second moments "
                       "where they were captured with --squares");
    const UseThreads threads(parts_.threads);
    Signal c = parts_.memory->add_later(gradient.values, 1.0F);
    selection_.cut.reset();
    parts_.selector->select(
        c, {.step = gradient.step, .epoch = gradient.epoch, .squares = gradient.squares},
        selection_);
    c.values();  // computes the sum now if no pass has
    ByteWriter out(payload);
    if (selection_.cut) {
      write_cut(out);
    } else {
      write(out);
    }
    if (const auto mirror = parts_.memory->mirror(); !mirror.empty()) {
      decode_add(payload.first(out.size()), 1.0F, mirror);
    }
    return {.encoded_bytes = out.size(),
            .target_elements = selection_.target,
            .selected_elements = selection_.count,
            .threshold = selection_.threshold,
            .passes = parts_.memory->passes() + selection_.passes - (c.fused() ? 1 : 0)};
  }

  void decode_add(std::span<const std::byte> payload, float factor,
                  std::span<float> out) const override {
    check_size(identity_, "the output", out.size());
    ByteReader in(payload);
    const std::size_t count = in.get_varint(elements(), "the count of elements");
    const auto encoded_values = in.get_bytes(parts_.values->size(count), "values");
    PositionCursor cursor = parts_.positions->start(in, count, elements());
    std::array<std::uint32_t, kPairsBlock> positions;
    std::array<float, kPairsBlock> values;
    for (std::size_t first = 0; first < count; first += kPairsBlock) {
      const std::size_t n = std::min(kPairsBlock, count - first);
      parts_.positions->decode(cursor, std::span(positions).first(n));
      parts_.values->decode(encoded_values, first, std::span(values).first(n));
      for (std::size_t i = 0; i < n; ++i) out[positions[i]] += factor * values[i];
    }
    parts_.positions->finish(cursor);
  }

  std::size_t max_pairs() const override { return parts_.selector->max_selected(); }

  std::size_t decode_pairs(std::span<const std::byte> payload, std::span<std::uint32_t> positions,
                           std::span<float> values) const override {
    ByteReader in(payload);
    // Arrays shorter than max_pairs() are allowed as long as the payload fits.
    const std::size_t capacity = std::min({positions.size(), values.size(), elements()});
    const std::size_t count = in.get_varint(capacity, "the count of elements");
    const auto encoded_values = in.get_bytes(parts_.values->size(count), "values");
    PositionCursor cursor = parts_.positions->start(in, count, elements());
    parts_.positions->decode(cursor, positions.first(count));
    parts_.values->decode(encoded_values, 0, values.first(count));
    parts_.positions->finish(cursor);
    return count;
  }

  void give_back(std::span<const std::uint32_t> positions, std::span<const float> values) override {
    if (positions.size() != values.size() ||
        (!positions.empty() && positions.back() >= elements())) {
      throw InputError(
          "tensor '" + identity_.tensor + "': " + std::to_string(values.size()) +
          " values to restore at " + std::to_string(positions.size()) + " positions, the last " +
          (positions.empty() ? "none" : std::to_string(positions.back())) +
          "; expected equal counts and positions less than " + std::to_string(elements()));
    }
    const UseThreads threads(parts_.threads);
    parts_.memory->give_back(positions, values);
  }

  Distortion distortion(const GradientInput& gradient,
                        std::span<const std::byte> payload) const override {
    check_size(identity_, "the gradient", gradient.values.size());
    std::vector<float> decoded(elements(), 0.0F);
    decode_add(payload, 1.0F, decoded);
    return parts_.memory->distortion(gradient.values, decoded);
  }

  std::span<const float> residual() const override { return parts_.memory->remainder(); }
  std::uint64_t period() const override { return parts_.period; }
  bool incremental() const override { return parts_.incremental; }
  void hold(const GradientInput& gradient) override {
    check_size(identity_, "the gradient", gradient.values.size());
    const UseThreads threads(parts_.threads);
    parts_.memory->hold(gradient.values, 1.0F);
  }

  void reset() override {
    parts_.memory->reset();
    parts_.selector->reset();
  }
  void save_state(std::vector<std::byte>& state) const override {
    ByteWriter out = begin_state(identity_, state_size(), state);
    parts_.memory->save(out);
    parts_.selector->save(out);
  }
  void load_state(std::span<const std::byte> state) override {
    ByteReader in = open_state(identity_, state_size(), state);
    parts_.memory->load(in);
    parts_.selector->load(in);
  }

 private:
  std::size_t state_size() const {
    return parts_.memory->state_size() + parts_.selector->state_size();
  }

  void write(ByteWriter& out) {
    selection_.count = parts_.values->admit(selection_.positions.first(selection_.count),
                                            selection_.values.first(selection_.count));
    const auto positions = selection_.positions.first(selection_.count);
    const auto values = selection_.values.first(selection_.count);
    out.put_varint(selection_.count);
    parts_.values->encode(values, out);
    parts_.positions->encode(positions, elements(), out);
    parts_.selector->sent(positions);
    parts_.memory->sent(positions, values);
  }
  /// Writes a selection whose cut was left to the writer.
  void write_cut(ByteWriter& out) const {
    out.put_varint(selection_.count);
    std::byte* const values = out.free().data();
    out.advance(selection_.count * sizeof(float));
    std::byte* const positions = out.free().data();
    out.advance(selection_.count * sizeof(std::uint32_t));
    filter_into(*selection_.cut, selection_.positions.first(selection_.held),
                selection_.values.first(selection_.held), selection_.count, positions, values);
  }

  StateIdentity identity_;
  SparseParts parts_;
  Selection selection_;
  std::size_t max_encoded_size_;
};

bool listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Makes selector and codecs from the parameters.
OwnParts make_parts(const SparseMethod& method, const Parameters& parameters,
                    const TensorInfo& tensor, const CompressorSettings& settings) {
  OwnParts parts;
  if (method.own) {
    parts = method.own(parameters, tensor, settings);
  } else {
    parts.selector = method.selector(parameters, tensor, settings);
  }
  const std::string& values = parameters.choice("values");
  const std::string& positions = parameters.choice("positions");
  if (listed(value_codec_names(), values)) parts.values = make_value_codec(values);
  if (listed(position_codec_names(), positions)) parts.positions = make_position_codec(positions);
  return parts;
}

}  // namespace

MethodInfo sparse_method(const SparseMethod& method) {
  MethodInfo info;
  info.name = method.name;
  info.summary = method.summary;
  info.source = method.source;
  info.aggregation = Aggregation::kAllGather;
  info.needs_squares = method.needs_squares;
  info.has_pairs = true;
  info.has_target = !method.ratio_name.empty() || method.counted;
  const bool has_ratio = !method.ratio_name.empty();
  info.parameters = join(
      {has_ratio ? ratio_parameters(method.ratio, method.ratio_name) : std::vector<ParameterInfo>{},
       method.parameters, memory_parameters(method.memory, method.delay, method.decay),
       encoding_parameters(method.values, method.positions)});
  info.expected_bits = [method, has_ratio](const Parameters& parameters) {
    const double density =
        has_ratio ? parameters.real(method.ratio_name) : method.density(parameters);
    // Makes codecs of a large tensor without allocating anything for its elements.
    const OwnParts parts = make_parts(method, parameters, {}, {});
    return density * (parts.positions->expected_bits(density) + parts.values->expected_bits()) /
           static_cast<double>(period_of(parameters));
  };
  info.traffic = traffic_with_memory(method.traffic);
  info.make = [method](const Parameters& parameters, const TensorInfo& tensor,
                       const CompressorSettings& settings) {
    OwnParts own = make_parts(method, parameters, tensor, settings);
    SparseParts parts{.memory = make_memory(parameters, tensor.elements),
                      .selector = std::move(own.selector),
                      .values = std::move(own.values),
                      .positions = std::move(own.positions),
                      .period = period_of(parameters),
                      .threads = settings.threads,
                      .incremental = parameters.choice("memory") == "ef21"};
    return std::make_unique<SparsePipeline>(identity_of(parameters, tensor), std::move(parts));
  };
  return info;
}

}  // namespace thinpipe
