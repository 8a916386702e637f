// Tests that error feedback loses nothing: sum of inputs = sum of decoded values + residual, per
// element, over 100 steps (SBC Theorem II.1). The tests cover every method of the registry and
// every spec of all_specs() that can have the residual memory, whatever its default memory. They
// also cover values that are restored to a memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/laws.h"
#include "tests/compressors/support/methods.h"
#include "tests/compressors/support/parts.h"

namespace thinpipe {
namespace {

constexpr std::size_t kConserved = 3500;        // 50 x 70
constexpr std::size_t kConservedVector = 3001;  // a prime number
constexpr std::uint64_t kConservedSteps = 100;

/// The residual of a state, after its envelope and a byte (docs/wire-format.md, section 3).
std::vector<float> residual_of_state(const Compressor& compressor) {
  const std::vector<std::byte> state = testing::state_of(compressor);
  const std::size_t spec = testing::read<std::uint32_t>(state, 8);
  const std::size_t tensor = testing::read<std::uint32_t>(state, 12 + spec);
  std::vector<float> values(compressor.elements());
  const std::size_t body = 8 + 4 + spec + 4 + tensor + 8;
  std::memcpy(values.data(), state.data() + body + 1, values.size() * sizeof(float));
  return values;
}

bool has_parameter(const MethodInfo& method, const std::string& name) {
  return std::ranges::find(method.parameters, name, &ParameterInfo::name) !=
         method.parameters.end();
}

/// The spec with a residual memory that forgets nothing and is given the gradients as they are.
Spec with_residual(Spec spec, const MethodInfo& method) {
  spec.values["memory"] = "residual";
  if (has_parameter(method, "decay")) spec.values["decay"] = "1";
  spec.values.erase("clip");
  spec.values.erase("scale");  // random-k's unbiased scale is for no memory; others have a default
  return spec;
}

std::vector<Spec> specs_with_residual() {
  std::vector<std::string> texts = testing::all_specs();
  for (const MethodInfo& method : methods()) texts.push_back(method.name);
  std::vector<Spec> specs;
  std::set<std::string> seen;
  for (const std::string& text : texts) {
    Spec spec = parse_spec(text);
    const MethodInfo& method = find_method(spec.name);
    if (!has_parameter(method, "memory")) continue;
    spec = with_residual(spec, method);
    if (seen.insert(Parameters(method.parameters, spec).text()).second) specs.push_back(spec);
  }
  return specs;
}

TEST(Conservation, OfEveryMethodThatCanHaveAResidual) {
  std::set<std::string> names;
  for (const Spec& spec : specs_with_residual()) {
    SCOPED_TRACE(spec.to_string());
    for (const std::size_t elements : {kConserved, kConservedVector}) {
      const auto compressor = testing::make(spec.to_string(), elements);
      const testing::Accounts accounts(*compressor, kConservedSteps, 100);
      accounts.expect_balance(compressor->residual());
      accounts.expect_balance(residual_of_state(*compressor));
    }
    names.insert(spec.name);
  }
  // Every method but those that have no memory at all.
  for (const MethodInfo& method : methods()) {
    EXPECT_EQ(names.contains(method.name), has_parameter(method, "memory")) << method.name;
  }
}

TEST(Verbatim, IsTheGradientItself) {
  std::set<std::string> names;
  for (const std::string& text : testing::all_specs()) {
    const auto compressor = testing::make(text, kConserved);
    if (!compressor->verbatim()) continue;
    names.insert(text);
    for (std::uint64_t step = 0; step < 3; ++step) {
      const std::vector<float> gradient = testing::heavy(kConserved, 7 + step);
      const GradientInput input{.values = gradient, .squares = {}, .step = step};
      auto [report, payload] = testing::encode(*compressor, input);
      ASSERT_EQ(report.encoded_bytes, gradient.size() * sizeof(float));
      EXPECT_EQ(std::memcmp(payload.data(), gradient.data(), report.encoded_bytes), 0);
      EXPECT_EQ(report.target_elements, 0U);
      EXPECT_EQ(report.selected_elements, gradient.size());
      EXPECT_TRUE(compressor->residual().empty());
      const Distortion same = compressor->distortion(input, payload);
      EXPECT_EQ(same.error_squares, 0);
      EXPECT_GT(same.input_squares, 0);
      payload[1] ^= std::byte{1};
      EXPECT_GT(compressor->distortion(input, payload).error_squares, 0);
    }
  }
  EXPECT_EQ(names, std::set<std::string>{"none"});
}

// Elements that a selection after the exchange drops are restored to a memory. Over all workers
// nothing is lost, whichever worker's memory takes the elements.

constexpr std::size_t kLength = 3000;
constexpr std::size_t kWorkers = 3;
constexpr std::uint64_t kSteps = 60;

struct SentPairs {
  std::vector<std::uint32_t> positions;
  std::vector<float> values;
};

SentPairs room_for(const SparsePayload& sparse) {
  return {std::vector<std::uint32_t>(sparse.max_pairs()), std::vector<float>(sparse.max_pairs())};
}

SentPairs pairs_of(const Compressor& compressor, std::span<const std::byte> payload) {
  const auto& sparse = dynamic_cast<const SparsePayload&>(compressor);
  SentPairs pairs = room_for(sparse);
  const std::size_t count = sparse.decode_pairs(payload, pairs.positions, pairs.values);
  pairs.positions.resize(count);
  pairs.values.resize(count);
  return pairs;
}

void give_back(Compressor& compressor, const SentPairs& pairs) {
  dynamic_cast<SparsePayload&>(compressor).give_back(pairs.positions, pairs.values);
}

bool is_sparse(const Compressor& compressor) {
  return dynamic_cast<const SparsePayload*>(&compressor) != nullptr;
}

TEST(SentPairs, AreWhatDecodeAddAdds) {
  int with_pairs = 0;
  for (const std::string& spec : testing::all_specs()) {
    SCOPED_TRACE(spec);
    const MethodInfo& method = find_method(parse_spec(spec).name);
    EXPECT_EQ(is_sparse(*testing::make(spec, 10)), method.has_pairs);
    for (const auto& [name, input] : testing::finite_inputs()) {
      const auto compressor = testing::make(spec, input.size());
      if (!is_sparse(*compressor)) continue;
      ++with_pairs;
      const auto encoded = testing::encode(*compressor, input);
      const SentPairs pairs = pairs_of(*compressor, encoded.payload);
      EXPECT_EQ(pairs.positions.size(), encoded.report.selected_elements) << name;
      EXPECT_TRUE(input.empty() || (encoded.report.target_elements > 0) == method.has_target);
      std::vector<float> sum(input.size(), 0.0F);
      for (std::size_t i = 0; i < pairs.positions.size(); ++i) {
        ASSERT_TRUE(i == 0 || pairs.positions[i - 1] < pairs.positions[i]) << name;
        sum[pairs.positions[i]] += pairs.values[i];
      }
      const auto decoded = testing::decode(*compressor, encoded.payload);
      for (std::size_t i = 0; i < sum.size(); ++i)
        ASSERT_TRUE(sum[i] == decoded[i] || (std::isnan(sum[i]) && std::isnan(decoded[i]))) << name;
    }
  }
  EXPECT_GT(with_pairs, 0);
}

TEST(SentPairs, OfAPayloadThatIsCutShortAreRefused) {
  const auto gradient = testing::heavy(kLength, 1);
  for (const std::string& spec : testing::all_specs()) {
    const auto compressor = testing::make(spec, kLength);
    const auto* const sparse = dynamic_cast<const SparsePayload*>(compressor.get());
    if (sparse == nullptr) continue;
    const auto payload = testing::encode(*compressor, gradient).payload;
    SentPairs room = room_for(*sparse);
    if (payload.size() <= 1) continue;
    EXPECT_THROW(sparse->decode_pairs(std::span(payload).first(payload.size() - 1), room.positions,
                                      room.values),
                 PayloadError)
        << spec;
    const std::size_t count = pairs_of(*compressor, payload).positions.size();
    ASSERT_GT(count, 0U) << spec;
    EXPECT_THROW(
        sparse->decode_pairs(payload, std::span(room.positions).first(count - 1), room.values),
        PayloadError)
        << spec;
  }
}

TEST(GiveBack, RefusesPositionsThatAreNotThere) {
  const auto compressor = testing::make("topk", 10);
  const std::vector<std::uint32_t> beyond = {3, 10};
  EXPECT_THROW(give_back(*compressor, {beyond, {1, 2}}), InputError);
  EXPECT_THROW(give_back(*compressor, {beyond, {1}}), InputError);
}

TEST(GiveBack, IsNothingForAMemoryThatKeepsNothing) {
  const auto compressor = testing::make("topk:memory=none,ratio=0.5,delay=2", 4);
  const auto before = testing::state_of(*compressor);
  give_back(*compressor, {{1, 3}, {5, 6}});
  EXPECT_EQ(testing::state_of(*compressor), before);
}

/// Several workers of one spec, and a selection after the exchange. In every step the selection
/// takes two of every four consecutive positions. It gives the other elements back to a worker that
/// need not have sent them.
class GiveBackJob {
 public:
  explicit GiveBackJob(const std::string& spec) : in_(kLength), kept_(kLength), scale_(kLength) {
    for (std::size_t worker = 0; worker < kWorkers; ++worker)
      workers_.push_back(testing::make(spec, kLength));
  }

