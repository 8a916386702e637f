// Bounded, seeded mutation of a trace's files: it opens, or it is an InputError; never a crash.
#include <random>

#include <gtest/gtest.h>

#include "tests/trace/sample_trace.h"
#include "tests/trace/temporary_folder.h"
#include "tests/trace/touch.h"
#include "tests/trace/trace_files.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

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
    EXPECT_NE(std::string(error.what()), "");
    return false;
  }
}

class Mutation : public ::testing::Test {
 protected:
  Mutation() {
    write_sample_trace(folder_,
                         {.shapes = {{3, 2}, {5}}, .ranks = 2, .steps = 2, .squares = true});
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
        // Keep trace.json in step, or its `bytes` would refuse the file before it is read.
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
