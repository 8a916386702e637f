#include "workloads/training/batches.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <torch/types.h>

#include "base/error.h"
#include "workloads/data/digits.h"
#include "workloads/models/catalogue.h"
#include "workloads/trace/draws.h"
#include "workloads/training/model.h"

namespace thinpipe {
namespace {

// Held-out images in one batch.
constexpr std::size_t kHeldOutBatch = 100;

/// Augmentation of an image.
struct Move {
  std::ptrdiff_t down = 0;
  std::ptrdiff_t right = 0;
  bool mirrored = false;
};

std::vector<ChannelMoments> channel_moments(const ImageSet& images) {
  const std::size_t plane = images.height * images.width;
  std::vector<ChannelMoments> moments;
  for (std::size_t c = 0; c < images.channels; ++c) {
    std::array<std::uint64_t, 256> histogram{};
    for (std::size_t i = 0; i < images.size(); ++i) {
      for (const std::uint8_t value : images.image(i).subspan(c * plane, plane)) ++histogram[value];
    }
    const double count = static_cast<double>(images.size() * plane);
    double sum = 0;
    double square = 0;
    for (std::size_t value = 0; value < histogram.size(); ++value) {
      const double weight = static_cast<double>(histogram[value]) / count;
      sum += weight * static_cast<double>(value);
      square += weight * static_cast<double>(value * value);
    }
    const double deviation = std::sqrt(std::max(square - sum * sum, 0.0));
    moments.push_back(
        {static_cast<float>(sum), deviation > 0 ? static_cast<float>(deviation) : 1.0F});
  }
  return moments;
}

Batch empty_batch(const ImageSet& images, std::size_t count) {
  const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return {
      torch::empty({size(count), size(images.channels), size(images.height), size(images.width)}),
      torch::empty({size(count)}, torch::kLong)};
}

float* write_image(const ImageSet& images, std::size_t index,
                   const std::vector<ChannelMoments>& moments, const Move& move, float* pixels) {
  const auto image = images.image(index);
  const auto height = static_cast<std::ptrdiff_t>(images.height);
  const auto width = static_cast<std::ptrdiff_t>(images.width);
  for (std::size_t c = 0; c < images.channels; ++c) {
    const std::uint8_t* plane = image.data() + c * images.height * images.width;
    for (std::ptrdiff_t row = 0; row < height; ++row) {
      for (std::ptrdiff_t column = 0; column < width; ++column) {
        const std::ptrdiff_t y = row - move.down;
        const std::ptrdiff_t x = (move.mirrored ? width - 1 - column : column) - move.right;
        const bool inside = y >= 0 && y < height && x >= 0 && x < width;
        *pixels++ = inside ? (static_cast<float>(plane[y * width + x]) - moments[c].mean) /
                                 moments[c].deviation
                           : 0.0F;
      }
    }
  }
  return pixels;
}

class ImageBatches : public BatchSource {
 public:
  ImageBatches(ImageSet images, const ImageBatchOptions& options)
      : images_(std::move(images)), moments_(channel_moments(images_)), options_(options) {
    for (std::size_t worker = 0; worker < options.workers; ++worker) {
      shares_.push_back(untouched_share(worker));
      if (shares_.back().order.size() < options.batch)
        throw InputError(fmt::format("batch: {} images, but worker {} of {} has only {}",
                                     options.batch, worker, options.workers,
                                     shares_.back().order.size()));
    }
  }

  Batch at(std::size_t worker, std::uint64_t step) override {
    Share& share = shares_.at(worker);
    const std::size_t steps_of_share = share.order.size() / options_.batch;
    const std::uint64_t shuffles = step / steps_of_share + 1;
    if (share.shuffles > shuffles) share = untouched_share(worker);
    while (share.shuffles < shuffles) shuffle(share);
    const std::size_t* chosen = share.order.data() + step % steps_of_share * options_.batch;

    Batch batch = empty_batch(images_, options_.batch);
    float* pixels = batch.inputs.data_ptr<float>();
    auto* labels = batch.targets.data_ptr<std::int64_t>();
    Draws random = draws_of(worker, step);
    for (std::size_t i = 0; i < options_.batch; ++i) {
      labels[i] = images_.labels[chosen[i]];
      const Move move = options_.augment ? draw_move(random) : Move();
      pixels = write_image(images_, chosen[i], moments_, move, pixels);
    }
    return batch;
  }