  /// `input` is the amount that a gradient adds to a worker's books.
  template <class Input>
  void run(Input input) {
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      std::vector<SentPairs> sent;
      for (std::size_t worker = 0; worker < kWorkers; ++worker) {
        const auto gradient = testing::heavy(kLength, step * kWorkers + worker);
        input(worker, gradient, in_);
        const auto payload = testing::encode(*workers_[worker], gradient, step).payload;
        sent.push_back(pairs_of(*workers_[worker], payload));
      }
      for (std::size_t worker = 0; worker < kWorkers; ++worker) {
        SentPairs back;
        for (std::size_t i = 0; i < sent[worker].positions.size(); ++i) {
          const std::uint32_t position = sent[worker].positions[i];
          const float value = sent[worker].values[i];
          scale_[position] += std::fabs(static_cast<double>(value));
          if ((position + step) % 4 < 2) {
            kept_[position] += static_cast<double>(value);
          } else {
            back.positions.push_back(position);
            back.values.push_back(value);
          }
        }
        give_back(*workers_[(worker + step) % kWorkers], back);
      }
    }
  }

  /// Checks every element; `left(i)` is the memories' value of it.
  template <class Left>
  void expect_balance(Left left) const {
    double kept = 0;
    for (std::size_t i = 0; i < kLength; ++i) {
      // A few roundings a step and worker, each at most 2^-24 of the value before.
      const double bound = 8.0 * kWorkers * kSteps * 0x1p-24 * (scale_[i] + std::fabs(in_[i]) + 1);
      ASSERT_NEAR(in_[i], kept_[i] + left(i), bound) << i;
      kept += std::fabs(kept_[i]);
    }
    EXPECT_GT(kept, 0);
  }

