#include "workloads/replay/device_gather.h"

#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "compressors/compressor.h"
#include "workloads/replay/message.h"

namespace thinpipe {

DeviceGather::DeviceGather(const RankDevice& device, int rank, int ranks, double time_scale)
    : device_(device),
      rank_(rank),
      down_(device.copies, time_scale),
      up_(device.copies, time_scale),
      own_(device.memory, DeviceBuffer::Where::kPinned) {
  for (int i = 0; i < ranks; ++i)
    arrivals_.push_back({.upload = DeviceUpload(device), .malformed = {}});
  sent_up_.reserve(arrivals_.size());
}

void DeviceGather::begin(std::span<const DevicePayload> payloads) {
  begin_step(payloads);
  for (std::size_t i = 0; i < payloads.size(); ++i) add_copies(i, payloads[i]);
  end_stretch();
}

void DeviceGather::begin(std::span<const DevicePayload> payloads,
                         std::span<const std::size_t> order) {
  begin_step(payloads);
  for (const std::size_t i : order) add_copies(i, payloads[i]);
  end_stretch();
}

void DeviceGather::begin_step(std::span<const DevicePayload> payloads) {
  split_.resize(payloads.size());
  places_.resize(payloads.size());
  copied_before_.resize(payloads.size());
  size_ = payloads.size() * kMessageLengthBytes;
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    places_[i] = size_;
    size_ += payloads[i].bytes;
  }
  own_.grow(size_);
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const std::uint32_t length = length_field(payloads[i].bytes);
    std::memcpy(own_.data() + i * kMessageLengthBytes, &length, kMessageLengthBytes);
  }
  next_ = 0;
  asked_ = 0;
  down_.begin();
  up_.begin();
  stretches_.clear();
  sent_up_.clear();
  for (Arrival& arrival : arrivals_) {
    arrival.upload.clear();
    arrival.malformed = nullptr;
  }
}

// Adds several copies for a long payload, so that its front can be sent before its end is copied.
void DeviceGather::add_copies(std::size_t unit, const DevicePayload& payload) {
  copied_before_[unit] = asked_;
  for (std::size_t done = 0; done < payload.bytes;) {
    const std::size_t some = std::min(payload.bytes - done, kDownloadPiece - copied_);
    copies_.push_back({own_.data() + places_[unit] + done, payload.data + done, some});
    copied_ += some;
    asked_ += some;
    done += some;
    if (copied_ == kDownloadPiece) end_stretch();
  }
}

void DeviceGather::end_stretch() {
  if (copies_.empty()) return;
  stretches_.push_back({DeviceBus::begun(device_.copies->begin_downloads(copies_)), asked_});
  copies_.clear();
  copied_ = 0;
}

// Returns the bytes that have been copied, in the order of the copies.
std::size_t DeviceGather::copied() {
  while (next_ < stretches_.size() && down_.ended(stretches_[next_].copy)) ++next_;
  return next_ == 0 ? 0 : stretches_[next_ - 1].end;
}

void DeviceGather::arrived(int rank, std::span<const std::byte> message) {
  if (rank == rank_) return;
  const auto number = static_cast<std::size_t>(rank);
  Arrival& arrival = arrivals_[number];
  try {
    split_message(message, split_);
  } catch (...) {
    arrival.malformed = std::current_exception();  // other ranks' messages are still arriving
    return;
  }
  for (const std::span<const std::byte> payload : split_) arrival.upload.add(payload);
  if (!arrival.upload.fits()) return;
  arrival.upload.begin();
  sent_up_.push_back(number);
}

void DeviceGather::exchange(Collective& collective) {
  operation<AllGather>(collective).gather_staged(*this);
  if (!up_.slow()) return;
  for (const std::size_t rank : sent_up_) up_.pass(arrivals_[rank].upload.copy());
}

std::span<const DevicePayload> DeviceGather::payloads_of(int rank) {
  Arrival& arrival = arrivals_[static_cast<std::size_t>(rank)];
  if (arrival.malformed) std::rethrow_exception(arrival.malformed);
  return arrival.upload.payloads(up_);
}

BucketCopies DeviceGather::finish() {
  BucketCopies took;
  for (Stretch& stretch : stretches_) took.down += down_.take(stretch.copy);
  stretches_.clear();
  for (Arrival& arrival : arrivals_) took.up += arrival.upload.finish(up_);
  return took;
}

DirectGather::DirectGather(const RankDevice& device, int ranks, std::span<const std::size_t> most)
    : device_(device),
      most_(most.begin(), most.end()),
      lengths_(most.size()),
      all_lengths_(most.size() * static_cast<std::size_t>(ranks)),
      sizes_(static_cast<std::size_t>(ranks)) {
  std::size_t message = 0, decoded = 0;
  for (const std::size_t bytes : most_) {
    message += bytes;
    decoded += decode_bytes(bytes);
  }
  const auto bytes = [&](std::size_t count) {
    return static_cast<std::byte*>(device_.memory->allocate(count));
  };
  own_ = bytes(message);
  all_ = bytes(message * sizes_.size());
  aligned_ = bytes(decoded);
  device_.memory->wait();
}

void DirectGather::begin(std::span<const DevicePayload> payloads) {
  std::size_t at = 0;
  copies_.clear();
  for (std::size_t i = 0; i < units(); ++i) {
    copies_.push_back({own_ + at, payloads[i].data, payloads[i].bytes});
    lengths_[i] = length_field(payloads[i].bytes);
    at += payloads[i].bytes;
  }
  device_.arithmetic->copy(copies_);
  device_.memory->wait();
  host_.clear();
}

void DirectGather::exchange(Collective& collective) {
  device_.copies->use_in_this_thread();
  DeviceAllGather& devices = dynamic_cast<DeviceAllGather&>(collective);
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
    to += decode_bytes(bytes);
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
    if (spec == unit.compressor && !units.cpu_compressor(decoders_.size()).verbatim()) {
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

bool DeviceAnswers::pull(PushPull& servers, const std::function<bool(std::size_t unit)>& sent) {
  if (!goes_up_) {
    if (!pushed_.pull(servers)) return false;
    send_up(sent);
    if (!bus_.slow() || !upload_.under_way()) return true;
  }
  goes_up_ = !bus_.ended(upload_.copy());
  return !goes_up_;
}

// Answers that do not fit the buffers yet are copied when they are decoded, since this thread may
// not allocate on the device.
void DeviceAnswers::send_up(const std::function<bool(std::size_t unit)>& sent) {
  bus_.begin();
  upload_.clear();
  for (std::size_t i = 0; i < decoders_.size(); ++i) {
    if (!sent(i)) continue;
    const auto pieces = pushed_.answers(i);
    upload_.add(pieces.front());
    for (const std::span<const std::byte> piece : pieces.subspan(1)) upload_.append(piece);
  }
  if (upload_.fits()) upload_.begin();
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
