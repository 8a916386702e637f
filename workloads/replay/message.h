// Bytes with their lengths before them: the all-gathered payloads of one bucket as one message, and
// the sections of a checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/wire/bytes.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {

/// Bytes of one length in a message. A message begins with a little-endian u32 for each unit of the
/// bucket that is all-gathered: the length of the unit's payload. The payloads follow in the same
/// order, without gaps.
inline constexpr std::size_t kMessageLengthBytes = sizeof(std::uint32_t);

/// Splits a message of another rank into its payloads.
/// @throws InputError (PayloadError) when lengths and size do not agree.
void split_message(std::span<const std::byte> message,
                   std::vector<std::span<const std::byte>>& payloads);

// Sections of a checkpoint, one after the other, each with its length before it.

/// Appends a length of 8 bytes, then the bytes.
void append_piece(std::span<const std::byte> bytes, std::vector<std::byte>& state);
/// Returns the next section, which points into the reader's bytes. @throws InputError when the
/// state ends before the section does
std::span<const std::byte> take_piece(ByteReader& state);

/// Appends a compressor's state.
void append_state(const Compressor& compressor, std::vector<std::byte>& state);
/// Reads a compressor's state. @throws InputError for the state of another spec or tensor
void take_state(ByteReader& state, Compressor& compressor);

/// Appends floats.
void append_floats(std::span<const float> values, std::vector<std::byte>& state);
/// Reads floats. @throws InputError when the state has another number of floats
void take_floats(ByteReader& state, std::span<float> values);

}  // namespace thinpipe
