#include "workloads/training/image_batches.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <torch/types.h>

#include "workloads/trace/draws.h"

namespace thinpipe {

namespace {

// Held-out images that go through a model at once.
constexpr std::size_t kHeldOutBatch = 100;

/// How an image is changed before it is learnt from.
struct Move {
  std::ptrdiff_t down = 0;
  std::ptrdiff_t right = 0;
  bool mirrored = false;
};

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
      if (shares_.back().order.size() < options.batch) {
        throw InputError(fmt::format("batch: {} images, but worker {} of {} has only {}",
                                     options.batch, worker, options.workers,
                                     shares_.back().order.size()));
      }
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
    for (std::size_t i = worker; i < images_.size(); i += options_.workers) {
      share.order.push_back(i);
    }
    return share;
  }

  // Each epoch's order is drawn from the one before.
  static void shuffle(Share& share) {
    for (std::size_t left = share.order.size(); left > 1; --left) {
      std::swap(share.order[left - 1], share.order[share.random.below(left)]);
    }
    ++share.shuffles;
  }

  // Of a step alone, whatever was drawn before.
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

}  // namespace

std::vector<ChannelMoments> channel_moments(const ImageSet& images) {
  const std::size_t plane = images.height * images.width;
  std::vector<ChannelMoments> moments;
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
    const double deviation = std::sqrt(std::max(square - sum * sum, 0.0));
    moments.push_back(
        {static_cast<float>(sum), deviation > 0 ? static_cast<float>(deviation) : 1.0F});
  }
  return moments;
}

std::unique_ptr<BatchSource> make_image_batches(ImageSet images, const ImageBatchOptions& options) {
  return std::make_unique<ImageBatches>(std::move(images), options);
}

std::unique_ptr<HeldOutBatches> make_held_out_images(ImageSet images,
                                                     std::vector<ChannelMoments> moments) {
  return std::make_unique<HeldOutImages>(std::move(images), std::move(moments));
}

}  // namespace thinpipe
