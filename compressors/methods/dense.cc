// Runs the parts of a dense method one after the other, and makes a method from its declaration.
#include "compressors/methods/dense.h"

#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "compressors/kernels/parallel.h"
#include "compressors/methods/common.h"

namespace thinpipe {

DensePipeline::DensePipeline(StateIdentity identity, DenseParts parts)
    : identity_(std::move(identity)),
      parts_(std::move(parts)),
      max_encoded_size_(parts_.quantizer->max_encoded_size(identity_.elements)) {
  if (parts_.quantizer->rounds() > 1 && !parts_.memory->mirror().empty()) {
    own_.resize(max_encoded_size_);
  }
}

float DensePipeline::prepare(const GradientInput& gradient) {
  if (!shares_scale()) return Compressor::prepare(gradient);  // refuses
  check_size(identity_, "the gradient", gradient.values.size());
  const UseThreads threads(parts_.threads);
  prepared_ = parts_.memory->add(gradient.values, 1.0F);
  is_prepared_ = true;
  return parts_.quantizer->scale_of(prepared_);
}

EncodeReport DensePipeline::encode(const GradientInput& gradient, std::span<std::byte> payload) {
  check_size(identity_, "the gradient", gradient.values.size());
  check_room(identity_, payload.size(), max_encoded_size_);
  const UseThreads threads(parts_.threads);
  Signal c = is_prepared_ ? Signal(prepared_) : parts_.memory->add_later(gradient.values, 1.0F);
  is_prepared_ = false;
  ByteWriter out(payload);
  const QuantizeReport report = parts_.quantizer->encode_signal(
      c, {.step = gradient.step, .shared_scale = gradient.shared_scale}, parts_.memory->remainder(),
      out);
  if (const auto mirror = parts_.memory->mirror(); !mirror.empty()) {
    decode_add(payload.first(out.size()), 1.0F, mirror);
  }
  return {.encoded_bytes = out.size(),
          .target_elements = 0,
          .selected_elements = report.nonzero,
          .threshold = std::numeric_limits<double>::quiet_NaN(),
          .passes = parts_.memory->passes() + report.passes - (c.fused() ? 1 : 0)};
}

EncodeReport DensePipeline::first_round(const GradientInput& gradient,
                                        std::span<std::byte> payload) {
  if (rounds() == 1) return Compressor::first_round(gradient, payload);  // refuses
  check_size(identity_, "the gradient", gradient.values.size());
  check_room(identity_, payload.size(), max_encoded_size_);
  const UseThreads threads(parts_.threads);
  in_rounds_ = parts_.memory->add(gradient.values, 1.0F);
  ByteWriter out(payload);
  const QuantizeReport report =
      parts_.quantizer->first_round(in_rounds_, parts_.memory->remainder(), out);
  round_ = 1;
  floats_ = out.size() / sizeof(float);
  return {.encoded_bytes = out.size(),
          .target_elements = 0,
          .selected_elements = report.nonzero,
          .threshold = std::numeric_limits<double>::quiet_NaN(),
          .passes = parts_.memory->passes() + report.passes};  // in all rounds
}

std::size_t DensePipeline::next_round(std::span<const float> mean, std::span<std::byte> payload) {
  if (round_ == 0) throw std::logic_error("next_round() without a round before it");
  if (mean.size() != floats_) {
    throw InputError("tensor '" + identity_.tensor + "': a mean of " + std::to_string(mean.size()) +
                     " floats; round " + std::to_string(round_) + " expects " +
                     std::to_string(floats_));
  }
  check_room(identity_, payload.size(), max_encoded_size_);
  const UseThreads threads(parts_.threads);
  ByteWriter out(payload);
  parts_.quantizer->next_round(round_, mean, in_rounds_, parts_.memory->remainder(), out);
  floats_ = out.size() / sizeof(float);
  round_ = round_ == rounds() ? 0 : round_ + 1;
  if (const auto mirror = parts_.memory->mirror(); round_ == 0 && !mirror.empty()) {
    decode_add(std::span(own_).first(own_payload(own_)), 1.0F, mirror);
  }
  return out.size();
}

std::size_t DensePipeline::own_payload(std::span<std::byte> payload) const {
  if (rounds() == 1) return Compressor::own_payload(payload);  // refuses
  check_room(identity_, payload.size(), max_encoded_size_);
  ByteWriter out(payload);
  parts_.quantizer->own_payload(out);
  return out.size();
}

void DensePipeline::decode_add(std::span<const std::byte> payload, float factor,
                               std::span<float> out) const {
  check_size(identity_, "the output", out.size());
  const UseThreads threads(parts_.threads);
  parts_.quantizer->decode_add(ByteReader(payload), factor, out);
}

Distortion DensePipeline::distortion(const GradientInput& gradient,
                                     std::span<const std::byte> payload) const {
  check_size(identity_, "the gradient", gradient.values.size());
  if (parts_.verbatim && payload.size() == gradient.values.size_bytes() &&
      (payload.empty() || std::memcmp(payload.data(), gradient.values.data(), payload.size()) == 0))
    return parts_.memory->distortion(gradient.values, gradient.values);
  std::vector<float> decoded(elements(), 0.0F);
  decode_add(payload, 1.0F, decoded);
  return parts_.memory->distortion(gradient.values, decoded);
}

void DensePipeline::hold(const GradientInput& gradient) {
  if (parts_.period == 1) Compressor::hold(gradient);  // refuses
  check_size(identity_, "the gradient", gradient.values.size());
  parts_.memory->hold(gradient.values, 1.0F);
}

void DensePipeline::reset() {
  parts_.memory->reset();
  parts_.quantizer->reset();
  is_prepared_ = false;
  round_ = 0;
}

void DensePipeline::save_state(std::vector<std::byte>& state) const {
  const std::size_t body = parts_.memory->state_size() + parts_.quantizer->state_size();
  ByteWriter out = begin_state(identity_, body, state);
  parts_.memory->save(out);
  parts_.quantizer->save(out);
}

void DensePipeline::load_state(std::span<const std::byte> state) {
  const std::size_t body = parts_.memory->state_size() + parts_.quantizer->state_size();
  ByteReader in = open_state(identity_, body, state);
  parts_.memory->load(in);
  parts_.quantizer->load(in);
  is_prepared_ = false;
  round_ = 0;
}

ParameterInfo bucket_parameter(const std::string& default_value) {
  return integer_parameter("bucket", default_value,
                           "elements that share one scale; 0: the whole tensor", 0, 1 << 24);
}

BucketOptions whole_tensor(const TensorInfo& tensor, const CompressorSettings& settings) {
  return {.bucket = 0, .stream = random_stream(settings.seed, settings.rank, tensor.name)};
}

BucketOptions bucket_of(const Parameters& parameters, const TensorInfo& tensor,
                        const CompressorSettings& settings) {
  BucketOptions options = whole_tensor(tensor, settings);
  options.bucket = static_cast<std::size_t>(parameters.integer("bucket"));
  return options;
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
  info.make = [make_quantizer = method.quantizer](const Parameters& parameters,
                                                  const TensorInfo& tensor,
                                                  const CompressorSettings& settings) {
    DenseParts parts{.memory = make_memory(parameters, tensor.elements),
                     .quantizer = make_quantizer(parameters, tensor, settings),
                     .period = period_of(parameters),
                     .threads = settings.threads,
                     .incremental = parameters.choice("memory") == "ef21"};
    return std::make_unique<DensePipeline>(identity_of(parameters, tensor), std::move(parts));
  };
  return info;
}

}  // namespace thinpipe
