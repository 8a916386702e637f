// Ranks go on from checkpoints with every kind of state that a rank may have, bit for bit.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/run/training_ranks.h"

namespace thinpipe {
namespace {

/// A training whose ranks have state of their own beside the model and the optimiser.
struct Stateful {
  const char* name;
  const char* compressor;
  const char* collective = "ring";
  bool updates = false;  ///< exchanged, and the momentum is masked
  Bucketing bucketing = {};
  const char* optimiser = kMomentum;
};

Bucketing in_delayed_fragments() {
  Bucketing bucketing;
  bucketing.local_steps = 4;
  bucketing.fragments = 2;
  bucketing.fragment_delay = 1;
  bucketing.fragment_mix = 0.25;
  bucketing.outer = OuterOptions::parse("diloco");
  return bucketing;
}

class Checkpoint : public ::testing::TestWithParam<Stateful> {};

TEST_P(Checkpoint, LeadsToTheBitsOfATrainingThatWasNotInterrupted) {
  constexpr std::uint64_t kSaved = 4;  // steps: whole periods of all trainings
  const Stateful& training = GetParam();
  LearnerOptions options = learner_options(training.optimiser, training.updates, 2);
  options.updates = training.updates;
  const auto prepare = [&] {
    g_ranks->prepare(options, training.compressor, training.bucketing, training.collective);
  };
  prepare();
  std::vector<std::vector<std::string>> whole;
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    if (step == kSaved) g_ranks->save(training.name, kSaved);
    whole.push_back(g_ranks->take_step(step));
  }
  EXPECT_EQ(whole.back()[0], whole.back()[1]);  // all workers end with the same parameters
  prepare();
  g_ranks->restore(training.name);
  for (std::uint64_t step = kSaved; step < options.steps; ++step)
    ASSERT_EQ(g_ranks->take_step(step), whole[step]) << "step " << step;
}

constexpr const char* kTwoShot = "twoshot:second-memory=residual";
constexpr const char* kServers = "ps:servers=2,update=servers";
constexpr const char* kDecaying = "sgd:lr=0.01,momentum=0.9,weight_decay=0.001";

// The states: the estimate of the gradient; the memories of a rank's pushes and of its averages; a
// worker's momentum and accumulated updates; with fragments, the sums of those that were not
// exchanged last, the workers' own values, and the outer optimiser; the servers' model, optimiser
// and memory.
INSTANTIATE_TEST_SUITE_P(
    All, Checkpoint,
    ::testing::Values(
        Stateful{.name = "Ef21", .compressor = "ef21:ratio=0.05"},
        Stateful{.name = "TwoShotInt8", .compressor = "int8", .collective = kTwoShot},
        Stateful{.name = "TwoShotTopK", .compressor = "topk:ratio=0.05", .collective = kTwoShot},
        Stateful{.name = "UpdatesSbc", .compressor = "sbc:p=0.05", .updates = true},
        Stateful{.name = "UpdatesTopK", .compressor = "topk:ratio=0.05,delay=2", .updates = true},
        Stateful{.name = "Fragments", .compressor = "none", .bucketing = in_delayed_fragments()},
        Stateful{.name = "FragmentsTopK",
                 .compressor = "topk:ratio=0.05",
                 .bucketing = in_delayed_fragments()},
        Stateful{.name = "Servers3lc",
                 .compressor = "3lc:s=1.5",
                 .collective = kServers,
                 .optimiser = kDecaying},
        Stateful{.name = "ServersTopK",
                 .compressor = "topk:ratio=0.05,delay=2",
                 .collective = kServers,
                 .optimiser = kDecaying}),
    [](const auto& instance) { return std::string(instance.param.name); });

// SbcAlgorithm1 compares masked steps with a reference. This test is for other sparse payloads.
TEST(MaskedMomentum, ChangesTheStepsAfterSparsePayloads) {
  std::vector<std::string> ends;
  for (const bool masked : {false, true}) {
    const LearnerOptions options = learner_options(kMomentum, masked, 1);
    g_ranks->prepare(options, "topk:ratio=0.05,delay=2");
    for (std::uint64_t step = 0; step + 1 < options.steps; ++step) g_ranks->take_step(step);
    ends.push_back(g_ranks->take_step(options.steps - 1).front());
  }
  EXPECT_NE(ends[0], ends[1]);
}

}  // namespace
}  // namespace thinpipe
