// Mini-batches: each worker draws from its own share of the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <torch/types.h>

#include "workloads/capture/options.h"
#include "workloads/data/image_set.h"
#include "workloads/data/text_corpus.h"

namespace thinpipe {

struct Batch {
  torch::Tensor
      inputs;  ///< images: float [batch, channels, rows, columns]; text: long [batch, time]
  torch::Tensor targets;  ///< long; images: [batch]; text: [batch, time], the symbol that follows
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual Batch next(std::size_t worker) = 0;
  virtual std::string description() const = 0;
};

/// Image i belongs to worker i mod workers. Each worker goes through its images in a new random
/// order every epoch. Pixels are shifted and scaled so that each channel has mean 0 and
/// deviation 1.
/// @throws InputError when a worker's share is smaller than one mini-batch.
std::unique_ptr<BatchSource> make_image_batches(ImageSet images, std::size_t workers,
                                                std::size_t batch, std::uint64_t seed);

/// The text is cut into one piece for each worker, and each piece into `batch` streams that are
/// read `time` symbols a step, side by side, from the start again when they end.
/// @throws InputError when the text is too short for one step.
std::unique_ptr<BatchSource> make_text_batches(TextCorpus corpus, std::size_t workers,
                                               std::size_t batch, std::size_t time);

/// The data that the options name, for the model they name.
std::unique_ptr<BatchSource> make_batches(const CaptureOptions& options);

}  // namespace thinpipe
