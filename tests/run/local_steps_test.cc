// SBC's algorithm 1 (Sattler et al., Sparse Binary Compression) and Streaming DiLoCo's algorithm 2
// (Douillard et al., with and without delay) in plain loops, for the paths of `thinpipe train
// --exchange updates`, `--fragments` and `--fragment-delay`. Two ranks of `thinpipe train` take the
// same steps as the reference, and must have the same bits after each step.
//
// The reference gets only gradients from a Learner: the gradient of a worker's mini-batch at given
// parameters. Its other operations are the program's IEEE operations, in the same order. Two sums
// have the same bits in any order:
//   * SBC's mean of the sent elements, which is summed in double. At most 32 = 2^5 elements of a
//     tensor are sent. The sum of so many floats is exact in double if their exponents differ by at
//     most 24: each partial sum is a multiple of the last bit of the smallest float, and below 2^53
//     times that bit. The exponents of a tensor's largest elements differ by far less.
//   * The mean over two workers. It is the sum of two halves, which is rounded once.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "compressors/select/selector.h"
#include "netem/sandbox.h"
#include "tests/base/support.h"
#include "tests/compressors/support/parts.h"
#include "tests/run/training_ranks.h"
#include "workloads/capture/optimiser_spec.h"
#include "workloads/capture/options.h"
#include "workloads/training/blas_kernels.h"
#include "workloads/training/learner.h"

