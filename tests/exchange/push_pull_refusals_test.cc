// What workers and servers refuse of each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include "tests/exchange/push_pull_layouts.h"
#include "tests/exchange/thread_transport.h"
#include "workloads/exchange/push_pull_server.h"
#include "workloads/exchange/push_pull_tags.h"
#include "workloads/exchange/push_pull_worker.h"

namespace thinpipe {
namespace {

using Bytes = std::vector<std::byte>;

// What a test makes of the ranks that it does not run itself.
class Peer {
 public:
  Peer(Mailboxes& boxes, int rank, int size) : transport_(boxes, rank, size) {}
  void send(int to, int tag, std::uint32_t unit, std::uint32_t length, std::size_t bytes) {
    Bytes message(kUnitHeadBytes + bytes);
    const std::uint32_t head[] = {unit, length};
    std::memcpy(message.data(), head, kUnitHeadBytes);
    transport_.send(0, to, tag, message);
  }
  void send_bytes(int to, int tag, std::size_t bytes) {
    const Bytes message(bytes);
    transport_.send(0, to, tag, message);
  }

 private:
  ThreadTransport transport_;
};

template <typename Aggregator = PayloadMixer>
std::string error_of_server(const std::function<void(Peer&)>& lie) {
  const PushPullLayout layout = unit_layout(2, 2, 3);  // units 0 and 1 are with server 1
  Mailboxes boxes;
  Peer honest(boxes, 0, 4), liar(boxes, 1, 4);
  honest.send(3, kPushTag, 1, 3, 3);
  lie(liar);
  ThreadTransport transport(boxes, 3, 4);
  PushPullServer server(transport, layout, 1);
  Aggregator aggregator(3);
  try {
    server.step(aggregator, server.units());
  } catch (const PayloadError& error) {
    return error.what();
  }
  return "no error";
}

using ::testing::HasSubstr;

TEST(PushPullServer, RefusesWhatAWorkerMayNotPush) {
  EXPECT_EQ(error_of_server([](Peer& liar) { liar.send_bytes(3, kPushTag, 7); }),
            "rank 1 sent 7 bytes; expected the 8 bytes of a unit's head at least");
  for (const std::uint32_t unit : {2U, 3U, 0xffffffffU})
    EXPECT_EQ(
        error_of_server([&](Peer& liar) { liar.send(3, kPushTag, unit, 4, 4); }),
        "rank 1 pushed unit " + std::to_string(unit) +
            "; expected those of this server's 2 units that take part in the step, each once");
  EXPECT_THAT(error_of_server([](Peer& liar) {
                liar.send(3, kPushTag, 1, 4, 4);
                liar.send(3, kPushTag, 1, 4, 4);
              }),
              HasSubstr("rank 1 pushed unit 1; expected"));
  EXPECT_EQ(error_of_server([](Peer& liar) { liar.send(3, kPushTag, 1, 300002, 4); }),
            "rank 1, unit 'unit1': 300002 bytes; expected at most 300001");
  EXPECT_EQ(error_of_server([](Peer& liar) { liar.send(3, kPushTag, 0, 4, 5); }),
            "rank 1, unit 0: a segment of 5 bytes; expected 4, 4 being left");
}

TEST(PushPullServer, NamesWhosePayloadIsMalformed) {
  class Refuses : public PayloadMixer {
   public:
    using PayloadMixer::PayloadMixer;
    void add(std::size_t unit, int worker, std::span<const std::byte> payload) override {
      if (worker == 1) throw PayloadError("of 3 bytes");
      PayloadMixer::add(unit, worker, payload);
    }
  };
  EXPECT_EQ(error_of_server<Refuses>([](Peer& liar) { liar.send(3, kPushTag, 1, 3, 3); }),
            "payload of rank 1, unit 'unit1': of 3 bytes");
}

TEST(PushPullWorker, RefusesWhatAServerMayNotAnswer) {
  const auto error_of = [](const std::function<void(Peer&)>& lie) -> std::string {
    const PushPullLayout layout = unit_layout(1, 2, 3);  // units 0 and 1 are with server 1, rank 2
    Mailboxes boxes;
    Peer liar(boxes, 2, 3);
    lie(liar);
    ThreadTransport transport(boxes, 0, 3);
    PushPullWorker worker(transport, layout);
    const std::vector<UnitPayload> payloads = {{0, {}}, {1, {}}};
    try {
      worker.run(payloads);
    } catch (const PayloadError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of([](Peer& liar) { liar.send_bytes(0, kPullTag, 0); }),
              HasSubstr("rank 2 sent 0 bytes"));
  for (const std::uint32_t unit : {2U, 3U})
    EXPECT_EQ(error_of([&](Peer& liar) { liar.send(0, kPullTag, unit, 1, 1); }),
              "server rank 2 answered unit " + std::to_string(unit) +
                  "; expected one that was pushed to it and not pulled yet");
  EXPECT_THAT(error_of([](Peer& liar) {
                liar.send(0, kPullTag, 1, 1, 1);
                liar.send(0, kPullTag, 1, 1, 1);
              }),
              HasSubstr("answered unit 1"));
  EXPECT_EQ(error_of([](Peer& liar) { liar.send(0, kPullTag, 0, 300002, 1); }),
            "server rank 2, unit 'unit0': 300002 bytes; expected at most 300001");
}

}  // namespace
}  // namespace thinpipe
