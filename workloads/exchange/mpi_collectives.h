// The pattern `openmpi`: the library's own collectives, by the algorithms it chooses.
#pragma once

#include <mpi.h>

#include <vector>

#include "workloads/exchange/pattern.h"

namespace thinpipe {

class MpiCollectives : public Pattern, private DeviceAllGather {
 public:
  /// @param capacity  the longest message all_gather may carry, in bytes
  /// @param device_addresses  are taken by the library (mpi_device.h)
  MpiCollectives(MPI_Comm communicator, std::size_t capacity, bool device_addresses);

  void all_reduce(std::span<const float> own, std::span<float> result, float factor) override;
  const std::vector<std::span<const std::byte>>& all_gather(
      std::span<const std::byte> own) override;
  DeviceAllGather* on_devices() override { return device_addresses_ ? this : nullptr; }
  TransportCounters counters() const override { return {}; }

 private:
  void gather_words(std::span<const std::uint32_t> own, std::span<std::uint32_t> all) override;
  void gather_on_device(const std::byte* device_own, std::span<const std::size_t> sizes,
                        std::byte* device_all) override;

  MPI_Comm communicator_;
  bool device_addresses_;
  std::vector<int> sizes_, offsets_;
  std::vector<std::byte> arena_;
  std::vector<std::span<const std::byte>> messages_;
};

}  // namespace thinpipe
