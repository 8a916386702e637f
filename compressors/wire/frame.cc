// Frames byte by byte: a writer, and a reader that checks every field.
#include "compressors/wire/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "compressors/wire/bytes.h"
#include "compressors/wire/checks.h"

namespace thinpipe {
namespace {

constexpr char kFrameMagic[] = {'T', 'P', 'P', 'F'};
constexpr std::uint16_t kFrameVersion = 1;
constexpr std::uint16_t kChecksumFlag = 1;
constexpr std::uint16_t kHeldFlag = 2;
constexpr std::uint16_t kKnownFlags = kChecksumFlag | kHeldFlag;
/// Magic to the number of dimensions: the fields of every frame before its texts.
constexpr std::size_t kFixedBytes = 4 + 2 + 2 + 4 + 4 + 8 + 8 + 8 + 8 + 2 + 2 + 2;
constexpr std::uint64_t kMaxElements = std::numeric_limits<std::uint32_t>::max();

std::uint64_t to_u64(std::size_t number) { return number; }

/// Returns the product of a shape, or kMaxElements + 1 where it exceeds the greatest tensor.
std::uint64_t product(std::span<const std::int64_t> shape) {
  // One zero makes the product 0 whatever the other dimensions are.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::uint64_t elements = 1;
  for (const std::int64_t dimension : shape) {
    if (static_cast<std::uint64_t>(dimension) > kMaxElements / elements) return kMaxElements + 1;
    elements *= static_cast<std::uint64_t>(dimension);
  }
  return elements;
}

void check_writable(const Frame& frame) {
  const auto refuse = [&](const std::string& what) {
    throw InputError(fmt::format("tensor '{}': {}", frame.tensor.name, what));
  };
  if (frame.tensor.name.size() > kMaxFrameText || !is_utf8(frame.tensor.name)) {
    refuse(fmt::format("a frame takes a name in UTF-8 of at most {} bytes", kMaxFrameText));
  }
  if (frame.spec.empty() || frame.spec.size() > kMaxFrameText || !is_utf8(frame.spec)) {
    refuse(fmt::format("a frame takes a spec in UTF-8 of 1 to {} bytes", kMaxFrameText));
  }
  if (frame.tensor.shape.size() > kMaxFrameDimensions) {
    refuse(fmt::format("a frame takes at most {} dimensions", kMaxFrameDimensions));
  }
  for (const std::int64_t dimension : frame.tensor.shape) {
    if (dimension < 0) refuse("a dimension is negative");
  }
  if (product(frame.tensor.shape) != frame.tensor.elements) {
    refuse(fmt::format("{} elements do not match its shape", frame.tensor.elements));
  }
}

/// Reads the fields of a file. Messages name the frame, the field and its byte in the file.
class Fields {
 public:
  Fields(std::span<const std::byte> file, std::size_t at, std::uint32_t index)
      : file_(file), at_(at), index_(index) {}

