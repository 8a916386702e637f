#include "workloads/replay/message.h"

#include <cstring>

#include <fmt/format.h>

#include "compressors/compressor.h"

namespace thinpipe {

void split_message(std::span<const std::byte> message,
                   std::vector<std::span<const std::byte>>& payloads) {
  std::size_t offset = payloads.size() * kMessageLengthBytes;
  if (message.size() < offset)
    throw PayloadError(fmt::format("message: {} bytes cannot hold the lengths of {} payloads",
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

}  // namespace thinpipe
