#include "harness/predict/basis.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include <fmt/format.h>

#include "base/error.h"

namespace thinpipe {

namespace {

using nlohmann::json;

constexpr std::array kBasisKinds = {PipelineKind::kSerial, PipelineKind::kInline,
                                    PipelineKind::kBeside};
constexpr std::array kBasisExchanges = {Exchange::kAllReduce, Exchange::kAllGather,
                                        Exchange::kSparseAllReduce, Exchange::kPushPull};

const char* name_of(PipelineKind kind) {
  switch (kind) {
    case PipelineKind::kSerial:
      return "serial";
    case PipelineKind::kInline:
      return "inline";
    case PipelineKind::kBeside:
      return "beside";
  }
  return "serial";
}

const char* name_of(Exchange exchange) { return to_string(exchange); }

template <class Value, std::size_t count>
Value named(const std::array<Value, count>& values, const std::string& name) {
  for (const Value value : values)
    if (name == name_of(value)) return value;
  throw InputError(fmt::format("the basis of a prediction names '{}', which is unknown", name));
}

json exchange_json(const ProfiledExchange& exchange) {
  return {{"exchange", name_of(exchange.exchange)}, {"bytes", exchange.bytes}};
}

ProfiledExchange exchange_from(const json& one) {
  return {.exchange = named(kBasisExchanges, one.at("exchange").get<std::string>()),
          .bytes = one.at("bytes").get<std::vector<double>>()};
}

}  // namespace

json basis_json(const CodecProfile& codec, const PredictionInput& input) {
  json buckets = json::array();
  for (const ProfiledBucket& bucket : codec.buckets) {
    json exchanges = json::array();
    for (const ProfiledExchange& one : bucket.exchanges) exchanges.push_back(exchange_json(one));
    buckets.push_back({{"ready", ready_time(bucket, input.times)},
                       {"compress", bucket.compress},
                       {"decode", bucket.decode},
                       {"decode_message", bucket.decode_message},
                       {"exchanges", std::move(exchanges)}});
  }
  return {{"compute", input.times.compute},
          {"pipeline", name_of(input.kind)},
          {"cores", input.cores},
          {"threads", input.threads},
          {"payload_bytes", codec.payload_bytes},
          {"density", codec.density},
          {"elements", codec.elements},
          {"hold", codec.hold},
          {"period", codec.period},
          {"buckets", std::move(buckets)}};
}

PredictionBasis basis_from(const json& json) try {
  PredictionBasis basis;
  PredictionInput& input = basis.input;
  input.times.compute = json.at("compute");
  input.kind = named(kBasisKinds, json.at("pipeline").get<std::string>());
  input.cores = json.at("cores");
  input.threads = json.at("threads");
  CodecProfile& codec = basis.codec;
  codec.payload_bytes = json.at("payload_bytes");
  codec.density = json.at("density");
  codec.elements = json.at("elements");
  codec.hold = json.at("hold");
  codec.period = json.at("period");
  for (const auto& one : json.at("buckets")) {
    ProfiledBucket& bucket = codec.buckets.emplace_back();
    bucket.tensors = {input.times.ready.size()};  // one stands for all of a bucket's
    input.times.ready.push_back(one.at("ready"));
    bucket.compress = one.at("compress");
    bucket.decode = one.at("decode");
    bucket.decode_message = one.at("decode_message");
    for (const auto& exchange : one.at("exchanges"))
      bucket.exchanges.push_back(exchange_from(exchange));
  }
  return basis;
} catch (const nlohmann::json::exception& error) {
  throw InputError(fmt::format("the basis of a prediction: {}", error.what()));
}

}  // namespace thinpipe
