#include "compressors/simd.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "hwy/targets.h"

namespace thinpipe {
namespace {

TEST(Simd, EveryNamedTargetCanBeChosenAndUndone) {
  const std::vector<std::string> names = simd_targets();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(simd_target(), names.front());
  for (const std::string& name : names) {
    set_simd_target(name);
    EXPECT_EQ(simd_target(), name);
    EXPECT_EQ(hwy::SupportedAndGeneratedTargets().size(), 1u) << name;
    EXPECT_EQ(simd_targets(), names) << "the list does not depend on the choice";
  }
  set_simd_target("best");
  EXPECT_EQ(simd_target(), names.front());
}

TEST(Simd, UnknownNameSaysWhatThereIs) {
  try {
    set_simd_target("bets");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'best'?"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find(simd_targets().front()), std::string::npos);
  }
}

}  // namespace
}  // namespace thinpipe
