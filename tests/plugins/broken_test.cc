// Methods that break the contract (broken_methods.cc): each is caught, with its name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/compressors/support/inputs.h"
#include "tests/plugins/loaded.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using testing::make_loaded;

constexpr std::size_t kElements = 100;

auto names(const std::string& method, const std::string& said) {
  return AllOf(HasSubstr("broken_methods.so', method '" + method + "': "), HasSubstr(said));
}

TEST(Broken, EncodersAreCaught) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"throws", "encode threw an exception: out of ideas"},
      {"throws-anything", "encode threw an exception that is no std::exception"},
      {"writes-after", "encode wrote outside of the 16 bytes of its payload"},
      {"writes-before", "encode wrote outside of the 16 bytes of its payload"},
      {"says-too-much", "encode reported a payload of 17 bytes; max_encoded_size is 16"},
      {"says-nothing", "encode reported a payload of 18446744073709551615 bytes"},
      {"selects-too-many", "encode reported 101 selected"},
      {"fails", "encode failed: too tired"},
      {"fails-silently", "encode failed without a message"},
      {"fails-endlessly", "encode failed: " + std::string(256, 'x')},
      {"invents-a-status", "encode returned -3; expected 0, 1 or 2"},
      {"cannot-decode", "never seen such a payload"},
      {"decode-throws", "decode_add threw an exception: index"},
      {"decodes-too-much", "decode_add wrote outside of the 100 elements of its output"}};
  const auto gradient = testing::heavy(kElements, 1);
  for (const auto& [method, said] : cases) {
    for (const char* memory : {"none", "residual"}) {
      const auto compressor = make_loaded(method + ":memory=" + memory, kElements);
      EXPECT_THAT(error_of<RunError>([&] { testing::encode(*compressor, gradient); }),
                  names(method, said));
    }
  }
}

TEST(Broken, WhatItRefusesToDecodeIsABadPayload) {
  const auto compressor = make_loaded("cannot-decode", kElements);
  std::vector<float> out(kElements);
  const std::vector<std::byte> payload(3);
  EXPECT_THAT(error_of<PayloadError>([&] { compressor->decode_add(payload, 1, out); }),
              names("cannot-decode", "decode_add refused its input: never seen such a payload"));
}

TEST(Broken, ConstructionIsCaught) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"create-throws", "create threw an exception: not today"},
      {"makes-nothing", "create made no instance"},
      {"asks-wrongly", "undeclared parameter 'ratio'"},
      {"asks-for-null", "undeclared parameter ''"},
      {"sums-no-floats", "max_encoded_size returned 16; expected 400"},
      {"wants-everything", "max_encoded_size returned 18446744073709551615; expected at most"},
      {"size-throws", "max_encoded_size threw an exception"}};
  for (const auto& [method, said] : cases)
    EXPECT_THAT(error_of<RunError>([&, name = method] { make_loaded(name, kElements); }),
                names(method, said));
  EXPECT_THAT(error_of<InputError>([] { make_loaded("refuses", kElements); }),
              names("refuses", "create refused its input: matrices only"));
}

TEST(Broken, StatesAreGuardedToo) {
  const auto compressor = make_loaded("saves-too-much", kElements);
  std::vector<std::byte> state;
  EXPECT_THAT(error_of<RunError>([&] { compressor->save_state(state); }),
              names("saves-too-much", "save wrote outside of the 8 bytes of its state"));
}

}  // namespace
}  // namespace thinpipe
