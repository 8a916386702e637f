// Runs the parts of a dense method one after the other, and makes a method from its declaration.
#include "compressors/methods/dense.h"

#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "compressors/kernels/parallel.h"
#include "compressors/methods/common.h"

namespace thinpipe {
namespace {

/// A compressor made of a memory and a quantiser.
class DensePipeline : public Compressor {
 public:
  DensePipeline(StateIdentity identity, DenseParts parts)
      : identity_(std::move(identity)),
        parts_(std::move(parts)),
        max_encoded_size_(parts_.quantizer->max_encoded_size(identity_.elements)) {}

  std::size_t elements() const override { return identity_.elements; }
  std::size_t max_encoded_size() const override { return max_encoded_size_; }

  EncodeReport encode(const GradientInput& gradient, std::span<std::byte> payload) override {
    check_size(identity_, "the gradient", gradient.values.size());
    check_room(identity_, payload.size(), max_encoded_size_);
    const UseThreads threads(parts_.threads);
    Signal c = prepared_ ? Signal(*prepared_) : parts_.memory->add_later(gradient.values, 1.0F);
    prepared_.reset();
    ByteWriter out(payload);
    const QuantizeReport report =
        parts_.quantizer->encode(c, {.step = gradient.step, .shared_scale = gradient.shared_scale},
                                 parts_.memory->remainder(), out);
    if (const auto mirror = parts_.memory->mirror(); !mirror.empty()) {
      decode_add(payload.first(out.size()), 1.0F, mirror);
    }
    return {.encoded_bytes = out.size(),
            .target_elements = 0,
            .selected_elements = report.nonzero,
            .threshold = std::numeric_limits<double>::quiet_NaN(),
            .passes = parts_.memory->passes() + report.passes - (c.fused() ? 1 : 0)};
  }

  void decode_add(std::span<const std::byte> payload, float factor,
                  std::span<float> out) const override {
    check_size(identity_, "the output", out.size());
    const UseThreads threads(parts_.threads);
    parts_.quantizer->decode_add(ByteReader(payload), factor, out);
  }

  Distortion distortion(const GradientInput& gradient,
                        std::span<const std::byte> payload) const override {
    check_size(identity_, "the gradient", gradient.values.size());
    if (parts_.verbatim && payload.size() == gradient.values.size_bytes() &&
        (payload.empty() ||
         std::memcmp(payload.data(), gradient.values.data(), payload.size()) == 0))
      return parts_.memory->distortion(gradient.values, gradient.values);
    std::vector<float> decoded(elements(), 0.0F);
    decode_add(payload, 1.0F, decoded);
    return parts_.memory->distortion(gradient.values, decoded);
  }

  std::span<const float> residual() const override { return parts_.memory->remainder(); }
  std::uint64_t period() const override { return parts_.period; }
  bool incremental() const override { return parts_.incremental; }
  bool verbatim() const override { return parts_.verbatim; }
  void hold(const GradientInput& gradient) override {
    refuse_midway("hold()");
    check_size(identity_, "the gradient", gradient.values.size());
    const UseThreads threads(parts_.threads);
    parts_.memory->hold(gradient.values, 1.0F);
  }

  void reset() override {
    parts_.memory->reset();
    parts_.quantizer->reset();
    prepared_.reset();
  }
  void save_state(std::vector<std::byte>& state) const override {
    refuse_midway("save_state()");
    ByteWriter out = begin_state(identity_, state_size(), state);
    parts_.memory->save(out);
    parts_.quantizer->save(out);
  }
  void load_state(std::span<const std::byte> state) override {
    ByteReader in = open_state(identity_, state_size(), state);
    parts_.memory->load(in);
    parts_.quantizer->load(in);
    prepared_.reset();
  }

 protected:
  /// Says which calls have begun and must end first; "" if none have.
  virtual std::string midway() const { return ""; }
  void refuse_midway(const char* call) const {
    if (const std::string where = midway(); !where.empty())
      throw std::logic_error(std::string(call) + " " + where);
  }
  std::size_t state_size() const {
    return parts_.memory->state_size() + parts_.quantizer->state_size();
  }

