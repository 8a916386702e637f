// Data that is learnt from, and data kept apart to see what was learnt.
#pragma once

#include <filesystem>

#include "workloads/data/image_set.h"
#include "workloads/data/text_corpus.h"

namespace thinpipe {

struct ImageData {
  ImageSet training;
  ImageSet held_out;
};

struct TextData {
  TextCorpus training;
  TextCorpus held_out;
};

/// Every fifth image (4, 9, 14, ...) is held out.
/// @throws InputError when there are fewer than five
ImageData hold_out_fifth(const ImageSet& images);

/// The last tenth of the text is held out, rounded down.
/// @throws InputError when that leaves nothing in either part
TextData hold_out_tenth(TextCorpus corpus);

/// MNIST or CIFAR-10 of a folder: the training set whole when the folder has the test set too (see
/// load_mnist_test(), load_cifar10_test()), which is then held out; else as hold_out_fifth().
ImageData load_mnist_data(const std::filesystem::path& folder);
ImageData load_cifar10_data(const std::filesystem::path& folder);

/// 5,000 drawn digits, every fifth held out; always the same ones, so that runs of different seeds
/// are held against the same images. The coloured ones are of light ink: few hundred steps are to
/// be enough.
ImageData drawn_digits();
ImageData drawn_colour_digits();

}  // namespace thinpipe
