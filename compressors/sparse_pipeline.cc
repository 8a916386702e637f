// Runs the parts of a sparse method one after the other.
#include "compressors/sparse_pipeline.h"

#include <algorithm>
#include <array>

#include "compressors/kernels/compact.h"
#include "compressors/kernels/parallel.h"
#include "compressors/pipeline_checks.h"

namespace thinpipe {
namespace {

/// Elements decoded at a time: their positions and values stay in the first-level cache.
constexpr std::size_t kPairsBlock = 1024;

}  // namespace

SparsePipeline::SparsePipeline(StateIdentity identity, SparseParts parts)
    : identity_(std::move(identity)), parts_(std::move(parts)) {
  const std::size_t d = identity_.elements;
  selection_.positions = Buffer<std::uint32_t>(d + kCompactSlack);
  selection_.values = Buffer<float>(d + kCompactSlack);
  const std::size_t most = parts_.selector->max_selected();
  // What is written as it lies there is filtered on its way.
  selection_.may_leave_cut = parts_.values->verbatim() && parts_.positions->verbatim() &&
                             !parts_.memory->minds_sent() && !parts_.selector->minds_sent();
  max_encoded_size_ =
      varint_size(most) + parts_.values->size(most) + parts_.positions->max_size(most, d);
}

EncodeReport SparsePipeline::encode(const GradientInput& gradient, std::span<std::byte> payload) {
  check_size(identity_, "the gradient", gradient.values.size());
  check_room(identity_, payload.size(), max_encoded_size_);
  const UseThreads threads(parts_.threads);
  Signal c = parts_.memory->add_later(gradient.values, 1.0F);
  selection_.cut.reset();
  parts_.selector->select(
      c, {.step = gradient.step, .epoch = gradient.epoch, .squares = gradient.squares}, selection_);
  c.values();  // done now, should no pass have been made
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

void SparsePipeline::write(ByteWriter& out) {
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

void SparsePipeline::write_cut(ByteWriter& out) const {
  out.put_varint(selection_.count);
  std::byte* const values = out.free().data();
  out.advance(selection_.count * sizeof(float));
  std::byte* const positions = out.free().data();
  out.advance(selection_.count * sizeof(std::uint32_t));
  filter_into(*selection_.cut, selection_.positions.first(selection_.held),
              selection_.values.first(selection_.held), selection_.count, positions, values);
}

void SparsePipeline::decode_add(std::span<const std::byte> payload, float factor,
                                std::span<float> out) const {
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

std::size_t SparsePipeline::decode_pairs(std::span<const std::byte> payload,
                                         std::span<std::uint32_t> positions,
                                         std::span<float> values) const {
  ByteReader in(payload);
  // Shorter arrays than max_pairs() are as good as long as the payload fits.
  const std::size_t room = std::min({positions.size(), values.size(), elements()});
  const std::size_t count = in.get_varint(room, "the count of elements");
  const auto encoded_values = in.get_bytes(parts_.values->size(count), "values");
  PositionCursor cursor = parts_.positions->start(in, count, elements());
  parts_.positions->decode(cursor, positions.first(count));
  parts_.values->decode(encoded_values, 0, values.first(count));
  parts_.positions->finish(cursor);
  return count;
}

void SparsePipeline::give_back(std::span<const std::uint32_t> positions,
                               std::span<const float> values) {
  if (positions.size() != values.size() || (!positions.empty() && positions.back() >= elements())) {
    throw InputError("tensor '" + identity_.tensor + "': given back are " +
                     std::to_string(values.size()) + " values of " +
                     std::to_string(positions.size()) + " positions, the last " +
                     (positions.empty() ? "none" : std::to_string(positions.back())) +
                     "; expected as many of both, less than " + std::to_string(elements()));
  }
  const UseThreads threads(parts_.threads);
  parts_.memory->give_back(positions, values);
}

Distortion SparsePipeline::distortion(const GradientInput& gradient,
                                      std::span<const std::byte> payload) const {
  check_size(identity_, "the gradient", gradient.values.size());
  std::vector<float> decoded(elements(), 0.0F);
  decode_add(payload, 1.0F, decoded);
  return parts_.memory->distortion(gradient.values, decoded);
}

void SparsePipeline::hold(const GradientInput& gradient) {
  if (parts_.period == 1) Compressor::hold(gradient);  // refuses
  check_size(identity_, "the gradient", gradient.values.size());
  parts_.memory->hold(gradient.values, 1.0F);
}

void SparsePipeline::reset() {
  parts_.memory->reset();
  parts_.selector->reset();
}

void SparsePipeline::save_state(std::vector<std::byte>& state) const {
  const std::size_t body = parts_.memory->state_size() + parts_.selector->state_size();
  ByteWriter out = begin_state(identity_, body, state);
  parts_.memory->save(out);
  parts_.selector->save(out);
}

void SparsePipeline::load_state(std::span<const std::byte> state) {
  const std::size_t body = parts_.memory->state_size() + parts_.selector->state_size();
  ByteReader in = open_state(identity_, body, state);
  parts_.memory->load(in);
  parts_.selector->load(in);
}

}  // namespace thinpipe
