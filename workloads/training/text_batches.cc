#include "workloads/training/text_batches.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <torch/types.h>

namespace thinpipe {

namespace {

// Streams of held-out text: many, for a pass over it takes as many steps of a recurrent model as a
// stream is long; few enough that the state, which is empty at a stream's start, is known for most
// of it, which these many steps' symbols are enough for.
constexpr std::size_t kFewestStreams = 10, kMostStreams = 40, kLongStream = 20;

std::size_t held_out_streams(std::size_t symbols, std::size_t time) {
  return std::clamp(symbols / (kLongStream * (time + 1)), kFewestStreams, kMostStreams);
}

class TextStreams {
 public:
  TextStreams(TextCorpus corpus, std::size_t workers, std::size_t batch, std::size_t time)
      : corpus_(std::move(corpus)),
        batch_(batch),
        time_(time),
        stream_(corpus_.symbols.size() / (workers * batch)) {
    // One symbol more than a step reads, for the last target.
    if (stream_ < time + 1) {
      throw InputError(fmt::format(
          "data: {} symbols of text, expected at least {} for {} workers with a batch of {}",
          corpus_.symbols.size(), workers * batch * (time + 1), workers, batch));
    }
  }

  const TextCorpus& corpus() const { return corpus_; }
  std::size_t steps() const { return (stream_ - 1) / time_; }  ///< until the streams end

  Batch at(std::size_t worker, std::size_t step) const {
    const auto shape = {static_cast<std::int64_t>(batch_), static_cast<std::int64_t>(time_)};
    Batch batch{torch::empty(shape, torch::kLong), torch::empty(shape, torch::kLong)};
    auto* inputs = batch.inputs.data_ptr<std::int64_t>();
    auto* targets = batch.targets.data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < batch_; ++i) {
      const std::uint16_t* text =
          corpus_.symbols.data() + (worker * batch_ + i) * stream_ + step * time_;
      for (std::size_t t = 0; t < time_; ++t) {
        *inputs++ = text[t];
        *targets++ = text[t + 1];
      }
    }
    return batch;
  }

 private:
  TextCorpus corpus_;
  std::size_t batch_;
  std::size_t time_;
  std::size_t stream_;  // symbols in one stream
};

class TextBatches : public BatchSource {
 public:
  explicit TextBatches(TextStreams streams) : streams_(std::move(streams)) {}
  Batch at(std::size_t worker, std::uint64_t step) override {
    return streams_.at(worker, step % streams_.steps());
  }
  std::uint64_t steps_an_epoch() const override { return streams_.steps(); }
  std::string description() const override {
    return fmt::format("{}, {} symbols", streams_.corpus().source,
                       streams_.corpus().symbols.size());
  }

 private:
  TextStreams streams_;
};

class HeldOutText : public HeldOutBatches {
 public:
  explicit HeldOutText(TextStreams streams) : streams_(std::move(streams)) {}
  std::size_t size() const override { return streams_.steps(); }
  Batch at(std::size_t index) const override { return streams_.at(0, index); }

 private:
  TextStreams streams_;
};

}  // namespace

std::unique_ptr<BatchSource> make_text_batches(TextCorpus corpus, std::size_t workers,
                                               std::size_t batch, std::size_t time) {
  return std::make_unique<TextBatches>(TextStreams(std::move(corpus), workers, batch, time));
}

std::unique_ptr<HeldOutBatches> make_held_out_text(TextCorpus corpus, std::size_t time) {
  const std::size_t streams = held_out_streams(corpus.symbols.size(), time);
  return std::make_unique<HeldOutText>(TextStreams(std::move(corpus), 1, streams, time));
}

}  // namespace thinpipe
