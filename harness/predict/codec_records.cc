#include "harness/predict/codec_records.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "compressors/registry.h"
#include "workloads/replay/device_gather.h"
#include "workloads/replay/message.h"

namespace thinpipe {

namespace {

void check_trace(const Records& records, const Trace& trace) {
  for (const Header& header : records.headers) {
    const std::string identity = header.trace.value("identity", "");
    if (identity != trace.identity())
      throw InputError(fmt::format("{}: its codec times are of the trace {}; expected {}",
                                   records.file.string(), identity, trace.identity()));
  }
}

[[noreturn]] void refuse_compressor(const Records& records, const std::string& wanted,
                                    const std::string& device) {
  std::set<std::string> there;
  for (const Point& point : records.points)
    if (point.status != Status::kFailed)
      there.insert(point.axes.compressor +
                   (point.axes.device == kDeviceCpu ? "" : " on " + point.axes.device));
  throw InputError(fmt::format(
      "{}: no point of compressor {}{}; it has {}", records.file.string(), in_quotes(wanted),
      device == kDeviceCpu ? "" : " with --device " + device, fmt::join(there, ", ")));
}

// All points with so many ranks, one sample after the other.
struct RecordedSamples {
  std::vector<double> compress, decode, payload, down, up;
  int ranks = 0;
};

RecordedSamples samples_of(const Records& records, const std::string& compressor,
                           const std::string& device) {
  RecordedSamples found;
  const auto take = [](std::vector<double> from, std::vector<double>& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const Point& point : records.points) {
    if (point.status == Status::kFailed || point.axes.compressor != compressor) continue;
    if (!point.axes.feed.empty() || point.axes.device != device) continue;
    if (found.ranks > 0 && point.axes.ranks > found.ranks) continue;
    if (point.axes.ranks < found.ranks) found = {};
    found.ranks = point.axes.ranks;
    // While a GPU works a processor does nothing.
    take(point.samples(device == kDeviceCpu ? "compress_cpu_time" : "compress_time"),
         found.compress);
    take(point.samples("decode_time"), found.decode);
    take(point.samples("payload_bytes"), found.payload);
    take(point.samples("copy_down_time"), found.down);
    take(point.samples("copy_up_time"), found.up);
  }
  return found;
}

double middle_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double mean_of(const std::vector<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

}  // namespace

bool has_codec(const Records& records, const CompressorRules& compressor,
               const std::string& device) {
  return samples_of(records, compressor.to_string(), device).ranks > 0;
}

CodecProfile recorded_codec(const Records& records, const Trace& trace,
                            const CompressorRules& rules, const std::string& device) {
  check_trace(records, trace);
  const std::string name = rules.to_string();
  if (!rules.uniform())
    throw InputError(
        fmt::format("{}: records do not tell what each part of {} took; expected one compressor "
                    "for all tensors",
                    records.file.string(), in_quotes(name)));
  const Spec compressor = rules.specs().front();
  const RecordedSamples samples = samples_of(records, name, device);
  if (samples.ranks == 0) refuse_compressor(records, name, device);
  const TraceTensor& first = trace.tensors().at(0);
  int rounds = 1;
  for (const TraceTensor& tensor : trace.tensors())
    rounds = std::max(
        rounds,
        make_compressor(compressor, {tensor.name, tensor.shape, tensor.elements}, {})->rounds());
  const auto one = make_compressor(compressor, {first.name, first.shape, first.elements}, {});

  CodecProfile profile;
  profile.compressor = name;
  profile.period = static_cast<double>(one->period());
  profile.elements = static_cast<double>(trace.elements());
  profile.source = "records of " + records.file.string();
  ProfiledBucket& bucket = profile.buckets.emplace_back();
  bucket.tensors.resize(trace.tensors().size());
  std::iota(bucket.tensors.begin(), bucket.tensors.end(), std::size_t{0});
  bucket.compress = middle_of(samples.compress);
  const double decode = middle_of(samples.decode);
  profile.payload_bytes = mean_of(samples.payload);
  const double down = middle_of(samples.down), up = middle_of(samples.up);
  const double table = static_cast<double>(trace.tensors().size() * kMessageLengthBytes);
  if (aggregation_of(compressor) == Aggregation::kAllReduce) {
    bucket.decode = decode;
    // Floats are waited for, and means of rounds; those of the only one go up with decoding.
    const double waited = rounds > 1 ? down + up : down;
    for (int round = 0; round < rounds; ++round)
      bucket.exchanges.push_back({.exchange = Exchange::kAllReduce,
                                  .bytes = {profile.payload_bytes / rounds},
                                  .copies = waited / rounds});
  } else {
    bucket.decode_message = decode / samples.ranks;
    if (one->shares_scale()) bucket.exchanges.push_back({Exchange::kAllGather, {table}});
    // Others come down while the first piece is sent.
    const double piece =
        std::min(1.0, static_cast<double>(kDownloadPiece) / std::max(1.0, profile.payload_bytes));
    bucket.exchanges.push_back({.exchange = Exchange::kAllGather,
                                .bytes = {table + profile.payload_bytes},
                                .copies = piece * down});
  }
  return profile;
}

}  // namespace thinpipe
