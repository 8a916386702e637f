#include "workloads/trace/mapped_file.h"

#include <string_view>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

std::span<const std::byte> view_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// FIPS 180-2, appendix B.1 and B.2, and the hash of nothing.
TEST(Sha256, MatchesTheStandardsExamples) {
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(view_of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 parts;
  parts.update(view_of("abcdbcdecdefdefgefghfghighijhi"));
  parts.update(view_of("jkijkljklmklmnlmnomnopnopq"));
  EXPECT_EQ(parts.finish(), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

}  // namespace

}  // namespace thinpipe
