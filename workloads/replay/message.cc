#include "workloads/replay/message.h"

#include <cstring>

#include <fmt/format.h>

#include "base/error.h"

namespace thinpipe {

void split_message(std::span<const std::byte> message,
                   std::vector<std::span<const std::byte>>& payloads) {
  std::size_t offset = payloads.size() * kMessageLengthBytes;
  if (message.size() < offset)
    throw PayloadError(fmt::format("message: {} bytes are too few for the lengths of {} payloads",
                                   message.size(), payloads.size()));
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    std::uint32_t length = 0;
    std::memcpy(&length, message.data() + i * kMessageLengthBytes, kMessageLengthBytes);
    if (length > message.size() - offset)
      throw PayloadError(
          fmt::format("message: payload {} of {} bytes runs past the end", i, length));
    payloads[i] = message.subspan(offset, length);
    offset += length;
  }
  if (offset != message.size())
    throw PayloadError(
        fmt::format("message: {} bytes follow the last payload", message.size() - offset));
}

void append_piece(std::span<const std::byte> bytes, std::vector<std::byte>& state) {
  const std::uint64_t size = bytes.size();
  const auto length = std::as_bytes(std::span(&size, 1));
  state.insert(state.end(), length.begin(), length.end());
  state.insert(state.end(), bytes.begin(), bytes.end());
}

std::span<const std::byte> take_piece(ByteReader& state) {
  const auto size = state.get<std::uint64_t>("a section's length");
  if (size > state.remaining())
    throw InputError(fmt::format("the state ends within a section of {} bytes; {} are left", size,
                                 state.remaining()));
  return state.get_bytes(size, "a section");
}

void append_state(const Compressor& compressor, std::vector<std::byte>& state) {
  std::vector<std::byte> own;
  compressor.save_state(own);
  append_piece(own, state);
}

void take_state(ByteReader& state, Compressor& compressor) {
  compressor.load_state(take_piece(state));
}

void append_floats(std::span<const float> values, std::vector<std::byte>& state) {
  append_piece(std::as_bytes(values), state);
}

void take_floats(ByteReader& state, std::span<float> values) {
  const auto bytes = take_piece(state);
  if (bytes.size() != values.size_bytes())
    throw InputError(fmt::format("the state has {} bytes of floats; expected {}", bytes.size(),
                                 values.size_bytes()));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
}

}  // namespace thinpipe