  template <class T>
  T get(const char* field) {
    T value;
    std::memcpy(&value, bytes(sizeof value, field).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> bytes(std::uint64_t size, const char* field) {
    field_ = field;
    begin_ = at_;
    if (size > file_.size() - at_) {
      fail(fmt::format("needs {} bytes, but the file ends at byte {}", size, file_.size()));
    }
    at_ += size;
    return file_.subspan(begin_, size);
  }
  std::string text(std::size_t size, const char* field) {
    const auto letters = bytes(size, field);
    std::string text(reinterpret_cast<const char*>(letters.data()), letters.size());
    if (!is_utf8(text)) fail("found bytes that are not UTF-8");
    return text;
  }
  /// Checks the field read last.
  void expect(bool holds, const std::string& found, const std::string& expected) const {
    if (!holds) fail("found " + found + ", expected " + expected);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw PayloadError(
        fmt::format("frame {}: field '{}' at byte {}: {}", index_, field_, begin_, what));
  }
  std::size_t at() const { return at_; }

 private:
  std::span<const std::byte> file_;
  std::size_t at_;
  std::uint32_t index_;
  const char* field_ = "";
  std::size_t begin_ = 0;  ///< byte of the field
};

void check_crc(Fields& fields, std::span<const std::byte> bytes, const char* field) {
  const auto found = fields.get<std::uint32_t>(field);
  const std::uint32_t expected = crc32c(bytes);
  fields.expect(found == expected, fmt::format("{:08x}", found),
                fmt::format("{:08x}: the bytes were damaged", expected));
}

template <class T>
T limited(Fields& fields, const char* field, std::uint64_t minimum, std::uint64_t maximum) {
  const T value = fields.get<T>(field);
  fields.expect(
      value >= minimum && value <= maximum, std::to_string(value),
      minimum == maximum ? std::to_string(minimum) : fmt::format("{} to {}", minimum, maximum));
  return value;
}

}  // namespace

void append_frame(const Frame& frame, std::vector<std::byte>& out) {
  check_writable(frame);
  const auto& tensor = frame.tensor;
  const auto payload = frame.held ? std::span<const std::byte>() : frame.payload;
  const bool checksum = frame.checksum && !frame.held;
  const std::size_t header = kFixedBytes + frame.spec.size() + tensor.name.size() +
                             tensor.shape.size() * sizeof(std::int64_t);
  const std::size_t begin = out.size();
  out.resize(begin + header + sizeof(std::uint32_t) + payload.size() +
             (checksum ? sizeof(std::uint32_t) : 0));
  ByteWriter writer{std::span(out).subspan(begin)};
  writer.put_bytes(std::as_bytes(std::span(kFrameMagic)));
  writer.put(kFrameVersion);
  writer.put(
      static_cast<std::uint16_t>((checksum ? kChecksumFlag : 0) | (frame.held ? kHeldFlag : 0)));
  writer.put(frame.index);
  writer.put(frame.count);
  writer.put(frame.seed);
  writer.put(frame.step);
  writer.put(to_u64(tensor.elements));
  writer.put(to_u64(payload.size()));
  writer.put(static_cast<std::uint16_t>(frame.spec.size()));
  writer.put(static_cast<std::uint16_t>(tensor.name.size()));
  writer.put(static_cast<std::uint16_t>(tensor.shape.size()));
  writer.put_bytes(std::as_bytes(std::span(frame.spec)));
  writer.put_bytes(std::as_bytes(std::span(tensor.name)));
  writer.put_bytes(std::as_bytes(std::span(tensor.shape)));
  writer.put(crc32c(std::span(out).subspan(begin, header)));
  writer.put_bytes(payload);
  if (checksum) writer.put(crc32c(payload));
}

Frame FrameReader::next() {
  Fields in(file_, at_, next_);
  const std::size_t begin = at_;
  Frame frame;
  const auto magic = in.bytes(sizeof kFrameMagic, "magic");
  in.expect(std::memcmp(magic.data(), kFrameMagic, sizeof kFrameMagic) == 0, "other bytes",
            "the letters TPPF");
  limited<std::uint16_t>(in, "version", kFrameVersion, kFrameVersion);
  const auto flags = limited<std::uint16_t>(in, "flags", 0, kKnownFlags);
  frame.checksum = (flags & kChecksumFlag) != 0;
  frame.held = (flags & kHeldFlag) != 0;
  in.expect(!(frame.checksum && frame.held), "both flags", "no checksum without a payload");
  frame.index = limited<std::uint32_t>(in, "frame number", next_, next_);
  frame.count = limited<std::uint32_t>(in, "number of frames", count_ == 0 ? next_ + 1 : count_,
                                       count_ == 0 ? UINT32_MAX : count_);
  frame.seed = in.get<std::uint64_t>("seed");
  frame.step = in.get<std::uint64_t>("step");
  frame.tensor.elements = limited<std::uint64_t>(in, "element count", 0, kMaxElements);
  const auto payload_size =
      limited<std::uint64_t>(in, "payload length", 0, frame.held ? 0 : UINT64_MAX);
  const auto spec_size = limited<std::uint16_t>(in, "spec length", 1, kMaxFrameText);
  const auto name_size = limited<std::uint16_t>(in, "tensor name length", 0, kMaxFrameText);
  const auto dimensions =
      limited<std::uint16_t>(in, "number of dimensions", 0, kMaxFrameDimensions);
  frame.spec = in.text(spec_size, "spec");
  frame.tensor.name = in.text(name_size, "tensor name");
  for (std::size_t i = 0; i < dimensions; ++i) {
    frame.tensor.shape.push_back(static_cast<std::int64_t>(
        limited<std::uint64_t>(in, "tensor shape", 0, std::numeric_limits<std::int64_t>::max())));
  }
  const std::uint64_t elements = product(frame.tensor.shape);
  in.expect(elements == frame.tensor.elements, fmt::format("{} elements", elements),
            fmt::format("{}, the element count", frame.tensor.elements));
  check_crc(in, file_.subspan(begin, in.at() - begin), "header checksum");
  frame.payload = in.bytes(payload_size, "payload");
  if (frame.checksum) check_crc(in, frame.payload, "payload checksum");
  at_ = in.at();
  count_ = frame.count;
  place_ = fmt::format("frame {} at byte {} (tensor '{}')", next_, begin, frame.tensor.name);
  ++next_;
  return frame;
}

void FrameReader::expect_end() const {
  if (at_ == file_.size()) return;
  throw PayloadError(fmt::format("the last frame ends at byte {}, but the file has {} bytes", at_,
                                 file_.size()));
}

}  // namespace thinpipe