  std::uint64_t steps_an_epoch() const override { return shares_[0].order.size() / options_.batch; }

  std::string description() const override {
    return fmt::format("{}, {} images", images_.source, images_.size());
  }

 private:
  struct Share {
    std::vector<std::size_t> order = {};
    std::uint64_t shuffles = 0;
    Draws random;
  };

  Share untouched_share(std::size_t worker) const {
    Share share{.random = Draws(options_.seed * 1'000'003 + worker)};
    for (std::size_t i = worker; i < images_.size(); i += options_.workers)
      share.order.push_back(i);
    return share;
  }

  // Shuffles the previous epoch's order.
  static void shuffle(Share& share) {
    for (std::size_t left = share.order.size(); left > 1; --left)
      std::swap(share.order[left - 1], share.order[share.random.below(left)]);
    ++share.shuffles;
  }

  // Returns the draws of a step, which do not depend on earlier draws.
  Draws draws_of(std::size_t worker, std::uint64_t step) const {
    const std::uint64_t base = SplitMix64(options_.seed * 1'000'003 + worker).next();
    return Draws(SplitMix64(base ^ step).next());
  }

  Move draw_move(Draws& random) const {
    const auto shift = [&](std::size_t side) {
      const std::size_t most = side / 8;
      return static_cast<std::ptrdiff_t>(random.below(2 * most + 1)) -
             static_cast<std::ptrdiff_t>(most);
    };
    Move move;
    move.down = shift(images_.height);
    move.right = shift(images_.width);
    move.mirrored = images_.mirrored_alike && random.uniform() < 0.5;
    return move;
  }

  ImageSet images_;
  std::vector<ChannelMoments> moments_;
  ImageBatchOptions options_;
  std::vector<Share> shares_;
};

class HeldOutImages : public HeldOutBatches {
 public:
  HeldOutImages(ImageSet images, std::vector<ChannelMoments> moments)
      : images_(std::move(images)), moments_(std::move(moments)) {}

  std::size_t size() const override { return (images_.size() + kHeldOutBatch - 1) / kHeldOutBatch; }

  Batch at(std::size_t index) const override {
    const std::size_t first = index * kHeldOutBatch;
    const std::size_t end = std::min(first + kHeldOutBatch, images_.size());
    Batch batch = empty_batch(images_, end - first);
    float* pixels = batch.inputs.data_ptr<float>();
    for (std::size_t i = first; i < end; ++i) {
      batch.targets.data_ptr<std::int64_t>()[i - first] = images_.labels[i];
      pixels = write_image(images_, i, moments_, {}, pixels);
    }
    return batch;
  }

 private:
  ImageSet images_;
  std::vector<ChannelMoments> moments_;
};

// Number of parallel streams into which held-out text is cut. Many streams make a pass short,
// because a pass has the same number of recurrent steps as one stream. But a model reads the start
// of each stream with an empty state, so few streams keep the fraction of such symbols small.
// Streams of kLongStream steps are long enough for that.
constexpr std::size_t kMinStreams = 10, kMaxStreams = 40, kLongStream = 20;

std::size_t held_out_streams(std::size_t symbols, std::size_t time) {
  return std::clamp(symbols / (kLongStream * (time + 1)), kMinStreams, kMaxStreams);
}

class TextStreams {
 public:
  TextStreams(TextCorpus corpus, std::size_t workers, std::size_t batch, std::size_t time)
      : corpus_(std::move(corpus)),
        batch_(batch),
        time_(time),
        stream_(corpus_.symbols.size() / (workers * batch)) {
    // A step needs one more symbol than it reads, for the last target.
    if (stream_ < time + 1)
      throw InputError(fmt::format(
          "data: {} symbols of text, expected at least {} for {} workers with a batch of {}",
          corpus_.symbols.size(), workers * batch * (time + 1), workers, batch));
  }

