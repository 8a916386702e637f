// Files of frames and of states, and the checks that find damage in them.
#include "compressors/wire/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "compressors/kernels/random.h"
#include "compressors/wire/checks.h"
#include "compressors/wire/states.h"
#include "tests/base/support.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_in(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

const Bytes kPayload = bytes_in("payload");

Frame sample(std::uint32_t index = 0, std::uint32_t count = 1) {
  return {.spec = "topk:ratio=0.01",
          .tensor = {.name = "conv1.weight", .shape = {2, 3}, .elements = 6},
          .seed = 77,
          .step = 1234567890123,
          .index = index,
          .count = count,
          .payload = kPayload};
}

Bytes written(const Frame& frame) {
  Bytes bytes;
  append_frame(frame, bytes);
  return bytes;
}

/// Reads all frames of a file. @returns the error, or "".
std::string frame_error(std::span<const std::byte> file) {
  // A copy of exactly this size lets a sanitizer see any read past its end.
  const Bytes exact(file.begin(), file.end());
  return error_text<PayloadError>([&] {
    FrameReader reader(exact);
    while (!reader.done()) reader.next();
    reader.expect_end();
  });
}

/// Calls check(bit, copy) for every bit of a file, with a copy in which that bit is flipped.
template <class Check>
void for_each_flip(const Bytes& file, Check check) {
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    Bytes damaged = file;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    SCOPED_TRACE(bit);
    check(bit, damaged);
  }
}

void expect_same(const Frame& a, const Frame& b) {
  EXPECT_EQ(a.spec, b.spec);
  EXPECT_EQ(a.tensor.name, b.tensor.name);
  EXPECT_EQ(a.tensor.shape, b.tensor.shape);
  EXPECT_EQ(a.tensor.elements, b.tensor.elements);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.held, b.held);
  EXPECT_EQ(a.checksum, b.checksum);
  EXPECT_EQ(Bytes(a.payload.begin(), a.payload.end()), Bytes(b.payload.begin(), b.payload.end()));
}

TEST(Frame, TheBytesAreThoseOfTheDocument) {
  // docs/wire-format.md, section 4.
  Frame frame = sample();
  frame.spec = "none";
  frame.tensor = {.name = "b", .shape = {1}, .elements = 1};
  frame.seed = 1;
  frame.step = 2;
  const Bytes payload(4, std::byte{0});
  frame.payload = payload;
  Bytes expected =
      bytes_in(std::string("TPPF"
                           "\x01\x00\x01\x00"
                           "\x00\x00\x00\x00\x01\x00\x00\x00"
                           "\x01\x00\x00\x00\x00\x00\x00\x00"
                           "\x02\x00\x00\x00\x00\x00\x00\x00"
                           "\x01\x00\x00\x00\x00\x00\x00\x00"
                           "\x04\x00\x00\x00\x00\x00\x00\x00"
                           "\x04\x00\x01\x00\x01\x00"
                           "noneb"
                           "\x01\x00\x00\x00\x00\x00\x00\x00",
                           67));
  const auto append_crc = [&](std::uint32_t crc) {
    for (int i = 0; i < 4; ++i) expected.push_back(static_cast<std::byte>(crc >> (8 * i) & 0xff));
  };
  append_crc(crc32c(expected));
  expected.insert(expected.end(), payload.begin(), payload.end());
  append_crc(0x48674bc7);  // CRC-32C of four zero bytes
  EXPECT_EQ(written(frame), expected);
}

TEST(Frame, RoundTrip) {
  Frame scalar = sample(0, 3);
  scalar.tensor = {.name = "", .shape = {}, .elements = 1};
  scalar.checksum = false;
  Frame empty = sample(1, 3);
  empty.tensor = {.name = "\xc3\xbc", .shape = {0, std::int64_t{1} << 40}, .elements = 0};
  empty.payload = {};
  Frame held = sample(2, 3);
  held.held = true;
  held.checksum = false;
  held.payload = {};
  Bytes file;
  for (const Frame& frame : {scalar, empty, held}) append_frame(frame, file);
  std::vector<Frame> frames;
  FrameReader reader(file);
  while (!reader.done()) frames.push_back(reader.next());
  EXPECT_NO_THROW(reader.expect_end());
  ASSERT_EQ(frames.size(), 3U);
  expect_same(frames[0], scalar);
  expect_same(frames[1], empty);
  expect_same(frames[2], held);
}

