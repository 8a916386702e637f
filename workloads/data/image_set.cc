#include "workloads/data/image_set.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "workloads/trace/mapped_file.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

constexpr std::uint8_t kLabels = 10;
constexpr std::size_t kFifth = 5;

std::span<const std::uint8_t> as_u8(const MappedFile& file) {
  return {reinterpret_cast<const std::uint8_t*>(file.bytes().data()), file.bytes().size()};
}

// The one of the names under which copies of MNIST circulate that is there.
fs::path find_idx(const fs::path& folder, const std::string& stem, const std::string& kind) {
  const std::string name = stem + "-" + kind;
  for (const fs::path& path : {folder / name, folder / (stem + "." + kind)}) {
    if (fs::exists(path)) return path;
    const fs::path packed = path.string() + ".gz";
    if (fs::exists(packed))
      throw InputError(fmt::format("{}: still packed; unpack it with: gunzip -k '{}'",
                                   packed.string(), packed.string()));
  }
  throw InputError((folder / name).string() + ": missing (expected MNIST's idx files)");
}

// Big-endian, as idx files are.
std::uint32_t read_u32(std::span<const std::uint8_t> bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
         std::uint32_t{bytes[at + 2]} << 8 | std::uint32_t{bytes[at + 3]};
}

// An idx header: two zero bytes, the type (8: unsigned byte), the number of dimensions, then each.
// Returns the dimensions after holding them against the file's size.
std::vector<std::uint32_t> read_idx_header(std::span<const std::uint8_t> bytes,
                                           std::size_t dimensions, const std::string& file) {
  const std::size_t header = 4 + 4 * dimensions;
  if (bytes.size() < header)
    throw InputError(fmt::format("{}: header: the file has {} bytes, expected at least {}", file,
                                 bytes.size(), header));
  const std::uint32_t magic = 0x800 + static_cast<std::uint32_t>(dimensions);
  if (read_u32(bytes, 0) != magic)
    throw InputError(fmt::format("{}: magic number: found {:#010x}, expected {:#010x}", file,
                                 read_u32(bytes, 0), magic));
  std::vector<std::uint32_t> sizes;
  for (std::size_t i = 0; i < dimensions; ++i) sizes.push_back(read_u32(bytes, 4 + 4 * i));
  return sizes;
}

void check_idx_size(std::size_t found, std::uint64_t expected, const std::string& file) {
  if (found != expected)
    throw InputError(
        fmt::format("{}: the file has {} bytes, expected {} by its header", file, found, expected));
}

void check_label(std::uint8_t label, const std::string& file, std::size_t index) {
  if (label >= kLabels)
    throw InputError(
        fmt::format("{}: label of image {}: found {}, expected 0 to 9", file, index, label));
}

// `part`: "train" or "t10k".
ImageSet load_idx(const fs::path& folder, const std::string& part) {
  const fs::path image_path = find_idx(folder, part + "-images", "idx3-ubyte");
  const fs::path label_path = find_idx(folder, part + "-labels", "idx1-ubyte");
  const MappedFile image_file(image_path);
  const MappedFile label_file(label_path);
  const auto images = as_u8(image_file);
  const auto labels = as_u8(label_file);
  const auto sizes = read_idx_header(images, 3, image_path.string());
  if (sizes[1] != 28 || sizes[2] != 28)
    throw InputError(fmt::format("{}: images are {}x{}, expected 28x28", image_path.string(),
                                 sizes[1], sizes[2]));
  check_idx_size(images.size(), 16 + std::uint64_t{sizes[0]} * 28 * 28, image_path.string());
  const auto count = read_idx_header(labels, 1, label_path.string())[0];
  check_idx_size(labels.size(), 8 + std::uint64_t{count}, label_path.string());
  if (count != sizes[0])
    throw InputError(fmt::format("{}: {} labels, expected {} as there are images",
                                 label_path.string(), count, sizes[0]));
  if (count == 0) throw InputError(image_path.string() + ": no images");
  ImageSet set{.height = 28, .width = 28, .source = "MNIST (idx files)"};
  set.labels.assign(labels.begin() + 8, labels.end());
  set.pixels.assign(images.begin() + 16, images.end());
  for (std::size_t i = 0; i < set.size(); ++i) check_label(set.labels[i], label_path.string(), i);
  return set;
}

ImageSet load_batches(std::vector<fs::path> files) {
  constexpr std::size_t kPixels = std::size_t{3} * 32 * 32;
  constexpr std::size_t kRecord = 1 + kPixels;
  std::sort(files.begin(), files.end());
  ImageSet set{.channels = 3,
               .height = 32,
               .width = 32,
               .source = "CIFAR-10 (binary version)",
               .mirrored_alike = true};
  for (const fs::path& path : files) {
    const MappedFile file(path);
    const auto bytes = as_u8(file);
    if (bytes.size() % kRecord != 0)
      throw InputError(
          fmt::format("{}: the file has {} bytes, expected a multiple of {} (records of a label "
                      "and 3x32x32 pixels)",
                      path.string(), bytes.size(), kRecord));
    for (std::size_t at = 0; at < bytes.size(); at += kRecord) {
      check_label(bytes[at], path.string(), at / kRecord);
      set.labels.push_back(bytes[at]);
      set.pixels.insert(set.pixels.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at + 1),
                        bytes.begin() + static_cast<std::ptrdiff_t>(at + kRecord));
    }
  }
  return set;
}

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

}  // namespace

ImageSet load_mnist(const fs::path& folder) { return load_idx(folder, "train"); }

ImageSet load_cifar10(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("data_batch_") && name.ends_with(".bin")) files.push_back(entry.path());
  }
  if (error) throw InputError(folder.string() + ": " + error.message());
  if (files.empty())
    throw InputError((folder / "data_batch_1.bin").string() +
                     ": missing (expected CIFAR-10's binary version)");
  return load_batches(std::move(files));
}

ImageData hold_out_fifth(const ImageSet& images) {
  if (images.size() < kFifth)
    throw InputError(fmt::format("data: {} images, expected at least {} to hold some out",
                                 images.size(), kFifth));
  ImageData data{none_of(images), none_of(images)};
  for (std::size_t i = 0; i < images.size(); ++i)
    append(i % kFifth == kFifth - 1 ? data.held_out : data.training, images, i);
  data.training.source += ", four fifths";
  data.held_out.source += ", every fifth";
  return data;
}

ImageData load_mnist_data(const fs::path& folder) {
  ImageSet training = load_mnist(folder);
  for (const char* name : {"t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte"})
    for (const char* packed : {"", ".gz"})
      if (fs::exists(folder / (std::string(name) + packed)))
        return {std::move(training), load_idx(folder, "t10k")};
  return hold_out_fifth(training);
}

ImageData load_cifar10_data(const fs::path& folder) {
  ImageSet training = load_cifar10(folder);
  const fs::path path = folder / "test_batch.bin";
  if (fs::exists(path)) return {std::move(training), load_batches({path})};
  return hold_out_fifth(training);
}

}  // namespace thinpipe
