#include "compressors/slices.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "compressors/registry.h"

namespace thinpipe {
namespace {

// Elements of a slice, 4 kB of floats; fewer are not worth messages of their own.
constexpr std::size_t kMinSlice = 1024;

}  // namespace

std::size_t slice_grain(const Spec& compressor) {
  const std::vector<ParameterInfo>& infos = find_method(compressor.name).parameters;
  const Parameters parameters(infos, compressor);
  for (const ParameterInfo& info : infos) {
    if (info.name != "block" && info.name != "bucket" && info.name != "chunk") continue;
    // A plug-in's parameter of this name may be something else.
    const bool is_choice = info.type == ParameterInfo::Type::kChoice;
    if (info.type != ParameterInfo::Type::kInteger &&
        !(is_choice && parse_number<long long>(parameters.choice(info.name))))
      continue;
    const long long elements = parameters.integer(info.name);
    if (elements > 0) return static_cast<std::size_t>(elements);
  }
  return 1;
}

std::vector<std::size_t> slice_ends(const Spec& compressor, std::size_t elements,
                                    std::size_t ranks) {
  const std::size_t grain = slice_grain(compressor);
  const std::size_t grains = elements / grain + (elements % grain > 0 ? 1 : 0);
  const std::size_t most = std::max<std::size_t>(1, elements / std::max(grain, kMinSlice));
  const std::size_t count = std::min(most, ranks);
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i <= count; ++i) {
    const std::size_t end = i * (grains / count) + std::min(i, grains % count);
    ends.push_back(std::min(end * grain, elements));
  }
  return ends;
}

}  // namespace thinpipe
