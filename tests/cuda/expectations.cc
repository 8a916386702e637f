// Requirements on compressors on any GPU, real or simulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/splitmix64.h"
#include "base/text.h"
#include "tests/base/support.h"
#include "tests/cuda/side_by_side.h"

namespace thinpipe::cuda {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Sizes below, at and above every boundary: a row, a warp's elements, a tile, a block of sums, the
/// smallest sampled tensor; and a tensor with several of each.
const std::vector<std::size_t> kSizes = {0,    1,     2,     63,    64,    65,   255,
                                         256,  257,   4095,  4096,  4097,  8191, 8192,
                                         8193, 32767, 32768, 32769, 40000, 70001};

/// Damages payloads of the first tensor and expects both implementations to agree.
void expect_refusals(SideBySide& both) {
  const std::vector<std::byte> payload = both.payload(0);
  SplitMix64 random(5);
  int refusals = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::byte> damaged = payload;
    for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
      // Half of the flips hit the first bytes, which determine the meaning of the others.
      const std::size_t within = random.below(2) == 0 ? 4 : damaged.size();
      damaged[random.below(within)] ^= static_cast<std::byte>(1U << random.below(8));
    }
    if (random.below(4) == 0) damaged.resize(random.below(damaged.size() + 1));
    SCOPED_TRACE("damage " + std::to_string(i));
    refusals += both.refuses(damaged) ? 1 : 0;
  }
  EXPECT_GT(refusals, 50);
}

void expect_damage_refused(const OpenDevice& open, const std::string& spec, std::size_t elements) {
  SCOPED_TRACE(spec);
  SideBySide both(open(1), spec, std::vector<std::size_t>{elements});
  both.step({drawn(elements, 1)});
  expect_refusals(both);
}

// Compressors whose step takes several all-reduces.

// Returns the mean of a worker's values and drawn values, so that it differs from the worker's.
std::vector<float> mean_with_others(const std::vector<std::byte>& own, std::uint64_t seed) {
  std::vector<float> mean(own.size() / sizeof(float));
  if (!own.empty()) std::memcpy(mean.data(), own.data(), own.size());
  const std::vector<float> others = drawn(mean.size(), seed);
  for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = (mean[i] + others[i]) / 2;
  return mean;
}

// One of several workers on both implementations; the other workers' values are drawn.
class WorkerSideBySide : public SideBySide {
 public:
  WorkerSideBySide(const TestDevice& device, const std::string& spec, const Shapes& shapes)
      : SideBySide(device, spec, shapes) {
    for (const auto& one : cpu_)
      means_.push_back(static_cast<float*>(device_->allocate(one->max_encoded_size())));
  }

  DeviceMultiRound& rounds() { return dynamic_cast<DeviceMultiRound&>(*gpu_); }
  // Returns the number of tensors that take more than one round.
  std::size_t matrices() const {
    std::size_t count = 0;
    for (const auto& one : cpu_) count += rounds_of(*one) > 1 ? 1 : 0;
    return count;
  }

  /// @param spoilt  the round whose means contain an infinity; 0: none
  void step(const std::vector<std::vector<float>>& gradients, int spoilt) {
    const std::vector<const float*> addresses = upload(gradients);
    if (!exchanges()) return hold(gradients, addresses);
    rounds().first_round(addresses, {.step = step_});
    const auto reports = gpu_->finish();
    for (std::size_t i = 0; i < cpu_.size(); ++i) {
      SCOPED_TRACE("tensor " + std::to_string(i) + ", first round");
      const GradientInput input{.values = gradients[i], .squares = {}, .step = step_};
      payloads_[i].resize(cpu_[i]->max_encoded_size());
      const EncodeReport report = several(i) != nullptr
                                      ? several(i)->first_round(input, payloads_[i])
                                      : cpu_[i]->encode(input, payloads_[i]);
      EXPECT_EQ(report.selected_elements, reports[i].selected_elements);
      compare_sent(i, report.encoded_bytes, reports[i]);
    }
    ASSERT_EQ(rounds().rounds(), 2);
    for (int round = 1; round <= 2; ++round) next(round, spoilt);
    for (std::size_t i = 0; i < cpu_.size(); ++i) {
      finish(i);
      compare_states(i);
    }
    ++step_;
  }

 private:
  // Returns null where the tensor takes one round.
  MultiRound* several(std::size_t tensor) const {
    return dynamic_cast<MultiRound*>(cpu_[tensor].get());
  }

