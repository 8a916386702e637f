// Mini-batches: each worker draws from its own slice of the images or the text that the options
// name.
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
  at::Tensor targets;  ///< long; images: [batch]; text: [batch, time], the next symbol
};

/// Source of mini-batches. The examples of a mini-batch depend only on the source's options, the
/// worker and the step, so that a run can resume at any step.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Returns a mini-batch. The caller may request steps in any order. In ascending order, a step
  /// costs only the work for its own examples.
  virtual Batch at(std::size_t worker, std::uint64_t step) = 0;
  /// Returns the number of steps in which a worker passes over its slice once.
  virtual std::uint64_t steps_an_epoch() const = 0;
  virtual std::string description() const = 0;
};

/// Held-out data: a fixed sequence of mini-batches.
class HeldOutBatches {
 public:
  virtual ~HeldOutBatches() = default;
  virtual std::size_t size() const = 0;
  virtual Batch at(std::size_t index) const = 0;
};

/// A channel's mean and standard deviation over a whole set.
struct ChannelMoments {
  float mean = 0;
  float deviation = 1;  ///< 1 for a constant channel, which is not scaled
};

struct ImageBatchOptions {
  std::size_t workers = 1;
  std::size_t batch = 1;
  std::uint64_t seed = 1;
  bool augment = false;
};

/// Returns a source of images. Image i belongs to worker i mod workers. Each worker uses its images
/// in a new random order every epoch and leaves out the remainder that is too small for a
/// mini-batch. Pixels are shifted and scaled so that each channel has mean 0 and deviation 1.
/// `augment` shifts every image by up to an eighth of its side in each direction (4 of 32 pixels:
/// He et al. 2016, sec. 4.2) and fills the gap with zeros. `augment` also mirrors half of the
/// images if mirroring does not change their class.
/// @throws InputError if a worker has fewer images than one mini-batch.
std::unique_ptr<BatchSource> make_image_batches(ImageSet images, const ImageBatchOptions& options);

/// Returns all images in order, scaled by the moments of the training images.
std::unique_ptr<HeldOutBatches> make_held_out_images(ImageSet images,
                                                     std::vector<ChannelMoments> moments);

/// Returns a source of text, of characters or words. The text is cut into one slice for each
/// worker, and each slice into `batch` streams. A step reads `time` symbols of each stream; streams
/// restart at their end.
/// @throws InputError if the text is too short for one step.
std::unique_ptr<BatchSource> make_text_batches(TextCorpus corpus, std::size_t workers,
                                               std::size_t batch, std::size_t time);

/// Returns the whole text once, cut into 10 to 40 parallel streams. There are more than 10 streams
/// only if each stream is at least 20 steps long. A remainder of less than a step is left out of
/// each stream.
/// @throws InputError if the text is too short for one step.
std::unique_ptr<HeldOutBatches> make_held_out_text(TextCorpus corpus, std::size_t time);

/// Returns a source of the data that the options name, in the form that the options' model needs.
/// All data are used for training. Images that are drawn instead of read from files depend on the
/// seed.
std::unique_ptr<BatchSource> make_batches(const CaptureOptions& options);

/// Training data and held-out data.
struct LearnerData {
  std::unique_ptr<BatchSource> batches;
  std::unique_ptr<HeldOutBatches> held_out;
};

/// Returns the data that the options name, split into training data and held-out data.
/// @throws InputError for data that cannot be read or are too few
LearnerData make_learner_data(const LearnerOptions& options);

}  // namespace thinpipe
