#include "harness/machine/gpu.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace thinpipe {
namespace {

// tests/nvml; beside this program.
std::string fake() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fake_nvml.so";
}

TEST(Nvml, TellsWhatTheCardTells) {
  const auto state = ask_nvml("0000:0a:00.0", fake());
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->driver, "580.1");
  EXPECT_EQ(state->sm_hz, 1'980'000'000u);
  EXPECT_EQ(state->memory_hz, std::nullopt);
}

TEST(Nvml, NothingWithoutTheCardOrTheLibrary) {
  EXPECT_EQ(ask_nvml("0000:0b:00.0", fake()), std::nullopt);
  EXPECT_EQ(ask_nvml("0000:0a:00.0", "libthere-is-none.so.1"), std::nullopt);
  EXPECT_EQ(ask_nvml("0000:0a:00.0", "libc.so.6"), std::nullopt);  // without its functions
}

}  // namespace
}  // namespace thinpipe
