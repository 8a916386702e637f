// Holds the C interface against the C++ interface, for every method, and tries wrong arguments.
#include "compressors/c/thinpipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "compressors/registry.h"
#include "tests/compressors/support/allocations.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe::c_interface {
namespace {

using testing::bits;
using testing::heavy;
using testing::matrix_shape;

constexpr std::size_t kElements = 1200;
const std::vector<std::int64_t> kShape = matrix_shape(kElements);

thinpipe_setup setup_of(const std::vector<std::int64_t>& shape = kShape) {
  return {sizeof(thinpipe_setup), "layer.weight", shape.data(), shape.size(), 1, 0, 1};
}

thinpipe_report empty_report() {
  thinpipe_report report{};
  report.struct_size = sizeof report;
  return report;
}

/// A compressor of the C interface.
struct Handle {
  explicit Handle(const std::string& spec, const thinpipe_setup& setup = setup_of()) {
    EXPECT_EQ(thinpipe_open(spec.c_str(), &setup, &compressor, &error), THINPIPE_OK)
        << spec << ": " << error.message;
    properties.struct_size = sizeof properties;
    EXPECT_EQ(thinpipe_describe(compressor, &properties, &error), THINPIPE_OK) << error.message;
    payload.resize(properties.max_encoded_size);
  }
  ~Handle() { thinpipe_close(compressor); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  int encode(const thinpipe_gradient& gradient) {
    return thinpipe_encode(compressor, &gradient, payload.data(), payload.size(), &report, &error);
  }
  int decode_add(float factor, std::vector<float>& out) {
    return thinpipe_decode_add(compressor, payload.data(), report.encoded_bytes, factor, out.data(),
                               out.size(), &error);
  }
  std::vector<std::byte> encoded() const {
    return {payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(report.encoded_bytes)};
  }
  std::vector<std::byte> state() {
    const void* data = nullptr;
    std::size_t size = 0;
    EXPECT_EQ(thinpipe_save(compressor, &data, &size, &error), THINPIPE_OK) << error.message;
    const auto* const bytes = static_cast<const std::byte*>(data);
    return {bytes, bytes + size};
  }

  thinpipe_error error;
  thinpipe_compressor* compressor = nullptr;
  thinpipe_properties properties;
  thinpipe_report report = empty_report();
  std::vector<std::byte> payload;
};

thinpipe_gradient c_gradient(const std::vector<float>& values, const std::vector<float>& squares,
                             std::uint64_t step) {
  return {.struct_size = sizeof(thinpipe_gradient),
          .values = values.data(),
          .squares = squares.data(),
          .elements = values.size(),
          .step = step,
          .epoch = 0,
          .shared_scale = 0};
}

class EverySpec : public ::testing::TestWithParam<std::string> {};

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

TEST_P(EverySpec, GivesTheBytesOfTheCppInterface) {
  const auto expected = testing::make(GetParam(), kElements);
  Handle handle(GetParam());
  EXPECT_EQ(handle.properties.spec, parameters_of(parse_spec(GetParam())).text());
  EXPECT_EQ(handle.properties.elements, kElements);
  EXPECT_EQ(handle.properties.max_encoded_size, expected->max_encoded_size());
  EXPECT_EQ(handle.properties.period, expected->period());
  EXPECT_EQ(handle.properties.aggregation == THINPIPE_ALL_REDUCE,
            aggregation_of(parse_spec(GetParam())) == Aggregation::kAllReduce);

  for (std::uint64_t step = 0; step < 20; ++step) {
    const std::vector<float> values = heavy(kElements, step);
    const std::vector<float> squares = testing::squares_of(values);
    const thinpipe_gradient gradient = c_gradient(values, squares, step);
    if ((step + 1) % expected->period() != 0) {
      expected->hold({.values = values, .squares = squares, .step = step});
      ASSERT_EQ(thinpipe_hold(handle.compressor, &gradient, &handle.error), THINPIPE_OK)
          << handle.error.message;
      continue;
    }
    const testing::Encoded encoded = testing::encode(*expected, values, step);
    ASSERT_EQ(handle.encode(gradient), THINPIPE_OK) << handle.error.message;
    ASSERT_EQ(handle.encoded(), encoded.payload) << "step " << step;
    EXPECT_EQ(handle.report.target_elements, encoded.report.target_elements);
    EXPECT_EQ(handle.report.selected_elements, encoded.report.selected_elements);
    EXPECT_EQ(handle.report.passes, encoded.report.passes);

    std::vector<float> decoded(kElements, 1.0F);
    std::vector<float> wanted(kElements, 1.0F);
    expected->decode_add(encoded.payload, 0.5F, wanted);
    ASSERT_EQ(handle.decode_add(0.5F, decoded), THINPIPE_OK) << handle.error.message;
    EXPECT_EQ(bits(decoded), bits(wanted));

    double error_squares = -1;
    double input_squares = -1;
    ASSERT_EQ(
        thinpipe_distortion(handle.compressor, &gradient, handle.payload.data(),
                            handle.report.encoded_bytes, &error_squares, &input_squares, nullptr),
        THINPIPE_OK);
    const Distortion distortion =
        expected->distortion({.values = values, .squares = squares}, encoded.payload);
    EXPECT_EQ(error_squares, distortion.error_squares);
    EXPECT_EQ(input_squares, distortion.input_squares);
  }
  const std::vector<std::byte> state = testing::state_of(*expected);
  EXPECT_EQ(handle.state(), state);

  Handle restored(GetParam());
  ASSERT_EQ(thinpipe_load(restored.compressor, state.data(), state.size(), nullptr), THINPIPE_OK);
  EXPECT_EQ(restored.state(), state);
}

TEST_P(EverySpec, AllocatesNothingAfterTheFirstSteps) {
  if (!testing::counts_allocations()) GTEST_SKIP() << "the sanitizer brings its own operator new";
  Handle handle(GetParam());
  std::vector<float> out(kElements);
  const std::vector<float> values = heavy(kElements, 1);
  const std::vector<float> squares = testing::squares_of(values);
  std::size_t before = 0;
  for (std::uint64_t step = 0; step < 3 * handle.properties.period; ++step) {
    if (step == 2 * handle.properties.period) before = testing::allocations_of_thread();
    const thinpipe_gradient gradient = c_gradient(values, squares, step);
    if ((step + 1) % handle.properties.period != 0) {
      thinpipe_hold(handle.compressor, &gradient, &handle.error);
      continue;
    }
    handle.encode(gradient);
    handle.decode_add(1.0F, out);
  }
  EXPECT_EQ(testing::allocations_of_thread() - before, 0U);
}

INSTANTIATE_TEST_SUITE_P(CInterface, EverySpec, ::testing::ValuesIn(testing::all_specs()), name_of);

TEST(CInterface, SlicesEndWhereBlocksDo) {
  thinpipe_error error;
  std::size_t ends[3] = {};
  std::int32_t count = 0;
  ASSERT_EQ(thinpipe_slices("blockint4:block=256", 10000, 3, ends, &count, &error), THINPIPE_OK);
  EXPECT_EQ(std::vector<std::size_t>(ends, ends + count),
            (std::vector<std::size_t>{14 * 256, 27 * 256, 10000}));
  ASSERT_EQ(thinpipe_slices("topk", 100, 3, ends, &count, &error), THINPIPE_OK);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(ends[0], 100U);
  for (const std::int32_t workers : {0, -1}) {
    EXPECT_EQ(thinpipe_slices("topk", 100, workers, ends, &count, &error), THINPIPE_BAD_INPUT);
    EXPECT_STREQ(error.message, workers == 0 ? "workers: found 0, expected at least 1"
                                             : "workers: found -1, expected at least 1");
  }
  EXPECT_EQ(thinpipe_slices("nonesuch", 100, 3, ends, &count, &error), THINPIPE_BAD_INPUT);
  EXPECT_EQ(thinpipe_slices("topk", 100, 3, nullptr, &count, &error), THINPIPE_BAD_INPUT);
}

TEST(CInterface, PowerSgdsRoundsAreThoseOfTheCppInterface) {
  Handle handle("powersgd");
  ASSERT_EQ(handle.properties.rounds, 2);
  const auto expected = testing::make("powersgd", kElements);
  auto& rounds = dynamic_cast<MultiRound&>(*expected);
  const std::vector<float> values = heavy(kElements, 3);
  const thinpipe_gradient gradient = c_gradient(values, {}, 0);

  std::vector<std::byte> wanted(expected->max_encoded_size());
  std::size_t size = rounds.first_round({.values = values, .squares = {}}, wanted).encoded_bytes;
  ASSERT_EQ(thinpipe_first_round(handle.compressor, &gradient, handle.payload.data(),
                                 handle.payload.size(), &handle.report, &handle.error),
            THINPIPE_OK)
      << handle.error.message;
  ASSERT_EQ(handle.report.encoded_bytes, size);
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(std::memcmp(handle.payload.data(), wanted.data(), size), 0) << "round " << round;
    std::vector<float> mean(size / sizeof(float));
    std::memcpy(mean.data(), wanted.data(), size);
    size = rounds.next_round(mean, wanted);
    std::size_t encoded = 0;
    ASSERT_EQ(
        thinpipe_next_round(handle.compressor, mean.data(), mean.size(), handle.payload.data(),
                            handle.payload.size(), &encoded, &handle.error),
        THINPIPE_OK)
        << handle.error.message;
    ASSERT_EQ(encoded, size);
  }
  EXPECT_EQ(std::memcmp(handle.payload.data(), wanted.data(), size), 0);
  size = rounds.own_payload(wanted);
  std::size_t encoded = 0;
  ASSERT_EQ(thinpipe_own_payload(handle.compressor, handle.payload.data(), handle.payload.size(),
                                 &encoded, &handle.error),
            THINPIPE_OK);
  ASSERT_EQ(encoded, size);
  EXPECT_EQ(std::memcmp(handle.payload.data(), wanted.data(), size), 0);
}

TEST(CInterface, SharesTernGradsScale) {
  Handle handle("terngrad");
  ASSERT_EQ(handle.properties.shares_scale, 1);
  const auto expected = testing::make("terngrad", kElements);
  const std::vector<float> values = heavy(kElements, 3);
  thinpipe_gradient gradient = c_gradient(values, {}, 0);
  float scale = 0;
  ASSERT_EQ(thinpipe_prepare(handle.compressor, &gradient, &scale, nullptr), THINPIPE_OK);
  ASSERT_EQ(scale,
            dynamic_cast<SharedScale&>(*expected).prepare({.values = values, .squares = {}}));
  gradient.shared_scale = 2 * scale;
  std::vector<std::byte> wanted(expected->max_encoded_size());
  const EncodeReport report =
      expected->encode({.values = values, .squares = {}, .shared_scale = 2 * scale}, wanted);
  wanted.resize(report.encoded_bytes);
  ASSERT_EQ(handle.encode(gradient), THINPIPE_OK);
  EXPECT_EQ(handle.encoded(), wanted);
}

TEST(CInterface, SeedAndRankDrawTheRandomNumbers) {
  const std::vector<float> values = heavy(kElements, 3);
  thinpipe_setup setup = setup_of();
  setup.seed = 9;
  setup.rank = 5;
  Handle handle("qsgd", setup);
  ASSERT_EQ(handle.encode(c_gradient(values, {}, 0)), THINPIPE_OK);
  const auto expected =
      testing::make_of_shape("qsgd", kShape, {.seed = 9, .rank = 5}, "layer.weight");
  EXPECT_EQ(handle.encoded(), testing::encode(*expected, values).payload);
}

TEST(CInterface, ThreadsMayShareACompressor) {
  Handle handle("topk:ratio=0.1,memory=none");
  const std::vector<float> values = heavy(kElements, 3);
  const thinpipe_gradient gradient = c_gradient(values, {}, 0);
  ASSERT_EQ(handle.encode(gradient), THINPIPE_OK);
  std::vector<float> wanted(kElements, 0.0F);
  ASSERT_EQ(handle.decode_add(1, wanted), THINPIPE_OK);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      std::vector<std::byte> own(handle.payload.size());
      std::vector<float> decoded(kElements);
      thinpipe_report report = empty_report();
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(
            thinpipe_encode(handle.compressor, &gradient, own.data(), own.size(), &report, nullptr),
            THINPIPE_OK);
        std::fill(decoded.begin(), decoded.end(), 0.0F);
        EXPECT_EQ(thinpipe_decode_add(handle.compressor, own.data(), report.encoded_bytes, 1,
                                      decoded.data(), kElements, nullptr),
                  THINPIPE_OK);
        EXPECT_EQ(bits(decoded), bits(wanted));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Wrong arguments: a result, and a message that names the argument.

#define EXPECT_REFUSED(call, result, ...)                                    \
  do {                                                                       \
    thinpipe_error error;                                                    \
    EXPECT_EQ(call, result);                                                 \
    for (const char* word : {__VA_ARGS__})                                   \
      EXPECT_NE(std::strstr(error.message, word), nullptr) << error.message; \
  } while (false)

TEST(CInterface, OpenNamesWhatItRefuses) {
  thinpipe_compressor* opened = nullptr;
  const auto open = [&](const char* spec, const thinpipe_setup& setup, thinpipe_error* error) {
    return thinpipe_open(spec, &setup, &opened, error);
  };
  const thinpipe_setup good = setup_of();
  EXPECT_REFUSED(open("tokp", good, &error), THINPIPE_BAD_INPUT, "tokp", "topk");
  EXPECT_REFUSED(open("topk:ratio=2", good, &error), THINPIPE_BAD_INPUT, "ratio", "(0, 1]");
  EXPECT_REFUSED(open(nullptr, good, &error), THINPIPE_BAD_INPUT, "spec");
  EXPECT_REFUSED(thinpipe_open("topk", nullptr, &opened, &error), THINPIPE_BAD_INPUT, "setup");
  EXPECT_REFUSED(thinpipe_open("topk", &good, nullptr, &error), THINPIPE_BAD_INPUT, "compressor");
  thinpipe_setup setup = good;
  setup.rank = -1;
  EXPECT_REFUSED(open("topk", setup, &error), THINPIPE_BAD_INPUT, "rank", "-1");
  setup = good;
  setup.threads = 0;
  EXPECT_REFUSED(open("topk", setup, &error), THINPIPE_BAD_INPUT, "threads");
  setup = good;
  setup.tensor = nullptr;
  EXPECT_REFUSED(open("topk", setup, &error), THINPIPE_BAD_INPUT, "tensor");
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{-1}, {1LL << 33}, {1LL << 31, 4}, {INT64_MAX, INT64_MAX}}) {
    EXPECT_REFUSED(open("topk", setup_of(shape), &error), THINPIPE_BAD_INPUT, "shape");
  }
  EXPECT_EQ(opened, nullptr);
}

