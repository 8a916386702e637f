#include "workloads/collectives/outer_optimiser.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/key_values.h"

namespace thinpipe {

OuterOptions OuterOptions::parse(const std::string& text) {
  OuterOptions options;
  if (text == "diloco") return options;
  if (text.find('=') == std::string::npos)
    throw InputError(
        fmt::format("outer optimiser {}: expected diloco, or momentum=M,rate=R", in_quotes(text)));
  KeyValues items("outer optimiser", text, text);
  options.momentum = items.number<float>("momentum", options.momentum, 0, 1);
  options.learning_rate = items.number<float>("rate", options.learning_rate, 0, 1e6F);
  items.finish("diloco alone");
  return options;
}

std::string OuterOptions::to_string() const {
  if (*this == OuterOptions()) return "diloco";
  return fmt::format("momentum={},rate={}", momentum, learning_rate);
}

void OuterOptimiser::apply(std::span<const float> aggregate, std::span<float> update,
                           ElementRange turn) {
  for (const std::size_t size : {aggregate.size(), update.size()})
    if (size != velocity_.size())
      throw InputError(
          fmt::format("outer optimiser: {} elements; expected {}", size, velocity_.size()));
  const float momentum = options_.momentum, rate = options_.learning_rate;
  const float* const x = aggregate.data();
  float* const out = update.data();
  float* const v = velocity_.data();
  std::fill_n(out, turn.begin, 0.0F);
  for (std::size_t i = turn.begin; i < turn.end; ++i) {
    v[i] = momentum * v[i] + x[i];
    out[i] = rate * (x[i] + momentum * v[i]);
  }
  std::fill(out + turn.end, out + update.size(), 0.0F);
}

}  // namespace thinpipe
