#include "compressors/wire/states.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "compressors/kernels/random.h"
#include "compressors/wire/checks.h"

namespace thinpipe {
namespace {

using Bytes = std::vector<std::byte>;

const Bytes kFirst = {std::byte{1}, std::byte{2}, std::byte{3}};
const Bytes kSecond;

Bytes sample_states() {
  return write_states({.seed = 9, .next_step = 5, .states = {kFirst, kSecond}});
}

std::string states_error(std::span<const std::byte> file) {
  const Bytes exact(file.begin(), file.end());
  try {
    read_states(exact);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(States, RoundTrip) {
  const Bytes file = sample_states();
  EXPECT_EQ(file.size(), 4U + 4 + 4 + 8 + 8 + (8 + 3) + (8 + 0) + 4);
  const StateBundle bundle = read_states(file);
  EXPECT_EQ(bundle.seed, 9U);
  EXPECT_EQ(bundle.next_step, 5U);
  ASSERT_EQ(bundle.states.size(), 2U);
  EXPECT_TRUE(std::ranges::equal(bundle.states[0], kFirst));
  EXPECT_TRUE(bundle.states[1].empty());
}

TEST(States, DamageIsFound) {
  const Bytes file = sample_states();
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(states_error(std::span(file).first(size)), "") << size;
  }
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    Bytes damaged = file;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_NE(states_error(damaged), "") << bit;
  }
  Bytes longer = file;
  longer.push_back(std::byte{0});
  EXPECT_NE(states_error(longer), "");
}

TEST(States, LengthsThatLieAreRefusedThoughTheChecksumHolds) {
  const Bytes file = sample_states();
  const auto with = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    Bytes changed = file;
    std::memcpy(changed.data() + at, &value, size);
    const std::uint32_t crc = crc32c(std::span(changed).first(changed.size() - 4));
    std::memcpy(changed.data() + changed.size() - 4, &crc, sizeof crc);
    return states_error(changed);
  };
  for (const std::uint64_t count : {0ULL, 1ULL, 3ULL, 0xffffffffULL}) {
    EXPECT_NE(with(8, count, 4), "") << count;
  }
  for (const std::uint64_t length : {0ULL, 2ULL, 4ULL, 11ULL, 15ULL, 1ULL << 63, ~0ULL}) {
    EXPECT_NE(with(28, length, 8), "") << length;
  }
}

}  // namespace
}  // namespace thinpipe
