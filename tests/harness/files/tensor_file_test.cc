#include "harness/files/tensor_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "tests/base/input_error.h"
#include "tests/harness/files/files.h"
#include "tests/trace/temporary_folder.h"
#include "tests/trace/trace_files.h"

namespace thinpipe {
namespace {

TEST(TensorFile, RoundTripKeepsTheOrderInTheFile) {
  const TemporaryFolder folder;
  const auto tensors = testing::step_tensors(0);
  testing::write_tensors(folder / "x", tensors);
  // An empty tensor lies where the next one begins; they may change places.
  auto found = testing::read_tensors(folder / "x");
  ASSERT_EQ(found.size(), tensors.size());
  EXPECT_EQ(found[0], tensors[0]);
  EXPECT_EQ(found[1], tensors[1]);
  if (found[2].first != "empty") std::swap(found[2], found[3]);
  EXPECT_EQ(found, tensors);
}

TEST(TensorFile, UnalignedTensorsAreCopied) {
  const TemporaryFolder folder;
  // A header of 1 mod 4 bytes: the two floats begin at an odd place.
  std::string header = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  while (header.size() % 4 != 1) header += ' ';
  std::string file = safetensors_bytes(header, 8);
  const float values[] = {1.5F, -2.25F};
  std::memcpy(file.data() + file.size() - 8, values, 8);
  write_bytes(folder / "x", file);
  EXPECT_EQ(testing::read_tensors(folder / "x"), (testing::Tensors{{"x", {1.5F, -2.25F}}}));
}

TEST(TensorFile, SecondMomentsBelongToTheirTensor) {
  const TemporaryFolder folder;
  testing::write_tensors(folder / "x",
                         {{"w", {1, 2}}, {"q:w", {3, 4}}, {"v", {5}}, {"q:v", {6, 7}}});
  const TensorFile file(folder / "x");
  ASSERT_EQ(file.tensors().size(), 3U);
  EXPECT_EQ(file.tensors()[0].info.name, "w");
  EXPECT_EQ(file.tensors()[0].squares[1], 4.0F);
  EXPECT_TRUE(file.tensors()[1].squares.empty());  // of another shape: a tensor of its own
  EXPECT_EQ(file.tensors()[2].info.name, "q:v");
}

TEST(TensorFile, RefusesWhatIsNoGradient) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& header, std::size_t bytes) {
    write_bytes(folder / "x", safetensors_bytes(header, bytes));
    return input_error([&] { const TensorFile file(folder / "x"); });
  };
  EXPECT_NE(error(R"({"x":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", 4)
                .find("x: tensor 'x': dtype BF16, expected F32"),
            std::string::npos);
  EXPECT_NE(error("{}", 0).find("holds no tensors"), std::string::npos);
  EXPECT_NE(input_error([&] { const TensorFile file(folder / "none"); }), "");
}

}  // namespace
}  // namespace thinpipe
