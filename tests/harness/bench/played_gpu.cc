#include <memory>

#include "compressors/cuda/grid/serial_device.h"
#include "compressors/cuda/make.h"
#include "compressors/cuda/roofline.h"
#include "tests/harness/bench/played_gpu.h"

namespace thinpipe {
namespace {

class PlayedDevice : public cuda::SerialDevice {
 public:
  explicit PlayedDevice(const PlayedGpu& played) : played_(played) {}

  void* allocate(std::size_t bytes) override {
    if (bytes > free_bytes()) throw RunError("the played GPU has no memory left");
    taken_ += bytes;
    return cuda::SerialDevice::allocate(bytes);
  }
  std::size_t free_bytes() override { return played_.memory_bytes - taken_; }
  void download(void* to, const void* from, std::size_t bytes) override {
    cuda::SerialDevice::download(to, from, bytes);
    if (bytes < played_.corrupt_from || played_.honest_downloads-- > 0) return;
    stream().run();
    static_cast<unsigned char*>(to)[bytes / 2] ^= 1;
  }
  double seconds(std::size_t from, std::size_t to) override {
    return played_.clock_factor * cuda::SerialDevice::seconds(from, to);
  }

 private:
  PlayedGpu played_;
  std::size_t taken_ = 0;
};

}  // namespace

OpenDevice play_gpu(const PlayedGpu& played) {
  return [played] {
    if (played.opened != nullptr) ++*played.opened;
    const auto device = std::make_shared<PlayedDevice>(played);
    const std::shared_ptr<cuda::SerialDevice> serial = device;
    return TimedDevice{.description = {.name = "a processor that plays a GPU",
                                       .architecture = "played",
                                       .bus = "nowhere",
                                       .driver = "0.0",
                                       .runtime = "0.0",
                                       .l2_bytes = played.l2_bytes,
                                       .memory_bytes = played.memory_bytes,
                                       .multiprocessors = 1},
                       .memory = device,
                       .clock = device,
                       .roofline = std::make_shared<cuda::Roofline<cuda::SerialDevice>>(serial),
                       .make = [serial](const Spec& spec, std::span<const TensorInfo> tensors,
                                        const CompressorSettings& settings) {
                         return cuda::make_device_compressor(serial, spec, tensors, settings);
                       }};
  };
}

}  // namespace thinpipe
