#include "workloads/replay/device_units.h"

#include <algorithm>

#include <fmt/format.h>

#include "compressors/registry.h"
#include "workloads/replay/message.h"

namespace thinpipe {

namespace {

// Rounds up to multiples of 256 bytes, the alignment of memory that CUDA allocates.
std::size_t aligned_floats(std::size_t elements) {
  constexpr std::size_t kFloats = 256 / sizeof(float);
  return (elements + kFloats - 1) / kFloats * kFloats;
}

}  // namespace

/// Units of one spec. Units that are sent unchanged need no compressor.
struct DeviceUnits::Group {
  Spec spec;
  std::vector<std::size_t> units;
  std::unique_ptr<DeviceCompressor> compressor;
  DeviceSharedScale* shared_scale = nullptr;  ///< the compressor, if it is one
  DeviceMultiRound* rounds = nullptr;         ///< the compressor, if it is one
  std::vector<const float*> gradients, squares, means;
  std::vector<float> scales;
};

DeviceUnits::DeviceUnits(const RankDevice& device, const PlannedBucket& plan, std::size_t number,
                         const CompressorSettings& settings, bool adds_up, bool overlaps)
    : device_(device), plan_(plan), number_(number) {
  for (const PlannedUnit& planned : plan.units)
    units_.emplace_back().cpu_compressor =
        make_compressor(planned.compressor, planned.info, settings);
  if (overlaps && takes_rounds()) device_ = device.beside();
  const auto array = [&](std::size_t elements) {
    return static_cast<float*>(device_.memory->allocate(elements * sizeof(float)));
  };
  for (const PlannedUnit& planned : plan.units) floats_ += aligned_floats(planned.info.elements);
  gradients_ = array(floats_);
  if (adds_up) sums_ = array(floats_);
  std::size_t at = 0;
  for (std::size_t i = 0; i < plan.units.size(); ++i) {
    const PlannedUnit& planned = plan.units[i];
    Unit& unit = units_[i];
    unit.gradient = gradients_ + at;
    unit.input = (adds_up ? sums_ : gradients_) + at;
    at += aligned_floats(planned.info.elements);
    if (find_method(planned.compressor.name).needs_squares)
      unit.squares = array(planned.info.elements);
    const auto same = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
      return group.spec == planned.compressor;
    });
    unit.group = static_cast<std::size_t>(same - groups_.begin());
    Group& group = same == groups_.end() ? groups_.emplace_back() : *same;
    group.spec = planned.compressor;
    unit.place = group.units.size();
    group.units.push_back(i);
    group.gradients.push_back(unit.input);
    group.squares.push_back(unit.squares);
  }
  for (Group& group : groups_) {
    if (units_[group.units.front()].cpu_compressor->verbatim()) continue;
    std::vector<TensorInfo> infos;
    for (const std::size_t i : group.units) infos.push_back(plan.units[i].info);
    group.compressor = device_.make(group.spec, infos, settings);
    group.shared_scale = dynamic_cast<DeviceSharedScale*>(group.compressor.get());
    group.rounds = dynamic_cast<DeviceMultiRound*>(group.compressor.get());
  }
  device_.memory->wait();
}

DeviceUnits::~DeviceUnits() = default;

bool DeviceUnits::takes_rounds() const {
  return std::any_of(units_.begin(), units_.end(),
                     [](const Unit& unit) { return rounds_of(*unit.cpu_compressor) > 1; });
}

void DeviceUnits::load(const Gradients& gradients, std::uint64_t index) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const GradientInput input = gradients.of_step(number_, i, plan_.units[i], index);
    device_.memory->upload(units_[i].gradient, input.values.data(), input.values.size_bytes());
    if (units_[i].squares == nullptr) continue;
    if (input.squares.size() != input.values.size())
      throw InputError(
          fmt::format("{}: needs second moments of tensor '{}', which the trace does not have",
                      plan_.units[i].compressor.to_string(), plan_.units[i].info.name));
    device_.memory->upload(units_[i].squares, input.squares.data(), input.squares.size_bytes());
  }
  device_.memory->wait();
}

void DeviceUnits::take_scales(std::uint64_t exchange, std::size_t first, std::span<float> scales) {
  std::fill(scales.begin(), scales.end(), 0.0F);
  for (Group& group : groups_) {
    if (group.shared_scale == nullptr || !sends(group.units[0], exchange)) continue;
    const std::span<const float> own = group.shared_scale->prepare(group.gradients);
    for (std::size_t i = 0; i < group.units.size(); ++i) scales[group.units[i] - first] = own[i];
  }
}

