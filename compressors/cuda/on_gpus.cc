// Checks whether specs have a GPU implementation, also in builds without CUDA.
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "compressors/cuda/device/device_memory.h"
#include "compressors/cuda/gpu.h"
#include "compressors/cuda/make.h"

namespace thinpipe {
namespace {

/// A device without kernels. Has the functions of CudaDevice and SerialDevice; all of them do
/// nothing.
class NoDevice : public DeviceMemory {
 public:
  void* allocate(std::size_t bytes) override {
    memory_.emplace_back(bytes + 1);
    return memory_.back().data();
  }
  void* allocate_host(std::size_t bytes) override { return NoDevice::allocate(bytes); }
  std::size_t free_bytes() override { return 0; }
  void upload(void*, const void*, std::size_t) override {}
  void download(void*, const void*, std::size_t) override {}
  void copy(void*, const void*, std::size_t) override {}
  void zero(void*, std::size_t) override {}
  void wait() override {}
  std::uint32_t processors() const { return 1; }

  void launch(const auto&, std::size_t) {}
  struct Recording {};
  bool can_record() const { return false; }
  std::optional<Recording> record(const auto&) { return std::nullopt; }
  void repeat(const Recording&, const auto&) {}

 private:
  std::list<std::vector<std::byte>> memory_;
};

}  // namespace

void check_on_gpus(const Spec& spec) {
  const TensorInfo tensor{.name = "any", .shape = {1}, .elements = 1};
  cuda::make_device_compressor(std::make_shared<NoDevice>(), spec, {&tensor, 1}, {});
}

}  // namespace thinpipe
