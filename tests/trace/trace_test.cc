#include "workloads/trace/trace.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/base/support.h"
#include "tests/trace/sample_trace.h"
#include "tests/trace/trace_tools.h"
#include "workloads/trace/mapped_file.h"

namespace thinpipe {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const std::string kFirstFile = "rank-000/step-00000000.safetensors";

class TraceTest : public ::testing::Test {
 protected:
  TraceTest() { write_sample_trace(folder(), {.shapes = {{3, 4}, {5}}, .ranks = 2, .steps = 2}); }
  fs::path folder() const { return temporary_ / "trace"; }
  void edit(const std::function<void(json&)>& change) const { edit_trace_json(folder(), change); }
  std::string open_error() const {
    return input_error([this] { Trace trace(folder()); });
  }
  /// Replaces a step file and updates its size in trace.json.
  void replace_file(const std::string& bytes) const {
    write_bytes(folder() / kFirstFile, bytes);
    edit([&](json& root) { root["steps"][0]["workers"][0]["bytes"] = bytes.size(); });
  }

 private:
  TemporaryFolder temporary_;
};

TEST_F(TraceTest, TellsWhatWasWritten) {
  const Trace trace(folder());
  EXPECT_EQ(trace.model(), "synthetic");
  EXPECT_EQ(trace.ranks(), 2U);
  EXPECT_EQ(trace.steps(), 2U);
  EXPECT_EQ(trace.elements(), 17U);  // 3 * 4 + 5
  ASSERT_EQ(trace.tensors().size(), 2U);
  EXPECT_EQ(trace.tensors()[0].name, "tensor-0");
  EXPECT_EQ(trace.tensors()[0].shape, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(trace.tensors()[0].ready_order, 1U);
  EXPECT_EQ(trace.tensors()[1].ready_order, 0U);
  EXPECT_EQ(trace.training_step(1), 1U);
  EXPECT_EQ(trace.gradient(1, 1, 0).size(), 12U);
  EXPECT_TRUE(trace.squares(0, 0, 0).empty());
  EXPECT_EQ(trace.metadata()["origin"], "synthetic");
  EXPECT_NO_THROW(trace.verify());
}

TEST_F(TraceTest, IdentityIsTheHashOfTraceJson) {
  const std::string text = read_bytes(folder() / "trace.json");
  EXPECT_EQ(Trace(folder()).identity(), "sha256:" + sha256_hex(bytes_of(text)));
}

TEST_F(TraceTest, VerifyFindsOneFlippedBit) {
  std::string bytes = read_bytes(folder() / kFirstFile);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(folder() / kFirstFile, bytes);
  const Trace trace(folder());
  EXPECT_THAT(input_error([&] { trace.verify(); }),
              AllOf(HasSubstr(kFirstFile), HasSubstr("sha256")));
}

TEST_F(TraceTest, NonFiniteGradientsPass) {
  std::string bytes = read_bytes(folder() / kFirstFile);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data() + bytes.size() - sizeof nan, &nan, sizeof nan);
  write_bytes(folder() / kFirstFile, bytes);
  EXPECT_TRUE(std::isnan(Trace(folder()).gradient(0, 0, 1)[4]));
}

// tests/trace/broken has the messages of folders in which something is broken.
TEST_F(TraceTest, MissingFolder) {
  EXPECT_THAT(input_error([] { Trace trace("/nonexistent/trace"); }), HasSubstr("no such folder"));
}

TEST_F(TraceTest, FifoInPlaceOfAStepFileDoesNotBlock) {
  fs::remove(folder() / kFirstFile);
  ASSERT_EQ(mkfifo((folder() / kFirstFile).c_str(), 0600), 0);
  EXPECT_THAT(open_error(), HasSubstr("not a regular file"));
}

TEST_F(TraceTest, GradientsOf16BitsAreWidenedAndSecondMomentsBesideThemAreNot) {
  // The second moments q come first, then 12 and 5 gradient values of 2 bytes. 0x3F3F is
  // 1.8115234375 in binary16 and 0.74609375 in bfloat16; 0x3F3F3F3F is 0.747059... in binary32.
  const std::string half = R"("q:tensor-0":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]},)"
                           R"("q:tensor-1":{"dtype":"F32","shape":[5],"data_offsets":[48,68]},)"
                           R"("tensor-0":{"dtype":"TYPE","shape":[3,4],"data_offsets":[68,92]},)"
                           R"("tensor-1":{"dtype":"TYPE","shape":[5],"data_offsets":[92,102]})";
  for (const auto& [type, value] :
       {std::pair("F16", 1.8115234375F), std::pair("BF16", 0.74609375F)}) {
    std::string header = "{" + half + "}";
    for (std::size_t at; (at = header.find("TYPE")) != std::string::npos;)
      header.replace(at, 4, type);
    while (header.size() % 4 != 0) header += ' ';
    replace_file(safetensors_bytes(header, 102));
    edit([&, &name = type](json& root) {
      const json worker = root["steps"][0]["workers"][0];
      root["ranks"] = 1;
      root["dtype"] = name;
      root["squares"] = true;
      root["steps"] = {{{"training_step", 0}, {"workers", {worker}}}};
    });
    const Trace trace(folder());
    EXPECT_STREQ(gradient_type_name(trace.gradient_type()), type);
    ASSERT_EQ(trace.gradient(0, 0, 0).size(), 12U);
    EXPECT_EQ(trace.gradient(0, 0, 0)[11], value);
    ASSERT_EQ(trace.gradient(0, 0, 1).size(), 5U);
    EXPECT_EQ(trace.gradient(0, 0, 1)[4], value);
    EXPECT_EQ(trace.squares(0, 0, 1)[4], std::bit_cast<float>(0x3F3F3F3FU));
  }
  edit([](json& root) { root.erase("dtype"); });
  EXPECT_THAT(open_error(), HasSubstr("found BF16, expected F32"));
}

TEST_F(TraceTest, SecondMomentsOffTheirAlignmentBehind16BitsAreRefused) {
  std::string header = R"({"tensor-0":{"dtype":"BF16","shape":[3,4],"data_offsets":[0,24]},)"
                       R"("tensor-1":{"dtype":"BF16","shape":[5],"data_offsets":[24,34]},)"
                       R"("q:tensor-0":{"dtype":"F32","shape":[3,4],"data_offsets":[34,82]},)"
                       R"("q:tensor-1":{"dtype":"F32","shape":[5],"data_offsets":[82,102]}})";
  while (header.size() % 4 != 0) header += ' ';
  replace_file(safetensors_bytes(header, 102));
  edit([](json& root) {
    root["dtype"] = "BF16";
    root["squares"] = true;
  });
  EXPECT_THAT(open_error(), HasSubstr("not aligned to 4"));
}

TEST_F(TraceTest, AnIncompleteTraceOpensAndSaysWhy) {
  EXPECT_TRUE(Trace(folder()).complete());
  EXPECT_FALSE(Trace(folder()).squares_of_micro_batches());
  edit([](json& root) {
    root["complete"] = false;
    root["missing"] = {"rank 1: ended without closing its part"};
    root["squares_of"] = "micro-batches";
  });
  const Trace trace(folder());
  EXPECT_FALSE(trace.complete());
  EXPECT_EQ(trace.missing(), std::vector<std::string>{"rank 1: ended without closing its part"});
  EXPECT_TRUE(trace.squares_of_micro_batches());
  EXPECT_NO_THROW(trace.verify());
}

TEST_F(TraceTest, MisalignedTensorsAreRefused) {
  // A header of 4k + 1 bytes puts the buffer off the alignment of float.
  std::string header = R"({"tensor-0":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]},)"
                       R"("tensor-1":{"dtype":"F32","shape":[5],"data_offsets":[48,68]}})";
  while (header.size() % 4 != 1) header += ' ';
  replace_file(safetensors_bytes(header, 68));
  EXPECT_THAT(open_error(), HasSubstr("not aligned to 4"));
  while (header.size() % 4 != 0) header += ' ';
  replace_file(safetensors_bytes(header, 68));
  EXPECT_EQ(open_error(), "");
}

TEST_F(TraceTest, FileNamesStayInsideTheFolder) {
  for (const char* name : {"../x", "/etc/passwd", "a/../../x", "", "./x", "a//b", "a\\b", "C:x"}) {
    edit([&](json& root) { root["steps"][0]["workers"][0]["file"] = name; });
    EXPECT_THAT(open_error(), HasSubstr("is not a file inside the trace")) << name;
  }
}

TEST_F(TraceTest, EveryMemberIsRequiredAndOfItsType) {
  // The members the format demands, as JSON pointers. Each is removed, then given a wrong type.
  const std::vector<std::string> members = split(
      "/format /version /origin /model /ranks /tensors /tensors/0/name /tensors/0/shape "
      "/tensors/0/ready_order /steps /steps/0/training_step /steps/0/workers "
      "/steps/0/workers/1/file /steps/0/workers/1/bytes /steps/0/workers/1/sha256 "
      "/steps/0/workers/1/forward /steps/0/workers/1/backward /steps/0/workers/1/loss "
      "/steps/0/workers/1/ready",
      ' ');
  const json original = json::parse(read_bytes(folder() / "trace.json"));
  for (const std::string& member : members) {
    const json::json_pointer pointer(member);
    edit([&](json& root) {
      root = original;
      root.at(pointer.parent_pointer()).erase(pointer.back());
    });
    EXPECT_THAT(open_error(), AllOf(HasSubstr(pointer.back()), HasSubstr("missing"))) << member;
    for (const json& wrong : {json(true), json(json::object())}) {
      edit([&](json& root) {
        root = original;
        root.at(pointer) = wrong;
      });
      EXPECT_THAT(open_error(), AllOf(HasSubstr(pointer.back()), HasSubstr("expected"))) << member;
    }
  }
}

// Values that no trace of tests/trace/broken has.
TEST_F(TraceTest, ImpossibleValuesAreRefused) {
  const std::vector<std::pair<std::string, json>> cases = {
      {"/version", 0},
      {"/ranks", -1},
      {"/ranks", 1.5},
      {"/ranks", 1e30},
      {"/squares", true},  // the files have none
      {"/squares", 1},
      {"/squares_of", true},
      {"/values", "parameters"},
      {"/dtype", 16},
      {"/missing", "rank 1"},
      {"/missing", json::array({1})},
      {"/tensors/0/name", "__metadata__"},
      {"/tensors/0/name", "a\nb"},
      {"/tensors/0/shape", json::array({-3, -4})},
      {"/steps/0/workers", json::array()},
      {"/steps/0/workers/0/bytes", 1},
      {"/steps/0/workers/0/sha256", "abc"},
      {"/steps/0/workers/0/ready/0", -0.5},
  };
  const json original = json::parse(read_bytes(folder() / "trace.json"));
  for (const auto& [pointer, value] : cases) {
    edit([&, &at = pointer, &wrong = value](json& root) {
      root = original;
      root[json::json_pointer(at)] = wrong;
    });
    EXPECT_NE(open_error(), "") << pointer << " = " << value;
  }
}

TEST_F(TraceTest, TraceJsonThatIsNoJson) {
  for (const char* text : {"{", "null", "\xff\xfe"}) {
    write_bytes(folder() / "trace.json", text);
    EXPECT_THAT(open_error(), HasSubstr("trace.json")) << text;
  }
  write_bytes(folder() / "trace.json", std::string(100'000, '['));
  EXPECT_THAT(open_error(), HasSubstr("nested deeper"));
}

TEST_F(TraceTest, UnknownMembersAreIgnored) {
  edit([](json& root) {
    root["comment"] = "added by hand";
    root["steps"][0]["workers"][0]["gpu"] = 3;
  });
  EXPECT_EQ(open_error(), "");
}

// Bounded, seeded mutation of a trace's files: it opens, or it is an InputError; never a crash.
using namespace std::string_literals;
using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t bound) { return random() % bound; }

// One to four changes: bits, bytes of JSON's own alphabet, digits, cuts, repeats.
std::string mutate(std::string text, std::size_t region, Random& random) {
  static const std::string kAlphabet = "{}[]\",:-.0123456789eEnulltrue\\/ \0\xff"s;
  for (std::size_t changes = 1 + below(random, 4); changes > 0; --changes) {
    const std::size_t limit = std::min(region, text.size());
    if (limit == 0) return text;
    const std::size_t at = below(random, limit);
    switch (below(random, 6)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << below(random, 8)));
        break;
      case 1:
        text[at] = kAlphabet[below(random, kAlphabet.size())];
        break;
      case 2:
        text.insert(at, 1, kAlphabet[below(random, kAlphabet.size())]);
        break;
      case 3:
        text.erase(at, 1 + below(random, 16));
        break;
      case 4:
        text.insert(at, text.substr(at, 1 + below(random, 64)));
        break;
      default:
        text.insert(at, "99999999999999999999");
    }
  }
  return text;
}

// Opens it and, where that succeeds, touches every value, so that a bad span would be noticed.
bool opens(const std::filesystem::path& folder) {
  try {
    const Trace trace(folder);
    touch_every_value(trace);
    return true;
  } catch (const InputError& error) {
    EXPECT_STRNE(error.what(), "");
    return false;
  }
}

class Mutation : public ::testing::Test {
 protected:
  Mutation() {
    write_sample_trace(folder_, {.shapes = {{3, 2}, {5}}, .ranks = 2, .steps = 2, .squares = true});
  }
  /// @return how many of the mutants were refused
  int run(const std::string& file, std::size_t region, std::uint64_t seed, int mutants) {
    const std::string original = read_bytes(folder_ / file);
    Random random(seed);
    int refused = 0;
    for (int i = 0; i < mutants; ++i) {
      const std::string mutant = mutate(original, region, random);
      write_bytes(folder_ / file, mutant);
      if (file != "trace.json" && mutant.size() != original.size()) {
        // Update the size in trace.json, or its `bytes` would refuse the file before it is read.
        edit_trace_json(folder_, [&](nlohmann::json& root) {
          root["steps"][0]["workers"][0]["bytes"] = mutant.size();
        });
      }
      refused += opens(folder_) ? 0 : 1;
    }
    write_bytes(folder_ / file, original);
    return refused;
  }

 private:
  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_ / "trace";
};

TEST_F(Mutation, OfTraceJson) {
  const int refused = run("trace.json", SIZE_MAX, 1, 3000);
  // Most mutants break the JSON or a checked field; some only change a digit of a time.
  EXPECT_GT(refused, 1500);
  EXPECT_LT(refused, 3000);
}

TEST_F(Mutation, OfASafetensorsHeader) {
  // 8 bytes of length and the header of four tensors, 64 bytes each at least.
  EXPECT_GT(run("rank-000/step-00000000.safetensors", 320, 2, 3000), 1500);
}

TEST_F(Mutation, OfTheHeaderLength) {
  EXPECT_GT(run("rank-000/step-00000000.safetensors", 8, 3, 1000), 500);
}

}  // namespace

}  // namespace thinpipe