  void compare_sent(std::size_t tensor, std::size_t bytes, const EncodeReport& gpu) {
    payloads_[tensor].resize(bytes);
    ASSERT_EQ(bytes, gpu.encoded_bytes);
    EXPECT_TRUE(payloads_[tensor] == fetched(*device_, gpu_->device_payload(tensor), bytes));
  }

  void next(int round, int spoilt) {
    std::vector<std::vector<float>> means;
    for (std::size_t i = 0; i < cpu_.size(); ++i) {
      means.push_back(mean_with_others(payloads_[i], 1000 * step_ + 10 * i + std::uint64_t(round)));
      if (round == spoilt && means[i].size() > 2) means[i][2] = kInfinity;
      device_->upload(means_[i], means[i].data(), means[i].size() * sizeof(float));
    }
    rounds().next_round(std::vector<const float*>(means_.begin(), means_.end()));
    const auto reports = gpu_->finish();
    for (std::size_t i = 0; i < cpu_.size(); ++i) {
      if (several(i) == nullptr) continue;
      SCOPED_TRACE("tensor " + std::to_string(i) + ", after round " + std::to_string(round));
      payloads_[i].resize(cpu_[i]->max_encoded_size());
      compare_sent(i, several(i)->next_round(means[i], payloads_[i]), reports[i]);
    }
  }

  void finish(std::size_t i) {
    if (several(i) == nullptr) return;
    SCOPED_TRACE("tensor " + std::to_string(i) + ", at the end");
    std::vector<std::byte> own(cpu_[i]->max_encoded_size()), other(own.size());
    ASSERT_EQ(several(i)->own_payload(own), own.size());
    rounds().own_payload(i, other);
    EXPECT_TRUE(own == other) << "own contributions differ";
    std::vector<float> decoded(infos_[i].elements, 0.0F);
    float* const out = arrays_[i].out;
    device_->upload(out, decoded.data(), decoded.size() * sizeof(float));
    cpu_[i]->decode_add(payloads_[i], 1.0F, decoded);
    gpu_->decode_add(i, gpu_->device_payload(i), payloads_[i].size(), 1.0F, out);
    const std::vector<float> found = fetched<float>(*device_, out, decoded.size());
    EXPECT_TRUE(
        std::ranges::equal(std::as_bytes(std::span(decoded)), std::as_bytes(std::span(found))))
        << "aggregates differ";
  }

  std::vector<float*> means_;
};

}  // namespace

std::vector<float> drawn(std::size_t n, std::uint64_t seed) {
  SplitMix64 random(seed);
  const auto uniform = [&] { return static_cast<float>(random.next() >> 40) * 0x1p-24F - 0.5F; };
  std::vector<float> values(n);
  for (float& value : values) value = uniform() * uniform() * uniform();
  return values;
}

std::vector<std::vector<float>> drawn(const std::vector<std::size_t>& sizes, std::uint64_t seed) {
  std::vector<std::vector<float>> all;
  for (std::size_t size : sizes) all.push_back(drawn(size, seed + size));
  return all;
}

std::vector<std::vector<float>> drawn(const Shapes& shapes, std::uint64_t step, bool spoilt) {
  std::vector<std::vector<float>> all;
  for (const TensorInfo& tensor : tensors_of(shapes)) {
    all.push_back(drawn(tensor.elements, 100 * step + all.size()));
    if (spoilt && tensor.elements > 20) all.back()[17] = std::numeric_limits<float>::infinity();
  }
  return all;
}

void expect_same_bytes(const OpenDevice& open, const std::string& spec) {
  SideBySide both(open(1), spec, kSizes);
  for (std::uint64_t step = 0; step < 6; ++step) both.step(drawn(kSizes, 100 * step));
  std::size_t sent = 0;
  for (std::size_t i = 0; i < kSizes.size(); ++i) sent += both.sent(i);
  EXPECT_GT(sent, 0U);
  // With other orders of the simulated threads.
  const std::vector<std::size_t> sizes = {40000};
  for (std::uint64_t seed : {2, 3, 4}) {
    SideBySide others(open(seed), spec, sizes);
    for (std::uint64_t step = 0; step < 2; ++step) others.step(drawn(sizes, step));
  }
}

