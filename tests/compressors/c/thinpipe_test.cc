// Holds the C interface against the C++ interface, for every method, and tries wrong arguments.
#include "compressors/c/thinpipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
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

/// A compressor of the C interface, whose calls are to succeed.
struct Handle {
  explicit Handle(const std::string& spec, const thinpipe_setup& setup = setup_of()) {
    expect_ok(thinpipe_open(spec.c_str(), &setup, &compressor, &error));
    properties.struct_size = sizeof properties;
    expect_ok(thinpipe_describe(compressor, &properties, &error));
    payload.resize(properties.max_encoded_size);
  }
  ~Handle() { thinpipe_close(compressor); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  void expect_ok(int result) const { EXPECT_EQ(result, THINPIPE_OK) << error.message; }
  void encode(const thinpipe_gradient& gradient) {
    expect_ok(
        thinpipe_encode(compressor, &gradient, payload.data(), payload.size(), &report, &error));
  }
  void hold(const thinpipe_gradient& gradient) {
    expect_ok(thinpipe_hold(compressor, &gradient, &error));
  }
  void decode_add(float factor, std::vector<float>& out) {
    expect_ok(thinpipe_decode_add(compressor, payload.data(), report.encoded_bytes, factor,
                                  out.data(), out.size(), &error));
  }
  std::vector<std::byte> encoded() const {
    return {payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(report.encoded_bytes)};
  }
  std::vector<std::byte> state() {
    const void* data = nullptr;
    std::size_t size = 0;
    expect_ok(thinpipe_save(compressor, &data, &size, &error));
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
      handle.hold(gradient);
      continue;
    }
    const testing::Encoded encoded = testing::encode(*expected, values, step);
    handle.encode(gradient);
    ASSERT_EQ(handle.encoded(), encoded.payload) << "step " << step;
    EXPECT_EQ(handle.report.target_elements, encoded.report.target_elements);
    EXPECT_EQ(handle.report.selected_elements, encoded.report.selected_elements);
    EXPECT_EQ(handle.report.passes, encoded.report.passes);

    std::vector<float> decoded(kElements, 1.0F);
    std::vector<float> wanted(kElements, 1.0F);
    expected->decode_add(encoded.payload, 0.5F, wanted);
    handle.decode_add(0.5F, decoded);
    EXPECT_EQ(bits(decoded), bits(wanted));

    double error_squares = -1, input_squares = -1;
    handle.expect_ok(thinpipe_distortion(handle.compressor, &gradient, handle.payload.data(),
                                         handle.report.encoded_bytes, &error_squares,
                                         &input_squares, &handle.error));
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
      handle.hold(gradient);
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
  handle.expect_ok(thinpipe_first_round(handle.compressor, &gradient, handle.payload.data(),
                                        handle.payload.size(), &handle.report, &handle.error));
  ASSERT_EQ(handle.report.encoded_bytes, size);
  std::size_t encoded = 0;
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(std::memcmp(handle.payload.data(), wanted.data(), size), 0) << "round " << round;
    std::vector<float> mean(size / sizeof(float));
    std::memcpy(mean.data(), wanted.data(), size);
    size = rounds.next_round(mean, wanted);
    handle.expect_ok(thinpipe_next_round(handle.compressor, mean.data(), mean.size(),
                                         handle.payload.data(), handle.payload.size(), &encoded,
                                         &handle.error));
    ASSERT_EQ(encoded, size);
  }
  EXPECT_EQ(std::memcmp(handle.payload.data(), wanted.data(), size), 0);
  size = rounds.own_payload(wanted);
  handle.expect_ok(thinpipe_own_payload(handle.compressor, handle.payload.data(),
                                        handle.payload.size(), &encoded, &handle.error));
  ASSERT_EQ(encoded, size);
  EXPECT_EQ(std::memcmp(handle.payload.data(), wanted.data(), size), 0);
}

