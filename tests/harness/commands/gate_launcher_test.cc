#include "harness/commands/gate_launcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "reports/record/writer.h"
#include "tests/reports/sample.h"
#include "tests/trace/temporary_folder.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

/// A program that leaves records without measuring: of a point that is invalid in its first
/// launches, then of a good one.
class MadeUpProgram {
 public:
  MadeUpProgram(const fs::path& folder, const std::string& name, int disturbed)
      : file_(folder / name), counted_(folder / (name + ".count")) {
    for (const Status status : {Status::kInvalid, Status::kOk}) {
      RecordWriter writer(folder / (name + std::string(status_name(status))),
                          RecordWriter::Mode::kCreate);
      writer.append(sample::header());
      Point point = sample::point("topk", 1e8, 0, {0.1, 0.2});
      point.status = status;
      if (status == Status::kInvalid) point.reasons = {"idle"};
      writer.append(point);
    }
    std::ofstream(file_) << "#!/bin/sh\nfor out; do :; done\necho >> " << counted_.string()
                         << "\nkind=invalid\n[ $(wc -l < " << counted_.string() << ") -gt "
                         << disturbed << " ] && kind=ok\ncp -r " << file_.string()
                         << "$kind \"$out\"\n";
    fs::permissions(file_, fs::perms::owner_all);
  }

  const fs::path& file() const { return file_; }
  long launches() const {
    std::ifstream stream(counted_);
    return std::count(std::istreambuf_iterator<char>(stream), {}, '\n');
  }

 private:
  fs::path file_, counted_;
};

TEST(Undisturbed, ALaunchIsTakenAgainWhileThereAreRetakes) {
  const TemporaryFolder folder;
  const MadeUpProgram program(folder.path(), "program", 2);
  Launcher launcher({"run"}, folder.path());
  Undisturbed undisturbed(launcher, 3);
  EXPECT_TRUE(undisturbed.launch(program.file()).not_good.empty());
  EXPECT_EQ(program.launches(), 3);
  const MadeUpProgram worse(folder.path(), "worse", 2);
  EXPECT_FALSE(undisturbed.launch(worse.file()).not_good.empty());  // one retake was left
  EXPECT_EQ(worse.launches(), 2);
}

TEST(Undisturbed, APairIsTakenAgainAsAWhole) {
  const TemporaryFolder folder;
  const MadeUpProgram older(folder.path(), "older", 1), newer(folder.path(), "newer", 0);
  Launcher launcher({"run"}, folder.path());
  Undisturbed undisturbed(launcher, 5);
  std::mt19937_64 coin(1);
  for (const long launches : {2, 3}) {
    const auto [one, other] = undisturbed.pair(older.file(), newer.file(), false, coin);
    EXPECT_TRUE(one.not_good.empty());
    EXPECT_TRUE(other.not_good.empty());
    EXPECT_EQ(older.launches(), launches);
    EXPECT_EQ(newer.launches(), launches);
  }
}

}  // namespace
}  // namespace thinpipe
