#include "workloads/replay/device_codes.h"

#include <algorithm>

#include <fmt/format.h>

namespace thinpipe {

DeviceCodes::DeviceCodes(const RankDevice& device, const CodedSlices& slices, double time_scale)
    : device_(device),
      bus_(device.copies, time_scale),
      codes_(device.memory, DeviceRoom::Where::kPinned) {
  std::vector<TensorInfo> infos;
  for (const std::size_t elements : slices.elements) {
    infos.push_back({.name = fmt::format("slice {}", infos.size()),
                     .shape = {static_cast<std::int64_t>(elements)},
                     .elements = elements});
    sizes_.push_back(elements * sizeof(float));
    arrays_.push_back(static_cast<std::byte*>(device_.memory->allocate(sizes_.back())));
    inputs_.push_back(reinterpret_cast<const float*>(arrays_.back()));
  }
  compressor_ = device_.make(slices.codes, infos, {});
  std::size_t most = 0;
  for (std::size_t i = 0; i < infos.size(); ++i) most += compressor_->max_encoded_size(i);
  codes_.grow(most);
  device_.memory->wait();
}

void DeviceCodes::encode(std::span<const DevicePayload> floats) {
  std::size_t slice = 0, at = 0;
  copies_.clear();
  for (DevicePayload left : floats)
    while (left.bytes > 0) {
      if (at == sizes_[slice]) {
        ++slice;
        at = 0;
        continue;
      }
      const std::size_t some = std::min(left.bytes, sizes_[slice] - at);
      copies_.push_back({arrays_[slice] + at, left.data, some});
      at += some;
      left = {left.data + some, left.bytes - some};
    }
  device_.arithmetic->copy(copies_);
  compressor_->encode(inputs_, {});
  coded_.clear();
  for (const EncodeReport& report : compressor_->finish()) coded_.push_back(report.encoded_bytes);
}

void DeviceCodes::begin_copies() {
  copies_.clear();
  slices_.clear();
  std::byte* to = codes_.data();
  for (std::size_t i = 0; i < coded_.size(); ++i) {
    copies_.push_back({to, compressor_->device_payload(i), coded_[i]});
    slices_.emplace_back(to, coded_[i]);
    to += coded_[i];
  }
  bus_.begin();
  down_ = DeviceBus::begun(device_.copies->begin_downloads(copies_));
}

double DeviceCodes::exchange(Pattern& pattern, std::span<float> result, float factor) {
  bus_.pass(down_);
  const double took = bus_.take(down_);
  pattern.all_reduce_coded(slices_, result, factor);
  return took;
}

}  // namespace thinpipe