TEST(CInterface, PairsAreThoseOfTheCppInterface) {
  const std::string spec = "topk:ratio=0.1";
  Handle handle(spec);
  const auto expected = testing::make(spec, kElements);
  auto& sparse = dynamic_cast<SparsePayload&>(*expected);
  ASSERT_EQ(handle.properties.max_pairs, sparse.max_pairs());
  const std::vector<float> values = heavy(kElements, 3);
  handle.encode(c_gradient(values, {}, 0));
  const testing::Encoded encoded = testing::encode(*expected, values);

  std::vector<std::uint32_t> positions(sparse.max_pairs()), wanted_positions(positions.size());
  std::vector<float> sent(positions.size()), wanted(positions.size());
  std::size_t pairs = 0;
  handle.expect_ok(thinpipe_decode_pairs(handle.compressor, handle.payload.data(),
                                         handle.report.encoded_bytes, positions.data(), sent.data(),
                                         positions.size(), &pairs, &handle.error));
  ASSERT_EQ(pairs, sparse.decode_pairs(encoded.payload, wanted_positions, wanted));
  EXPECT_EQ(positions, wanted_positions);
  EXPECT_EQ(bits(sent), bits(wanted));

  sparse.give_back(std::span(wanted_positions).first(pairs), std::span(wanted).first(pairs));
  handle.expect_ok(
      thinpipe_give_back(handle.compressor, positions.data(), sent.data(), pairs, &handle.error));
  EXPECT_EQ(handle.state(), testing::state_of(*expected));
  EXPECT_EQ(Handle("int8").properties.max_pairs, 0U);
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
  const auto wanted = testing::encode(
      *expected, GradientInput{.values = values, .squares = {}, .shared_scale = 2 * scale});
  handle.encode(gradient);
  EXPECT_EQ(handle.encoded(), wanted.payload);
}

TEST(CInterface, SeedAndRankDrawTheRandomNumbers) {
  const std::vector<float> values = heavy(kElements, 3);
  thinpipe_setup setup = setup_of();
  setup.seed = 9;
  setup.rank = 5;
  Handle handle("qsgd", setup);
  handle.encode(c_gradient(values, {}, 0));
  const auto expected =
      testing::make_of_shape("qsgd", kShape, {.seed = 9, .rank = 5}, "layer.weight");
  EXPECT_EQ(handle.encoded(), testing::encode(*expected, values).payload);
}

TEST(CInterface, ThreadsMayShareACompressor) {
  Handle handle("topk:ratio=0.1,memory=none");
  const std::vector<float> values = heavy(kElements, 3);
  const thinpipe_gradient gradient = c_gradient(values, {}, 0);
  handle.encode(gradient);
  std::vector<float> wanted(kElements, 0.0F);
  handle.decode_add(1, wanted);
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

#define EXPECT_FAILED(result, call, ...)                                     \
  do {                                                                       \
    thinpipe_error error;                                                    \
    EXPECT_EQ(call, result);                                                 \
    for (const char* word : {__VA_ARGS__})                                   \
      EXPECT_NE(std::strstr(error.message, word), nullptr) << error.message; \
  } while (false)
#define EXPECT_REFUSED(...) EXPECT_FAILED(THINPIPE_BAD_INPUT, __VA_ARGS__)

TEST(CInterface, OpenNamesWhatItRefuses) {
  thinpipe_compressor* opened = nullptr;
  const auto open = [&](const char* spec, const thinpipe_setup& setup, thinpipe_error* error) {
    return thinpipe_open(spec, &setup, &opened, error);
  };
  const thinpipe_setup good = setup_of();
  EXPECT_REFUSED(open("tokp", good, &error), "tokp", "topk");
  EXPECT_REFUSED(open("topk:ratio=2", good, &error), "ratio", "(0, 1]");
  EXPECT_REFUSED(open(nullptr, good, &error), "spec");
  EXPECT_REFUSED(thinpipe_open("topk", nullptr, &opened, &error), "setup");
  EXPECT_REFUSED(thinpipe_open("topk", &good, nullptr, &error), "compressor");
  thinpipe_setup setup = good;
  setup.rank = -1;
  EXPECT_REFUSED(open("topk", setup, &error), "rank", "-1");
  setup = good;
  setup.threads = 0;
  EXPECT_REFUSED(open("topk", setup, &error), "threads");
  setup = good;
  setup.tensor = nullptr;
  EXPECT_REFUSED(open("topk", setup, &error), "tensor");
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{-1}, {1LL << 33}, {1LL << 31, 4}, {INT64_MAX, INT64_MAX}}) {
    EXPECT_REFUSED(open("topk", setup_of(shape), &error), "shape");
  }
  EXPECT_EQ(opened, nullptr);
}