  const Compressor& worker(std::size_t index) const { return *workers_[index]; }
  /// The sum of the workers' residuals of element i.
  double residual(std::size_t i) const {
    double left = 0;
    for (const auto& worker : workers_) left += static_cast<double>(worker->residual()[i]);
    return left;
  }

 private:
  std::vector<std::unique_ptr<Compressor>> workers_;
  std::vector<double> in_, kept_, scale_;
};

TEST(GiveBack, ToAResidualLosesNothing) {
  for (const char* spec :
       {"topk:ratio=0.1", "topk:ratio=0.1,values=fp16", "dgc:memory=residual,ratio=0.05",
        "sidco:ratio=0.05,positions=golomb", "strom:tau=0.01", "hybrid:tau=0.01",
        "randomk:memory=residual,ratio=0.2,scale=false", "sbc:p=0.05,positions=packed"}) {
    SCOPED_TRACE(spec);
    GiveBackJob job(spec);
    job.run([](std::size_t, std::span<const float> gradient, std::vector<double>& in) {
      for (std::size_t i = 0; i < in.size(); ++i) in[i] += static_cast<double>(gradient[i]);
    });
    job.expect_balance([&](std::size_t i) { return job.residual(i); });
  }
}

TEST(GiveBack, ToAnAccumulatedVelocityLosesNothing) {
  // DGC eq. 7 without masking: v takes in u = m u + g.
  GiveBackJob job("topk:ratio=0.1,memory=momentum,momentum=0.5,masking=false");
  std::vector<std::vector<double>> velocity(kWorkers, std::vector<double>(kLength));
  job.run([&](std::size_t worker, std::span<const float> gradient, std::vector<double>& in) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      velocity[worker][i] = 0.5 * velocity[worker][i] + static_cast<double>(gradient[i]);
      in[i] += velocity[worker][i];
    }
  });
  job.expect_balance([&](std::size_t i) { return job.residual(i); });
}

TEST(GiveBack, ToEf21sEstimatesKeepsTheirSumWhatAggregatesBrought) {
  GiveBackJob job("topk:ratio=0.1,memory=ef21");
  job.run([](std::size_t, std::span<const float>, std::vector<double>&) {});
  // The saved state ends with the estimate, followed by the change. The job counts no inputs here,
  // so the balance is 0 = kept values - estimates.
  std::vector<std::vector<float>> estimates;
  for (std::size_t worker = 0; worker < kWorkers; ++worker)
    estimates.push_back(
        testing::floats_of_state(job.worker(worker), kLength, kLength * sizeof(float)));
  job.expect_balance([&](std::size_t i) {
    double held = 0;
    for (const auto& estimate : estimates) held += static_cast<double>(estimate[i]);
    return -held;
  });
}

TEST(GiveBack, PutsBackWhatAMemoryClears) {
  // values=mean: 1 stands for both elements sent, and both are cleared whatever their values.
  const auto compressor = testing::make("topk:memory=clear,values=mean,ratio=0.5", 4);
  const auto payload = testing::encode(*compressor, std::vector<float>{0.1F, 3, -1, 0.2F}).payload;
  EXPECT_EQ(compressor->residual()[1], 0);
  const SentPairs pairs = pairs_of(*compressor, payload);
  EXPECT_EQ(pairs.values, (std::vector<float>{1, 1}));
  give_back(*compressor, pairs);
  EXPECT_EQ(std::vector<float>(compressor->residual().begin(), compressor->residual().end()),
            (std::vector<float>{0.1F, 1, 1, 0.2F}));
}

}  // namespace

}  // namespace thinpipe