TEST(Frame, AnotherProcessDecodesEveryMethodFromTheFrameAlone) {
  for (const std::string& spec : testing::all_specs()) {
    SCOPED_TRACE(spec);
    const auto compressor = testing::make(spec, 1003);
    const auto encoded = testing::encode(*compressor, testing::heavy(1003, 1));
    const MethodInfo& method = find_method(parse_spec(spec).name);
    const Bytes file = written({.spec = Parameters(method.parameters, parse_spec(spec)).text(),
                                .tensor = {"layer.weight", testing::matrix_shape(1003), 1003},
                                .payload = encoded.payload});
    FrameReader reader(file);
    const Frame frame = reader.next();
    const auto other = make_compressor(parse_spec(frame.spec), frame.tensor, {.seed = frame.seed});
    EXPECT_EQ(testing::bits(testing::decode(*other, frame.payload)),
              testing::bits(testing::decode(*compressor, encoded.payload)));
  }
}

TEST(Frame, EveryTruncationAndExtensionIsRefused) {
  Bytes file;
  for (std::uint32_t i = 0; i < 3; ++i) append_frame(sample(i, 3), file);
  EXPECT_EQ(frame_error(file), "");
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(frame_error(std::span(file).first(size)), "") << size;
  }
  file.push_back(std::byte{0});
  EXPECT_NE(frame_error(file).find("the last frame ends at byte "), std::string::npos);
}

TEST(Frame, EveryFlippedBitIsFound) {
  for_each_flip(written(sample()),
                [](std::size_t, const Bytes& damaged) { EXPECT_NE(frame_error(damaged), ""); });
}

TEST(Frame, WithoutChecksumAFlippedBitOfThePayloadIsThePayloads) {
  Frame frame = sample();
  frame.checksum = false;
  const Bytes file = written(frame);
  const std::size_t header = file.size() - kPayload.size();
  for_each_flip(file, [&](std::size_t bit, const Bytes& damaged) {
    EXPECT_EQ(frame_error(damaged).empty(), bit / 8 >= header);
  });
}

TEST(Frame, RandomBytesEndInAnError) {
  SplitMix64 random(3);
  const Bytes good = written(sample());
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes(random.below(120));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
    // Half of them with a good beginning of some length, so that later fields are reached too.
    const std::size_t good_bytes = random.below(2) == 0 ? 0 : random.below(bytes.size() + 1);
    std::copy_n(good.begin(), std::min<std::size_t>(good_bytes, 100), bytes.begin());
    EXPECT_NE(frame_error(bytes), "");
  }
}

/// A header changed on purpose, its checksum made right again.
std::string error_after(std::size_t at, std::uint64_t value, std::size_t size) {
  Bytes file = written(sample());
  std::memcpy(file.data() + at, &value, size);
  const std::size_t header = file.size() - 4 - kPayload.size() - 4;
  const std::uint32_t crc = crc32c(std::span(file).first(header));
  std::memcpy(file.data() + header, &crc, sizeof crc);
  return frame_error(file);
}

TEST(Frame, ErrorsNameFieldAndByte) {
  EXPECT_EQ(error_after(0, 0, 4),
            "frame 0: field 'magic' at byte 0: found other bytes, expected the letters TPPF");
  EXPECT_EQ(error_after(4, 2, 2), "frame 0: field 'version' at byte 4: found 2, expected 1");
  EXPECT_EQ(error_after(6, 4, 2), "frame 0: field 'flags' at byte 6: found 4, expected 0 to 3");
  EXPECT_EQ(error_after(6, 3, 2),
            "frame 0: field 'flags' at byte 6: found both flags, expected no checksum without a "
            "payload");
  EXPECT_EQ(error_after(8, 1, 4), "frame 0: field 'frame number' at byte 8: found 1, expected 0");
  EXPECT_EQ(error_after(12, 0, 4),
            "frame 0: field 'number of frames' at byte 12: found 0, expected 1 to 4294967295");
  EXPECT_EQ(
      error_after(32, std::uint64_t{1} << 32, 8),
      "frame 0: field 'element count' at byte 32: found 4294967296, expected 0 to 4294967295");
  EXPECT_EQ(error_after(40, std::uint64_t{1} << 60, 8),
            "frame 0: field 'payload' at byte 101: needs 1152921504606846976 bytes, but the file "
            "ends at byte 112");
  EXPECT_EQ(error_after(48, 0, 2),
            "frame 0: field 'spec length' at byte 48: found 0, expected 1 to 4096");
  EXPECT_EQ(error_after(50, 4097, 2),
            "frame 0: field 'tensor name length' at byte 50: found 4097, expected 0 to 4096");
  EXPECT_EQ(error_after(52, 65, 2),
            "frame 0: field 'number of dimensions' at byte 52: found 65, expected 0 to 64");
  EXPECT_EQ(error_after(54, 0xff, 1),
            "frame 0: field 'spec' at byte 54: found bytes that are not UTF-8");
  EXPECT_EQ(error_after(81, std::uint64_t{1} << 63, 8),
            "frame 0: field 'tensor shape' at byte 81: found 9223372036854775808, expected 0 to "
            "9223372036854775807");
  EXPECT_EQ(error_after(81, std::uint64_t{1} << 62, 8),
            "frame 0: field 'tensor shape' at byte 89: found 4294967296 elements, expected 6, "
            "the element count");
}