  StateIdentity identity_;
  DenseParts parts_;
  std::size_t max_encoded_size_;
  std::optional<std::span<const float>> prepared_;  ///< c, where it was computed before encode()
};

class SharedScalePipeline : public DensePipeline, public SharedScale {
 public:
  SharedScalePipeline(StateIdentity identity, DenseParts parts, const ScaleOf& scale_of)
      : DensePipeline(std::move(identity), std::move(parts)), scale_of_(scale_of) {}

  float prepare(const GradientInput& gradient) override {
    check_size(identity_, "the gradient", gradient.values.size());
    if (prepared_) throw std::logic_error("prepare() twice without encode()");
    const UseThreads threads(parts_.threads);
    prepared_ = parts_.memory->add(gradient.values, 1.0F);
    return scale_of_.scale_of(*prepared_);
  }

 private:
  std::string midway() const override { return prepared_ ? "between prepare() and encode()" : ""; }

  const ScaleOf& scale_of_;
};

class MultiRoundPipeline : public DensePipeline, public MultiRound {
 public:
  MultiRoundPipeline(StateIdentity identity, DenseParts parts, QuantizerRounds& quantizer)
      : DensePipeline(std::move(identity), std::move(parts)),
        quantizer_(quantizer),
        own_(parts_.memory->mirror().empty() ? 0 : max_encoded_size_) {}

  int rounds() const override { return quantizer_.rounds(); }

  EncodeReport first_round(const GradientInput& gradient, std::span<std::byte> payload) override {
    check_size(identity_, "the gradient", gradient.values.size());
    check_room(identity_, payload.size(), max_encoded_size_);
    refuse_midway("first_round()");
    const UseThreads threads(parts_.threads);
    c_ = parts_.memory->add(gradient.values, 1.0F);
    ByteWriter out(payload);
    const QuantizeReport report =
        quantizer_.first_round(c_, {.step = gradient.step}, parts_.memory->remainder(), out);
    round_ = 1;
    floats_ = out.size() / sizeof(float);
    return {.encoded_bytes = out.size(),
            .target_elements = 0,
            .selected_elements = report.nonzero,
            .threshold = std::numeric_limits<double>::quiet_NaN(),
            .passes = parts_.memory->passes() + report.passes};  // in all rounds
  }

  std::size_t next_round(std::span<const float> mean, std::span<std::byte> payload) override {
    if (round_ == 0) throw std::logic_error("next_round() without a round before it");
    if (mean.size() != floats_)
      throw InputError("tensor '" + identity_.tensor + "': a mean of " +
                       std::to_string(mean.size()) + " floats; round " + std::to_string(round_) +
                       " expects " + std::to_string(floats_));
    check_room(identity_, payload.size(), max_encoded_size_);
    const UseThreads threads(parts_.threads);
    ByteWriter out(payload);
    quantizer_.next_round(round_, mean, c_, parts_.memory->remainder(), out);
    floats_ = out.size() / sizeof(float);
    round_ = round_ == rounds() ? 0 : round_ + 1;
    if (const auto mirror = parts_.memory->mirror(); round_ == 0 && !mirror.empty())
      decode_add(std::span(own_).first(own_payload(own_)), 1.0F, mirror);
    return out.size();
  }

  std::size_t own_payload(std::span<std::byte> payload) const override {
    check_room(identity_, payload.size(), max_encoded_size_);
    ByteWriter out(payload);
    quantizer_.own_payload(out);
    return out.size();
  }

  EncodeReport encode(const GradientInput& gradient, std::span<std::byte> payload) override {
    refuse_midway("encode()");
    return DensePipeline::encode(gradient, payload);
  }
  void reset() override {
    DensePipeline::reset();
    round_ = 0;
  }
  void load_state(std::span<const std::byte> state) override {
    DensePipeline::load_state(state);
    round_ = 0;
  }