  const TextCorpus& corpus() const { return corpus_; }
  std::size_t steps() const { return (stream_ - 1) / time_; }  ///< until the end of the streams

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

// A default run of 160 steps then uses few images twice. Drawing takes about a second.
constexpr std::size_t kDrawnImages = 12'000;

TextCorpus text_for(DataKind kind, const std::string& data) {
  TextCorpus corpus = data.empty() ? load_shipped_text() : load_text(data);
  return kind == DataKind::kWords ? to_words(corpus) : corpus;
}

ImageData images_for(DataKind kind, const std::string& data) {
  if (kind == DataKind::kDigits) return data.empty() ? drawn_digits() : load_mnist_data(data);
  return data.empty() ? drawn_colour_digits() : load_cifar10_data(data);
}

}  // namespace

std::unique_ptr<BatchSource> make_image_batches(ImageSet images, const ImageBatchOptions& options) {
  return std::make_unique<ImageBatches>(std::move(images), options);
}

std::unique_ptr<HeldOutBatches> make_held_out_images(ImageSet images,
                                                     std::vector<ChannelMoments> moments) {
  return std::make_unique<HeldOutImages>(std::move(images), std::move(moments));
}

std::unique_ptr<BatchSource> make_text_batches(TextCorpus corpus, std::size_t workers,
                                               std::size_t batch, std::size_t time) {
  return std::make_unique<TextBatches>(TextStreams(std::move(corpus), workers, batch, time));
}

std::unique_ptr<HeldOutBatches> make_held_out_text(TextCorpus corpus, std::size_t time) {
  const std::size_t streams = held_out_streams(corpus.symbols.size(), time);
  if (const std::size_t least = kMinStreams * (time + 1); corpus.symbols.size() < least)
    throw InputError(fmt::format(
        "data: the held-out tenth of the text has {} symbols, expected at least {}; give a text of "
        "{} symbols or more",
        corpus.symbols.size(), least, 10 * least));
  return std::make_unique<HeldOutText>(TextStreams(std::move(corpus), 1, streams, time));
}

std::unique_ptr<BatchSource> make_batches(const CaptureOptions& options) {
  const DataKind kind = find_trainable_model(options.model).training->data;
  if (is_text(kind))
    return make_text_batches(text_for(kind, options.data), options.workers, options.batch,
                             text_time(options.model));
  const std::size_t count = std::max(kDrawnImages, options.workers * options.batch);
  const bool own = options.data.empty();
  ImageSet images;
  if (kind == DataKind::kDigits) {
    images = own ? draw_digits(count, options.seed) : load_mnist(options.data);
  } else {
    images = own ? draw_colour_digits(count, options.seed) : load_cifar10(options.data);
  }
  return make_image_batches(
      std::move(images),
      {.workers = options.workers, .batch = options.batch, .seed = options.seed});
}

LearnerData make_learner_data(const LearnerOptions& options) {
  const DataKind kind = find_trainable_model(options.model).training->data;
  if (is_text(kind)) {
    TextData data = hold_out_tenth(text_for(kind, options.data));
    const std::size_t time = text_time(options.model);
    return {make_text_batches(std::move(data.training), options.workers, options.batch, time),
            make_held_out_text(std::move(data.held_out), time)};
  }
  ImageData data = images_for(kind, options.data);
  auto moments = channel_moments(data.training);
  return {make_image_batches(std::move(data.training), {.workers = options.workers,
                                                        .batch = options.batch,
                                                        .seed = options.seed,
                                                        .augment = options.augment}),
          make_held_out_images(std::move(data.held_out), std::move(moments))};
}

}  // namespace thinpipe
