// Requirements on compressors on any GPU, real or simulated.
#include <gtest/gtest.h>

#include <limits>

#include "base/splitmix64.h"
#include "tests/cuda/side_by_side.h"

namespace thinpipe::cuda {
namespace {

/// Sizes below, at and above every boundary: a row, a warp's elements, a tile, a block of sums, the
/// smallest sampled tensor; and a tensor with several of each.
const std::vector<std::size_t> kSizes = {0,    1,     2,     63,    64,    65,   255,
                                         256,  257,   4095,  4096,  4097,  8191, 8192,
                                         8193, 32767, 32768, 32769, 40000, 70001};

std::vector<std::vector<float>> gradients(const std::vector<std::size_t>& sizes,
                                          std::uint64_t seed) {
  std::vector<std::vector<float>> all;
  for (std::size_t size : sizes) all.push_back(drawn(size, seed + size));
  return all;
}

}  // namespace

std::vector<float> drawn(std::size_t n, std::uint64_t seed) {
  SplitMix64 random(seed);
  const auto uniform = [&] { return static_cast<float>(random.next() >> 40) * 0x1p-24F - 0.5F; };
  std::vector<float> values(n);
  for (float& value : values) value = uniform() * uniform() * uniform();
  return values;
}

void expect_same_bytes(const OpenDevice& open, const std::string& spec) {
  SideBySide both = opened(open, spec, kSizes);
  for (std::uint64_t step = 0; step < 6; ++step) both.step(gradients(kSizes, 100 * step));
  std::size_t sent = 0;
  for (std::size_t i = 0; i < kSizes.size(); ++i) sent += both.sent(i);
  EXPECT_GT(sent, 0U);
  // With other orders of the simulated threads.
  const std::vector<std::size_t> sizes = {40000};
  for (std::uint64_t seed : {2, 3, 4}) {
    SideBySide others = opened(open, spec, sizes, seed);
    for (std::uint64_t step = 0; step < 2; ++step) others.step(gradients(sizes, step));
  }
}

void expect_same_bytes_of_special_values(const OpenDevice& open, const std::string& spec) {
  constexpr std::size_t kElements = 9000;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
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
  SideBySide both = opened(open, spec, std::vector<std::size_t>(special.size(), kElements));
  for (int step = 0; step < 3; ++step) both.step(special);
}

void expect_same_states(const OpenDevice& open, const std::string& spec) {
  // A matrix: PowerSGD has state for matrices only.
  const std::vector<std::size_t> sizes = {9000};
  const std::vector<std::vector<std::int64_t>> shapes = {{90, 100}};
  const TestDevice first = open(1);
  const TestDevice second = open(1);
  SideBySide before(first.device, first.make, spec, shapes);
  for (std::uint64_t step = 0; step < 7; ++step) before.step(gradients(sizes, step));
  std::vector<std::byte> state;
  before.cpu(0).save_state(state);
  SideBySide after(second.device, second.make, spec, shapes);
  after.cpu(0).load_state(state);
  after.gpu().load_state(0, state);
  for (std::uint64_t step = 0; step < 7; ++step) after.step(gradients(sizes, 50 + step));
  after.gpu().reset();
  after.cpu(0).reset();
  after.step(gradients(sizes, 99));
  state.pop_back();
  EXPECT_THROW(after.gpu().load_state(0, state), InputError);
}

void expect_same_bytes_of_matrices(const OpenDevice& open) {
  // Matrices of one column, one row, fewer and more columns than a tile, fewer and more rows than a
  // group, than a segment of q's rows, and than a segment of the products of p's columns.
  const std::vector<std::vector<std::int64_t>> shapes = {
      {64, 100}, {1, 50},  {130, 3},  {3, 2, 5}, {100},          {200, 333}, {0, 7},
      {65, 1},   {2, 600}, {63, 256}, {5000},    {129, 4, 8, 8}, {600, 20},  {9000, 12}};
  for (const char* spec :
       {"onebit", "onebit:memory=none", "mqe1bit:columns=true,decay=0.5", "demo",
        "demo:chunk=16,topk=3,values=int8,memory=none", "demo:chunk=32,topk=200,values=exp4",
        "powersgd:exchange=allgather", "powersgd:exchange=allgather,rank=1",
        "powersgd:exchange=allgather,rank=5,memory=none,warm=false",
        "powersgd:exchange=allgather,rank=9,memory=ef21", "powersgd:rank=3"}) {
    SCOPED_TRACE(spec);
    const TestDevice device = open(1);
    SideBySide both(device.device, device.make, spec, shapes);
    for (std::uint64_t step = 0; step < 4; ++step) {
      std::vector<std::vector<float>> all;
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        std::size_t size = 1;
        for (std::int64_t side : shapes[i]) size *= static_cast<std::size_t>(side);
        all.push_back(drawn(size, 100 * step + i));
        if (step == 3 && size > 20) all.back()[17] = std::numeric_limits<float>::infinity();
      }
      both.step(all);
    }
  }
}

}  // namespace thinpipe::cuda
