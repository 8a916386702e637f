// Digit images drawn from strokes: training data that needs no download.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/data/image_set.h"

namespace thinpipe {

/// 28x28 grey images (MNIST's form): light ink on dark ground. Each digit is a few strokes that
/// are wobbled, turned, sheared, stretched and shifted, drawn with a pen of random width and
/// strength; then stray strokes and noise are added. The classes are equally frequent.
/// The same seed gives the same bytes.
ImageSet draw_digits(std::size_t count, std::uint64_t seed);

/// Whether one can rely on ink being lighter than the ground. Where one cannot, a convolutional
/// network needs several hundred steps before it sees more than chance.
enum class InkTone { kAny, kLight };

/// The same on 32x32 pixels of three channels (CIFAR-10's form): ink and a shaded ground in random
/// colours, stray strokes in colours of their own.
ImageSet draw_colour_digits(std::size_t count, std::uint64_t seed, InkTone tone = InkTone::kAny);

/// 5,000 drawn digits, every fifth held out; always the same ones, so that runs of different seeds
/// are held against the same images. The coloured ones are of light ink: few hundred steps are to
/// be enough.
ImageData drawn_digits();
ImageData drawn_colour_digits();

/// A point of a digit in a unit square: x to the right, y down; a digit fills about 0.2..0.8 by
/// 0.1..0.9.
struct GlyphPoint {
  double x = 0;
  double y = 0;
};

/// A polyline; curves are sampled finely enough for 32 pixels.
using Stroke = std::vector<GlyphPoint>;

/// The strokes of a digit, 0..9.
const std::vector<Stroke>& digit_strokes(std::size_t digit);

}  // namespace thinpipe
