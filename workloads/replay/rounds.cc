// Compressors write floats where the all-reduce reads them, and read means where it writes them.
#include "workloads/replay/rounds.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"

namespace thinpipe {

Rounds::Rounds(const std::vector<Compressor*>& compressors, int threads) : threads_(threads) {
  std::size_t bytes = 0, longest = 0;
  for (Compressor* compressor : compressors) {
    tensors_.push_back({.compressor = compressor,
                        .several = dynamic_cast<MultiRound*>(compressor),
                        .payload_at = bytes});
    // The payload of a tensor's aggregate is at least as large as the floats of all its rounds.
    // Neither exceeds max_encoded_size(), which therefore suffices for both.
    bytes += compressor->max_encoded_size();
    longest = std::max(longest, compressor->max_encoded_size());
    most_rounds_ = std::max(most_rounds_, rounds_of(*compressor));
  }
  // next_round() needs max_encoded_size() free bytes wherever it writes.
  own_floats_.resize(bytes / sizeof(float) + longest / sizeof(float));
  mean_floats_.resize(bytes / sizeof(float));
  own_ = own_floats_;
  means_ = mean_floats_;
  payloads_.resize(bytes);
  own_payload_.resize(longest);
  ends_.reserve(static_cast<std::size_t>(most_rounds_));
}

void Rounds::add(Tensor& tensor, std::size_t bytes) {
  if (bytes % sizeof(float) != 0 || used_ + bytes / sizeof(float) > means_.size())
    throw RunError(
        fmt::format("a compressor sends {} bytes in a round after {} bytes; expected whole floats, "
                    "and at most {} bytes in all rounds",
                    bytes, used_ * sizeof(float), means_.size() * sizeof(float)));
  tensor.at = used_;
  tensor.size = bytes / sizeof(float);
  used_ += tensor.size;
}

EncodeReport Rounds::encode(const GradientInput& gradient) {
  Tensor& tensor = tensors_.at(next_++);
  const EncodeReport report = tensor.several != nullptr
                                  ? tensor.several->first_round(gradient, free())
                                  : tensor.compressor->encode(gradient, free());
  add(tensor, report.encoded_bytes);
  return report;
}

ExchangeTime Rounds::run(AllReduce& all_reduce, int ranks, Pace& pace) {
  ExchangeTime time;
  std::size_t from = 0;
  for (int round = 1; round <= most_rounds_; ++round) {
    const double begin = now_seconds();
    const std::size_t end = used_, size = end - from;
    all_reduce.all_reduce(own_.subspan(from, size), means_.subspan(from, size),
                          1.0F / static_cast<float>(ranks));
    ends_.push_back(end);
    from = end;
    const double exchanged = now_seconds();
    const double cpu = now_seconds(processor_clock(threads_));
    pace.begin();
    for (Tensor& tensor : tensors_) {
      if (tensor.several == nullptr || tensor.several->rounds() < round) continue;
      const auto mean = means_.subspan(tensor.at, tensor.size);
      if (round < tensor.several->rounds())
        add(tensor, tensor.several->next_round(mean, free()));
      else
        tensor.payload_size = tensor.several->next_round(
            mean,
            std::span(payloads_).subspan(tensor.payload_at, tensor.compressor->max_encoded_size()));
    }
    pace.end();
    time.exchange += exchanged - begin;
    time.compress += now_seconds() - exchanged;
    time.compress_cpu += now_seconds(processor_clock(threads_)) - cpu;
  }
  time.codec = pace.own();
  time.overrun = pace.overrun();
  return time;
}

std::span<const std::byte> Rounds::result(std::size_t index) const {
  const Tensor& tensor = tensors_[index];
  // A tensor that is summed unchanged needs only its mean.
  if (tensor.several == nullptr) return std::as_bytes(means_.subspan(tensor.at, tensor.size));
  return std::span(payloads_).subspan(tensor.payload_at, tensor.payload_size);
}

std::span<const std::byte> Rounds::own_payload(std::size_t index) const {
  const Tensor& tensor = tensors_[index];
  if (tensor.several == nullptr) return std::as_bytes(own_.subspan(tensor.at, tensor.size));
  return std::span(own_payload_).first(tensor.several->own_payload(own_payload_));
}

}  // namespace thinpipe
