#include "compressors/kernels/accumulate.h"

#include <gtest/gtest.h>

#include "tests/compressors/support/bits.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::bell;
using testing::bits;
using testing::for_each_target;

constexpr std::size_t kSizes[] = {0, 1, 3, 4, 15, 16, 17, 100, 1003};

TEST(Accumulate, SameBitsAsAPlainLoop) {
  for_each_target([] {
    for (std::size_t n : kSizes) {
      for (const auto& [decay, scale] : {std::pair{1.0F, 1.0F}, std::pair{0.9F, 0.3F}}) {
        const auto g = bell(n, 1);
        auto r = bell(n, 2);
        auto expected = r;
        for (std::size_t i = 0; i < n; ++i) {
          const float kept = decay * expected[i];
          const float fresh = scale * g[i];
          expected[i] = kept + fresh;
        }
        accumulate(g, decay, scale, r);
        EXPECT_EQ(bits(r), bits(expected));
      }
    }
  });
}

TEST(Accumulate, MomentumAndNesterovSameBitsAsPlainLoops) {
  for_each_target([] {
    for (std::size_t n : kSizes) {
      const auto g = bell(n, 1);
      for (bool nesterov : {false, true}) {
        auto u = bell(n, 2);
        auto v = bell(n, 3);
        auto plain_u = u;
        auto plain_v = v;
        for (std::size_t i = 0; i < n; ++i) {
          const float fresh = 0.25F * g[i];
          if (nesterov) {
            plain_u[i] = 0.9F * (plain_u[i] + fresh);
            plain_v[i] = plain_v[i] + plain_u[i] + fresh;
          } else {
            const float kept = 0.9F * plain_u[i];
            plain_u[i] = kept + fresh;
            plain_v[i] = plain_v[i] + plain_u[i];
          }
        }
        (nesterov ? accumulate_nesterov : accumulate_momentum)(g, 0.9F, 0.25F, u, v);
        EXPECT_EQ(bits(u), bits(plain_u));
        EXPECT_EQ(bits(v), bits(plain_v));
      }
    }
  });
}

TEST(Accumulate, AddScaled) {
  for_each_target([] {
    for (std::size_t n : kSizes) {
      const auto x = bell(n, 1);
      auto out = bell(n, 2);
      auto expected = out;
      for (std::size_t i = 0; i < n; ++i) {
        const float term = 0.1F * x[i];
        expected[i] += term;
      }
      add_scaled(x, 0.1F, out);
      EXPECT_EQ(bits(out), bits(expected));
    }
  });
}

}  // namespace
}  // namespace thinpipe
