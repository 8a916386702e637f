#include "compressors/memory/memory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/laws.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using Floats = std::vector<float>;

Floats copy(std::span<const float> values) { return {values.begin(), values.end()}; }

TEST(NoMemory, PassesTheGradientThrough) {
  const auto memory = make_no_memory(3, false);
  const Floats g = {1, 2, 3};
  EXPECT_EQ(memory->add(g, 1.0F).data(), g.data());
  EXPECT_TRUE(memory->remainder().empty());
  EXPECT_EQ(memory->passes(), 0);
  EXPECT_DOUBLE_EQ(memory->distortion(g, Floats{1, 2, 0}).relative(), 3 / std::sqrt(14.0));
}

TEST(NoMemory, HoldsAndScales) {
  const auto memory = make_no_memory(2, true);
  memory->hold(Floats{1, 2}, 1.0F);
  memory->hold(Floats{1, 2}, 0.5F);
  EXPECT_EQ(copy(memory->add(Floats{1, 10}, 1.0F)), (Floats{2.5, 13}));
  EXPECT_EQ(memory->distortion(Floats{1, 10}, Floats{2.5, 13}).relative(), 0);
  EXPECT_EQ(copy(memory->add(Floats{4, 8}, 0.5F)), (Floats{2, 4}));  // the sum started anew
  memory->hold(Floats{1, 1}, 1.0F);
  memory->reset();
  EXPECT_EQ(copy(memory->add(Floats{4, 8}, 0.5F)), (Floats{2, 4}));
}

TEST(ResidualMemory, KeepsWhatWasNotSent) {
  const auto memory = make_residual_memory(3, 1.0F);
  EXPECT_EQ(copy(memory->add(Floats{1, 2, 3}, 1.0F)), (Floats{1, 2, 3}));
  memory->sent(std::vector<std::uint32_t>{0, 2}, Floats{1, 2.5});
  EXPECT_DOUBLE_EQ(memory->distortion({}, Floats{1, 0, 2.5}).relative(),
                   std::sqrt(4 + 0.25) / std::sqrt(14.0));
  EXPECT_EQ(copy(memory->add(Floats{1, 1, 1}, 1.0F)), (Floats{1, 3, 1.5}));
}

TEST(ResidualMemory, DecaysOncePerPeriod) {
  const auto memory = make_residual_memory(1, 0.5F);
  memory->add(Floats{8}, 1.0F);
  memory->sent({}, {});
  memory->hold(Floats{1}, 1.0F);  // 0.5 * 8 + 1
  memory->hold(Floats{1}, 1.0F);  // + 1
  EXPECT_EQ(copy(memory->add(Floats{1}, 1.0F)), Floats{7});
  EXPECT_EQ(copy(memory->add(Floats{1}, 1.0F)), Floats{4.5});
}

TEST(ResidualMemory, DecaysOncePerPeriodWhereTheSumIsLeftToTheFirstPass) {
  const auto memory = make_residual_memory(1, 0.5F);
  const Floats eight = {8}, one = {1};
  memory->add(eight, 1.0F);
  memory->hold(one, 1.0F);  // 0.5 * 8 + 1
  EXPECT_EQ(copy(memory->add_later(one, 1.0F).values()), Floats{6});
  EXPECT_EQ(copy(memory->add_later(one, 1.0F).values()), Floats{4});
}

TEST(ResidualMemory, ForgetsWhatIsNotFinite) {
  const auto memory = make_residual_memory(3, 1.0F);
  memory->add(Floats{testing::kInfinity, testing::kNan, 1}, 1.0F);
  memory->sent(std::vector<std::uint32_t>{0, 1}, Floats{testing::kInfinity, testing::kNan});
  EXPECT_EQ(copy(memory->add(Floats{1, 1, 1}, 1.0F)), (Floats{1, 1, 2}));
}

