// Labelled images in memory: drawn digits, or those of MNIST's and CIFAR-10's files; and the images
// that are held out of training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace thinpipe {

/// Ten classes; pixels are bytes in the order image, channel, row, column.
struct ImageSet {
  std::size_t channels = 1;
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<std::uint8_t> labels = {};  ///< 0..9, one an image
  std::vector<std::uint8_t> pixels = {};
  std::string source = {};      ///< for trace.json: what these images are
  bool mirrored_alike = false;  ///< left for right, an image shows the same class (no digit does)

  std::size_t size() const { return labels.size(); }
  std::size_t image_bytes() const { return channels * height * width; }
  std::span<const std::uint8_t> image(std::size_t index) const {
    return {pixels.data() + index * image_bytes(), image_bytes()};
  }
};

/// MNIST's training set: `train-images-idx3-ubyte` and `train-labels-idx1-ubyte` in a folder
/// (http://yann.lecun.com/exdb/mnist/, "file formats"). Images must be 28x28.
/// @throws InputError naming the file and field that is wrong.
ImageSet load_mnist(const std::filesystem::path& folder);

/// CIFAR-10's binary version: every `data_batch_*.bin` in a folder, records of one label byte and
/// 3072 pixel bytes (https://www.cs.toronto.edu/~kriz/cifar.html, "binary version").
/// @throws InputError naming the file and record that is wrong.
ImageSet load_cifar10(const std::filesystem::path& folder);

/// Images that are learnt from, and images kept apart to see what was learnt.
struct ImageData {
  ImageSet training;
  ImageSet held_out;
};

/// Every fifth image (4, 9, 14, ...) is held out.
/// @throws InputError when there are fewer than five
ImageData hold_out_fifth(const ImageSet& images);

/// MNIST or CIFAR-10 of a folder: the training set whole when the folder has the test set too
/// (`t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`, or `test_batch.bin`), which is then held
/// out; else as hold_out_fifth(). @throws InputError as load_mnist(), load_cifar10()
ImageData load_mnist_data(const std::filesystem::path& folder);
ImageData load_cifar10_data(const std::filesystem::path& folder);

}  // namespace thinpipe
