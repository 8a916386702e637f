// Fuzzes the messages that workers push to a parameter server, or that servers answer, with
// arbitrary bytes. The messages must be refused, or every unit must arrive whole and once. A
// worker's units must arrive in their order.
#include <vector>

#include "compressors/compressor.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/scripted_transport.h"
#include "workloads/collectives/push_pull_collective.h"
#include "workloads/collectives/push_pull_server.h"

namespace thinpipe::fuzz {
namespace {

/// Capacities around a segment's length too.
PushPullLayout take_layout(Input& input) {
  PushPullLayout layout;
  layout.workers = 1 + input.get<std::uint8_t>() % 3;
  layout.servers = 1 + input.get<std::uint8_t>() % 2;
  const auto capacity = [&] {
    const std::size_t some = input.get<std::uint8_t>();
    return some % 4 == 3 ? 32700 + some : some;
  };
  for (std::size_t unit = 1 + input.get<std::uint8_t>() % 5; unit > 0; --unit) {
    ExchangeUnit& one = layout.units.emplace_back();
    one.name = "unit" + std::to_string(layout.units.size());
    one.elements = 1;
    one.push_capacity = capacity();
    one.pull_capacity = capacity();
    one.server = input.get<std::uint8_t>() % layout.servers;
  }
  return layout;
}

/// Some of the units, by the bits of a byte.
std::vector<std::size_t> take_units(Input& input, const std::vector<std::size_t>& units) {
  const unsigned chosen = input.get<std::uint8_t>();
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < units.size(); ++i)
    if ((chosen >> i & 1U) != 0) some.push_back(units[i]);
  return some;
}

void check_worker(Input& input, const PushPullLayout& layout) {
  ScriptedTransport transport(input, 0, layout.ranks());
  PushPullWorker worker(transport, layout);
  std::vector<std::size_t> all(layout.units.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  for (int step = 0; step < 2; ++step) {
    std::vector<std::vector<std::byte>> pushed;
    std::vector<UnitPayload> payloads;
    pushed.reserve(all.size());
    for (const std::size_t unit : take_units(input, all)) {
      const ExchangeUnit& what = layout.units[unit];
      pushed.emplace_back(input.get<std::uint16_t>() % (what.push_capacity + 1), std::byte{7});
      payloads.push_back({unit, pushed.back()});
    }
    const std::size_t push = worker.push(payloads);
    while (!worker.pull(push)) {
    }
    for (const UnitPayload& one : payloads)
      require(worker.pulled(one.unit).size() <= layout.units[one.unit].pull_capacity,
              "answers are within their capacity");
  }
}

/// Wants every worker's payload of every unit of the step, once and in order.
class Auditor : public UnitAggregator {
 public:
  explicit Auditor(const PushPullLayout& layout) : layout_(layout), next_(layout.units.size()) {}

  void add(std::size_t unit, int worker, std::span<const std::byte> payload) override {
    require(worker == next_.at(unit)++, "workers are added in their order");
    require(payload.size() <= layout_.units[unit].push_capacity, "pushes are within capacity");
    if (payload.size() == 5) throw PayloadError("5 bytes");
  }
  std::span<const std::byte> answer(std::size_t unit) override {
    require(next_.at(unit) == layout_.workers, "an answer is of all workers");
    next_[unit] = 0;
    ++answers_;
    return std::span(answer_).first(layout_.units[unit].pull_capacity);
  }
  std::size_t answers() const { return answers_; }

 private:
  const PushPullLayout& layout_;
  std::vector<int> next_;
  std::size_t answers_ = 0;
  std::vector<std::byte> answer_ = std::vector<std::byte>(33000);
};

void check_server(Input& input, const PushPullLayout& layout) {
  const int server = input.get<std::uint8_t>() % layout.servers;
  ScriptedTransport transport(input, layout.rank_of_server(server), layout.ranks());
  PushPullServer served(transport, layout, server);
  Auditor auditor(layout);
  std::size_t wanted = 0;
  for (int step = 0; step < 2; ++step) {
    const auto units = take_units(input, served.units());
    served.step(auditor, units);
    wanted += units.size();
    require(auditor.answers() == wanted, "every unit of a step is answered once");
  }
}

}  // namespace
}  // namespace thinpipe::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  fuzz::Input input(data, size);
  const bool serves = input.get<std::uint8_t>() % 2 == 0;
  const PushPullLayout layout = fuzz::take_layout(input);
  try {
    (serves ? fuzz::check_server : fuzz::check_worker)(input, layout);
  } catch (const PayloadError&) {
  } catch (const fuzz::PeersAreSilent&) {
  }
  return 0;
}
