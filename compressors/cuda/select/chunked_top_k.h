// Selects the k largest elements of every chunk (compressors/select/chunked_top_k.h).
#pragma once

#include "compressors/cuda/encode/device_positions.h"
#include "compressors/cuda/kernels/choose_of_chunks.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/methods/selectors.h"

namespace thinpipe::cuda {

template <class Device>
class ChunkedSelector : public DeviceSelector<Device> {
 public:
  explicit ChunkedSelector(const Chunks& chunks) : chunks_(chunks) {}

  std::size_t max_selected(std::size_t elements) const override {
    return chunks_.selected(elements);
  }
  void allocate(Device& /*device*/, std::size_t /*tensor*/, Job& job) override {
    job.chunks = layout_of(chunks_, job.n);
  }
  void prepare(std::size_t /*tensor*/, const DeviceStep& /*step*/, Job& job) override {
    job.target = job.chunks.selected();
  }
  void launch(Device& device, const Batch& batch) override {
    device.launch(ChooseOfChunks<Reading::kSum>{batch.jobs, batch.tiles}, batch.tile_count);
  }

 private:
  Chunks chunks_;
};

}  // namespace thinpipe::cuda
