// A compressor made of a memory, a selector, a value codec and a position codec.
#pragma once

#include <memory>

#include "compressors/compressor.h"
#include "compressors/encode/position_codec.h"
#include "compressors/encode/value_codec.h"
#include "compressors/memory/memory.h"
#include "compressors/pipeline_state.h"
#include "compressors/select/selector.h"

namespace thinpipe {

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

/// c = memory + gradient; select; write count, values, positions; the memory keeps the rest.
class SparsePipeline : public Compressor {
 public:
  SparsePipeline(StateIdentity identity, SparseParts parts);

  std::size_t elements() const override { return identity_.elements; }
  std::size_t max_encoded_size() const override { return max_encoded_size_; }
  EncodeReport encode(const GradientInput& gradient, std::span<std::byte> payload) override;
  void decode_add(std::span<const std::byte> payload, float factor,
                  std::span<float> out) const override;
  bool has_pairs() const override { return true; }
  std::size_t max_pairs() const override { return parts_.selector->max_selected(); }
  std::size_t decode_pairs(std::span<const std::byte> payload, std::span<std::uint32_t> positions,
                           std::span<float> values) const override;
  bool takes_back() const override { return parts_.memory->takes_back(); }
  void give_back(std::span<const std::uint32_t> positions, std::span<const float> values) override;
  Distortion distortion(const GradientInput& gradient,
                        std::span<const std::byte> payload) const override;
  std::span<const float> residual() const override { return parts_.memory->remainder(); }
  std::uint64_t period() const override { return parts_.period; }
  bool incremental() const override { return parts_.incremental; }
  void hold(const GradientInput& gradient) override;
  void reset() override;
  void save_state(std::vector<std::byte>& state) const override;
  void load_state(std::span<const std::byte> state) override;

 private:
  void write(ByteWriter& out);
  /// The same of a selection whose cut was left to the writer.
  void write_cut(ByteWriter& out) const;

  StateIdentity identity_;
  SparseParts parts_;
  Selection selection_;
  std::size_t max_encoded_size_;
};

}  // namespace thinpipe