TEST(CInterface, RefusesStructsOfAnotherVersion) {
  Handle handle("topk");
  thinpipe_setup setup = setup_of();
  thinpipe_compressor* opened = nullptr;
  for (const std::size_t size : {std::size_t{0}, sizeof setup - 1, sizeof setup + 8}) {
    setup.struct_size = size;
    EXPECT_REFUSED(thinpipe_open("topk", &setup, &opened, &error), "setup", "struct_size",
                   "version");
  }
  const std::vector<float> values(kElements);
  thinpipe_gradient gradient = c_gradient(values, {}, 0);
  gradient.struct_size = 4;
  EXPECT_REFUSED(thinpipe_encode(handle.compressor, &gradient, handle.payload.data(),
                                 handle.payload.size(), nullptr, &error),
                 "gradient", "struct_size");
  // Version 1 ended before max_pairs.
  handle.properties.struct_size = offsetof(thinpipe_properties, max_pairs);
  handle.properties.max_pairs = 77;
  handle.expect_ok(thinpipe_describe(handle.compressor, &handle.properties, &handle.error));
  EXPECT_EQ(handle.properties.max_pairs, 77U);
  handle.properties.struct_size = 1;
  EXPECT_REFUSED(thinpipe_describe(handle.compressor, &handle.properties, &error), "properties",
                 "struct_size");
  EXPECT_EQ(thinpipe_api(), THINPIPE_API);
}

TEST(CInterface, CallsNameWhatTheyRefuse) {
  Handle handle("topk");
  const std::vector<float> values(kElements);
  const thinpipe_gradient gradient = c_gradient(values, {}, 0);
  thinpipe_gradient other = gradient;
  std::vector<float> out(kElements);
  std::byte* const payload = handle.payload.data();
  const std::size_t size = handle.payload.size();
  thinpipe_compressor* const own = handle.compressor;

  EXPECT_REFUSED(thinpipe_encode(nullptr, &gradient, payload, size, nullptr, &error), "compressor");
  EXPECT_REFUSED(thinpipe_encode(own, nullptr, payload, size, nullptr, &error), "gradient");
  EXPECT_REFUSED(thinpipe_encode(own, &gradient, payload, size - 1, nullptr, &error), "capacity");
  EXPECT_REFUSED(thinpipe_encode(own, &gradient, nullptr, size, nullptr, &error), "payload");
  other.elements = 7;
  EXPECT_REFUSED(thinpipe_encode(own, &other, payload, size, nullptr, &error), "elements", "7");
  other = gradient;
  other.values = nullptr;
  EXPECT_REFUSED(thinpipe_encode(own, &other, payload, size, nullptr, &error), "values");
  EXPECT_REFUSED(thinpipe_hold(own, &gradient, &error), "period");
  EXPECT_REFUSED(thinpipe_decode_add(own, payload, 1, 1, out.data(), 3, &error), "out");
  EXPECT_REFUSED(thinpipe_decode_add(own, nullptr, 9, 1, out.data(), kElements, &error), "payload");
  const std::vector<std::byte> junk(5, std::byte{0xff});
  EXPECT_FAILED(THINPIPE_BAD_PAYLOAD,
                thinpipe_decode_add(own, junk.data(), 5, 1, out.data(), kElements, &error),
                "count");
  EXPECT_REFUSED(thinpipe_load(own, junk.data(), 5, &error), "state");
  float scale = 0;
  std::size_t encoded = 0;
  EXPECT_REFUSED(thinpipe_prepare(own, &gradient, &scale, &error), "shares_scale");
  EXPECT_REFUSED(thinpipe_next_round(own, &scale, 1, payload, size, &encoded, &error), "rounds");
  EXPECT_REFUSED(thinpipe_load_plugin("/nonexistent.so", &error), "/nonexistent.so");

  Handle variance("variance");
  EXPECT_REFUSED(thinpipe_encode(variance.compressor, &gradient, variance.payload.data(),
                                 variance.payload.size(), nullptr, &error),
                 "second moments");
  Handle rounds("powersgd");
  EXPECT_REFUSED(thinpipe_next_round(rounds.compressor, &scale, 1, rounds.payload.data(),
                                     rounds.payload.size(), &encoded, &error),
                 "next_round");
  // A step is its rounds, one after the other.
  rounds.expect_ok(thinpipe_first_round(rounds.compressor, &gradient, rounds.payload.data(),
                                        rounds.payload.size(), &rounds.report, &rounds.error));
  EXPECT_REFUSED(thinpipe_encode(rounds.compressor, &gradient, rounds.payload.data(),
                                 rounds.payload.size(), nullptr, &error),
                 "between rounds");
  EXPECT_REFUSED(thinpipe_first_round(rounds.compressor, &gradient, rounds.payload.data(),
                                      rounds.payload.size(), &rounds.report, &error),
                 "between rounds");
  Handle shared("terngrad:memory=residual");
  shared.expect_ok(thinpipe_prepare(shared.compressor, &gradient, &scale, &shared.error));
  EXPECT_REFUSED(thinpipe_prepare(shared.compressor, &gradient, &scale, &error), "prepare() twice");
  Handle delayed("terngrad:memory=residual,delay=2");
  delayed.expect_ok(thinpipe_prepare(delayed.compressor, &gradient, &scale, &delayed.error));
  EXPECT_REFUSED(thinpipe_hold(delayed.compressor, &gradient, &error), "between prepare() and enc");
}

