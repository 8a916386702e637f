#include "workloads/synthetic/fit.h"

#include <algorithm>
#include <numeric>

namespace thinpipe {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 20;

bool is_vector(const TraceTensor& tensor) { return tensor.shape.size() <= 1; }

std::vector<std::size_t> of_kind(const std::vector<TraceTensor>& tensors, bool vectors) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (is_vector(tensors[i]) == vectors) found.push_back(i);
  }
  return found;
}

}  // namespace

ValueDistribution fit_tensor(const Trace& trace, std::size_t tensor) {
  const std::size_t elements = trace.tensors().at(tensor).elements;
  const std::size_t all = trace.ranks() * trace.steps() * elements;
  const std::size_t distance = std::max<std::size_t>(1, (all + kMostValues - 1) / kMostValues);
  std::vector<float> sample;
  sample.reserve(all / distance + 1);
  std::size_t at = 0;  // within the next rank and step
  for (std::size_t step = 0; step < trace.steps(); ++step) {
    for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
      const auto values = trace.gradient(rank, step, tensor);
      for (; at < values.size(); at += distance) sample.push_back(values[at]);
      at -= values.size();
    }
  }
  return make_empirical(std::move(sample));
}

std::vector<std::size_t> match_tensors(const std::vector<TraceTensor>& model,
                                       const std::vector<TraceTensor>& captured) {
  std::vector<std::size_t> matched(model.size());
  for (const bool vectors : {false, true}) {
    const std::vector<std::size_t> wanted = of_kind(model, vectors);
    std::vector<std::size_t> offered = of_kind(captured, vectors);
    if (offered.empty()) offered = of_kind(captured, !vectors);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::size_t last = std::max<std::size_t>(wanted.size() - 1, 1);
      // Rounded: the first is like the first, the last like the last.
      matched[wanted[i]] = offered[(2 * i * (offered.size() - 1) + last) / (2 * last)];
    }
  }
  return matched;
}

}  // namespace thinpipe
