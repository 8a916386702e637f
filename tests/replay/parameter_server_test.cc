#include "workloads/replay/parameter_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "compressors/registry.h"
#include "tests/base/support.h"
#include "tests/collectives/thread_transport.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/push_pull_collective.h"

namespace thinpipe {
namespace {

constexpr int kServedWorkers = 3;
constexpr std::uint64_t kServedSteps = 4;
using Floats = std::vector<float>;

// Three tensors, of which the first is the largest.
std::vector<ReplayUnit> units_of(const std::string& push) {
  std::vector<ReplayUnit> units;
  std::size_t offset = 0;
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{60, 50}, {50}, {30, 20, 2}}) {
    std::size_t elements = 1;
    for (const std::int64_t size : shape) elements *= static_cast<std::size_t>(size);
    const std::string name = "tensor-" + std::to_string(units.size());
    units.push_back({{name, shape, elements}, parse_spec(push), offset, 0});
    offset += elements;
  }
  return units;
}

Floats unit_gradient(const ReplayUnit& unit, int worker, std::uint64_t step) {
  std::mt19937 generator(static_cast<unsigned>(step * 100 + unit.offset * 7) +
                         static_cast<unsigned>(worker));
  std::normal_distribution<float> values(0.1F, 1);
  Floats gradient(unit.tensor.elements);
  for (float& value : gradient) value = values(generator);
  return gradient;
}

/// A worker without a replay around it.
class Worker {
 public:
  Worker(Transport& transport, const std::vector<ReplayUnit>& units, const PushPullOptions& options,
         int workers)
      : units_(units) {
    const CompressorSettings settings{.rank = transport.rank()};
    for (const ReplayUnit& unit : units) {
      pushes_.push_back(make_compressor(unit.compressor, unit.tensor, settings));
      pulls_.push_back(make_compressor(options.pull_of(unit.compressor), unit.tensor, settings));
    }
    exchange_.emplace(transport, push_pull_layout(units, options, workers, settings));
  }

  /// Returns the result of a step. `sent` becomes the pushed payloads, decoded.
  Floats step(std::uint64_t index, int rank, Floats& sent) {
    const std::size_t elements = units_.back().offset + units_.back().tensor.elements;
    sent.assign(elements, 0);
    Floats ended(elements);
    if ((index + 1) % pushes_[0]->period() != 0) {
      for (std::size_t i = 0; i < units_.size(); ++i) {
        const Floats gradient = unit_gradient(units_[i], rank, index);
        pushes_[i]->hold({.values = gradient, .squares = {}, .step = index});
      }
      return ended;
    }
    std::vector<std::vector<std::byte>> payloads;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const Floats gradient = unit_gradient(units_[i], rank, index);
      payloads.emplace_back(pushes_[i]->max_encoded_size());
      const EncodeReport report =
          pushes_[i]->encode({.values = gradient, .squares = {}, .step = index}, payloads.back());
      payloads.back().resize(report.encoded_bytes);
      pushes_[i]->decode_add(payloads.back(), 1, place(sent, i));
    }
    std::vector<UnitPayload> pushed;
    for (std::size_t i = 0; i < units_.size(); ++i) pushed.push_back({i, payloads[i]});
    push_and_pull(*exchange_, pushed);
    for (std::size_t i = 0; i < units_.size(); ++i)
      pulls_[i]->decode_add(exchange_->pulled(i), 1, place(ended, i));
    return ended;
  }

 private:
  std::span<float> place(Floats& values, std::size_t unit) const {
    return std::span(values).subspan(units_[unit].offset, units_[unit].tensor.elements);
  }

  std::vector<ReplayUnit> units_;
  std::vector<std::unique_ptr<Compressor>> pushes_, pulls_;
  std::optional<PushPullWorker> exchange_;
};

/// Arrays of all ranks in every step.
struct Job {
  std::vector<std::vector<Floats>> sent, ended;  ///< [step][worker]
  std::vector<Floats> mean, delta;               ///< [step], of all servers together
};

