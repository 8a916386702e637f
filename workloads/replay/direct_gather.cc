#include "workloads/replay/direct_gather.h"

#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "compressors/compressor.h"
#include "workloads/replay/message.h"

namespace thinpipe {

DirectGather::DirectGather(const RankDevice& device, int ranks, std::span<const std::size_t> most)
    : device_(device),
      most_(most.begin(), most.end()),
      lengths_(most.size()),
      all_lengths_(most.size() * static_cast<std::size_t>(ranks)),
      sizes_(static_cast<std::size_t>(ranks)) {
  std::size_t message = 0, room = 0;
  for (const std::size_t bytes : most_) {
    message += bytes;
    room += decode_room(bytes);
  }
  const auto bytes = [&](std::size_t count) {
    return static_cast<std::byte*>(device_.memory->allocate(count));
  };
  own_ = bytes(message);
  all_ = bytes(message * sizes_.size());
  aligned_ = bytes(room);
  device_.memory->wait();
}

void DirectGather::begin(std::span<const DevicePayload> payloads) {
  std::size_t at = 0;
  copies_.clear();
  for (std::size_t i = 0; i < units(); ++i) {
    copies_.push_back({own_ + at, payloads[i].data, payloads[i].bytes});
    lengths_[i] = static_cast<std::uint32_t>(payloads[i].bytes);
    at += payloads[i].bytes;
  }
  device_.arithmetic->copy(copies_);
  device_.memory->wait();
  host_.clear();
}

void DirectGather::exchange(Pattern& pattern) {
  device_.copies->use_in_this_thread();
  DeviceAllGather& devices = *pattern.on_devices();
  devices.gather_words(lengths_, all_lengths_);
  for (std::size_t rank = 0; rank < sizes_.size(); ++rank) {
    const auto lengths = std::span(all_lengths_).subspan(rank * units(), units());
    for (std::size_t i = 0; i < units(); ++i)
      if (lengths[i] > most_[i])
        throw PayloadError(fmt::format("payload {} of rank {}: {} bytes; expected at most {}", i,
                                       rank, lengths[i], most_[i]));
    sizes_[rank] = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
  }
  devices.gather_on_device(own_, sizes_, all_);
}

std::span<const DevicePayload> DirectGather::payloads_of(int rank) {
  const auto number = static_cast<std::size_t>(rank);
  const std::byte* from =
      all_ + std::accumulate(sizes_.begin(), sizes_.begin() + rank, std::size_t{0});
  std::byte* to = aligned_;
  payloads_.clear();
  copies_.clear();
  for (const std::uint32_t bytes : std::span(all_lengths_).subspan(number * units(), units())) {
    copies_.push_back({to, from, bytes});
    payloads_.push_back({to, bytes});
    from += bytes;
    to += decode_room(bytes);
  }
  device_.arithmetic->copy(copies_);
  return payloads_;
}

std::span<const std::byte> DirectGather::own() const {
  if (!host_.empty()) return host_;
  const std::size_t table = units() * kMessageLengthBytes;
  const std::size_t bytes = std::accumulate(lengths_.begin(), lengths_.end(), std::size_t{0});
  host_.resize(table + bytes);
  std::memcpy(host_.data(), lengths_.data(), table);
  device_.memory->download(host_.data() + table, own_, bytes);
  device_.memory->wait();
  return host_;
}

}  // namespace thinpipe
