// Files of tensors, and files of frames against the compressors themselves.
#include "harness/files/compress_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "compressors/wire/frame.h"
#include "harness/files/tensor_file.h"
#include "tests/base/support.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"
#include "tests/harness/files/files.h"

namespace thinpipe {
namespace {

using testing::bits;
using testing::step_tensors;
using testing::Tensors;

/// Input and output files of one test, and their use.
struct Files {
  TemporaryFolder folder;
  CompressOptions options;

  explicit Files(const std::string& spec, bool with_state = false) {
    options.compressor = parse_spec(spec);
    options.in = folder / "in";
    options.out = folder / "out";
    if (with_state) options.state = folder / "state";
  }
  CompressOutcome compress(const Tensors& tensors) {
    testing::write_tensors(options.in, tensors);
    return compress_file(options);
  }
  DecompressOutcome decompress() {
    return decompress_file({.in = options.out, .out = folder / "decoded"});
  }
  std::vector<float> decoded(const std::string& name) {
    for (const auto& [found, values] : testing::read_tensors(folder / "decoded")) {
      if (found == name) return values;
    }
    ADD_FAILURE() << "no tensor " << name;
    return {};
  }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(
        std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()));
  }
};

TEST(CompressFile, DecompressedIsWhatADecodeGives) {
  for (const std::string& spec : testing::all_specs()) {
    SCOPED_TRACE(spec);
    if (find_method(parse_spec(spec).name).needs_squares) continue;
    Files files(spec, true);
    const Tensors tensors = step_tensors(0);
    const auto outcome = files.compress(tensors);
    if (outcome.held) continue;  // delayed methods: see below
    const auto decompressed = files.decompress();
    ASSERT_EQ(outcome.tensors.size(), tensors.size());
    for (const CompressedTensor& tensor : outcome.tensors) {
      const auto input = std::find_if(tensors.begin(), tensors.end(), [&](const auto& item) {
        return item.first == tensor.info.name;
      });
      ASSERT_NE(input, tensors.end());
      const auto compressor = make_compressor(parse_spec(spec), tensor.info, {});
      const auto encoded = testing::encode(*compressor, input->second);
      EXPECT_EQ(bits(files.decoded(input->first)),
                bits(testing::decode(*compressor, encoded.payload)));
      EXPECT_EQ(tensor.report.encoded_bytes, encoded.payload.size());
      EXPECT_EQ(tensor.report.selected_elements, encoded.report.selected_elements);
    }
    EXPECT_EQ(decompressed.tensors[0].compressor, outcome.compressor);
    EXPECT_EQ(decompressed.file_bytes, outcome.file_bytes);
    EXPECT_EQ(outcome.file_bytes, std::filesystem::file_size(files.options.out));
  }
}

TEST(CompressFile, TheStateFileCarriesOverWhatOneProcessWouldCarry) {
  for (const std::string& spec : testing::all_specs()) {
    SCOPED_TRACE(spec);
    if (find_method(parse_spec(spec).name).needs_squares) continue;
    Files files(spec, true);
    const auto compressor = make_compressor(parse_spec(spec), {"w2", {3000}, 3000}, {});
    for (std::uint64_t step = 0; step < 4; ++step) {
      const auto gradient = step_tensors(step)[0].second;
      const auto outcome = files.compress(step_tensors(step));
      files.decompress();
      EXPECT_EQ(outcome.step, step);
      EXPECT_EQ(outcome.resumed, step > 0);
      std::vector<float> expected(gradient.size());
      if (outcome.held) {
        compressor->hold({.values = gradient, .squares = {}, .step = step});
      } else {
        expected =
            testing::decode(*compressor, testing::encode(*compressor, gradient, step).payload);
      }
      ASSERT_EQ(bits(files.decoded("w2")), bits(expected)) << step;
    }
  }
}

