// Bytes behind their lengths: the payloads of all tensors of one step as one message, and the
// pieces of a checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {

/// docs/wire-format.md, "Message": for each tensor, in trace order, a little-endian u32 with the
/// length of its payload; then the payloads in the same order, without gaps.
inline constexpr std::size_t kMessageLengthBytes = sizeof(std::uint32_t);

/// Splits a message that came from another rank.
/// @throws InputError (PayloadError) when lengths and size do not agree.
void split_message(std::span<const std::byte> message,
                   std::vector<std::span<const std::byte>>& payloads);

// Pieces of a checkpoint, one after the other, each behind its length.

/// A length of 8 bytes, then the bytes.
void append_piece(std::span<const std::byte> bytes, std::vector<std::byte>& state);
/// @throws InputError where the state ends before. The span points into the reader's bytes.
std::span<const std::byte> take_piece(ByteReader& state);

/// A compressor's own state.
void append_state(const Compressor& compressor, std::vector<std::byte>& state);
/// @throws InputError when it is not of this compressor's spec and tensor
void take_state(ByteReader& state, Compressor& compressor);

void append_floats(std::span<const float> values, std::vector<std::byte>& state);
/// @throws InputError for another number of them
void take_floats(ByteReader& state, std::span<float> values);

}  // namespace thinpipe