TEST(MomentumMemory, MomentumCorrection) {
  // DGC eq. 7: u = 0.5 u + g, v = v + u, with g = 1 always: u = 1, 1.5, 1.75; v = 1, 2.5, 4.25.
  const auto memory = make_momentum_memory(2, {.momentum = 0.5F, .masking = true});
  const Floats g = {1, 1};
  EXPECT_EQ(copy(memory->add(g, 1.0F)), (Floats{1, 1}));
  EXPECT_EQ(copy(memory->add(g, 1.0F)), (Floats{2.5, 2.5}));
  memory->sent(std::vector<std::uint32_t>{1}, Floats{2.5});
  // Element 1 starts anew: u = 1, v = 1.
  EXPECT_EQ(copy(memory->add(g, 1.0F)), (Floats{4.25, 1}));
}

TEST(MomentumMemory, WithoutMaskingTheVelocityRunsOn) {
  const auto memory = make_momentum_memory(1, {.momentum = 0.5F, .masking = false});
  memory->add(Floats{1}, 1.0F);
  memory->sent(std::vector<std::uint32_t>{0}, Floats{1});
  EXPECT_EQ(copy(memory->add(Floats{1}, 1.0F)), Floats{1.5});
}

TEST(MomentumMemory, Nesterov) {
  // DGC eq. 10: u = 0.5 (u + 1): 0.5, 0.75; v = v + u + 1: 1.5, 3.25.
  const auto memory = make_momentum_memory(1, {.momentum = 0.5F, .nesterov = true});
  EXPECT_EQ(copy(memory->add(Floats{1}, 1.0F)), Floats{1.5});
  EXPECT_EQ(copy(memory->add(Floats{1}, 1.0F)), Floats{3.25});
}

TEST(ClippedMemory, ScalesToTheLimitPerWorker) {
  // Limit 10 for 4 workers: 10 / sqrt(4) = 5 each. |(6, 8)| = 10 is halved, |(3, 4)| = 5 stays.
  const auto memory = make_clipped_memory(make_residual_memory(2, 1.0F), 10, 4);
  EXPECT_EQ(copy(memory->add(Floats{6, 8}, 1.0F)), (Floats{3, 4}));
  EXPECT_EQ(copy(memory->add(Floats{3, 4}, 1.0F)), (Floats{6, 8}));
  EXPECT_EQ(memory->passes(), 2);
}

TEST(Memory, StateRoundTripsInTheMiddleOfAPeriod) {
  const auto kinds = [] {
    std::vector<std::unique_ptr<Memory>> memories;
    memories.push_back(make_no_memory(2, true));
    memories.push_back(make_residual_memory(2, 0.5F));
    memories.push_back(make_momentum_memory(2, {}));
    memories.push_back(make_clipped_memory(make_momentum_memory(2, {}), 1, 2));
    return memories;
  };
  auto originals = kinds();
  auto copies = kinds();
  for (std::size_t i = 0; i < originals.size(); ++i) {
    originals[i]->add(Floats{1, -2}, 1.0F);
    originals[i]->sent(std::vector<std::uint32_t>{0}, Floats{1});
    originals[i]->hold(Floats{3, 4}, 1.0F);
    std::vector<std::byte> state(originals[i]->state_size());
    ByteWriter out(state);
    originals[i]->save(out);
    EXPECT_EQ(out.size(), state.size());
    ByteReader in(state);
    copies[i]->load(in);
    EXPECT_NO_THROW(in.expect_end());
    EXPECT_EQ(copy(copies[i]->add(Floats{1, 1}, 1.0F)),
              copy(originals[i]->add(Floats{1, 1}, 1.0F)));
  }
}

