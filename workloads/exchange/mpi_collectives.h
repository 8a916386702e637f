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
  ~MpiCollectives() override;
  MpiCollectives(const MpiCollectives&) = delete;
  MpiCollectives& operator=(const MpiCollectives&) = delete;

  /// 16-bit elements by an operation of our own (element_sum.h); the library chooses the order.
  using Pattern::all_reduce;
  void all_reduce(ElementType type, std::span<const std::byte> own, std::span<std::byte> result,
                  float factor) override;
  bool knows_order() const override { return false; }
  const std::vector<std::span<const std::byte>>& all_gather(
      std::span<const std::byte> own) override;
  DeviceAllGather* on_devices() override { return device_addresses_ ? this : nullptr; }
  TransportCounters counters() const override { return {}; }

 private:
  void gather_words(std::span<const std::uint32_t> own, std::span<std::uint32_t> all) override;
  void gather_on_device(const std::byte* device_own, std::span<const std::size_t> sizes,
                        std::byte* device_all) override;

  MPI_Comm communicator_;
  MPI_Op add_fp16_ = MPI_OP_NULL, add_bf16_ = MPI_OP_NULL;
  bool device_addresses_;
  std::vector<int> sizes_, offsets_;
  std::vector<std::byte> arena_;
  std::vector<std::span<const std::byte>> messages_;
};

}  // namespace thinpipe
