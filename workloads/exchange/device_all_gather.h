// An all-gather between devices' memories, by a library that takes addresses in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thinpipe {

/// The device is the calling thread's (DeviceCopies::use_in_this_thread), and nothing that it was
/// asked for is still under way on what is sent, or on where it arrives.
class DeviceAllGather {
 public:
  virtual ~DeviceAllGather() = default;

  /// The same number of words from every rank, by rank; these lie in the host's memory.
  virtual void gather_words(std::span<const std::uint32_t> own, std::span<std::uint32_t> all) = 0;
  /// Every rank's bytes, one after the other, all of them there when it returns.
  /// @param sizes  by rank @throws InputError for more than the library can count
  virtual void gather_on_device(const std::byte* device_own, std::span<const std::size_t> sizes,
                                std::byte* device_all) = 0;
};

}  // namespace thinpipe
