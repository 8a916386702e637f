// Mini-batches of images.
#pragma once

#include <memory>
#include <vector>

#include "workloads/data/image_set.h"
#include "workloads/training/batch.h"

namespace thinpipe {

/// A channel's mean and standard deviation over a whole set.
struct ChannelMoments {
  float mean = 0;
  float deviation = 1;  ///< 1 for a channel of one value only, which is left unscaled
};

std::vector<ChannelMoments> channel_moments(const ImageSet& images);

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

}  // namespace thinpipe
