#include "workloads/capture/progress.h"

#include <algorithm>
#include <cstddef>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(StepProgress, TimeLeft) {
  EXPECT_EQ(format_left(-1), "0:00");
  EXPECT_EQ(format_left(7.4), "0:07");
  EXPECT_EQ(format_left(754), "12:34");
  EXPECT_EQ(format_left(3723), "1:02:03");
}

TEST(StepProgress, LineHoldsBarCountNoteAndTimeLeft) {
  // Half done after 10 s, so 10 s are left.
  const std::string line = StepProgress::line("capture toy", 50, 100, "loss 1.250", 10);
  EXPECT_EQ(line.substr(0, 13), "capture toy [");
  EXPECT_NE(line.find(" 50% 50/100  loss 1.250  0:10 left"), std::string::npos) << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '#'),
            std::count(line.begin(), line.end(), '.') - 1)
      << line;  // the note holds one more dot
}

TEST(StepProgress, LineFitsTheTerminal) {
  for (const std::uint64_t done : {0ULL, 1ULL, 123'456'789ULL, 1'000'000'000ULL}) {
    for (const std::string& note : {std::string(), std::string("loss 1.2"), std::string(90, 'x')}) {
      EXPECT_LE(StepProgress::line("capture charlstm", done, 1'000'000'000, note, 1e6).size(), 79U);
    }
  }
}

// What a stream gets for updates that come at once.
std::string written(bool terminal) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  {
    StepProgress progress("p", 3, stream, terminal);
    for (std::uint64_t done = 1; done <= 3; ++done) progress.update(done, "n");
  }
  std::fclose(stream);
  std::string result(text, size);
  std::free(text);
  return result;
}

TEST(StepProgress, PlainLinesWithoutControlCharactersWhereThereIsNoTerminal) {
  const std::string text = written(false);
  EXPECT_NE(text.find("3/3"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int{c};
}

TEST(StepProgress, RedrawsOneLineOnATerminal) {
  const std::string text = written(true);
  EXPECT_EQ(text.front(), '\r');
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace thinpipe