TEST(CInterface, RefusesStructsOfAnotherVersion) {
  Handle handle("topk");
  thinpipe_setup setup = setup_of();
  thinpipe_compressor* opened = nullptr;
  for (const std::size_t size : {std::size_t{0}, sizeof setup - 1, sizeof setup + 8}) {
    setup.struct_size = size;
    EXPECT_REFUSED(thinpipe_open("topk", &setup, &opened, &error), THINPIPE_BAD_INPUT, "setup",
                   "struct_size", "version");
  }
  const std::vector<float> values(kElements);
  thinpipe_gradient gradient = c_gradient(values, {}, 0);
  gradient.struct_size = 4;
  EXPECT_REFUSED(thinpipe_encode(handle.compressor, &gradient, handle.payload.data(),
                                 handle.payload.size(), nullptr, &error),
                 THINPIPE_BAD_INPUT, "gradient", "struct_size");
  handle.properties.struct_size = 1;
  EXPECT_REFUSED(thinpipe_describe(handle.compressor, &handle.properties, &error),
                 THINPIPE_BAD_INPUT, "properties", "struct_size");
  EXPECT_EQ(thinpipe_api(), THINPIPE_API);
}

TEST(CInterface, CallsNameWhatTheyRefuse) {
  Handle handle("topk");
  const std::vector<float> values(kElements);
  const thinpipe_gradient gradient = c_gradient(values, {}, 0);
  thinpipe_gradient other = gradient;
  std::vector<float> out(kElements);
  std::byte* const payload = handle.payload.data();
  const std::size_t capacity = handle.payload.size();
  thinpipe_compressor* const own = handle.compressor;

  EXPECT_REFUSED(thinpipe_encode(nullptr, &gradient, payload, capacity, nullptr, &error),
                 THINPIPE_BAD_INPUT, "compressor");
  EXPECT_REFUSED(thinpipe_encode(own, nullptr, payload, capacity, nullptr, &error),
                 THINPIPE_BAD_INPUT, "gradient");
  EXPECT_REFUSED(thinpipe_encode(own, &gradient, payload, capacity - 1, nullptr, &error),
                 THINPIPE_BAD_INPUT, "capacity");
  EXPECT_REFUSED(thinpipe_encode(own, &gradient, nullptr, capacity, nullptr, &error),
                 THINPIPE_BAD_INPUT, "payload");
  other.elements = 7;
  EXPECT_REFUSED(thinpipe_encode(own, &other, payload, capacity, nullptr, &error),
                 THINPIPE_BAD_INPUT, "elements", "7");
  other = gradient;
  other.values = nullptr;
  EXPECT_REFUSED(thinpipe_encode(own, &other, payload, capacity, nullptr, &error),
                 THINPIPE_BAD_INPUT, "values");
  EXPECT_REFUSED(thinpipe_hold(own, &gradient, &error), THINPIPE_BAD_INPUT, "period");
  EXPECT_REFUSED(thinpipe_decode_add(own, payload, 1, 1, out.data(), 3, &error), THINPIPE_BAD_INPUT,
                 "out");
  EXPECT_REFUSED(thinpipe_decode_add(own, nullptr, 9, 1, out.data(), kElements, &error),
                 THINPIPE_BAD_INPUT, "payload");
  const std::vector<std::byte> junk(5, std::byte{0xff});
  EXPECT_REFUSED(thinpipe_decode_add(own, junk.data(), 5, 1, out.data(), kElements, &error),
                 THINPIPE_BAD_PAYLOAD, "count");
  EXPECT_REFUSED(thinpipe_load(own, junk.data(), 5, &error), THINPIPE_BAD_INPUT, "state");
  float scale = 0;
  std::size_t size = 0;
  EXPECT_REFUSED(thinpipe_prepare(own, &gradient, &scale, &error), THINPIPE_BAD_INPUT,
                 "shares_scale");
  EXPECT_REFUSED(thinpipe_next_round(own, &scale, 1, payload, capacity, &size, &error),
                 THINPIPE_BAD_INPUT, "rounds");
  EXPECT_REFUSED(thinpipe_load_plugin("/nonexistent.so", &error), THINPIPE_BAD_INPUT,
                 "/nonexistent.so");

  Handle variance("variance");
  EXPECT_REFUSED(thinpipe_encode(variance.compressor, &gradient, variance.payload.data(),
                                 variance.payload.size(), nullptr, &error),
                 THINPIPE_BAD_INPUT, "second moments");
  Handle rounds("powersgd");
  EXPECT_REFUSED(thinpipe_next_round(rounds.compressor, &scale, 1, rounds.payload.data(),
                                     rounds.payload.size(), &size, &error),
                 THINPIPE_BAD_INPUT, "next_round");
}

