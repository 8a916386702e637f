#include "workloads/trace/gradient_values.h"

#include <array>
#include <bit>
#include <utility>

namespace thinpipe {

namespace {

constexpr std::array<std::pair<const char*, GradientType>, 3> kTypes = {
    {{"F32", GradientType::kF32}, {"BF16", GradientType::kBF16}, {"F16", GradientType::kF16}}};

// A binary16 has 1 sign bit, 5 exponent bits (bias 15) and 10 fraction bits. A binary32 has 1 sign
// bit, 8 exponent bits (bias 127) and 23 fraction bits.
constexpr std::uint32_t kExponentShift = 127 - 15;
constexpr int kFractionShift = 23 - 10;
constexpr float kSubnormalUnit = 0x1p-24F;  // the smallest positive binary16

}  // namespace

const char* gradient_type_name(GradientType type) {
  for (const auto& [name, known] : kTypes) {
    if (known == type) return name;
  }
  return "?";
}

bool parse_gradient_type(const std::string& name, GradientType& type) {
  for (const auto& [known, value] : kTypes) {
    if (name != known) continue;
    type = value;
    return true;
  }
  return false;
}

std::size_t gradient_type_bytes(GradientType type) { return type == GradientType::kF32 ? 4 : 2; }

float widen_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float widen_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: a whole number of units, which FP32 holds exactly
    const float magnitude = static_cast<float>(fraction) * kSubnormalUnit;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  const std::uint32_t wide = exponent == 0x1F ? 0xFFU : exponent + kExponentShift;
  return std::bit_cast<float>(sign | wide << 23 | fraction << kFractionShift);
}

GradientValues::GradientValues(std::span<const std::byte> bytes, GradientType type)
    : bytes_(bytes), type_(type) {
  if (type != GradientType::kF32) widened_ = std::make_unique<Widened>();
}

std::span<const float> GradientValues::get() const {
  if (type_ == GradientType::kF32) {
    return {reinterpret_cast<const float*>(bytes_.data()), bytes_.size() / sizeof(float)};
  }
  std::call_once(widened_->once, [this] {
    const auto* bits = reinterpret_cast<const std::uint16_t*>(bytes_.data());
    const std::size_t count = bytes_.size() / sizeof *bits;
    widened_->values.resize(count);
    float* values = widened_->values.data();
    if (type_ == GradientType::kBF16) {
      for (std::size_t i = 0; i < count; ++i) values[i] = widen_bf16(bits[i]);
    } else {
      for (std::size_t i = 0; i < count; ++i) values[i] = widen_f16(bits[i]);
    }
  });
  return widened_->values;
}

}  // namespace thinpipe
