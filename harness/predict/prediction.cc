#include "harness/predict/prediction.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/predict/pattern_model.h"
#include "workloads/predict/sparse_time.h"

namespace thinpipe {

namespace {

// How many times longer a codec takes among the others that want the same cores.
double crowding(const PredictionInput& input) {
  if (input.cores <= 0) return 1;
  return std::max(1.0, input.ranks * input.threads / input.cores);
}

// What an exchange leaves of the credit, and what the link has saved up meanwhile.
double credit_after(const ExchangeCost& cost, const LinkFigures& link, double most) {
  if (link.beta <= 0) return most;
  return std::clamp(link.credit + cost.seconds / link.beta - cost.bytes, 0.0, most);
}

}  // namespace

double ready_time(const ProfiledBucket& bucket, const ComputeTimes& times) {
  double last = 0;
  for (const std::size_t tensor : bucket.tensors)
    if (tensor < times.ready.size()) last = std::max(last, times.ready[tensor]);
  return last;
}

std::optional<Prediction> predict(const CodecProfile& codec, const PredictionInput& input,
                                  ExchangeTimes& times) {
  const double slower = crowding(input);
  std::vector<BucketWork> buckets;
  ExchangeAmong among{
      .ranks = input.ranks, .link = input.link, .servers = input.servers, .slower = slower};
  LinkFigures& link = among.link;  // with what is left of its credit
  bool incast = false;
  for (const ProfiledBucket& bucket : codec.buckets) {
    BucketWork work;
    work.ready = ready_time(bucket, input.times);
    work.compress = slower * bucket.compress;
    work.decode = slower * (bucket.decode + input.ranks * bucket.decode_message);
    for (const ProfiledExchange& exchange : bucket.exchanges) {
      auto cost = exchange_cost(input.pattern, exchange, among, times);
      if (!cost) return std::nullopt;
      cost->seconds += exchange.copies;
      work.exchange += cost->seconds;
      incast = incast || (input.queue > 0 && cost->waiting > input.queue);
      link.credit = credit_after(*cost, link, input.link.credit);
    }
    buckets.push_back(work);
  }
  const PipelineTime time = schedule_step(buckets, input.times.compute, input.kind);
  const double period = codec.period;
  const double held = slower * codec.hold * (period - 1);
  Prediction prediction;
  prediction.step = (time.total + (period - 1) * input.times.compute + held) / period;
  prediction.compute = input.times.compute;
  prediction.compress = (time.compress + held) / period;
  prediction.exchange = time.exchange / period;
  prediction.decode = time.decode / period;
  prediction.exposed = time.exposed / period;
  prediction.payload_bytes = codec.payload_bytes;
  prediction.period = codec.period;
  prediction.incast = incast;
  if (codec.density < 1) {
    const auto sparse = [&](Overlapping places) {
      return sparse_doubling_time(input.ranks, codec.payload_bytes, codec.density,
                                  sizeof(float) * codec.elements, places, input.link);
    };
    prediction.sparse_worst = sparse(Overlapping::kNone);
    prediction.sparse_independent = sparse(Overlapping::kIndependent);
  }
  prediction.link = input.link;
  return prediction;
}

nlohmann::json prediction_json(const Prediction& prediction, const CodecProfile& codec) {
  nlohmann::json json = {{"step_time", prediction.step},
                         {"compute_time", prediction.compute},
                         {"compress_time", prediction.compress},
                         {"exchange_time", prediction.exchange},
                         {"decode_time", prediction.decode},
                         {"exposed_time", prediction.exposed},
                         {"payload_bytes", prediction.payload_bytes},
                         {"period", prediction.period},
                         {"link",
                          {{"alpha", prediction.link.alpha},
                           {"beta", prediction.link.beta},
                           {"credit", prediction.link.credit}}},
                         {"codec", codec.source}};
  if (prediction.incast) json["incast"] = true;
  if (prediction.sparse_worst)
    json["sparse_all_reduce"] = {{"density", codec.density},
                                 {"worst_time", *prediction.sparse_worst},
                                 {"independent_time", *prediction.sparse_independent}};
  return json;
}

}  // namespace thinpipe