/// SGD with momentum, as a server's optimiser.
class Momentum final : public UnitUpdate {
 public:
  void change_of(std::size_t unit, std::span<const float> mean, std::uint64_t step,
                 std::span<float> change) override {
    Floats& velocity = velocities_[unit];
    velocity.resize(mean.size());
    update(mean, step, velocity, change);
  }
  static void update(std::span<const float> mean, std::uint64_t step, std::span<float> velocity,
                     std::span<float> change) {
    const float rate = step < 2 ? 0.1F : 0.05F;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      velocity[i] = 0.9F * velocity[i] + mean[i];
      change[i] = -rate * velocity[i];
    }
  }

 private:
  std::map<std::size_t, Floats> velocities_;  // by unit
};

Job run_served(const std::string& push, const std::string& collective) {
  const std::vector<ReplayUnit> units = units_of(push);
  const PushPullOptions options = push_pull_options(parse_spec(collective), kServedWorkers);
  const std::size_t elements = units.back().offset + units.back().tensor.elements;
  const std::vector<Floats> of_workers(kServedWorkers, Floats(elements));
  Job job{.sent = {kServedSteps, of_workers},
          .ended = {kServedSteps, of_workers},
          .mean = {kServedSteps, Floats(elements)},
          .delta = {kServedSteps, Floats(elements)}};
  on_all_ranks(kServedWorkers + options.servers, [&](ThreadTransport& transport) {
    const int rank = transport.rank();
    if (rank < kServedWorkers) {
      Worker worker(transport, units, options, kServedWorkers);
      for (std::uint64_t step = 0; step < kServedSteps; ++step) {
        const auto at = static_cast<std::size_t>(rank);
        job.ended[step][at] = worker.step(step, rank, job.sent[step][at]);
      }
      return;
    }
    ParameterServer server(transport, units, {.exchange = options}, kServedWorkers,
                           rank - kServedWorkers);
    Momentum update;
    if (options.servers_update) server.averager().set_update(update);
    for (std::uint64_t step = 0; step < kServedSteps; ++step) {
      const ServerReport report = server.step(step);
      EXPECT_GE(report.total, report.decode + report.compress);
      EXPECT_GE(server.averager().relative_error(), 0);
      Floats delta(server.averager().elements());
      server.averager().delta(delta);
      std::size_t from = 0;
      for (const ReplayUnit& unit : server.averager().units()) {
        const auto size = unit.tensor.elements;
        std::copy_n(server.averager().mean().begin() + static_cast<std::ptrdiff_t>(from), size,
                    job.mean[step].begin() + static_cast<std::ptrdiff_t>(unit.offset));
        std::copy_n(delta.begin() + static_cast<std::ptrdiff_t>(from), size,
                    job.delta[step].begin() + static_cast<std::ptrdiff_t>(unit.offset));
        from += size;
      }
    }
  });
  return job;
}

void expect_means_and_deltas(const Job& job) {
  for (std::uint64_t step = 0; step < kServedSteps; ++step) {
    for (const Floats& ended : job.ended[step]) ASSERT_EQ(ended, job.delta[step]) << step;
    for (std::size_t i = 0; i < job.mean[step].size(); ++i) {
      double mean = 0;
      for (const Floats& sent : job.sent[step])
        mean += static_cast<double>(sent[i]) / kServedWorkers;
      ASSERT_NEAR(job.mean[step][i], mean, 1e-5 * (1 + std::fabs(mean))) << step << ' ' << i;
    }
  }
}

TEST(ParameterServer, EveryMethodIsPushedAveragedAndPulled) {
  for (const MethodInfo& method : methods()) {
    if (method.needs_squares) continue;
    for (const int servers : {1, 2, 5}) {
      SCOPED_TRACE(method.name + " " + std::to_string(servers));
      expect_means_and_deltas(run_served(method.name, "ps:servers=" + std::to_string(servers)));
    }
  }
  expect_means_and_deltas(run_served("sbc:p=0.1,delay=2", "ps:servers=2"));
  expect_means_and_deltas(run_served("topk:ratio=0.1", "ps:servers=2,pull=(3lc:s=1.5)"));
}