TEST(CInterface, AStateThatIsRefusedLeavesAResetCompressor) {
  for (const char* spec : {"topk:ratio=0.1", "powersgd", "dgc"}) {
    Handle used(spec), fresh(spec);
    const std::vector<float> values = heavy(kElements, 3);
    const thinpipe_gradient gradient = c_gradient(values, {}, 0);
    used.encode(gradient);
    std::vector<std::byte> state = used.state();
    ASSERT_NE(state, fresh.state()) << spec;
    state.pop_back();
    EXPECT_EQ(thinpipe_load(used.compressor, state.data(), state.size(), &used.error),
              THINPIPE_BAD_INPUT);
    EXPECT_EQ(used.state(), fresh.state()) << spec;
  }
}

// The next call with a compressor frees the buffer of its state, and may read it.
TEST(CInterface, AStateMayBeLoadedFromItsOwnBuffer) {
  Handle handle("topk:ratio=0.1");
  const std::vector<float> values = heavy(kElements, 3);
  handle.encode(c_gradient(values, {}, 0));
  const std::vector<std::byte> saved = handle.state();
  const void* data = nullptr;
  std::size_t size = 0;
  handle.expect_ok(thinpipe_save(handle.compressor, &data, &size, &handle.error));
  handle.expect_ok(thinpipe_load(handle.compressor, data, size, &handle.error));
  EXPECT_EQ(handle.state(), saved);
}

TEST(CInterface, PairsNameWhatTheyRefuse) {
  Handle handle("topk"), dense("int8");
  const std::vector<float> gradient = heavy(kElements, 3);
  handle.encode(c_gradient(gradient, {}, 0));
  const std::size_t room = handle.properties.max_pairs;
  std::vector<std::uint32_t> positions(room);
  std::vector<float> values(room);
  std::size_t pairs = 0;
  const auto decode = [&](thinpipe_compressor* own, std::size_t size, std::size_t capacity,
                          thinpipe_error* error) {
    return thinpipe_decode_pairs(own, handle.payload.data(), size, positions.data(), values.data(),
                                 capacity, &pairs, error);
  };
  const std::size_t size = handle.report.encoded_bytes;
  EXPECT_REFUSED(decode(dense.compressor, size, room, &error), "max_pairs");
  EXPECT_REFUSED(decode(handle.compressor, size, room - 1, &error), "capacity", "max_pairs");
  EXPECT_FAILED(THINPIPE_BAD_PAYLOAD, decode(handle.compressor, size - 1, room, &error), "");

  const auto give_back = [&](std::vector<std::uint32_t> where, thinpipe_error* error) {
    return thinpipe_give_back(handle.compressor, where.data(), values.data(), where.size(), error);
  };
  EXPECT_REFUSED(give_back({7, 7}, &error), "positions", "7 after 7");
  EXPECT_REFUSED(give_back({2000, 1}, &error), "positions", "1 after 2000");
  EXPECT_REFUSED(give_back({1, kElements}, &error), "1200");
  EXPECT_REFUSED(thinpipe_give_back(handle.compressor, nullptr, values.data(), 1, &error),
                 "positions");
  EXPECT_EQ(give_back({}, nullptr), THINPIPE_OK);
}

TEST(CInterface, EmptyTensorsAndScalarsWork) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {0}, {3, 0}, {1}}) {
    const std::size_t elements = shape.empty() || shape[0] == 1 ? 1 : 0;
    Handle handle("topk", setup_of(shape));
    EXPECT_EQ(handle.properties.elements, elements);
    const std::vector<float> values(elements, 2.0F);
    handle.encode(c_gradient(values, {}, 0));
    std::vector<float> out(elements);
    handle.decode_add(1, out);
    EXPECT_EQ(out, values);
  }
  thinpipe_close(nullptr);
}

}  // namespace
}  // namespace thinpipe::c_interface
