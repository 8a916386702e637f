#include "workloads/replay/pieces.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "workloads/exchange/segments.h"

namespace thinpipe {

namespace {

struct ElementCode {
  std::string_view method;
  std::size_t bytes;
};

constexpr std::array kElementCodes = {
    ElementCode{"none", sizeof(float)}, ElementCode{"fedavg", sizeof(float)},
    ElementCode{"fp16", sizeof(std::uint16_t)}, ElementCode{"bf16", sizeof(std::uint16_t)}};

// The norm that gradients are clipped by is the whole tensor's.
bool clips(const Spec& spec) {
  const std::vector<ParameterInfo>& infos = find_method(spec.name).parameters;
  for (const ParameterInfo& info : infos)
    if (info.name == "clip") return Parameters(infos, spec).real("clip") > 0;
  return false;
}

}  // namespace

std::size_t element_bytes(const Spec& spec) {
  for (const auto& [method, bytes] : kElementCodes)
    if (method == spec.name) return clips(spec) ? 0 : bytes;
  return 0;
}

Pieces pieces_of(std::size_t elements, const Spec& push, const PushPullOptions& options) {
  const std::size_t pushed = element_bytes(push), pulled = element_bytes(options.pull_of(push));
  const Pieces whole{.count = 1, .elements = elements, .push_bytes = 0};
  if (pushed == 0 || pulled == 0) return whole;
  const std::size_t each = (kSegmentBytes - kUnitHeadBytes) / std::max(pushed, pulled);
  if (elements <= each) return whole;
  return {.count = (elements + each - 1) / each, .elements = each, .push_bytes = each * pushed};
}

}  // namespace thinpipe
