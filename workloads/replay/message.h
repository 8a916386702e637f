// The payloads of all tensors of one step as one message: a table of lengths, then the payloads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe {

/// docs/wire-format.md, "Message": for each tensor, in trace order, a little-endian u32 with the
/// length of its payload; then the payloads in the same order, without gaps.
inline constexpr std::size_t kMessageLengthBytes = sizeof(std::uint32_t);

/// Splits a message that came from another rank.
/// @throws InputError (PayloadError) when lengths and size do not agree.
void split_message(std::span<const std::byte> message,
                   std::vector<std::span<const std::byte>>& payloads);

}  // namespace thinpipe
