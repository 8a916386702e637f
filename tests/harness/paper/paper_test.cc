#include "harness/paper/paper.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "harness/machine/programs.h"
#include "tests/trace/temporary_folder.h"

namespace thinpipe {
namespace {

constexpr const char* kSquare =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"8\" height=\"8\"><rect width=\"8\" "
    "height=\"8\"/></svg>\n";

std::string beginning_of(const std::filesystem::path& file, std::size_t bytes) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  return text.substr(0, bytes);
}

/// PATH without any program while it lives.
class EmptyPath {
 public:
  EmptyPath() : before_(std::getenv("PATH")) { ::setenv("PATH", "/nowhere", 1); }
  ~EmptyPath() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST(Paper, FiguresAreWrittenInTheirFormat) {
  const TemporaryFolder folder;
  write_figure(kSquare, "svg", folder.path(), folder.path() / "a.svg");
  EXPECT_EQ(beginning_of(folder.path() / "a.svg", 4), "<svg");
  if (!find_in_path("rsvg-convert")) GTEST_SKIP() << "no rsvg-convert";
  write_figure(kSquare, "pdf", folder.path(), folder.path() / "a.pdf");
  EXPECT_EQ(beginning_of(folder.path() / "a.pdf", 5), "%PDF-");
  write_figure(kSquare, "png", folder.path(), folder.path() / "a.png");
  EXPECT_EQ(beginning_of(folder.path() / "a.png", 4), "\x89PNG");
  EXPECT_THROW(write_figure("no drawing", "pdf", folder.path(), folder.path() / "b.pdf"), RunError);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "b.pdf"));
}

TEST(Paper, WhatIsMissingIsNamedWithItsPackage) {
  const TemporaryFolder folder;
  const EmptyPath without;
  const auto said = [](auto&& work) -> std::string {
    try {
      work();
    } catch (const RunError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(said([&] {
              write_figure(kSquare, "png", folder.path(), folder.path() / "a.png");
            }).find("Debian: librsvg2-bin"),
            std::string::npos);
  EXPECT_NE(said([&] {
              write_page_pdf("<p>x", folder.path(), folder.path() / "a.pdf");
            }).find("Debian: chromium"),
            std::string::npos);
}

}  // namespace
}  // namespace thinpipe
