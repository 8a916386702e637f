#include "harness/reproduce/perform.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "tests/trace/temporary_folder.h"

namespace thinpipe {
namespace {

using Words = std::vector<std::string>;

TEST(PlacedWords, SayWhereOutputGoesAsTheVerbWantsIt) {
  EXPECT_EQ(placed_words({"run", "--ranks", "2"}, "a/b"),
            (Words{"run", "--ranks", "2", "--out", "a/b", "--resume"}));
  EXPECT_EQ(placed_words({"bench"}, "a/b"), (Words{"bench", "--out", "a/b"}));
  EXPECT_EQ(placed_words({"capture"}, "a/b"), (Words{"capture", "--out", "a/b/trace"}));
  EXPECT_EQ(placed_words({"predict"}, "a/b"), (Words{"predict", "--json"}));
}

TEST(RefuseOtherCommand, TellsAQuickTryFromTheWhole) {
  const TemporaryFolder folder;
  std::ofstream(folder / "command") << "thinpipe train --steps 600\n";
  EXPECT_NO_THROW(refuse_other_command(folder.path(), {"train", "--steps", "600"}));
  EXPECT_NO_THROW(refuse_other_command(folder / "new", {"train", "--steps", "600"}));
  EXPECT_THROW(refuse_other_command(folder.path(), {"train", "--steps", "60"}), InputError);
}

}  // namespace

}  // namespace thinpipe
