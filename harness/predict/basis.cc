#include "harness/predict/basis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/statistics.h"
#include "base/units.h"
#include "harness/options/terminal.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {
namespace {

using nlohmann::json;

constexpr double kLongest = 1e9;      // s: 31 years
constexpr double kMaxCounted = 1e18;  // elements, bytes: whole numbers in 64 bits
constexpr int kMaxCores = 1'000'000;
constexpr double kClose = 0.1;  // largest relative error of a prediction that counts as close

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

json exchange_json(const ExchangeWork& exchange) {
  json one = {{"exchange", name_of(exchange.operation)}, {"bytes", exchange.bytes}};
  if (exchange.k > 0) one["k"] = exchange.k;
  if (exchange.copies > 0) one["copies"] = exchange.copies;
  for (const UnitWork& unit : exchange.units)
    one["units"].push_back({unit.elements, unit.push, unit.pull, unit.decode, unit.compress});
  return one;
}

double seconds_at(const JsonField& field, std::string_view key) {
  return field.at(key).number(0, kLongest);
}

double count_at(const JsonField& field, std::string_view key) {
  return field.at(key).number(0, kMaxCounted);
}

// Returns the numbers of an array of length `count`.
template <std::size_t count>
std::array<double, count> numbers_of(const JsonField& field) {
  if (field.size() != count)
    field.fail(fmt::format("{} numbers, expected {}", field.size(), count));
  std::array<double, count> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers[i] = field.at(i).number(0, kMaxCounted);
  return numbers;
}

ExchangeWork exchange_from(const JsonField& field) {
  ExchangeWork exchange{.operation = named(kBasisExchanges, field.at("exchange")),
                        .bytes = {},
                        .k = field.has("k") ? count_at(field, "k") : 0,
                        .copies = field.has("copies") ? seconds_at(field, "copies") : 0};
  const JsonField bytes = field.at("bytes");
  if (bytes.size() == 0) bytes.fail("expected the bytes of at least one rank");
  for (std::size_t i = 0; i < bytes.size(); ++i)
    exchange.bytes.push_back(bytes.at(i).number(0, kMaxCounted));
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

std::optional<double> median_step(const Point& point) {
  const std::vector<double> values = point.samples("step_time"_metric);
  if (values.empty()) return std::nullopt;
  return median(values);
}

LinkFigures figures_in(const JsonField& link) {
  constexpr double kMax = 1e18;
  return {.alpha = link.at("alpha").number(0, kMax),
          .beta = link.at("beta").number(0, kMax),
          .credit = link.at("credit").number(0, kMax)};
}

// Parses the axis of records, such as `allgather-hierarchical:group=2`.
Spec collective_in(const Axes& axes) {
  const std::size_t dash = axes.collective.find('-');
  return parse_spec(dash == std::string::npos ? axes.collective : axes.collective.substr(dash + 1));
}

std::string time_or_dash(const std::optional<double>& seconds) {
  return seconds ? format_time(*seconds) : "-";
}

// Returns the warnings at the end of a row.
std::string remark_of(const PredictedAgain& one) {
  std::string text = one.status == Status::kOk ? "" : std::string("  ") + status_name(one.status);
  if (one.prediction && one.prediction->incast) text += "  incast";
  return text;
}

std::string row_of(const PredictedAgain& one) {
  const auto ratio = one.ratio();
  const std::string ratio_text = ratio ? fmt::format("{:.2f}", *ratio) : "-";
  const std::string name = fmt::format("{} x {}, {}, {}", one.axes.ranks, one.axes.compressor,
                                       one.axes.way(), format_rate(one.axes.rate));
  std::string row =
      name.size() < 44 ? fmt::format("  {:<44}", name) : fmt::format("  {}\n  {:<44}", name, "");
  if (!one.prediction) return row + "  " + one.refusal + "\n";
  return row + fmt::format("{:>11}{:>11}{:>7}{}\n", time_or_dash(one.measured),
                           format_time(one.prediction->step), ratio_text, remark_of(one));
}

struct PredictionBasis {
  CodecProfile codec;
  PredictionInput input;  // without ranks, collective and link
};

// @throws InputError naming the field that is missing, of a wrong type or out of range.
PredictionBasis basis_from(const JsonField& field) {
  PredictionBasis basis;
  PredictionInput& input = basis.input;
  input.times.compute = seconds_at(field, "compute");
  input.kind = named(kBasisKinds, field.at("pipeline"));
  input.cores = field.at("cores").number(0, kMaxCores);
  input.threads = static_cast<int>(field.at("threads").unsigned_integer(1, kMaxCores));
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
  codec.period = field.at("period").number(1, kMaxCounted);
  const JsonField buckets = field.at("buckets");
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    codec.buckets.push_back(bucket_from(buckets.at(i)));
    codec.buckets.back().tensors = {i};  // one tensor represents all of the bucket
    input.times.ready.push_back(seconds_at(buckets.at(i), "ready"));
  }
  return basis;
}

}  // namespace