TEST(Ef21, ReceiversSumIsTheEstimateAndComesToAConstantGradient) {
  // EF21 adds C(g - h) to its estimate h of the gradient g. With exact top-k values the error
  // shrinks by the sent values, to exactly 0 once every element was sent. A receiver sums the
  // decoded values.
  const auto gradient = testing::heavy(1000, 3);
  for (const char* spec : {"topk:ratio=0.1,memory=ef21", "3lc:memory=ef21"}) {
    const auto compressor = testing::make(spec, gradient.size());
    EXPECT_TRUE(compressor->incremental());
    std::vector<float> estimate(gradient.size(), 0.0F);
    double before = INFINITY;
    for (std::uint64_t step = 0; step < 40; ++step) {
      const auto encoded = testing::encode(*compressor, gradient, step);
      compressor->decode_add(encoded.payload, 1.0F, estimate);
      double error = 0;
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        error += std::fabs(static_cast<double>(gradient[i]) - static_cast<double>(estimate[i]));
      }
      EXPECT_LE(error, before * (1 + 1e-6) + 1e-9) << spec << " step " << step;
      before = error;
    }
    double norm = 0;
    for (float value : gradient) norm += std::fabs(static_cast<double>(value));
    EXPECT_LT(before, 1e-3 * norm) << spec;
    // The accumulated gradient follows the estimate in the state.
    const std::size_t n = gradient.size();
    EXPECT_EQ(testing::bits(testing::floats_of_state(*compressor, n, n * sizeof(float))),
              testing::bits(estimate));
  }
  EXPECT_FALSE(testing::make("topk", 1)->incremental());
}

TEST(Ef21, IsClippedBeforeTheEstimateIsTakenOff) {
  // Workers and receivers keep an estimate of the clipped gradient, which has a norm of 1.
  const auto compressor = testing::make("topk:ratio=1,memory=ef21,clip=1", 2);
  Floats received(2, 0.0F);
  for (std::uint64_t step = 0; step < 3; ++step) {
    const auto encoded = testing::encode(*compressor, Floats{3, 4}, step);
    compressor->decode_add(encoded.payload, 1.0F, received);
    EXPECT_FLOAT_EQ(received[0], 0.6F);
    EXPECT_FLOAT_EQ(received[1], 0.8F);
  }
}

TEST(ClearMemory, SentElementsAreZeroHoweverTheyWereRounded) {
  // Two sent, decoded to their mean 3.5; `residual` would keep -0.5 and 0.5.
  const auto compressor = testing::make("topk:ratio=0.5,values=mean,memory=clear", 4);
  testing::encode(*compressor, Floats{3, 1, 4, 2});
  EXPECT_EQ(testing::sent_values(*compressor, Floats(4, 0.0F)), (Floats{0, 1.5, 0, 1.5}));
}

// The memory lacks the error at sent elements. 1 and 2 were not sent, and 3 and 4 were rounded.
TEST(ClearMemory, TheErrorHasWhatRoundingLost) {
  const auto compressor = testing::make("topk:ratio=0.5,values=mean,memory=clear", 4);
  const Floats gradient{3, 1, 4, 2};
  const auto encoded = testing::encode(*compressor, gradient);
  const Distortion found =
      compressor->distortion({.values = gradient, .squares = {}}, encoded.payload);
  EXPECT_NEAR(found.error_squares, 0.25 + 1 + 0.25 + 4, 1e-6);
  EXPECT_NEAR(found.input_squares, 9 + 1 + 16 + 4, 1e-6);
  std::vector<std::byte> state;
  compressor->save_state(state);
  compressor->load_state(state);
  EXPECT_TRUE(std::isnan(
      compressor->distortion({.values = gradient, .squares = {}}, encoded.payload).relative()));
  // The next payload's error is known again, also where a method does not say what it has sent.
  for (const char* spec : {"topk:ratio=0.5,memory=clear", "int8:memory=clear"}) {
    const auto again = testing::make(spec, 4);
    std::vector<std::byte> fresh;
    again->save_state(fresh);
    again->load_state(fresh);
    const auto next = testing::encode(*again, gradient);
    const Distortion error = again->distortion({.values = gradient, .squares = {}}, next.payload);
    EXPECT_TRUE(std::isfinite(error.relative())) << spec;
  }
}

}  // namespace
}  // namespace thinpipe
