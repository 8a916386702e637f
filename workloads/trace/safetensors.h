// The safetensors container: a u64 header length, a JSON header, then the tensors' bytes.
// https://github.com/huggingface/safetensors (README, "Format")
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace thinpipe {

/// One tensor of a safetensors file, as its header describes it.
struct SafetensorsEntry {
  std::string dtype;                 ///< e.g. "F32"; checked only for its size, if known
  std::vector<std::int64_t> shape;   ///< row-major; every dimension is at least 0
  std::span<const std::byte> bytes;  ///< within the file's buffer
};

/// Parses and checks a whole file: header length, JSON, names, shapes, and offsets that cover the
/// buffer without a gap, an overlap or a remainder, as the format demands.
/// The spans point into `file`, which must outlive them.
/// @param name the file's name in messages.
/// @throws InputError naming file, tensor and field.
std::map<std::string, SafetensorsEntry> parse_safetensors(std::span<const std::byte> file,
                                                          const std::string& name);

/// A tensor about to be written, laid out in the order given.
struct SafetensorsTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string dtype = "F32";  ///< one whose size is known
};

/// Returns the beginning of a safetensors file, before the buffer with the tensors' bytes: the
/// header's length and the header. Spaces pad the header so that the buffer begins at a multiple of
/// 64 bytes (a cache line; the format itself requires 8).
/// @throws InputError for repeated names and for "__metadata__", which the format reserves.
std::string safetensors_prologue(std::span<const SafetensorsTensor> tensors,
                                 const std::map<std::string, std::string>& metadata);

/// Returns the product of a shape's dimensions; 1 for a scalar's empty shape.
/// @throws InputError if the product exceeds 63 bits or a dimension is negative. `where` opens the
/// message.
std::size_t shape_elements(std::span<const std::int64_t> shape, const std::string& where);

}  // namespace thinpipe
