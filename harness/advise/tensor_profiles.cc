#include "harness/advise/tensor_profiles.h"

#include <algorithm>
#include <utility>

#include "compressors/registry.h"
#include "harness/predict/codec_calibration.h"

namespace thinpipe {
namespace {

// Every tensor is a bucket, so that its codec times are on the timeline of the step.
Bucketing by_tensor_bucketing() {
  Bucketing bucketing;
  bucketing.overlap = Overlap::kBucket;
  bucketing.limits.first = bucketing.limits.rest = 1;
  return bucketing;
}

// Returns the bytes of a payload of a tensor over those of its sample. They are proportional to the
// elements, except where they depend on a matrix's sides (PowerSGD).
double bytes_factor(const Spec& compressor, const TraceTensor& tensor, const TraceTensor& sampled,
                    double elements) {
  if (!find_method(compressor.name).needs_whole) return elements;
  const auto most_bytes = [&](const TraceTensor& one) {
    const auto made = make_compressor(compressor, {one.name, one.shape, one.elements}, {});
    return static_cast<double>(made->max_encoded_size());
  };
  const double bytes = most_bytes(sampled);
  return bytes > 0 ? most_bytes(tensor) / bytes : elements;
}

ProfiledBucket scaled_bucket(ProfiledBucket bucket, double factor, double bytes_factor) {
  for (double* time : {&bucket.compress, &bucket.decode, &bucket.decode_message}) *time *= factor;
  for (ExchangeWork& exchange : bucket.exchanges) {
    for (double& bytes : exchange.bytes) bytes *= bytes_factor;
    exchange.k *= factor;
    exchange.copies *= factor;
    for (UnitWork& unit : exchange.units) unit = unit * factor;
  }
  return bucket;
}

void add_exchange(const ExchangeWork& more, ExchangeWork& sum) {
  sum.bytes.resize(std::max(sum.bytes.size(), more.bytes.size()));
  for (std::size_t rank = 0; rank < more.bytes.size(); ++rank) sum.bytes[rank] += more.bytes[rank];
  sum.k += more.k;
  sum.copies += more.copies;
  sum.units.insert(sum.units.end(), more.units.begin(), more.units.end());
}

// Adds a bucket's work to another. The i-th exchange of an operation goes together with the i-th of
// that operation, as the payloads of all tensors of a bucket do.
void add_bucket(const ProfiledBucket& more, ProfiledBucket& sum) {
  sum.tensors.insert(sum.tensors.end(), more.tensors.begin(), more.tensors.end());
  sum.compress += more.compress;
  sum.decode += more.decode;
  sum.decode_message += more.decode_message;
  std::vector<bool> taken(sum.exchanges.size(), false);
  for (const ExchangeWork& exchange : more.exchanges) {
    std::size_t i = 0;
    while (i < taken.size() && (taken[i] || sum.exchanges[i].operation != exchange.operation)) ++i;
    if (i == taken.size()) {
      sum.exchanges.push_back({.operation = exchange.operation});
      taken.push_back(false);
    }
    taken[i] = true;
    add_exchange(exchange, sum.exchanges[i]);
  }
}

// Sets the payload size, which is the sum over buckets and exchanges.
CodecProfile with_payload(CodecProfile profile) {
  profile.payload_bytes = 0;
  for (const ProfiledBucket& bucket : profile.buckets)
    for (const ExchangeWork& exchange : bucket.exchanges) profile.payload_bytes += exchange.mean(1);
  return profile;
}

}  // namespace

CodecProfile profile_by_tensor(const TensorSample& sample, const Trace& trace,
                               const CompressorRules& compressor, const Spec& collective,
                               const SweepOptions& options, double seconds) {
  CodecProfile measured = measure_codec(sample.trace(), compressor, options,
                                        {.bucketing = by_tensor_bucketing(),
                                         .collective = collective,
                                         .seconds = seconds,
                                         .fewest_steps = 2,
                                         .most_steps = 6});
  std::vector<const ProfiledBucket*> of_sampled(sample.trace().tensors().size());
  for (const ProfiledBucket& bucket : measured.buckets)
    of_sampled.at(bucket.tensors.at(0)) = &bucket;
  CodecProfile whole = measured;
  whole.buckets.clear();
  whole.elements = static_cast<double>(trace.elements());
  whole.hold *= whole.elements / std::max(1.0, static_cast<double>(sample.trace().elements()));
  for (std::size_t tensor = 0; tensor < trace.tensors().size(); ++tensor) {
    const auto& [sampled, scale] = sample.like(tensor);
    const double bytes = compressor.uniform()
                             ? bytes_factor(compressor.specs().front(), trace.tensors()[tensor],
                                            sample.trace().tensors()[sampled], scale)
                             : scale;
    whole.buckets.push_back(scaled_bucket(*of_sampled.at(sampled), scale, bytes));
    whole.buckets.back().tensors = {tensor};
  }
  return with_payload(std::move(whole));
}

CodecProfile joined_profile(const CodecProfile& by_tensor,
                            const std::vector<std::vector<std::size_t>>& groups) {
  CodecProfile joined = by_tensor;
  joined.buckets.clear();
  for (const std::vector<std::size_t>& tensors : groups) {
    ProfiledBucket& bucket = joined.buckets.emplace_back();
    for (const std::size_t tensor : tensors) add_bucket(by_tensor.buckets.at(tensor), bucket);
  }
  return with_payload(std::move(joined));
}

CodecProfile with_tensors_of(CodecProfile by_tensor, const CodecProfile& other,
                             const std::vector<std::size_t>& tensors) {
  for (const std::size_t tensor : tensors) by_tensor.buckets.at(tensor) = other.buckets.at(tensor);
  return with_payload(std::move(by_tensor));
}

}  // namespace thinpipe
