// The collective `qgz`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "compressors/compressor.h"
#include "tests/collectives/collective_inputs.h"
#include "tests/collectives/thread_transport.h"

namespace thinpipe {
namespace {

std::vector<std::vector<float>> arrays_of(int ranks, std::size_t elements) {
  std::vector<std::vector<float>> arrays;
  for (int rank = 0; rank < ranks; ++rank) {
    std::mt19937 generator(static_cast<unsigned>(rank) + 5);
    std::normal_distribution<float> normal;
    arrays.emplace_back(elements);
    for (float& value : arrays.back()) value = normal(generator);
  }
  return arrays;
}

struct QgzCase {
  int ranks, group;
  std::size_t elements;
  std::string parameters = "";
};

TEST(Qgz, EndsWithWhatQuantisingTwiceGives) {
  for (const QgzCase& one : std::vector<QgzCase>{{1, 1, 1000},
                                                 {2, 1, 1001},
                                                 {2, 2, 1001},
                                                 {4, 2, 70003},
                                                 {4, 2, 70003, ",block=64,gather=int4"},
                                                 {4, 4, 5000, ",block=2048,gather=fp32"},
                                                 {6, 2, 5003},
                                                 {6, 3, 5003},
                                                 {8, 2, 300001},
                                                 {8, 4, 5, ",block=32"},
                                                 {8, 4, 0}}) {
    SCOPED_TRACE(::testing::Message()
                 << one.ranks << " ranks, group " << one.group << ", " << one.elements);
    const auto arrays = arrays_of(one.ranks, one.elements);
    const float factor = 1.0F / static_cast<float>(one.ranks);
    const std::string spec = "qgz:group=" + std::to_string(one.group) + one.parameters;
    std::vector<float> expected(one.elements);
    Mailboxes none;
    operation<AllReduce>(*over_threads(spec, none, 0, one.ranks))
        .expected_all_reduce(ElementType::kFloat32, spans(arrays), factor, expected);
    on_all_ranks(spec, one.ranks, [&](Collective& qgz, int rank) {
      std::vector<float> result(one.elements, 7.0F);
      for (int step = 0; step < 2; ++step) {
        operation<AllReduce>(qgz).all_reduce(arrays[static_cast<std::size_t>(rank)], result,
                                             factor);
        EXPECT_EQ(result, expected) << rank;
      }
    });
    // Blocks of normal draws reach 4 at most, so codes of 4 bits are 4/7 apart, and their error is
    // at most half of that. Every element is coded twice in 4 bits: in n arrays, and in n/g sums,
    // which reach 4 sqrt g. It is coded once in 8 bits.
    double error = 0;
    for (std::size_t i = 0; i < one.elements; ++i) {
      double mean = 0;
      for (const auto& array : arrays) mean += static_cast<double>(array[i]) / one.ranks;
      error = std::max(error, std::fabs(mean - static_cast<double>(expected[i])));
    }
    EXPECT_LT(error, 4.5 / 14 * (1 + 1 / std::sqrt(one.group)) + 4.5 / 14);
  }
}

TEST(Qgz, SendsHalfAByteAnElementAndOne) {
  // 8 ranks in groups of 2 have 65536 elements in blocks of 256. A block takes 132 bytes with 4-bit
  // codes, and 260 bytes with 8-bit codes.
  const auto arrays = arrays_of(8, 65536);
  on_all_ranks("qgz:group=2", 8, [&](Collective& qgz, int rank) {
    std::vector<float> result(65536);
    operation<AllReduce>(qgz).all_reduce(arrays[static_cast<std::size_t>(rank)], result, 1.0F);
    // Half of the array; three of four parts of the other half; seven chunks.
    EXPECT_EQ(qgz.counters().bytes, 128U * 132 + 3 * 32 * 132 + 7 * 32 * 260);
  });
}

TEST(Qgz, RefusesGroupsThatDoNotDivide) {
  Mailboxes boxes;
  for (const char* spec : {"qgz:group=3", "qgz:group=16"}) {
    EXPECT_THROW(check_collective(parse_spec(spec), 8), InputError);
    EXPECT_THROW(over_threads(spec, boxes, 0, 8), InputError);
  }
}

TEST(Qgz, RefusesWhatDoesNotFit) {
  const auto lie = [](const std::vector<std::vector<std::byte>>& messages) {
    Mailboxes boxes;
    ThreadTransport liar(boxes, 1, 2);
    for (const auto& message : messages) liar.send(0, 0, 0, message);
    std::vector<float> own(5, 1.0F), result(5);
    operation<AllReduce>(*over_threads("qgz:group=2", boxes, 0, 2)).all_reduce(own, result, 1.0F);
  };
  // Rank 0 gets elements 0 and 1: a scale, then a byte; then the other 3 means.
  const auto part = [](float scale, int codes) {
    std::vector<std::byte> bytes(5);
    std::memcpy(bytes.data(), &scale, sizeof scale);
    bytes[4] = static_cast<std::byte>(codes);
    return bytes;
  };
  const auto mean = [](float scale, std::size_t size) {
    std::vector<std::byte> bytes(size);
    std::memcpy(bytes.data(), &scale, sizeof scale);
    return bytes;
  };
  lie({part(1, 0x11), mean(1, 7)});
  EXPECT_THROW(lie({part(-1, 0x11)}), PayloadError);
  EXPECT_THROW(lie({part(std::nanf(""), 0x11)}), PayloadError);
  EXPECT_THROW(lie({std::vector<std::byte>(4)}), PayloadError);
  EXPECT_THROW(lie({part(1, 0x11), mean(1, 6)}), PayloadError);
  EXPECT_THROW(lie({part(1, 0x11), mean(-1, 7)}), PayloadError);
}

}  // namespace
}  // namespace thinpipe