TEST(Frame, TheWriterRefusesWhatNoReaderTakes) {
  const auto refused = [](auto change) {
    Frame frame = sample();
    change(frame);
    Bytes out;
    EXPECT_THROW(append_frame(frame, out), InputError);
    EXPECT_TRUE(out.empty());
  };
  refused([](Frame& f) { f.spec = ""; });
  refused([](Frame& f) { f.spec = std::string(kMaxFrameText + 1, 'a'); });
  refused([](Frame& f) { f.tensor.name = std::string(kMaxFrameText + 1, 'a'); });
  refused([](Frame& f) { f.tensor.name = "\xff"; });
  refused([](Frame& f) { f.tensor.shape = {-2, -3}; });
  refused([](Frame& f) { f.tensor.elements = 7; });
  refused([](Frame& f) {
    f.tensor.shape.assign(kMaxFrameDimensions + 1, 1);
    f.tensor.elements = 1;
  });
}

// CRC-32C and UTF-8 against their standards.

/// One bit after the other, as the polynomial is divided by hand.
std::uint32_t plain_crc32c(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

TEST(Crc32c, IsTheStandards) {
  // RFC 3720, appendix B.4, and the check value of the CRC catalogues.
  EXPECT_EQ(crc32c(bytes_in("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43U);
  std::vector<std::byte> up(32);
  for (std::size_t i = 0; i < up.size(); ++i) up[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc32c(up), 0x46dd794eU);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, IsTheSameByBitsAndInParts) {
  std::vector<std::byte> bytes(100);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i * 7);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto all = std::span<const std::byte>(bytes).first(size);
    ASSERT_EQ(crc32c(all), plain_crc32c(all)) << size;
    for (std::size_t cut = 0; cut <= size; cut += 3) {
      ASSERT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), plain_crc32c(all));
    }
  }
}

TEST(Utf8, TakesWhatTheStandardTakes) {
  for (const char* text :
       {"", "conv1.weight", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xcc\x82z"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  EXPECT_TRUE(is_utf8(std::string("\0", 1)));
}

TEST(Utf8, RefusesEverythingElse) {
  for (const char* text : {"\x80", "\xbf", "\xc2", "\xc2z", "\xe0\xa0", "\xf0\x90\x80",  // cut off
                           "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",   // overlong
                           "\xed\xa0\x80", "\xed\xbf\xbf",  // surrogates
                           "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff", "\xfe"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

const Bytes kFirst = {std::byte{1}, std::byte{2}, std::byte{3}};
const Bytes kSecond;

Bytes sample_states() {
  return write_states({.seed = 9, .next_step = 5, .states = {kFirst, kSecond}});
}

std::string states_error(std::span<const std::byte> file) {
  const Bytes exact(file.begin(), file.end());
  return input_error([&] { read_states(exact); });
}

TEST(States, RoundTrip) {
  const Bytes file = sample_states();
  EXPECT_EQ(file.size(), 4U + 4 + 4 + 8 + 8 + (8 + 3) + (8 + 0) + 4);
  const StateBundle bundle = read_states(file);
  EXPECT_EQ(bundle.seed, 9U);
  EXPECT_EQ(bundle.next_step, 5U);
  ASSERT_EQ(bundle.states.size(), 2U);
  EXPECT_TRUE(std::ranges::equal(bundle.states[0], kFirst));
  EXPECT_TRUE(bundle.states[1].empty());
}

TEST(States, DamageIsFound) {
  const Bytes file = sample_states();
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(states_error(std::span(file).first(size)), "") << size;
  }
  for_each_flip(file,
                [](std::size_t, const Bytes& damaged) { EXPECT_NE(states_error(damaged), ""); });
  Bytes longer = file;
  longer.push_back(std::byte{0});
  EXPECT_NE(states_error(longer), "");
}

TEST(States, LengthsThatLieAreRefusedThoughTheChecksumHolds) {
  const Bytes file = sample_states();
  const auto with = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    Bytes changed = file;
    std::memcpy(changed.data() + at, &value, size);
    const std::uint32_t crc = crc32c(std::span(changed).first(changed.size() - 4));
    std::memcpy(changed.data() + changed.size() - 4, &crc, sizeof crc);
    return states_error(changed);
  };
  for (const std::uint64_t count : {0ULL, 1ULL, 3ULL, 0xffffffffULL}) {
    EXPECT_NE(with(8, count, 4), "") << count;
  }
  for (const std::uint64_t length : {0ULL, 2ULL, 4ULL, 11ULL, 15ULL, 1ULL << 63, ~0ULL}) {
    EXPECT_NE(with(28, length, 8), "") << length;
  }
}

}  // namespace

}  // namespace thinpipe
