#include "workloads/replay/device_answers.h"

#include <algorithm>

#include <fmt/format.h>

namespace thinpipe {

DeviceAnswers::DeviceAnswers(const RankDevice& device, const DeviceUnits& units,
                             const PlannedBucket& plan, const PushPullOptions& servers,
                             std::size_t first_unit, const CompressorSettings& settings,
                             double time_scale)
    : units_(units),
      plan_(plan),
      pushed_(plan, servers, first_unit, settings),
      bus_(device.copies, time_scale),
      upload_(device) {
  std::vector<Spec> specs;
  std::vector<std::vector<TensorInfo>> tensors;
  for (const PlannedUnit& unit : plan.units) {
    const Spec& spec = servers.pull_of(unit.compressor);
    if (spec == unit.compressor && !units.twin(decoders_.size()).verbatim()) {
      decoders_.push_back({});
      continue;
    }
    const auto group =
        static_cast<std::size_t>(std::find(specs.begin(), specs.end(), spec) - specs.begin());
    if (group == specs.size()) {
      specs.push_back(spec);
      tensors.emplace_back();
    }
    decoders_.push_back({group, tensors[group].size()});
    tensors[group].push_back(unit.info);
  }
  for (std::size_t group = 0; group < specs.size(); ++group)
    groups_.push_back(device.make(specs[group], tensors[group], settings));
}

bool DeviceAnswers::pull(Pattern& pattern, const std::function<bool(std::size_t unit)>& sent) {
  if (state_ == State::kPulling) {
    if (!pushed_.pull(pattern)) return false;
    send_up(sent);
    if (!bus_.slow() || !upload_.under_way()) return true;
    state_ = State::kGoingUp;
  }
  if (!bus_.ended(upload_.copy())) return false;
  state_ = State::kPulling;
  return true;
}

/// What there is no room for yet goes up when it is decoded: the device is another thread's.
void DeviceAnswers::send_up(const std::function<bool(std::size_t unit)>& sent) {
  bus_.begin();
  upload_.clear();
  for (std::size_t i = 0; i < decoders_.size(); ++i) {
    if (!sent(i)) continue;
    const auto pieces = pushed_.answers(i);
    upload_.add(pieces.front());
    for (const std::span<const std::byte> piece : pieces.subspan(1)) upload_.append(piece);
  }
  if (upload_.has_room()) upload_.begin();
}

void DeviceAnswers::begin_decode(std::size_t unit, const DevicePayload& payload,
                                 float* device_out) {
  const Decoder& decoder = decoders_[unit];
  if (decoder.group == kOwn)
    units_.begin_decode(unit, payload.data, payload.bytes, 1.0F, device_out);
  else
    groups_[decoder.group]->begin_decode(decoder.place, payload.data, payload.bytes, 1.0F,
                                         device_out);
}

double DeviceAnswers::add(const std::function<bool(std::size_t unit)>& sent,
                          std::span<const std::size_t> offsets, float* device_part) {
  const std::span<const DevicePayload> payloads = upload_.payloads(bus_);
  std::size_t next = 0;
  try {
    for (std::size_t i = 0; i < decoders_.size(); ++i)
      if (sent(i)) begin_decode(i, payloads[next++], device_part + offsets[i]);
    for (const auto& group : groups_) group->start_decodes();
    units_.finish_decodes();
    for (const auto& group : groups_) group->finish_decodes();
  } catch (const PayloadError& error) {
    throw PayloadError(fmt::format("a server's answer: {}", error.what()));
  }
  return upload_.finish(bus_);
}

}  // namespace thinpipe
