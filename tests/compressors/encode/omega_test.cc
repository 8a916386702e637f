#include "compressors/encode/omega.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace thinpipe {
namespace {

/// As Elias says it: start with "0"; while n > 1 put n in binary before it and go on with its
/// length less one.
std::string plain_omega(std::uint64_t n) {
  std::string code = "0";
  while (n > 1) {
    std::string group;
    for (std::uint64_t rest = n; rest > 0; rest /= 2) group.insert(0, rest % 2 == 0 ? "0" : "1");
    code.insert(0, group);
    n = group.size() - 1;
  }
  return code;
}

std::vector<std::uint64_t> numbers() {
  std::vector<std::uint64_t> list;
  for (std::uint64_t n = 1; n < 300; ++n) list.push_back(n);
  for (int bit = 9; bit <= 32; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    list.insert(list.end(), {power - 1, power, power + 1});
  }
  return list;
}

TEST(Omega, CodesAreThoseOfTheDefinition) {
  for (std::uint64_t n : numbers()) {
    const std::string expected = plain_omega(n);
    EXPECT_EQ(static_cast<std::size_t>(omega_size(n)), expected.size());
    std::array<std::byte, 16> bytes{};
    BitWriter out(bytes);
    put_omega(n, out);
    const std::size_t size = out.finish();
    BitReader in(std::span<const std::byte>(bytes).first(size));
    std::string code;
    for (std::size_t i = 0; i < expected.size(); ++i) code += in.get(1) != 0 ? '1' : '0';
    EXPECT_EQ(code, expected) << n;
    BitReader again(std::span<const std::byte>(bytes).first(size));
    EXPECT_EQ(get_omega(again, n), n);
    again.expect_end();
    BitReader limited(std::span<const std::byte>(bytes).first(size));
    EXPECT_THROW(get_omega(limited, n - 1), PayloadError);
  }
}

TEST(Omega, RefusesWhatIsNoCode) {
  const std::vector<std::byte> ones(100, std::byte{0xff});
  BitReader endless(ones);
  EXPECT_THROW(get_omega(endless, ~std::uint64_t{0}), PayloadError);
  BitReader nothing{std::span<const std::byte>()};
  EXPECT_THROW(get_omega(nothing, 10), PayloadError);
}

}  // namespace
}  // namespace thinpipe
