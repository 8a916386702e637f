// Reads one tensor's gradient in a mapped file. FP32 values are returned in place. 16-bit values
// are widened to FP32 at the first request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace thinpipe {

/// Element types of the gradients in a trace's files.
enum class GradientType { kF32, kBF16, kF16 };

/// Returns "F32", "BF16" or "F16", the names in safetensors and trace.json.
const char* gradient_type_name(GradientType type);
/// Sets `type` to the type of that name. Returns false for any other name and leaves `type` alone.
bool parse_gradient_type(const std::string& name, GradientType& type);
std::size_t gradient_type_bytes(GradientType type);

/// Returns the FP32 value of a bfloat16 or an IEEE 754 binary16: exact for every value; a NaN keeps
/// its sign and payload.
float widen_bf16(std::uint16_t bits);
float widen_f16(std::uint16_t bits);

/// The values of one tensor. The first get() widens 16-bit values and keeps the result, 4 bytes an
/// element. Several threads may call get() at once.
class GradientValues {
 public:
  /// @param bytes elements of `type`, aligned to its size; must outlive this object.
  GradientValues(std::span<const std::byte> bytes, GradientType type);

  std::span<const float> get() const;

 private:
  struct Widened {
    std::once_flag once;
    std::vector<float> values;
  };

  std::span<const std::byte> bytes_;
  GradientType type_;
  std::unique_ptr<Widened> widened_;  // null for FP32
};

}  // namespace thinpipe
