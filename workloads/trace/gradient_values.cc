#include "workloads/trace/gradient_values.h"

#include <algorithm>
#include <array>
#include <utility>

#include "compressors/element_type.h"

namespace thinpipe {

namespace {

constexpr std::array<std::pair<const char*, GradientType>, 3> kTypes = {
    {{"F32", GradientType::kF32}, {"BF16", GradientType::kBF16}, {"F16", GradientType::kF16}}};

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

float widen_bf16(std::uint16_t bits) { return from_any_half(bits, HalfFormat::kBf16); }
float widen_f16(std::uint16_t bits) { return from_any_half(bits, HalfFormat::kFp16); }

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
    const HalfFormat format = type_ == GradientType::kBF16 ? HalfFormat::kBf16 : HalfFormat::kFp16;
    std::transform(bits, bits + count, widened_->values.begin(),
                   [format](std::uint16_t half) { return from_any_half(half, format); });
  });
  return widened_->values;
}

}  // namespace thinpipe
