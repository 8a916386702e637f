#include "workloads/training/batch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "workloads/data/digits.h"
#include "workloads/models/catalogue.h"
#include "workloads/trace/draws.h"

namespace thinpipe {

namespace {

// The unrolling of the "medium" configuration that SBC's authors adapted (app., CharLSTM).
constexpr std::size_t kTextTime = 35;
// Enough that a default run of 160 steps sees few images twice; drawing them takes about a second.
constexpr std::size_t kDrawnImages = 12'000;

/// A channel's mean and standard deviation over a whole set.
struct Moments {
  float mean = 0;
  float deviation = 1;
};

std::vector<Moments> channel_moments(const ImageSet& images) {
  const std::size_t plane = images.height * images.width;
  std::vector<Moments> moments;
  for (std::size_t c = 0; c < images.channels; ++c) {
    std::array<std::uint64_t, 256> histogram{};
    for (std::size_t i = 0; i < images.size(); ++i) {
      for (const std::uint8_t value : images.image(i).subspan(c * plane, plane)) {
        ++histogram[value];
      }
    }
    const double count = static_cast<double>(images.size() * plane);
    double sum = 0;
    double square = 0;
    for (std::size_t value = 0; value < histogram.size(); ++value) {
      const double weight = static_cast<double>(histogram[value]) / count;
      sum += weight * static_cast<double>(value);
      square += weight * static_cast<double>(value * value);
    }
    // A channel of one value only is left unscaled.
    const double deviation = std::sqrt(std::max(square - sum * sum, 0.0));
    moments.push_back(
        {static_cast<float>(sum), deviation > 0 ? static_cast<float>(deviation) : 1.0F});
  }
  return moments;
}

class ImageBatches : public BatchSource {
 public:
  ImageBatches(ImageSet images, std::size_t workers, std::size_t batch, std::uint64_t seed)
      : images_(std::move(images)), moments_(channel_moments(images_)), batch_(batch) {
    for (std::size_t worker = 0; worker < workers; ++worker) {
      Share share{{}, 0, Draws(seed * 1'000'003 + worker)};
      for (std::size_t i = worker; i < images_.size(); i += workers) share.order.push_back(i);
      if (share.order.size() < batch) {
        throw InputError(fmt::format("capture: batch: {} images, but worker {} of {} has only {}",
                                     batch, worker, workers, share.order.size()));
      }
      shuffle(share);
      shares_.push_back(std::move(share));
    }
  }

  Batch next(std::size_t worker) override {
    Share& share = shares_.at(worker);
    if (share.position + batch_ > share.order.size()) shuffle(share);
    const auto size = static_cast<std::int64_t>(batch_);
    Batch batch{torch::empty({size, static_cast<std::int64_t>(images_.channels),
                              static_cast<std::int64_t>(images_.height),
                              static_cast<std::int64_t>(images_.width)}),
                torch::empty({size}, torch::kLong)};
    float* pixels = batch.inputs.data_ptr<float>();
    auto* labels = batch.targets.data_ptr<std::int64_t>();
    const std::size_t plane = images_.height * images_.width;
    for (std::size_t i = 0; i < batch_; ++i) {
      const std::size_t index = share.order[share.position++];
      labels[i] = images_.labels[index];
      const auto image = images_.image(index);
      for (std::size_t at = 0; at < image.size(); ++at) {
        const Moments& moments = moments_[at / plane];
        *pixels++ = (static_cast<float>(image[at]) - moments.mean) / moments.deviation;
      }
    }
    return batch;
  }

  std::string description() const override {
    return fmt::format("{}, {} images", images_.source, images_.size());
  }

 private:
  struct Share {
    std::vector<std::size_t> order;
    std::size_t position;
    Draws random;
  };

  static void shuffle(Share& share) {
    for (std::size_t left = share.order.size(); left > 1; --left) {
      std::swap(share.order[left - 1], share.order[share.random.below(left)]);
    }
    share.position = 0;
  }

  ImageSet images_;
  std::vector<Moments> moments_;
  std::size_t batch_;
  std::vector<Share> shares_;
};

class TextBatches : public BatchSource {
 public:
  TextBatches(TextCorpus corpus, std::size_t workers, std::size_t batch, std::size_t time)
      : corpus_(std::move(corpus)),
        batch_(batch),
        time_(time),
        stream_(corpus_.symbols.size() / (workers * batch)),
        positions_(workers) {
    // One symbol more than a step reads, for the last target.
    if (stream_ < time + 1) {
      throw InputError(
          fmt::format("capture: data: {} symbols of text, expected at least {} for {} "
                      "workers with a batch of {}",
                      corpus_.symbols.size(), workers * batch * (time + 1), workers, batch));
    }
  }

  Batch next(std::size_t worker) override {
    std::size_t& position = positions_.at(worker);
    if (position + time_ + 1 > stream_) position = 0;
    const auto shape = {static_cast<std::int64_t>(batch_), static_cast<std::int64_t>(time_)};
    Batch batch{torch::empty(shape, torch::kLong), torch::empty(shape, torch::kLong)};
    auto* inputs = batch.inputs.data_ptr<std::int64_t>();
    auto* targets = batch.targets.data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < batch_; ++i) {
      const std::uint8_t* text =
          corpus_.symbols.data() + (worker * batch_ + i) * stream_ + position;
      for (std::size_t t = 0; t < time_; ++t) {
        *inputs++ = text[t];
        *targets++ = text[t + 1];
      }
    }
    position += time_;
    return batch;
  }

  std::string description() const override {
    return fmt::format("{}, {} symbols", corpus_.source, corpus_.symbols.size());
  }

 private:
  TextCorpus corpus_;
  std::size_t batch_;
  std::size_t time_;
  std::size_t stream_;  // symbols in one stream
  std::vector<std::size_t> positions_;
};

}  // namespace

std::unique_ptr<BatchSource> make_image_batches(ImageSet images, std::size_t workers,
                                                std::size_t batch, std::uint64_t seed) {
  return std::make_unique<ImageBatches>(std::move(images), workers, batch, seed);
}

std::unique_ptr<BatchSource> make_text_batches(TextCorpus corpus, std::size_t workers,
                                               std::size_t batch, std::size_t time) {
  return std::make_unique<TextBatches>(std::move(corpus), workers, batch, time);
}

std::unique_ptr<BatchSource> make_batches(const CaptureOptions& options) {
  const DataKind kind = find_trainable_model(options.model).training->data;
  const bool own = options.data.empty();
  if (kind == DataKind::kText) {
    return make_text_batches(own ? load_shipped_text() : load_text(options.data), options.workers,
                             options.batch, kTextTime);
  }
  const std::size_t count = std::max(kDrawnImages, options.workers * options.batch);
  ImageSet images;
  if (kind == DataKind::kDigits) {
    images = own ? draw_digits(count, options.seed) : load_mnist(options.data);
  } else {
    images = own ? draw_colour_digits(count, options.seed) : load_cifar10(options.data);
  }
  return make_image_batches(std::move(images), options.workers, options.batch, options.seed);
}

}  // namespace thinpipe
