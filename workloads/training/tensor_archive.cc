#include "workloads/training/tensor_archive.h"

#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include "base/digest.h"
#include "base/error.h"

namespace thinpipe {

namespace {

constexpr char kArchiveMagic[] = "TPLEARN1";
constexpr std::size_t kMagicBytes = sizeof(kArchiveMagic) - 1;
constexpr std::uint8_t kNumber = 0;
constexpr std::uint8_t kFloats = 1;
constexpr std::uint8_t kIntegers = 2;

std::uint64_t check_sum(std::span<const std::byte> bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.value();
}

}  // namespace

ArchiveWriter::ArchiveWriter(const std::string& identity) {
  raw(kArchiveMagic, kMagicBytes);
  text(identity);
}

void ArchiveWriter::raw(const void* data, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), first, first + size);
}

void ArchiveWriter::text(const std::string& text) {
  const std::uint64_t size = text.size();
  raw(&size, sizeof(size));
  raw(text.data(), text.size());
}

void ArchiveWriter::number(const std::string& name, std::uint64_t value) {
  text(name);
  const std::uint8_t head[2] = {kNumber, 0};
  raw(head, sizeof(head));
  raw(&value, sizeof(value));
}

void ArchiveWriter::tensor(const std::string& name, const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().contiguous();
  const bool floats = flat.scalar_type() == torch::kFloat;
  TORCH_CHECK(floats || flat.scalar_type() == torch::kLong, name, ": neither float nor int64");
  text(name);
  const std::uint8_t head[2] = {floats ? kFloats : kIntegers,
                                static_cast<std::uint8_t>(flat.dim())};
  raw(head, sizeof(head));
  for (const std::int64_t length : flat.sizes()) raw(&length, sizeof(length));
  raw(flat.data_ptr(), flat.nbytes());
}

std::vector<std::byte> ArchiveWriter::finish() {
  const std::uint64_t sum = check_sum(bytes_);
  raw(&sum, sizeof(sum));
  return std::move(bytes_);
}

ArchiveReader::ArchiveReader(std::span<const std::byte> bytes, const std::string& identity)
    : left_(bytes) {
  constexpr std::size_t kSumBytes = sizeof(std::uint64_t);
  if (bytes.size() < kMagicBytes + kSumBytes) {
    throw InputError(fmt::format("state: {} bytes, expected more", bytes.size()));
  }
  if (std::memcmp(take(kMagicBytes).data(), kArchiveMagic, kMagicBytes) != 0) {
    throw InputError("state: no learner's state (it does not start with TPLEARN1)");
  }
  std::uint64_t sum = 0;
  std::memcpy(&sum, bytes.last(kSumBytes).data(), kSumBytes);
  if (sum != check_sum(bytes.first(bytes.size() - kSumBytes))) {
    throw InputError("state: damaged: its check sum is not that of its bytes");
  }
  left_ = left_.first(left_.size() - kSumBytes);
  const std::string found = text();
  if (found != identity) {
    throw InputError(
        fmt::format("state: of other options: found {}, expected {}", found, identity));
  }
}

std::span<const std::byte> ArchiveReader::take(std::size_t size) {
  if (left_.size() < size) throw InputError("state: it ends too early");
  const auto taken = left_.first(size);
  left_ = left_.subspan(size);
  return taken;
}

std::uint64_t ArchiveReader::u64() {
  std::uint64_t value = 0;
  std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
  return value;
}

std::uint8_t ArchiveReader::u8() { return static_cast<std::uint8_t>(take(1)[0]); }

std::string ArchiveReader::text() {
  const auto bytes = take(u64());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ArchiveReader::expect_entry(const std::string& name) {
  const std::string found = text();
  if (found != name) {
    throw InputError(fmt::format("state: found '{}', expected '{}'", found, name));
  }
}

std::uint64_t ArchiveReader::number(const std::string& name) {
  expect_entry(name);
  if (u8() != kNumber || u8() != 0) throw InputError("state: " + name + ": expected a number");
  return u64();
}

at::Tensor ArchiveReader::tensor(const std::string& name) {
  expect_entry(name);
  const std::uint8_t type = u8();
  if (type != kFloats && type != kIntegers) {
    throw InputError(fmt::format("state: {}: type {}, expected a tensor", name, type));
  }
  std::vector<std::int64_t> shape(u8());
  const std::size_t width = type == kFloats ? sizeof(float) : sizeof(std::int64_t);
  std::size_t elements = 1;
  for (std::int64_t& length : shape) {
    const std::uint64_t found = u64();
    if (found > 0 && elements > left_.size() / found) {
      throw InputError("state: " + name + ": it ends too early");
    }
    elements *= found;
    length = static_cast<std::int64_t>(found);
  }
  const auto bytes = take(elements * width);
  at::Tensor tensor = torch::empty(shape, type == kFloats ? torch::kFloat : torch::kLong);
  std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

at::Tensor ArchiveReader::tensor(const std::string& name, const at::Tensor& like) {
  at::Tensor found = tensor(name);
  if (found.scalar_type() != like.scalar_type() || found.sizes() != like.sizes()) {
    throw InputError(fmt::format("state: {}: shape [{}], expected [{}]", name,
                                 fmt::join(found.sizes(), ", "), fmt::join(like.sizes(), ", ")));
  }
  return found;
}

void ArchiveReader::finish() const {
  if (!left_.empty()) throw InputError(fmt::format("state: {} bytes too many", left_.size()));
}

}  // namespace thinpipe