json basis_json(const CodecProfile& codec, const PredictionInput& input) {
  json buckets = json::array();
  for (const ProfiledBucket& bucket : codec.buckets) {
    json exchanges = json::array();
    for (const ExchangeWork& one : bucket.exchanges) exchanges.push_back(exchange_json(one));
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

std::optional<double> PredictedAgain::ratio() const {
  if (!prediction || !measured || *measured <= 0) return std::nullopt;
  return prediction->step / *measured;
}

std::vector<PredictedAgain> predict_again(const Records& records) {
  ExchangeTimes times;
  std::vector<PredictedAgain> found;
  for (const Point& point : records.points) {
    PredictedAgain& one = found.emplace_back();
    one.axes = point.axes;
    one.status = point.status;
    one.measured = median_step(point);
    one.recorded = point.prediction.number("step_time"_metric);
    if (!point.prediction->contains("basis")) {
      one.refusal = point.prediction.empty() ? "not predicted during the run"
                                             : "recorded without the basis of its prediction";
      continue;
    }
    const JsonField prediction(*point.prediction,
                               fmt::format("{}: point {}", records.file.string(), point.id),
                               "prediction");
    PredictionBasis basis = basis_from(prediction.at("basis"));
    basis.input.ranks = point.axes.ranks;
    basis.input.collective = collective_in(point.axes);
    basis.input.link = figures_in(prediction.at("link"));
    one.prediction = predict(basis.codec, basis.input, times);
    if (!one.prediction) one.refusal = "no model of collective " + basis.input.collective.name;
  }
  return found;
}

std::string again_table(const std::vector<PredictedAgain>& points) {
  std::string text =
      fmt::format("  {:<44}{:>11}{:>11}{:>7}\n", "point", "measured", "predicted", "ratio");
  std::vector<double> ratios;
  for (const PredictedAgain& one : points) {
    text += row_of(one);
    if (one.status == Status::kOk && one.ratio()) ratios.push_back(*one.ratio());
  }
  if (ratios.empty()) return text;
  const auto close = std::count_if(ratios.begin(), ratios.end(),
                                   [](double ratio) { return std::fabs(ratio - 1) <= kClose; });
  return text + fmt::format(
                    "\n{} of {} points are within {:.0f} %; {} more are not ok or have no"
                    " prediction.\n",
                    close, ratios.size(), 100 * kClose, points.size() - ratios.size());
}

nlohmann::ordered_json again_json(const std::vector<PredictedAgain>& points) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const PredictedAgain& one : points)
    all.push_back({{"axes",
                    {{"compressor", one.axes.compressor},
                     {"collective", one.axes.collective},
                     {"bucketing", one.axes.bucketing},
                     {"link", one.axes.link},
                     {"rate", one.axes.rate},
                     {"ranks", one.axes.ranks},
                     {"repeat", one.axes.repeat}}},
                   {"status", status_name(one.status)},
                   {"measured", number_or_null(one.measured)},
                   {"recorded", number_or_null(one.recorded)},
                   {"predicted", one.prediction ? nlohmann::ordered_json(one.prediction->step)
                                                : nlohmann::ordered_json(nullptr)},
                   {"ratio", number_or_null(one.ratio())},
                   {"incast", one.prediction && one.prediction->incast},
                   {"refusal", one.refusal}});
  return {{"points", std::move(all)}};
}

}  // namespace thinpipe