// The servers' answers must equal the output of a compressor of the same spec whose inputs are the
// means, one after the other. So values that servers leave out come later, and every unit has a
// memory of its own.
TEST(ParameterServer, AnswersAreThoseOfACompressorFedWithTheMeans) {
  for (const char* push : {"3lc", "topk:ratio=0.05", "qsgd", "ef21:ratio=0.1"}) {
    SCOPED_TRACE(push);
    const Job job = run_served(push, "ps:servers=1");
    for (const ReplayUnit& unit : units_of(push)) {
      const auto compressor =
          make_compressor(unit.compressor, unit.tensor, {.rank = kServedWorkers});
      Floats estimate(unit.tensor.elements), expected(unit.tensor.elements);
      std::vector<std::byte> payload(compressor->max_encoded_size());
      for (std::uint64_t step = 0; step < kServedSteps; ++step) {
        const auto of_unit = [&](const Floats& all) {
          const auto begin = all.begin() + static_cast<std::ptrdiff_t>(unit.offset);
          return Floats(begin, begin + static_cast<std::ptrdiff_t>(unit.tensor.elements));
        };
        const Floats mean = of_unit(job.mean[step]);
        // EF21 pushes a change of an estimate; a server has the estimate's mean.
        for (std::size_t i = 0; i < mean.size(); ++i)
          estimate[i] = mean[i] + (compressor->incremental() ? estimate[i] : 0);
        const EncodeReport report =
            compressor->encode({.values = estimate, .squares = {}, .step = step}, payload);
        std::fill(expected.begin(), expected.end(), 0.0F);
        compressor->decode_add(std::span(payload).first(report.encoded_bytes), 1, expected);
        ASSERT_EQ(of_unit(job.delta[step]), expected) << unit.tensor.name << ' ' << step;
      }
    }
  }
}

TEST(ParameterServer, WhatIsPulledUncompressedIsTheMean) {
  const Job job = run_served("topk:ratio=0.1", "ps:pull=none");
  for (std::uint64_t step = 0; step < kServedSteps; ++step)
    EXPECT_EQ(job.delta[step], job.mean[step]);
}

TEST(ParameterServer, WithAnOptimiserAnswersAreTheModelsChanges) {
  const Job job = run_served("topk:ratio=0.1", "ps:servers=2,update=servers,pull=none");
  Floats velocity(job.mean[0].size()), change = velocity, sum = velocity;
  for (std::uint64_t step = 0; step < kServedSteps; ++step) {
    Momentum::update(job.mean[step], step, velocity, change);
    EXPECT_EQ(job.delta[step], change) << step;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += change[i];
  }
  // Compressed changes have a residual of their own: what was not sent is sent later.
  const Job compressed =
      run_served("topk:ratio=0.1", "ps:servers=2,update=servers,pull=(topk:ratio=0.5)");
  expect_means_and_deltas(compressed);
  Floats sent(sum.size());
  for (const Floats& delta : compressed.delta)
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] += delta[i];
  double left = 0, all = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    left += std::pow(static_cast<double>(sum[i]) - static_cast<double>(sent[i]), 2);
    all += std::pow(static_cast<double>(sum[i]), 2);
  }
  EXPECT_GT(left, 0);
  // The greater half of the last sum's elements was sent, so less than half of the sum of squares
  // is left.
  EXPECT_LT(left, 0.5 * all);
}

TEST(ParameterServer, WithAnOptimiserPayloadsAreNoChangesOfAnEstimate) {
  for (const char* push : {"ef21:ratio=0.1", "topk:memory=ef21"})
    EXPECT_THAT(find_collective("ps").refuses(parse_spec("ps:update=servers"), parse_spec(push)),
                ::testing::HasSubstr("expected another memory than ef21"));
  EXPECT_EQ(find_collective("ps").refuses(parse_spec("ps:update=servers"), parse_spec("3lc")), "");
}

TEST(ParameterServer, NamesRankAndUnitOfAMalformedPayload) {
  const std::vector<ReplayUnit> units = units_of("topk:ratio=0.1");
  const PushPullOptions options;
  std::string said;
  on_all_ranks(2, [&](ThreadTransport& transport) {
    if (transport.rank() == 1) {
      ParameterServer server(transport, units, {.exchange = options}, 1, 0);
      said = input_error([&] { server.step(0); });
      return;
    }
    std::vector<std::byte> message(kUnitHeadBytes + 3);
    const std::uint32_t head[] = {2, 3};
    std::memcpy(message.data(), head, sizeof head);
    transport.send(0, 1, 0, message);
  });
  EXPECT_THAT(said, ::testing::StartsWith("payload of rank 0, unit 'tensor-2': "));
}

}  // namespace
}  // namespace thinpipe
