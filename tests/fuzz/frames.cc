// Fuzzes a file of frames with arbitrary bytes, and with correct checksums if the first byte is
// even. Reading must throw a PayloadError, or return frames that are written as the same bytes
// again. The frames' payloads must decode or cause an InputError.
#include <cstring>
#include <vector>

#include "compressors/registry.h"
#include "compressors/wire/checks.h"
#include "compressors/wire/frame.h"
#include "tests/fuzz/input.h"

namespace thinpipe::fuzz {
namespace {

/// Decoding a frame takes memory for its elements; the limit of memory is not fuzzed.
constexpr std::size_t kMaxElements = 4096;

template <class T>
T at(const std::vector<std::byte>& file, std::size_t offset) {
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

/// Computes the checksum of `size` bytes from `begin` and writes it directly after these bytes.
/// @returns the end of the checksum, or the file's end if that comes first.
std::size_t seal(std::vector<std::byte>& file, std::size_t begin, std::size_t size) {
  if (size + sizeof(std::uint32_t) > file.size() - begin) return file.size();
  const std::uint32_t checksum = crc32c(std::span(file).subspan(begin, size));
  std::memcpy(file.data() + begin + size, &checksum, sizeof checksum);
  return begin + size + sizeof checksum;
}

/// Offsets as in docs/wire-format.md section 4: a fuzzer does not guess checksums.
void put_checksums_right(std::vector<std::byte>& file) {
  constexpr std::size_t kFixed = 54;
  for (std::size_t begin = 0; file.size() - begin >= kFixed;) {
    const std::size_t header = kFixed + at<std::uint16_t>(file, begin + 48) +
                               at<std::uint16_t>(file, begin + 50) +
                               8U * at<std::uint16_t>(file, begin + 52);
    const bool checked = (at<std::uint16_t>(file, begin + 6) & 1) != 0;
    const auto payload = at<std::uint64_t>(file, begin + 40);
    begin = seal(file, begin, header);
    if (payload > file.size() - begin) return;
    begin = checked ? seal(file, begin, payload) : begin + payload;
  }
}

void decode(const Frame& frame) {
  if (frame.held || frame.tensor.elements > kMaxElements) return;
  try {
    const auto compressor =
        make_compressor(parse_spec(frame.spec), frame.tensor, {.seed = frame.seed});
    const std::vector<std::byte> payload(frame.payload.begin(), frame.payload.end());
    std::vector<float> out(frame.tensor.elements);
    compressor->decode_add(payload, 1.0F, out);
  } catch (const InputError&) {
  }
}

}  // namespace
}  // namespace thinpipe::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  fuzz::Input input(data, size);
  const bool repaired = input.get<std::uint8_t>() % 2 == 0;
  std::vector<std::byte> file(input.rest().begin(), input.rest().end());
  if (repaired) fuzz::put_checksums_right(file);
  FrameReader reader(file);
  std::vector<std::byte> again;
  while (!reader.done()) {
    Frame frame;
    try {
      frame = reader.next();
    } catch (const PayloadError&) {
      return 0;
    }
    const std::size_t begin = again.size();
    append_frame(frame, again);
    fuzz::require(std::memcmp(again.data() + begin, file.data() + begin, again.size() - begin) == 0,
                  "a frame is written as the bytes that it was read from");
    fuzz::decode(frame);
  }
  try {
    reader.expect_end();
    fuzz::require(again == file, "the frames are all of the file");
  } catch (const PayloadError&) {
    fuzz::require(again.size() < file.size(), "something follows the last frame");
  }
  return 0;
}