namespace thinpipe {
namespace {

using Oracles = std::vector<std::unique_ptr<Learner>>;  ///< one for each worker's mini-batches

constexpr double kSparsity = 0.02;  ///< p of SBC: 32 elements of the largest tensor

// 1 - beta1, the factor of the gradient, is a power of two (see kMomentum).
constexpr const char* kAdam = "adam:lr=0.001,beta1=0.875";

/// Joins one array for each tensor of a learner.
template <class ArrayOf>
Values joined(const Learner& learner, ArrayOf array_of) {
  Values all;
  for (std::size_t tensor = 0; tensor < learner.parameters().size(); ++tensor) {
    const std::span<const float> values = array_of(tensor);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

Values parameters_of(const Learner& learner) {
  return joined(learner, [&](std::size_t tensor) { return learner.values(tensor); });
}

/// Splits joined arrays.
std::vector<std::span<const float>> by_tensor(const Learner& learner, const Values& all) {
  std::vector<std::span<const float>> tensors;
  std::size_t begin = 0;
  for (const LearnerParameter& tensor : learner.parameters()) {
    tensors.push_back(std::span(all).subspan(begin, tensor.elements));
    begin += tensor.elements;
  }
  return tensors;
}

/// Returns the gradient of the mini-batch of that step at these parameters.
Values gradient_at(Learner& oracle, const Values& parameters, std::uint64_t step) {
  oracle.assign(by_tensor(oracle, parameters));
  oracle.compute(step);
  return joined(oracle, [&](std::size_t tensor) { return oracle.gradient(tensor); });
}

Digest digest_of(const Values& parameters) {
  Digest digest;
  digest.add(parameters);
  return digest;
}

/// SGD with momentum, or Adam, by the formulas of OptimiserSpec in floats.
class PlainOptimiser {
 public:
  /// @param fused  Adam's product (1 - beta2) g g is not rounded before it is added to u
  PlainOptimiser(const OptimiserSpec& spec, bool fused, std::size_t elements)
      : spec_(spec), fused_(fused), momentum_(elements), square_(elements) {}

  /// Updates the parameters w by their gradient g.
  void step(const Values& g, Values& w) {
    ++updates_;
    if (spec_.rule == OptimiserSpec::Rule::kSgd)
      sgd(g, w);
    else
      adam(g, w);
  }

  void mask_momentum(std::size_t element) { momentum_[element] = 0; }

 private:
  void sgd(const Values& g, Values& w) {
    const auto factor = static_cast<float>(spec_.momentum);
    const auto rate = static_cast<float>(spec_.learning_rate);
    for (std::size_t i = 0; i < w.size(); ++i) {
      momentum_[i] = factor * momentum_[i] + g[i];
      w[i] = w[i] - rate * momentum_[i];
    }
  }

  void adam(const Values& g, Values& w) {
    const auto beta1 = static_cast<float>(spec_.beta1);
    const auto beta2 = static_cast<float>(spec_.beta2);
    const auto rest1 = static_cast<float>(1 - spec_.beta1);
    const auto rest2 = static_cast<float>(1 - spec_.beta2);
    const double bias1 = 1 - std::pow(spec_.beta1, updates_);
    const double bias2 = 1 - std::pow(spec_.beta2, updates_);
    const auto rate = static_cast<float>(spec_.learning_rate / bias1);
    const auto root = static_cast<float>(std::sqrt(bias2));
    const auto epsilon = static_cast<float>(spec_.epsilon);
    for (std::size_t i = 0; i < w.size(); ++i) {
      momentum_[i] = beta1 * momentum_[i] + rest1 * g[i];
      const float kept = beta2 * square_[i];
      const float part = rest2 * g[i];
      square_[i] = fused_ ? std::fma(part, g[i], kept) : kept + part * g[i];
      w[i] = w[i] - rate * momentum_[i] / (std::sqrt(square_[i]) / root + epsilon);
    }
  }

  OptimiserSpec spec_;
  bool fused_;
  Values momentum_, square_;
  double updates_ = 0;
};

/// Returns whether libtorch computes Adam's u by fused multiply-adds. That depends on its build and
/// on the CPU. The second update is the first one in which it changes bits.
bool fuses_squares(const LearnerOptions& options) {
  Learner learner(options, 0);
  Values w = parameters_of(learner);
  PlainOptimiser fused(OptimiserSpec::parse(options.optimiser), true, w.size());
  for (std::uint64_t step = 0; step < 2; ++step) {
    const Values gradient = gradient_at(learner, w, step);
    fused.step(gradient, w);
    learner.apply(by_tensor(learner, gradient), step);
  }
  return digest_of(w).value() == learner.digest();
}

/// A worker of algorithm 1. Like the program, it has decreases of the parameters: -dW of the paper.
struct PlainWorker {
  PlainWorker(const Values& start, PlainOptimiser own)
      : parameters(start),
        residual(start.size()),
        sum(start.size()),
        decrease(start.size()),
        distance(start.size()),
        optimiser(std::move(own)) {}

  Values parameters;             ///< W_i
  Values residual;               ///< R_i after the last exchange
  Values sum;                    ///< R_i plus the decreases since the last exchange
  Values decrease;               ///< in the last local step
  std::vector<double> distance;  ///< sum of the magnitudes of the decreases since the last exchange
  PlainOptimiser optimiser;
};

/// Lets each worker take a local step.
void take_local_step(std::vector<PlainWorker>& workers, const Oracles& oracles,
                     std::uint64_t step) {
  for (std::size_t index = 0; index < kWorkers; ++index) {
    PlainWorker& worker = workers[index];
    const Values before = worker.parameters;
    worker.optimiser.step(gradient_at(*oracles[index], before, step), worker.parameters);
    for (std::size_t i = 0; i < before.size(); ++i) {
      worker.decrease[i] = before[i] - worker.parameters[i];
      worker.sum[i] += worker.decrease[i];
      worker.distance[i] += std::fabs(static_cast<double>(worker.decrease[i]));
    }
  }
}

// Expects that a worker compresses R_i + (W_old - W_i), as the algorithm does, although the
// decreases of its n steps are added one by one. Each decrease and each addition is rounded by at
// most 2^-24 of its result. The decreases add up to at most `distance`, and each of the n sums is
// at most |R_i| + distance, apart from earlier roundings. The factor n + 2 covers those, too.
void expect_change(const PlainWorker& worker, const Values& old, std::uint64_t steps) {
  for (std::size_t i = 0; i < old.size(); ++i) {
    const double residual = worker.residual[i];
    const double exact = residual + (static_cast<double>(old[i]) - worker.parameters[i]);
    const double most = std::fabs(residual) + worker.distance[i];
    ASSERT_NEAR(worker.sum[i], exact, static_cast<double>(steps + 2) * 0x1p-24 * most) << i;
  }
}

/// Algorithm 1 with all its workers.
class PlainSbc {
 public:
  PlainSbc(const Values& start, const PlainOptimiser& optimiser, bool masked,
           std::uint64_t local_steps)
      : agreed_(start),
        workers_(kWorkers, PlainWorker(start, optimiser)),
        masked_(masked),
        local_steps_(local_steps) {}

  const PlainWorker& worker(std::size_t index) const { return workers_[index]; }

  void local_step(const Oracles& oracles, std::uint64_t step) {
    take_local_step(workers_, oracles, step);
  }

  /// Ends a period of local steps.
  void exchange(const std::vector<LearnerParameter>& tensors) {
    Values mean(agreed_.size());
    for (PlainWorker& worker : workers_) {
      expect_change(worker, agreed_, local_steps_);
      compress(tensors, worker, mean);
      worker.residual = worker.sum;
      std::fill(worker.distance.begin(), worker.distance.end(), 0.0);
    }
    for (std::size_t i = 0; i < mean.size(); ++i) agreed_[i] -= mean[i];
    for (PlainWorker& worker : workers_) worker.parameters = agreed_;
  }

 private:
  // Sends the mean of the chosen elements of each tensor, and adds it to the mean over workers.
  void compress(const std::vector<LearnerParameter>& tensors, PlainWorker& worker,
                Values& mean) const {
    std::size_t begin = 0;
    for (const LearnerParameter& tensor : tensors) {
      const auto first = worker.sum.begin() + static_cast<std::ptrdiff_t>(begin);
      const Values c(first, first + static_cast<std::ptrdiff_t>(tensor.elements));
      const auto positions = testing::plain_sbc(c, target_count(kSparsity, c.size()));
      const auto sent =
          static_cast<float>(testing::sum_at(c, positions) / static_cast<double>(positions.size()));
      for (const std::uint32_t position : positions) {
        const std::size_t i = begin + position;
        mean[i] += sent / static_cast<float>(kWorkers);
        worker.sum[i] -= sent;
        if (masked_) worker.optimiser.mask_momentum(i);
      }
      begin += tensor.elements;
    }
  }

  Values agreed_;  ///< W_old, of all workers
  std::vector<PlainWorker> workers_;
  bool masked_;
  std::uint64_t local_steps_;
};

// Powers of two, by which the outer optimiser multiplies without rounding.
constexpr OuterOptions kOuter{.momentum = 0.5F, .learning_rate = 0.5F};

/// Streaming DiLoCo's algorithm 2 with all its workers. An outer gradient is applied tau steps
/// after the step in which its fragment left, and mixed with the workers' own parameters by alpha.
class PlainStreaming {
 public:
  PlainStreaming(const Values& start, const PlainOptimiser& optimiser,
                 const std::vector<LearnerParameter>& tensors, std::size_t fragments,
                 std::uint64_t tau)
      : agreed_(start),
        velocity_(start.size()),
        workers_(kWorkers, PlainWorker(start, optimiser)),
        left_(kWorkers, Values(start.size())),
        tau_(tau) {
    const double all = static_cast<double>(start.size());
    for (std::size_t p = 1; p <= fragments; ++p) {
      const double aim = all * static_cast<double>(p) / static_cast<double>(fragments);
      std::size_t end = 0, nearest = 0;
      for (const LearnerParameter& tensor : tensors) {
        end += tensor.elements;
        if (std::fabs(static_cast<double>(end) - aim) <=
            std::fabs(static_cast<double>(nearest) - aim))
          nearest = end;
      }
      ends_.push_back(nearest);
    }
  }

  const Values& agreed() const { return agreed_; }
  const PlainWorker& worker(std::size_t index) const { return workers_[index]; }

  /// Ends each fragment's period of `local_steps` at its own step.
  void step(const Oracles& oracles, std::uint64_t step, std::uint64_t local_steps) {
    take_local_step(workers_, oracles, step);
    for (std::size_t p = 0; p < ends_.size(); ++p) {
      const std::size_t begin = p == 0 ? 0 : ends_[p - 1];
      const std::uint64_t turn = (p + 1) * local_steps / ends_.size() % local_steps;
      if ((step + 1 + tau_) % local_steps == turn) leave(begin, ends_[p]);
      if ((step + 1) % local_steps == turn) exchange(begin, ends_[p]);
    }
  }

 private:
  // Each worker hands over the fragment's decrease since the last exchange.
  void leave(std::size_t begin, std::size_t end) {
    for (std::size_t w = 0; w < kWorkers; ++w)
      for (std::size_t i = begin; i < end; ++i)
        left_[w][i] = std::exchange(workers_[w].sum[i], 0.0F);
  }
  void exchange(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const float mean = (left_[0][i] + left_[1][i]) / 2;
      velocity_[i] = kOuter.momentum * velocity_[i] + mean;
      agreed_[i] -= kOuter.learning_rate * (mean + kOuter.momentum * velocity_[i]);
      for (PlainWorker& worker : workers_) {
        // With alpha = 1/2 both products are exact.
        worker.parameters[i] =
            tau_ == 0 ? agreed_[i] : 0.5F * worker.parameters[i] + 0.5F * agreed_[i];
        worker.sum[i] = agreed_[i] - worker.parameters[i];
      }
    }
  }

  Values agreed_;  ///< each fragment as it was after its last exchange
  Values velocity_;
  std::vector<PlainWorker> workers_;
  std::vector<Values> left_;       ///< by worker: decreases whose exchange has not ended
  std::vector<std::size_t> ends_;  ///< of the fragments
  std::uint64_t tau_;
};

/// Expects the same bits, and names the first element that differs.
void expect_bits(const Values& found, const Values& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << "element " << i << ": " << found[i] << ", expected " << expected[i];
}

/// Optimiser, whether its momentum is masked, and n, the local steps from one exchange to the next.
using Setting = std::tuple<const char*, bool, std::uint64_t>;

std::string name_of(const ::testing::TestParamInfo<Setting>& instance) {
  const auto& [optimiser, masked, local_steps] = instance.param;
  const bool adam = std::string_view(optimiser).starts_with("adam");
  return fmt::format("{}{}{}", adam ? "Adam" : "Momentum", masked ? "Masked" : "", local_steps);
}

class SbcAlgorithm1 : public ::testing::TestWithParam<Setting> {};

TEST_P(SbcAlgorithm1, EndsEveryStepWithTheBitsOfAPlainReference) {
  const auto& [optimiser, masked, local_steps] = GetParam();
  const LearnerOptions options = learner_options(optimiser, masked, local_steps);
  Oracles oracles;
  for (std::size_t worker = 0; worker < kWorkers; ++worker)
    oracles.push_back(std::make_unique<Learner>(options, worker));
  const Values start = parameters_of(*oracles[0]);
  const PlainOptimiser fresh(OptimiserSpec::parse(options.optimiser), fuses_squares(options),
                             start.size());
  PlainSbc plain(start, fresh, masked, local_steps);
  g_ranks->prepare(options, fmt::format("sbc:p={},delay={}", kSparsity, local_steps));
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    SCOPED_TRACE(fmt::format("step {}", step));
    const std::vector<Values> decreases = g_ranks->local_step(step);
    plain.local_step(oracles, step);
    for (std::size_t worker = 0; worker < kWorkers; ++worker) {
      ASSERT_NO_FATAL_FAILURE(expect_bits(decreases[worker], plain.worker(worker).decrease));
    }
    const std::vector<std::string> digests = g_ranks->end_step(step);
    if ((step + 1) % local_steps == 0) {
      ASSERT_NO_FATAL_FAILURE(plain.exchange(oracles[0]->parameters()));
    }
    for (std::size_t worker = 0; worker < kWorkers; ++worker)
      ASSERT_EQ(digests[worker], digest_of(plain.worker(worker).parameters).text());
  }
}

INSTANTIATE_TEST_SUITE_P(All, SbcAlgorithm1,
                         ::testing::Combine(::testing::Values(kMomentum, kAdam), ::testing::Bool(),
                                            ::testing::Values(std::uint64_t{1}, std::uint64_t{4})),
                         name_of);

struct Turns {
  std::size_t fragments;
  std::uint64_t local_steps;  ///< from one exchange of a fragment to the next
  std::uint64_t delay;
};

class StreamingDiLoCo : public ::testing::TestWithParam<Turns> {};

TEST_P(StreamingDiLoCo, EndsEveryStepWithTheBitsOfAPlainReference) {
  const auto& [fragments, local_steps, delay] = GetParam();
  const LearnerOptions options = learner_options(kAdam, false, local_steps);
  Oracles oracles;
  for (std::size_t worker = 0; worker < kWorkers; ++worker)
    oracles.push_back(std::make_unique<Learner>(options, worker));
  const Values start = parameters_of(*oracles[0]);
  const PlainOptimiser fresh(OptimiserSpec::parse(options.optimiser), fuses_squares(options),
                             start.size());
  PlainStreaming plain(start, fresh, oracles[0]->parameters(), fragments, delay);
  Bucketing bucketing;
  bucketing.local_steps = local_steps;
  bucketing.fragments = fragments;
  bucketing.fragment_delay = delay;
  bucketing.outer = kOuter;
  g_ranks->prepare(options, "none", bucketing);
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    SCOPED_TRACE(fmt::format("step {}", step));
    const std::vector<Values> decreases = g_ranks->local_step(step);
    plain.step(oracles, step, local_steps);
    for (std::size_t worker = 0; worker < kWorkers; ++worker) {
      ASSERT_NO_FATAL_FAILURE(expect_bits(decreases[worker], plain.worker(worker).decrease));
    }
    for (const std::string& digest : g_ranks->end_step(step))
      ASSERT_EQ(digest, digest_of(plain.agreed()).text());
  }
}

INSTANTIATE_TEST_SUITE_P(All, StreamingDiLoCo,
                         ::testing::Values(Turns{2, 4, 0}, Turns{3, 4, 0}, Turns{2, 4, 1},
                                           Turns{1, 4, 3}, Turns{2, 6, 2}));

// Restarts this program with one thread of OpenBLAS, which starts its threads when it is loaded. A
// sandbox begins with the calling thread alone. At the first fork() in the sandbox, OpenBLAS would
// wait for its other threads forever.
void start_without_blas_threads(char** argv) {
  constexpr const char* kThreads = "OPENBLAS_NUM_THREADS";
  const char* const threads = std::getenv(kThreads);
  if (threads != nullptr && std::string_view(threads) == "1") return;
  if (setenv(kThreads, "1", 1) != 0) return;
  execv(std::filesystem::read_symlink("/proc/self/exe").c_str(), argv);
}

}  // namespace
}  // namespace thinpipe

int main(int argc, char** argv) {
  thinpipe::start_without_blas_threads(argv);
  // Gradients have the same bits here and in the ranks only if both use the same kernels.
  thinpipe::start_with_fitting_blas(argv);
  ::testing::InitGoogleTest(&argc, argv);
  return thinpipe::run_in_sandbox([](const thinpipe::Sandbox& sandbox) {
    thinpipe::Ranks ranks(sandbox);
    thinpipe::g_ranks = &ranks;
    return RUN_ALL_TESTS();
  });
}