TEST(CompressFile, AStateOfSomethingElseIsRefusedAndNothingChanges) {
  Files files("topk:ratio=0.1", true);
  files.compress(step_tensors(0));
  const std::string state = read_bytes(files.options.state);
  const std::string out = read_bytes(files.options.out);
  const auto refused = [&](auto change, const std::string& message) {
    CompressOptions options = files.options;
    change(options);
    EXPECT_NE(input_error([&] { compress_file(options); }).find(message), std::string::npos)
        << input_error([&] { compress_file(options); });
    EXPECT_EQ(read_bytes(files.options.state), state);
    EXPECT_EQ(read_bytes(files.options.out), out);
    EXPECT_EQ(files.count(), 3U);  // in, out and state: nothing half-written
  };
  refused([](CompressOptions& o) { o.compressor = parse_spec("topk:ratio=0.2"); },
          "state: tensor 'w2': compressor state has spec");
  refused([](CompressOptions& o) { o.seed = 2; }, "state: seed: found 1, expected 2");
  testing::write_tensors(files.options.in, {{"w2", {1, 2, 3}}});
  refused([](CompressOptions&) {}, "state: number of states: found 4, expected 1");
  auto other = step_tensors(1);
  other[1].first = "w3";
  testing::write_tensors(files.options.in, other);
  refused([](CompressOptions&) {}, "compressor state has tensor 'w1'; expected 'w3'");
}

TEST(CompressFile, ValuesThatAreNotFiniteAreRefusedOrZero) {
  Files files("topk:ratio=1");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensors tensors = {{"w", {1, nan, 3}}};
  EXPECT_NE(input_error([&] { files.compress(tensors); }).find("in: tensor 'w': element 1 is nan"),
            std::string::npos);
  EXPECT_EQ(files.count(), 1U);
  files.options.bad_values = BadValues::kZero;
  files.compress(tensors);
  files.decompress();
  EXPECT_EQ(files.decoded("w"), (std::vector<float>{1, 0, 3}));
}

TEST(CompressFile, APeriodNeedsAState) {
  Files files("sbc:delay=10");
  EXPECT_NE(input_error([&] { files.compress(step_tensors(0)); }).find("--state"),
            std::string::npos);
}

TEST(DecompressFile, NoDamageGetsThrough) {
  Files files("topk:ratio=0.5");
  files.compress({{"a", testing::bell(8, 1)}, {"b", testing::bell(3, 2)}});
  const std::string good = read_bytes(files.options.out);
  const auto damaged = [&](const std::string& bytes) {
    write_bytes(files.options.out, bytes);
    EXPECT_NE(input_error([&] { files.decompress(); }), "");
    EXPECT_FALSE(std::filesystem::exists(files.folder / "decoded"));
  };
  for (std::size_t size = 0; size < good.size(); size += 3) damaged(good.substr(0, size));
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    damaged(bytes);
  }
  damaged(good + '\0');
  EXPECT_EQ(files.count(), 2U);
}

/// A file of one frame around any payload.
std::string error_of_frame(const Frame& frame, std::uint64_t max_elements = 1000) {
  const TemporaryFolder folder;
  std::vector<std::byte> bytes;
  append_frame(frame, bytes);
  write_bytes(folder / "p", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return input_error([&] {
    decompress_file({.in = folder / "p", .out = folder / "x", .max_elements = max_elements});
  });
}

TEST(DecompressFile, ErrorsNameFileFrameAndField) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const TensorInfo tensor{.name = "w", .shape = {8}, .elements = 8};
  has(error_of_frame({.spec = "nosuch", .tensor = tensor}),
      "p: frame 0 at byte 0 (tensor 'w'): unknown compressor 'nosuch'");
  has(error_of_frame({.spec = "topk:ratio=7", .tensor = tensor}), "ratio=7 is not allowed");
  has(error_of_frame({.spec = "none", .tensor = tensor}), "frame 0 at byte 0 (tensor 'w'): ");
  has(error_of_frame({.spec = "none", .tensor = tensor}, 7),
      "found 8 elements so far, expected at most 7 (--max-elements)");
  has(error_of_frame({.spec = "none", .tensor = {"__metadata__", {0}, 0}}), "the name is reserved");
  const std::vector<std::byte> twelve(12);
  has(error_of_frame({.spec = "none", .tensor = tensor, .payload = twelve}), "payload");
}

TEST(TensorFile, RoundTripKeepsTheOrderInTheFile) {
  const TemporaryFolder folder;
  const auto tensors = testing::step_tensors(0);
  testing::write_tensors(folder / "x", tensors);
  // An empty tensor lies at the next one's beginning; the two may be in either order.
  auto found = testing::read_tensors(folder / "x");
  ASSERT_EQ(found.size(), tensors.size());
  EXPECT_EQ(found[0], tensors[0]);
  EXPECT_EQ(found[1], tensors[1]);
  if (found[2].first != "empty") std::swap(found[2], found[3]);
  EXPECT_EQ(found, tensors);
}

TEST(TensorFile, UnalignedTensorsAreCopied) {
  const TemporaryFolder folder;
  // A header of 1 mod 4 bytes: the two floats begin at an odd offset.
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
