// Mini-batches: each worker draws from its own share of the images, or of the text, that the
// options name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "workloads/capture/options.h"
#include "workloads/data/image_set.h"
#include "workloads/data/text_corpus.h"

namespace thinpipe {

struct Batch {
  at::Tensor inputs;   ///< images: float [batch, channels, rows, columns]; text: long [batch, time]
  at::Tensor targets;  ///< long; images: [batch]; text: [batch, time], the symbol that follows
};

/// Which examples a mini-batch holds depends on nothing but the source's options, the worker and
/// the step: whoever resumes at a step reads on as if nothing had been.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// In any order of steps; in ascending order no step costs more than its examples.
  virtual Batch at(std::size_t worker, std::uint64_t step) = 0;
  /// In which a worker goes through its share once.
  virtual std::uint64_t steps_an_epoch() const = 0;
  virtual std::string description() const = 0;
};

/// Data held out: a fixed sequence of mini-batches.
class HeldOutBatches {
 public:
  virtual ~HeldOutBatches() = default;
  virtual std::size_t size() const = 0;
  virtual Batch at(std::size_t index) const = 0;
};

/// A channel's mean and standard deviation over a whole set.
struct ChannelMoments {
  float mean = 0;
  float deviation = 1;  ///< 1 for a channel of one value only, which is left unscaled
};

struct ImageBatchOptions {
  std::size_t workers = 1;
  std::size_t batch = 1;
  std::uint64_t seed = 1;
  bool augment = false;
};

/// Image i belongs to worker i mod workers. Each worker goes through its images in a new random
/// order every epoch; what is left at an epoch's end is too little for a mini-batch and left out.
/// Pixels are shifted and scaled so that each channel has mean 0 and deviation 1. With `augment`
/// every image is moved by up to an eighth of its side each way (4 of 32 pixels: He et al. 2016,
/// sec. 4.2), zeros coming in, and every second one mirrored where that changes no class.
/// @throws InputError when a worker's share is smaller than one mini-batch.
std::unique_ptr<BatchSource> make_image_batches(ImageSet images, const ImageBatchOptions& options);

/// All images in order, scaled by the moments of what was learnt from.
std::unique_ptr<HeldOutBatches> make_held_out_images(ImageSet images,
                                                     std::vector<ChannelMoments> moments);

/// Text of characters or of words. It is cut into one piece for each worker, and each piece into
/// `batch` streams that are read `time` symbols a step, side by side, from the start again when
/// they end.
/// @throws InputError when the text is too short for one step.
std::unique_ptr<BatchSource> make_text_batches(TextCorpus corpus, std::size_t workers,
                                               std::size_t batch, std::size_t time);

/// The whole text once, as ten streams side by side, or more, up to forty, where these are twenty
/// steps long; less than a step of each is left out.
/// @throws InputError when the text is too short for one step.
std::unique_ptr<HeldOutBatches> make_held_out_text(TextCorpus corpus, std::size_t time);

/// The data that the options name, for the model they name. All of it is learnt from; drawn images
/// depend on the seed.
std::unique_ptr<BatchSource> make_batches(const CaptureOptions& options);

/// Data of which some is held out (workloads/data/held_out.h).
struct LearnerData {
  std::unique_ptr<BatchSource> batches;
  std::unique_ptr<HeldOutBatches> held_out;
};

/// @throws InputError for data that cannot be read or are too few
LearnerData make_learner_data(const LearnerOptions& options);

}  // namespace thinpipe
