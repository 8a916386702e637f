#include "workloads/training/training_data.h"

#include <algorithm>
#include <utility>

#include "workloads/data/digits.h"
#include "workloads/data/held_out.h"
#include "workloads/models/catalogue.h"
#include "workloads/training/image_batches.h"
#include "workloads/training/model.h"
#include "workloads/training/text_batches.h"

namespace thinpipe {

namespace {

// Enough that a default run of 160 steps sees few images twice; drawing them takes about a second.
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

std::unique_ptr<BatchSource> make_batches(const CaptureOptions& options) {
  const DataKind kind = find_trainable_model(options.model).training->data;
  if (is_text(kind)) {
    return make_text_batches(text_for(kind, options.data), options.workers, options.batch,
                             text_time(options.model));
  }
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
