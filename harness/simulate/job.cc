#include "harness/simulate/job.h"

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "harness/predict/network_model.h"
#include "netem/topology/flows.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// The fields of a rank's step, as they are in an answer.
constexpr double SimulatedRankStep::*kFields[] = {
    &SimulatedRankStep::total,         &SimulatedRankStep::compute,
    &SimulatedRankStep::compress,      &SimulatedRankStep::exchange,
    &SimulatedRankStep::decode,        &SimulatedRankStep::exposed,
    &SimulatedRankStep::link_idle,     &SimulatedRankStep::sent_bytes,
    &SimulatedRankStep::sent_messages, &SimulatedRankStep::carried};

// The fields of a unit, likewise.
constexpr double UnitWork::*kUnitFields[] = {&UnitWork::elements, &UnitWork::push, &UnitWork::pull,
                                             &UnitWork::decode, &UnitWork::compress};

template <class Object, std::size_t kCount>
json values_of(const Object& object, double Object::*const (&fields)[kCount]) {
  json values = json::array();
  for (const auto field : fields) values.push_back(object.*field);
  return values;
}

template <class Object, std::size_t kCount>
Object object_of(const json& values, double Object::*const (&fields)[kCount]) {
  Object object;
  for (std::size_t i = 0; i < kCount; ++i) values.at(i).get_to(object.*fields[i]);
  return object;
}

json work_json(const ExchangeWork& exchange) {
  json units = json::array();
  for (const UnitWork& unit : exchange.units) units.push_back(values_of(unit, kUnitFields));
  return {{"operation", static_cast<int>(exchange.operation)},
          {"bytes", exchange.bytes},
          {"k", exchange.k},
          {"copies", exchange.copies},
          {"units", std::move(units)}};
}

ExchangeWork parse_work(const json& exchange) {
  ExchangeWork one{.operation = static_cast<Exchange>(exchange.at("operation").get<int>()),
                   .bytes = exchange.at("bytes"),
                   .k = exchange.at("k"),
                   .copies = exchange.at("copies")};
  for (const auto& unit : exchange.at("units")) one.units.push_back(object_of(unit, kUnitFields));
  return one;
}

SimulatedLink one_way(const LinkSpec& link, bool up) {
  const LinkFigures figures = direction_figures(link, up);
  return {.rate = figures.beta > 0 ? 1 / figures.beta : 0,
          .delay = figures.alpha,
          .credit = figures.credit};
}

void add_link(const LinkSpec& link, SimulatedNetwork& network) {
  network.links.push_back(one_way(link, true));
  network.links.push_back(one_way(link, false));
}

}  // namespace

json job_json(const SimulationJob& job) {
  json buckets = json::array();
  for (const SimulatedBucket& bucket : job.work.buckets) {
    json exchanges = json::array();
    for (const ExchangeWork& one : bucket.exchanges) exchanges.push_back(work_json(one));
    buckets.push_back({{"ready", bucket.ready},
                       {"compress", bucket.compress},
                       {"decode", bucket.decode},
                       {"dimension", bucket.dimension},
                       {"exchanges", std::move(exchanges)}});
  }
  return {{"topology", job.topology},
          {"link", job.link},
          {"message_time", job.message_time},
          {"ranks", job.work.ranks},
          {"collective", job.work.collective.to_string()},
          {"kind", static_cast<int>(job.work.kind)},
          {"compute", job.work.compute},
          {"buckets", std::move(buckets)},
          {"steps", job.work.steps},
          {"stalls", job.work.stalls}};
}

SimulationJob parse_job(const json& json) {
  SimulationJob job{.topology = json.at("topology"),
                    .link = json.at("link"),
                    .message_time = json.at("message_time"),
                    .work = {}};
  job.work.ranks = json.at("ranks");
  job.work.collective = parse_spec(json.at("collective").get<std::string>());
  job.work.kind = static_cast<PipelineKind>(json.at("kind").get<int>());
  job.work.compute = json.at("compute");
  for (const auto& bucket : json.at("buckets")) {
    SimulatedBucket& one = job.work.buckets.emplace_back();
    one.ready = bucket.at("ready");
    one.compress = bucket.at("compress");
    one.decode = bucket.at("decode");
    one.dimension = bucket.at("dimension");
    for (const auto& exchange : bucket.at("exchanges"))
      one.exchanges.push_back(parse_work(exchange));
  }
  job.work.steps = json.at("steps").get<std::vector<std::vector<double>>>();
  job.work.stalls = json.at("stalls").get<std::vector<std::vector<double>>>();
  return job;
}

SimulatedNetwork simulated_network(const TopologySpec& topology, const LinkSpec& link, int hosts,
                                   double message_time) {
  SimulatedNetwork network{.hosts = hosts, .message_time = message_time};
  if (topology.is_star()) {
    for (int host = 0; host < hosts; ++host) add_link(link, network);
    return network;
  }
  const auto planned = std::make_shared<const Topology>(topology.plan(hosts, link));
  // Hosts are the first links of a topology, then trunks.
  for (const LinkSpec& one : links_as_set(*planned)) add_link(one, network);
  const auto routes = std::make_shared<const Routes>(*planned);
  network.path = [planned, routes](int from, int to) {
    std::vector<int> links;
    for (const Hop& hop : routes->path(from, to)) links.push_back(2 * hop.link + (hop.up ? 0 : 1));
    return links;
  };
  return network;
}

json answer_json(const SimulationAnswer& answer) {
  json steps = json::array();
  for (const auto& ranks : answer.steps) {
    json& step = steps.emplace_back(json::array());
    for (const SimulatedRankStep& rank : ranks) step.push_back(values_of(rank, kFields));
  }
  return {{"version", answer.version}, {"seconds", answer.seconds}, {"steps", std::move(steps)}};
}

SimulationAnswer parse_answer(const json& json) {
  SimulationAnswer answer{
      .version = json.at("version"), .seconds = json.at("seconds"), .steps = {}};
  for (const auto& step : json.at("steps")) {
    auto& ranks = answer.steps.emplace_back();
    for (const auto& values : step) ranks.push_back(object_of(values, kFields));
  }
  return answer;
}

}  // namespace thinpipe