void expect_same_bytes_of_special_values(const OpenDevice& open, const std::string& spec) {
  constexpr std::size_t kElements = 9000;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
  constexpr float kMax = std::numeric_limits<float>::max();
  std::vector<std::vector<float>> special(9, std::vector<float>(kElements, 0.0F));
  special[1].assign(kElements, -0.25F);  // all tie
  special[2].assign(kElements, -0.0F);
  special[3] = drawn(kElements, 3);
  special[3][17] = kInfinity;
  special[3][kElements - 1] = -kInfinity;
  special[4] = drawn(kElements, 4);
  special[4][5000] = kNan;
  special[5].assign(kElements, kNan);
  for (std::size_t i = 0; i < kElements; ++i) {
    special[6][i] = i % 3 == 0 ? kDenormal : -2 * kDenormal;
    special[7][i] = i % 2 == 0 ? kMax : -kMax;
    special[8][i] = i % 100 == 0 ? 1.0F : 0.0F;
  }
  SideBySide both(open(1), spec, std::vector<std::size_t>(special.size(), kElements));
  for (int step = 0; step < 3; ++step) both.step(special);
}

void expect_same_states(const OpenDevice& open, const std::string& spec) {
  // A matrix: PowerSGD has state for matrices only.
  const std::vector<std::size_t> sizes = {9000};
  const Shapes shapes = {{90, 100}};
  SideBySide before(open(1), spec, shapes);
  for (std::uint64_t step = 0; step < 7; ++step) before.step(drawn(sizes, step));
  std::vector<std::byte> state;
  before.cpu(0).save_state(state);
  SideBySide after(open(1), spec, shapes);
  after.cpu(0).load_state(state);
  after.gpu().load_state(0, state);
  for (std::uint64_t step = 0; step < 7; ++step) after.step(drawn(sizes, 50 + step));
  after.gpu().reset();
  after.cpu(0).reset();
  after.step(drawn(sizes, 99));
  state.pop_back();
  EXPECT_THROW(after.gpu().load_state(0, state), InputError);
}

void expect_same_bytes_of_matrices(const OpenDevice& open, std::uint64_t steps) {
  // Matrices of one column, one row, fewer and more columns than a tile, fewer and more rows than a
  // group, than a segment of q's rows, and than a segment of the products of p's columns.
  const Shapes shapes = {{64, 100},  {1, 50},        {130, 3},  {3, 2, 5}, {100},
                         {200, 333}, {0, 7},         {65, 1},   {2, 600},  {63, 256},
                         {5000},     {129, 4, 8, 8}, {600, 20}, {9000, 12}};
  for (const char* spec :
       {"onebit", "onebit:memory=none", "mqe1bit:columns=true,decay=0.5", "demo",
        "demo:chunk=16,topk=3,values=int8,memory=none", "demo:chunk=32,topk=200,values=exp4",
        "powersgd:exchange=allgather", "powersgd:exchange=allgather,rank=1",
        "powersgd:exchange=allgather,rank=5,memory=none,warm=false",
        "powersgd:exchange=allgather,rank=9,memory=ef21", "powersgd:rank=3"}) {
    SCOPED_TRACE(spec);
    SideBySide both(open(1), spec, shapes);
    for (std::uint64_t step = 0; step < steps; ++step)
      both.step(drawn(shapes, step, step + 1 == steps));
  }
}

