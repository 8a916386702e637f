// The calls of the C interface that an input of the target c_interface consists of.
#pragma once

#include <cstdint>

namespace thinpipe::fuzz {

/// One byte of an input, and what follows it. "Bytes" are their number in two bytes, then the bytes
/// themselves. "A change" is the position of a byte, in two bytes, then a byte of the bits to flip.
enum class Call : std::uint8_t {
  kDecode,         ///< decode_add of a payload: bytes
  kLoad,           ///< load of a state: bytes
  kSetGradient,    ///< no call: bytes that become the first values of the gradient
  kEncode,         ///< encode, and decode_add of the payload
  kHold,           ///< hold
  kPrepare,        ///< prepare; the scale of the other workers, in one byte
  kFirstRound,     ///< first_round
  kNextRound,      ///< next_round of the last payload: bytes that replace the first of its floats
  kOwnPayload,     ///< own_payload
  kDistortion,     ///< distortion of the last payload
  kDecodeChanged,  ///< decode_add of the last payload: a change
  kSave,           ///< save
  kLoadChanged,    ///< load of the last saved state: a change
  kReset,          ///< reset
  kOpen,           ///< open and close of another compressor; its spec: bytes
  kDecodePairs,    ///< decode_pairs of the last payload: a change
  kGiveBack,       ///< give_back of the last pairs; a byte to add to the first position
};
inline constexpr int kCalls = static_cast<int>(Call::kGiveBack) + 1;

}  // namespace thinpipe::fuzz