void DeviceUnits::encode(const Gradients& gradients, std::uint64_t index, std::size_t first,
                         std::span<const float> scales) {
  skip();
  const GradientInput any = gradients.input(number_, 0, plan_.units[0], index);
  // All groups are under way before the first is waited for.
  for (Group& group : groups_) {
    const bool sent = sends(group.units[0], index / gradients.local_steps());
    for (const std::size_t i : group.units) units_[i].sent = sent;
    if (!group.compressor) continue;
    if (!sent) {
      group.compressor->hold(group.gradients);
      continue;
    }
    group.scales.clear();
    if (!scales.empty() && group.shared_scale != nullptr)
      for (const std::size_t i : group.units) group.scales.push_back(scales[i - first]);
    const DeviceStep step{.step = any.step,
                          .epoch = any.epoch,
                          .shared_scales = group.scales,
                          .device_squares = group.squares};
    if (group.units[0] < first && group.rounds != nullptr)
      group.rounds->first_round(group.gradients, step);
    else
      group.compressor->encode(group.gradients, step);
  }
  for (Group& group : groups_) {
    if (!units_[group.units[0]].sent) continue;
    const auto reports =
        group.compressor ? group.compressor->finish() : std::span<const EncodeReport>();
    for (std::size_t i = 0; i < group.units.size(); ++i) {
      const std::size_t elements = plan_.units[group.units[i]].info.elements;
      units_[group.units[i]].report = group.compressor
                                          ? reports[i]
                                          : EncodeReport{.encoded_bytes = elements * sizeof(float),
                                                         .selected_elements = elements};
    }
  }
}

void DeviceUnits::next_round(int round, std::span<const float* const> device_means) {
  const auto goes_on = [&](const Group& group) {
    return group.units[0] < device_means.size() && group.rounds != nullptr &&
           group.rounds->rounds() >= round;
  };
  for (Group& group : groups_) {
    if (!goes_on(group)) continue;
    group.means.clear();
    for (const std::size_t i : group.units) group.means.push_back(device_means[i]);
    group.rounds->next_round(group.means);
  }
  for (Group& group : groups_) {
    if (!goes_on(group)) continue;
    const auto reports = group.compressor->finish();
    for (std::size_t i = 0; i < group.units.size(); ++i)
      if (rounds_of(*units_[group.units[i]].cpu_compressor) > 1)
        units_[group.units[i]].report = reports[i];
  }
}

void DeviceUnits::skip() {
  for (Unit& unit : units_) {
    unit.sent = false;
    unit.report = {};
  }
}

const std::byte* DeviceUnits::payload(std::size_t unit) const {
  const Unit& one = units_[unit];
  const DeviceCompressor* compressor = groups_[one.group].compressor.get();
  return compressor != nullptr ? compressor->device_payload(one.place)
                               : reinterpret_cast<const std::byte*>(one.input);
}

void DeviceUnits::own_payload(std::size_t unit, std::span<std::byte> payload) const {
  groups_[units_[unit].group].rounds->own_payload(units_[unit].place, payload);
}

std::vector<std::byte> DeviceUnits::state_of(const Unit& unit) const {
  std::vector<std::byte> state;
  if (DeviceCompressor* compressor = groups_[unit.group].compressor.get())
    compressor->save_state(unit.place, state);
  else
    unit.cpu_compressor->save_state(state);
  return state;
}

Distortion DeviceUnits::distortion(std::size_t unit, const Gradients& gradients,
                                   std::uint64_t index, std::span<const std::byte> payload) const {
  units_[unit].cpu_compressor->load_state(state_of(units_[unit]));
  return units_[unit].cpu_compressor->distortion(
      gradients.input(number_, unit, plan_.units[unit], index), payload);
}

void DeviceUnits::begin_decode(std::size_t unit, const std::byte* device_payload, std::size_t bytes,
                               float factor, float* device_out) const {
  groups_[units_[unit].group].compressor->begin_decode(units_[unit].place, device_payload, bytes,
                                                       factor, device_out);
}

void DeviceUnits::finish_decodes() const {
  // All groups are under way before the first is waited for.
  for (const Group& group : groups_)
    if (group.compressor) group.compressor->start_decodes();
  for (const Group& group : groups_)
    if (group.compressor) group.compressor->finish_decodes();
}

void DeviceUnits::give_back(std::span<const DeviceReturn> returns) const {
  std::vector<DeviceReturn> own;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    own.clear();
    for (const DeviceReturn& one : returns) {
      if (units_[one.tensor].group != group) continue;
      own.push_back(one);
      own.back().tensor = units_[one.tensor].place;
    }
    if (!own.empty()) dynamic_cast<DeviceSparsePayload&>(*groups_[group].compressor).give_back(own);
  }
}

void DeviceUnits::save_state(std::vector<std::byte>& state) const {
  for (const Unit& unit : units_) append_piece(state_of(unit), state);
}

void DeviceUnits::load_state(ByteReader& state) {
  for (const Unit& unit : units_) {
    const std::span<const std::byte> own = take_piece(state);
    unit.cpu_compressor->load_state(own);
    if (DeviceCompressor* compressor = groups_[unit.group].compressor.get())
      compressor->load_state(unit.place, own);
  }
}

}  // namespace thinpipe
