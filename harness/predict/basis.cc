#include "harness/predict/basis.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include <fmt/format.h>

#include "workloads/trace/json_fields.h"

namespace thinpipe {

namespace {

using nlohmann::json;

constexpr double kLongest = 1e9;       // s: 31 years
constexpr double kMostCounted = 1e18;  // elements, bytes: whole numbers in 64 bits
constexpr int kMostCores = 1'000'000;

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
Value named(const std::array<Value, count>& values, const JsonField& field) {
  const std::string name = field.string();
  std::string known;
  for (const Value value : values) {
    if (name == name_of(value)) return value;
    known += (known.empty() ? "" : ", ") + std::string(name_of(value));
  }
  field.fail(fmt::format("expected one of {}, found {}", known, describe_json(field.value())));
}

json exchange_json(const ProfiledExchange& exchange) {
  json one = {{"exchange", name_of(exchange.exchange)}, {"bytes", exchange.bytes}};
  if (exchange.k > 0) one["k"] = exchange.k;
  if (exchange.copies > 0) one["copies"] = exchange.copies;
  for (const ProfiledUnit& unit : exchange.units)
    one["units"].push_back({unit.elements, unit.push, unit.pull, unit.decode, unit.compress});
  return one;
}

double seconds_at(const JsonField& field, std::string_view key) {
  return field.at(key).number(0, kLongest);
}

double count_at(const JsonField& field, std::string_view key) {
  return field.at(key).number(0, kMostCounted);
}

// The numbers of an array of so many.
template <std::size_t count>
std::array<double, count> numbers_of(const JsonField& field) {
  if (field.size() != count)
    field.fail(fmt::format("{} numbers, expected {}", field.size(), count));
  std::array<double, count> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers[i] = field.at(i).number(0, kMostCounted);
  return numbers;
}

ProfiledExchange exchange_from(const JsonField& field) {
  ProfiledExchange exchange{.exchange = named(kBasisExchanges, field.at("exchange")),
                            .bytes = {},
                            .k = field.has("k") ? count_at(field, "k") : 0,
                            .copies = field.has("copies") ? seconds_at(field, "copies") : 0};
  const JsonField bytes = field.at("bytes");
  if (bytes.size() == 0) bytes.fail("expected the bytes of at least one rank");
  for (std::size_t i = 0; i < bytes.size(); ++i)
    exchange.bytes.push_back(bytes.at(i).number(0, kMostCounted));
  if (field.has("units"))
    for (std::size_t i = 0; i < field.at("units").size(); ++i) {
      const auto [elements, push, pull, decode, compress] = numbers_of<5>(field.at("units").at(i));
      exchange.units.push_back({elements, push, pull, decode, compress});
    }
  return exchange;
}

ProfiledBucket bucket_from(const JsonField& field) {
  ProfiledBucket bucket{.tensors = {},
                        .compress = seconds_at(field, "compress"),
                        .decode = seconds_at(field, "decode"),
                        .decode_message = seconds_at(field, "decode_message"),
                        .exchanges = {}};
  const JsonField exchanges = field.at("exchanges");
  for (std::size_t i = 0; i < exchanges.size(); ++i)
    bucket.exchanges.push_back(exchange_from(exchanges.at(i)));
  return bucket;
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

PredictionBasis basis_from(const JsonField& field) {
  PredictionBasis basis;
  PredictionInput& input = basis.input;
  input.times.compute = seconds_at(field, "compute");
  input.kind = named(kBasisKinds, field.at("pipeline"));
  input.cores = field.at("cores").number(0, kMostCores);
  input.threads = static_cast<int>(field.at("threads").unsigned_integer(1, kMostCores));
  input.queue = field.has("queue") ? count_at(field, "queue") : 0;
  if (field.has("servers"))
    for (std::size_t i = 0; i < field.at("servers").size(); ++i) {
      const auto [alpha, beta, credit] = numbers_of<3>(field.at("servers").at(i));
      input.servers.push_back({alpha, beta, credit});
    }
  CodecProfile& codec = basis.codec;
  codec.payload_bytes = count_at(field, "payload_bytes");
  codec.density = count_at(field, "density");
  codec.elements = count_at(field, "elements");
  codec.hold = seconds_at(field, "hold");
  codec.period = field.at("period").number(1, kMostCounted);
  const JsonField buckets = field.at("buckets");
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    codec.buckets.push_back(bucket_from(buckets.at(i)));
    codec.buckets.back().tensors = {i};  // one stands for all of a bucket's
    input.times.ready.push_back(seconds_at(buckets.at(i), "ready"));
  }
  return basis;
}

}  // namespace thinpipe