 private:
  std::string midway() const override { return round_ == 0 ? "" : "between rounds"; }

  QuantizerRounds& quantizer_;
  std::span<const float> c_;    // from first_round() to the last round
  int round_ = 0;               // of the floats being exchanged; 0: none
  std::size_t floats_ = 0;      // number of these floats
  std::vector<std::byte> own_;  // own payload, for a memory that mirrors it
};

}  // namespace

std::unique_ptr<Compressor> make_dense_compressor(StateIdentity identity, DenseParts parts) {
  Quantizer* const quantizer = parts.quantizer.get();
  if (const auto* const scale_of = dynamic_cast<const ScaleOf*>(quantizer))
    return std::make_unique<SharedScalePipeline>(std::move(identity), std::move(parts), *scale_of);
  if (auto* const rounds = dynamic_cast<QuantizerRounds*>(quantizer))
    return std::make_unique<MultiRoundPipeline>(std::move(identity), std::move(parts), *rounds);
  return std::make_unique<DensePipeline>(std::move(identity), std::move(parts));
}

ParameterInfo bucket_parameter(const std::string& default_value) {
  return integer_parameter("bucket", default_value,
                           "elements that share one scale; 0: the whole tensor", 0, 1 << 24);
}

BucketOptions bucket_of(const Parameters& parameters, const TensorInfo& tensor,
                        const CompressorSettings& settings) {
  const long long bucket = parameters.has("bucket") ? parameters.integer("bucket") : 0;
  return {.bucket = static_cast<std::size_t>(bucket),
          .stream = random_stream(settings.seed, settings.rank, tensor.name)};
}

MakeQuantizer in_buckets(std::function<std::unique_ptr<BucketCodec>(const Parameters&)> codec) {
  return [codec = std::move(codec)](const Parameters& parameters, const TensorInfo& tensor,
                                    const CompressorSettings& settings) {
    return make_bucket_quantizer(codec(parameters), bucket_of(parameters, tensor, settings));
  };
}

ParameterInfo exchange_parameter(const std::string& help) {
  return choice_parameter("exchange", "allreduce", help, {"allreduce", "allgather"});
}

Aggregation exchanged_as(const Parameters& parameters) {
  return parameters.choice("exchange") == "allreduce" ? Aggregation::kAllReduce
                                                      : Aggregation::kAllGather;
}

double bits_per_bucket(const Parameters& parameters, double bits) {
  const auto bucket = static_cast<double>(parameters.integer("bucket"));
  return bucket == 0 ? 0 : bits / bucket;
}

EncodeTraffic traffic_of_scales(const Parameters& parameters) {
  const bool whole = !parameters.has("bucket") || parameters.integer("bucket") == 0;
  return {.sweeps = whole ? 2.0 : 1.0};
}

MethodInfo dense_method(const DenseMethod& method) {
  MethodInfo info;
  info.name = method.name;
  info.summary = method.summary;
  info.source = method.source;
  info.aggregation = method.aggregation;
  info.aggregation_with = method.aggregation_with;
  info.summation = method.summation;
  info.needs_whole = method.needs_whole;
  info.parameters =
      join({method.parameters, memory_parameters(method.memory, method.delay, method.decay)});
  // A delay of n steps sends one payload for n gradients.
  info.expected_bits = [bits = method.expected_bits](const Parameters& parameters) {
    return bits(parameters) / static_cast<double>(period_of(parameters));
  };
  info.traffic = traffic_with_memory(method.traffic);
  info.make = [make_quantizer = method.quantizer](const Parameters& parameters,
                                                  const TensorInfo& tensor,
                                                  const CompressorSettings& settings) {
    return make_dense_compressor(identity_of(parameters, tensor),
                                 {.memory = make_memory(parameters, tensor.elements),
                                  .quantizer = make_quantizer(parameters, tensor, settings),
                                  .period = period_of(parameters),
                                  .threads = settings.threads,
                                  .incremental = parameters.choice("memory") == "ef21"});
  };
  return info;
}

}  // namespace thinpipe
