// Ranks of `thinpipe train` for local_steps_test.cc and checkpoint_test.cc, which are one program.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compressors/spec.h"
#include "harness/launch/emulated_machines.h"
#include "harness/launch/launch.h"
#include "harness/plan/plan.h"
#include "harness/sweep/measure.h"
#include "harness/sweep/samples.h"
#include "harness/train/options.h"
#include "netem/sandbox.h"
#include "tests/base/support.h"
#include "workloads/capture/options.h"

namespace thinpipe {

using Values = std::vector<float>;  ///< one tensor after the other

inline constexpr std::size_t kWorkers = 2;
inline constexpr int kHosts = 4;  ///< of the workers, and of at most two parameter servers
inline constexpr std::uint64_t kExchanges = 6;
inline constexpr double kTimeout = 60;  ///< s until all ranks answer, which takes milliseconds

// libtorch adds rate times velocity, and 1 - beta1 times gradient, by fused multiply-adds where the
// CPU has them. Both factors are powers of two here and in local_steps_test.cc's kAdam: the product
// is exact, so that a fused multiply-add rounds like a product and a sum.
inline constexpr const char* kMomentum = "sgd:lr=0.015625,momentum=0.9";

inline LearnerOptions learner_options(const char* optimiser, bool masked,
                                      std::uint64_t local_steps) {
  return parse_learner_options({{"model", "gpt"},
                                {"width", 0.125},  // 16 units, 15,744 parameters
                                {"workers", kWorkers},
                                {"batch", 2},
                                {"steps", kExchanges * local_steps},
                                {"optimiser", optimiser},
                                {"updates", true},
                                {"mask_momentum", masked}});
}

/// Ranks of `thinpipe train` on emulated hosts: two workers, then parameter servers if the training
/// has any. This process sends them the messages that `thinpipe train` sends.
class Ranks {
 public:
  explicit Ranks(const Sandbox& sandbox)
      : scratch_(sandbox.scratch),
        folder_(sandbox.scratch + "/written"),
        machines_(kHosts, {}, sandbox),
        model_(describe_model(learner_options(kMomentum, false, 1), false)) {
    std::filesystem::create_directory(folder_);
    model_.set_compute_time(0);
    machines_.set_links(LinkSpec{}, 1);
    start(static_cast<int>(kWorkers));
  }

  /// Begins a training.
  void prepare(const LearnerOptions& options, const std::string& compressor,
               const Bucketing& bucketing = {}, const std::string& collective = "ring") {
    SweepPoint point;
    point.bucketing = bucketing;
    point.compressor = CompressorRules::parse(compressor);
    point.collective = parse_spec(collective);
    point.ranks = static_cast<int>(kWorkers);
    if (launch_->ranks() != point.hosts()) start(point.hosts());
    SweepOptions sweep;
    sweep.warmup = 0;
    sweep.steps = options.steps;
    nlohmann::json message = prepare_message(point, sweep);
    message["training"] = {{"model", model_.to_json()}, {"learner", options.to_json()}};
    period_ = 1;
    for (const nlohmann::json& prepared : launch_->ask(message, kPrepareTimeout))
      period_ = std::max(period_, prepared.at("period").get<std::uint64_t>());
  }

  /// Lets each worker take a local step. Returns the decreases of the workers' parameters.
  std::vector<Values> local_step(std::uint64_t step) {
    load(step);
    launch_->ask({{"do", "dump"}, {"folder", folder_}}, kTimeout);
    std::vector<Values> decreases;
    for (std::size_t rank = 0; rank < kWorkers; ++rank) {
      const std::string bytes = read_bytes(fmt::format("{}/gradient-{}", folder_, rank));
      Values& values = decreases.emplace_back(bytes.size() / sizeof(float));
      std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    }
    return decreases;
  }

  /// Ends the step, with an exchange if one is due. Returns the digests of the workers' parameters.
  std::vector<std::string> end_step(std::uint64_t step) {
    exchange(step);
    return apply(step);
  }

  /// Takes a whole step, and checks the aggregate of an exchange that ends a period. Returns the
  /// digests of the workers' parameters.
  std::vector<std::string> take_step(std::uint64_t step) {
    load(step);
    exchange(step);
    if ((step + 1) % period_ == 0) check_aggregate(step);
    return apply(step);
  }

  /// Saves and restores all ranks' states. @param id  of the training
  void save(const std::string& id, std::uint64_t next_step) {
    launch_->ask({{"do", "save"}, {"folder", folder_}, {"step", next_step}, {"id", id}}, kTimeout);
  }
  void restore(const std::string& id) {
    launch_->ask({{"do", "restore"}, {"folder", folder_}, {"id", id}}, kTimeout);
  }

 private:
  void start(int ranks) {
    if (launch_) launch_->quit();
    launch_.emplace(machines_, scratch_, ranks, "thinpipe-train-worker");
  }
  void load(std::uint64_t step) {
    launch_->ask({{"do", "load"}, {"index", step}, {"rate_factor", 1.0}}, kTimeout);
  }
  void exchange(std::uint64_t step) { launch_->ask({{"do", "step"}, {"index", step}}, kTimeout); }
  void check_aggregate(std::uint64_t step) {
    PointSamples samples;
    const std::vector<nlohmann::json> accounts =
        launch_->ask({{"do", "account"}, {"index", step}, {"check", true}}, kTimeout);
    add_comparison(accounts, launch_->ask({{"do", "compare"}}, kTimeout),
                   static_cast<int>(kWorkers), samples);
    EXPECT_EQ(errors_of(samples), std::vector<std::string>()) << "step " << step;
  }
  std::vector<std::string> apply(std::uint64_t step) {
    const std::vector<nlohmann::json> applied =
        launch_->ask({{"do", "apply"}, {"index", step}, {"digest", true}}, kTimeout);
    std::vector<std::string> digests;
    for (std::size_t rank = 0; rank < kWorkers; ++rank)
      digests.push_back(applied[rank].at("digest").get<std::string>());
    return digests;
  }

  std::string scratch_;
  std::string folder_;  ///< for files of the ranks
  EmulatedMachines machines_;
  ModelDescription model_;
  std::optional<Launch> launch_;
  std::uint64_t period_ = 1;  ///< steps from one exchange of the whole model to the next
};

// The ranks of all tests. main() starts the workers once, because that takes longer than their
// steps. Trainings with parameter servers are the last tests, because they need another launch.
inline Ranks* g_ranks = nullptr;

}  // namespace thinpipe
