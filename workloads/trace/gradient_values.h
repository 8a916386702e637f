// One tensor's gradient in a mapped file: served in place as FP32, widened from 16 bits on first
// use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace thinpipe {

/// How a trace's files hold gradients.
enum class GradientType { kF32, kBF16, kF16 };

/// "F32", "BF16" or "F16", as safetensors and trace.json call it.
const char* gradient_type_name(GradientType type);
/// The type of that name. @returns false for any other name, and leaves `type` alone.
bool parse_gradient_type(const std::string& name, GradientType& type);
std::size_t gradient_type_bytes(GradientType type);

/// The FP32 value of 16 bits of bfloat16 or IEEE 754 binary16: exact for every value; a NaN keeps
/// its sign and payload.
float widen_bf16(std::uint16_t bits);
float widen_f16(std::uint16_t bits);

/// The values of one tensor. Those of 16 bits are widened when they are first asked for and then
/// kept: 4 bytes an element that was asked for. Safe to call from several threads.
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
  std::unique_ptr<Widened> widened_;  // none for FP32
};

}  // namespace thinpipe
