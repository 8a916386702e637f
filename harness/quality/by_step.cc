#include "harness/quality/by_step.h"

#include <map>

namespace thinpipe {
namespace {

// By step and rank, added up over tensors; and the step's samples one by one.
struct StepSamples {
  std::map<std::size_t, QualitySample> by_rank;
  Tally tally;
};

void add(const TensorQuality& tensor, std::map<std::size_t, StepSamples>& steps) {
  for (const QualitySample& sample : tensor.samples) {
    StepSamples& step = steps[sample.step];
    QualitySample& sum = step.by_rank[sample.rank];
    sum.rank = sample.rank;
    sum.step = sample.step;
    sum += sample;
    step.tally.add_estimation(sample);
  }
}

std::vector<StepQuality> finish(std::map<std::size_t, StepSamples>& steps) {
  std::vector<StepQuality> result;
  for (auto& [number, step] : steps) {
    for (const auto& [rank, sum] : step.by_rank) step.tally.add(sum);
    result.push_back({number, step.tally.summary()});
  }
  return result;
}

}  // namespace

std::vector<StepQuality> quality_by_step(const CompressorQuality& quality) {
  std::map<std::size_t, StepSamples> steps;
  for (const TensorQuality& tensor : quality.tensors) add(tensor, steps);
  return finish(steps);
}

std::vector<StepQuality> quality_by_step(const TensorQuality& tensor) {
  std::map<std::size_t, StepSamples> steps;
  add(tensor, steps);
  return finish(steps);
}

}  // namespace thinpipe