TEST(CInterface, AStateThatIsRefusedLeavesAResetCompressor) {
  for (const char* spec : {"topk:ratio=0.1", "powersgd", "dgc"}) {
    Handle used(spec), fresh(spec);
    const std::vector<float> values = heavy(kElements, 3);
    const thinpipe_gradient gradient = c_gradient(values, {}, 0);
    ASSERT_EQ(thinpipe_encode(used.compressor, &gradient, used.payload.data(), used.payload.size(),
                              nullptr, nullptr),
              THINPIPE_OK);
    std::vector<std::byte> state = used.state();
    ASSERT_NE(state, fresh.state()) << spec;
    state.pop_back();
    EXPECT_EQ(thinpipe_load(used.compressor, state.data(), state.size(), &used.error),
              THINPIPE_BAD_INPUT);
    EXPECT_EQ(used.state(), fresh.state()) << spec;
  }
}

TEST(CInterface, EmptyTensorsAndScalarsWork) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {0}, {3, 0}, {1}}) {
    const std::size_t elements = shape.empty() || shape[0] == 1 ? 1 : 0;
    Handle handle("topk", setup_of(shape));
    EXPECT_EQ(handle.properties.elements, elements);
    const std::vector<float> values(elements, 2.0F);
    ASSERT_EQ(handle.encode(c_gradient(values, {}, 0)), THINPIPE_OK) << handle.error.message;
    std::vector<float> out(elements);
    ASSERT_EQ(handle.decode_add(1, out), THINPIPE_OK);
    EXPECT_EQ(out, values);
  }
  thinpipe_close(nullptr);
}

}  // namespace
}  // namespace thinpipe::c_interface