void expect_malformed_payloads_refused(const OpenDevice& open) {
  SideBySide both(open(1), "topk:ratio=0.1", std::vector<std::size_t>{300});
  EXPECT_FALSE(both.refuses(bytes_of({0})));
  EXPECT_FALSE(both.refuses(bytes_of({1, 0, 0, 128, 63, 199, 0, 0, 0})));
  EXPECT_TRUE(both.refuses({}));
  EXPECT_TRUE(both.refuses(bytes_of({0, 0})));                           // too long
  EXPECT_TRUE(both.refuses(bytes_of({1, 0, 0, 128, 63, 199, 0, 0})));    // too short
  EXPECT_TRUE(both.refuses(bytes_of({1, 0, 0, 128, 63, 44, 1, 0, 0})));  // 300
  EXPECT_TRUE(both.refuses(bytes_of({0x80, 0})));                        // not shortest
  EXPECT_TRUE(both.refuses(bytes_of({0x80})));                           // no end
  EXPECT_TRUE(both.refuses(bytes_of({0xff, 0xff, 0xff, 0xff, 0xff})));   // too many
  EXPECT_TRUE(both.refuses(bytes_of({2, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0})));
  for (const std::string& spec : words_in(R"(
        topk:ratio=0.1,positions=index28 topk:ratio=0.1,positions=bitmap
        topk:ratio=0.1,positions=run16 topk:ratio=0.1,positions=golomb
        topk:ratio=0.9,positions=golomb topk:ratio=0.1,values=fp16 topk:ratio=0.1,values=bf16
        topk:ratio=0.1,values=int8 topk:ratio=0.1,values=sign topk:ratio=0.1,values=mean
        strom:tau=0.05 randomk:ratio=0.1 sbc:p=0.1 topk:ratio=0.1,values=exp4 hybrid:tau=0.02
        topk:ratio=0.1,values=int2 topk:ratio=0.1,positions=packed
        topk:ratio=0.5,values=mean,positions=packed topk:ratio=0.1,positions=elias_gamma
        topk:ratio=0.1,positions=elias_delta sparseloco:chunk=64,k=9
        sparseloco:chunk=64,k=20,values=exp4 sparseloco:chunk=64,k=64,values=fp32)"))
    expect_damage_refused(open, spec, 301);
  for (const char* positions :
       {"index28", "bitmap", "run16", "golomb", "packed", "elias_gamma", "elias_delta"})
    expect_damage_refused(open, std::string("topk:ratio=0.1,positions=") + positions, 70001);
  for (const std::string& spec : words_in(R"(
        topk:ratio=0.1 none fp16 bf16 int8 signsgd 3lc:s=1.5 3lc:zre=false stoch3 natural
        int8:bucket=50 efsignsgd mqe1bit:bucket=100 onebit terngrad qsgd:bits=3,bucket=33 blockint8
        fp8 fp8:format=e5m2,scale=f16 mxfp4 blockint4 sdp4bit thc thc:bits=8,block=256
        qsgd:coding=elias qsgd:coding=elias,bits=8,bucket=20 demo demo:chunk=16,values=exp4)"))
    expect_damage_refused(open, spec, 301);
  expect_damage_refused(open, "3lc:s=1.9", 50001);
  expect_damage_refused(open, "3lc:s=1.9,bucket=100", 50001);
  expect_damage_refused(open, "3lc:s=1.9,bucket=101", 50001);
  expect_damage_refused(open, "3lc:zre=false,bucket=33", 301);
  expect_damage_refused(open, "3lc:s=1.9,bucket=7", 5001);
  expect_damage_refused(open, "3lc:zre=false,bucket=1", 301);
  expect_damage_refused(open, "qsgd:bits=3,bucket=5", 301);
  expect_damage_refused(open, "sparseloco:chunk=64,k=20,values=exp4", 70001);
  expect_damage_refused(open, "qsgd:coding=elias,bits=5,bucket=0", 20001);
  expect_damage_refused(open, "qsgd:coding=elias,bits=3,bucket=1000", 5001);
  expect_damage_refused(open, "qsgd:coding=elias,bits=4,bucket=5000", 12001);
  expect_damage_refused(open, "qsgd:coding=elias,bits=3,bucket=4096", 9001);
  expect_damage_refused(open, "qsgd:coding=elias,bits=8,bucket=1024", 1500);
  // Payloads of several segments.
  expect_damage_refused(open, "topk:ratio=0.5,positions=packed", 150001);
  expect_damage_refused(open, "topk:ratio=1,positions=packed", 70001);
  expect_damage_refused(open, "qsgd:bits=3,bucket=5000", 12001);
  expect_damage_refused(open, "3lc:bucket=5000,s=1.9", 12001);
  SideBySide matrix(open(1), "onebit", Shapes{{7, 43}});
  matrix.step({drawn(301, 1)});
  expect_refusals(matrix);
}

void expect_same_bytes_in_rounds(const OpenDevice& open) {
  // Includes matrices of one column and one row, vectors, and tensors that factors would not make
  // smaller.
  const Shapes shapes = {{64, 100}, {1, 50},  {130, 3},       {100},    {200, 333},
                         {0, 7},    {2, 600}, {129, 4, 8, 8}, {600, 20}};
  for (const char* spec :
       {"powersgd", "powersgd:rank=1,memory=none", "powersgd:rank=2,delay=2,clip=0.5",
        "powersgd:rank=5,warm=false,memory=ef21", "powersgd:rank=9,memory=momentum"}) {
    SCOPED_TRACE(spec);
    WorkerSideBySide both(open(1), spec, shapes);
    ASSERT_GE(both.matrices(), 3U);
    for (std::uint64_t step = 0; step < 8; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      // Both spoilt steps have an exchange, also with delay=2.
      both.step(drawn(shapes, step, step == 5), step == 3 ? 1 : step == 1 ? 2 : 0);
    }
    EXPECT_THROW(both.rounds().next_round(std::vector<const float*>(shapes.size())),
                 std::logic_error);
  }
  const TestDevice device = open(1);
  const std::vector<TensorInfo> infos = {{"t", {8}, 8}};
  const auto other = device.make(parse_spec("int8"), infos, {});
  EXPECT_EQ(dynamic_cast<DeviceMultiRound*>(other.get()), nullptr);
}

}  // namespace thinpipe::cuda
