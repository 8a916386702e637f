#include "workloads/data/held_out.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "workloads/data/digits.h"

namespace thinpipe {

namespace {

constexpr std::size_t kFifth = 5;
// 4,000 to learn from and 1,000 held out: one is a tenth of a percentage point, and a network of
// 400,000 parameters cannot learn what counts from one epoch.
constexpr std::size_t kDrawn = 5'000;
constexpr std::uint64_t kDrawnSeed = 1;

ImageSet none_of(const ImageSet& like) {
  return {.channels = like.channels,
          .height = like.height,
          .width = like.width,
          .source = like.source,
          .mirrored_alike = like.mirrored_alike};
}

void append(ImageSet& set, const ImageSet& from, std::size_t index) {
  const auto image = from.image(index);
  set.labels.push_back(from.labels[index]);
  set.pixels.insert(set.pixels.end(), image.begin(), image.end());
}

ImageData data_of(ImageSet training, std::optional<ImageSet> test) {
  if (!test) return hold_out_fifth(training);
  return {std::move(training), std::move(*test)};
}

}  // namespace

ImageData hold_out_fifth(const ImageSet& images) {
  if (images.size() < kFifth) {
    throw InputError(fmt::format("data: {} images, expected at least {} to hold some out",
                                 images.size(), kFifth));
  }
  ImageData data{none_of(images), none_of(images)};
  for (std::size_t i = 0; i < images.size(); ++i) {
    append(i % kFifth == kFifth - 1 ? data.held_out : data.training, images, i);
  }
  data.training.source += ", four fifths";
  data.held_out.source += ", every fifth";
  return data;
}

TextData hold_out_tenth(TextCorpus corpus) {
  const std::size_t held_out = corpus.symbols.size() / 10;
  if (held_out == 0) {
    throw InputError(fmt::format("data: {} symbols of text, expected at least 10 to hold some out",
                                 corpus.symbols.size()));
  }
  const auto border = corpus.symbols.end() - static_cast<std::ptrdiff_t>(held_out);
  TextData data{corpus, corpus};
  data.training.symbols.assign(corpus.symbols.begin(), border);
  data.held_out.symbols.assign(border, corpus.symbols.end());
  data.training.source += ", without the last tenth";
  data.held_out.source += ", the last tenth";
  return data;
}

ImageData load_mnist_data(const std::filesystem::path& folder) {
  return data_of(load_mnist(folder), load_mnist_test(folder));
}

ImageData load_cifar10_data(const std::filesystem::path& folder) {
  return data_of(load_cifar10(folder), load_cifar10_test(folder));
}

// Drawn once a process: it takes longer than many a step of training.
ImageData drawn_digits() {
  static const ImageData kDigits = hold_out_fifth(draw_digits(kDrawn, kDrawnSeed));
  return kDigits;
}

ImageData drawn_colour_digits() {
  static const ImageData kDigits =
      hold_out_fifth(draw_colour_digits(kDrawn, kDrawnSeed, InkTone::kLight));
  return kDigits;
}

}  // namespace thinpipe
