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
  json one = {{"exchange", name_of(exchange.exchange)}, {"bytes", exchange.bytes}};
  if (exchange.k > 0) one["k"] = exchange.k;
  if (exchange.copies > 0) one["copies"] = exchange.copies;
  for (const ProfiledUnit& unit : exchange.units)
    one["units"].push_back({unit.elements, unit.push, unit.pull, unit.decode, unit.compress});
  return one;
}

ProfiledExchange exchange_from(const json& one) {
  ProfiledExchange exchange{
      .exchange = named(kBasisExchanges, one.at("exchange").get<std::string>()),
      .bytes = one.at("bytes").get<std::vector<double>>(),
      .k = one.value("k", 0.0),
      .copies = one.value("copies", 0.0)};
  if (one.contains("units"))
    for (const json& unit : one.at("units"))
      exchange.units.push_back({.elements = unit.at(0),
                                .push = unit.at(1),
                                .pull = unit.at(2),
                                .decode = unit.at(3),
                                .compress = unit.at(4)});
  return exchange;
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
  json servers = json::array();
  for (const LinkFigures& link : input.servers)
    servers.push_back({link.alpha, link.beta, link.credit});
  return {{"compute", input.times.compute},
          {"pipeline", name_of(input.kind)},
          {"cores", input.cores},
          {"threads", input.threads},
          {"payload_bytes", codec.payload_bytes},
          {"density", codec.density},
          {"elements", codec.elements},
          {"hold", codec.hold},
          {"queue", input.queue},
          {"period", codec.period},
          {"servers", std::move(servers)},
          {"buckets", std::move(buckets)}};
}

PredictionBasis basis_from(const json& json) try {
  PredictionBasis basis;
  PredictionInput& input = basis.input;
  input.times.compute = json.at("compute");
  input.kind = named(kBasisKinds, json.at("pipeline").get<std::string>());
  input.cores = json.at("cores");
  input.threads = json.at("threads");
  input.queue = json.value("queue", 0.0);
  if (json.contains("servers"))
    for (const auto& link : json.at("servers"))
      input.servers.push_back({.alpha = link.at(0), .beta = link.at(1), .credit = link.at(2)});
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
