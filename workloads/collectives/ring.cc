// The collective `ring`: every rank sends to the next rank and receives from the previous one.
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/plans.h"
#include "workloads/collectives/traffic.h"

namespace thinpipe {

AllReducePlan ring_all_reduce(int ranks, int rank) {
  AllReducePlan plan{.parts = ranks};
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  // In step s slice rank-s is sent; slice rank-1-s is received and sent in the next step.
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    const int out = (rank + 2 * ranks - step) % ranks, in = (left + 2 * ranks - step) % ranks;
    plan.send(right, out, out + 1);
    if (step < ranks - 1)
      plan.add(left, in, in + 1, 0, step == ranks - 2);
    else
      plan.replace(left, in, in + 1);
  }
  return plan;
}

AllGatherPlan ring_all_gather(int ranks, int rank) {
  if (ranks == 1) return {};
  GatherChannel in{.out = false, .peer = (rank + ranks - 1) % ranks};
  GatherChannel out{.out = true, .peer = (rank + 1) % ranks};
  for (int step = 0; step < ranks - 1; ++step) {
    out.messages.push_back((rank + ranks - step) % ranks);
    in.messages.push_back((rank + ranks - 1 - step) % ranks);
  }
  return {in, out};
}

namespace {

// Rank r does not send slice r+1 in the reduce-scatter, nor slice r+2 in the all-gather.
Traffic ring_reduce_traffic(const Parameters&, const SummedArray& array, int ranks, int rank) {
  if (ranks == 1) return {};
  const ArrayVolume volume(array, ranks);
  const Volume twice = volume.all() * 2;
  return {.sent = twice - volume.of(rank + 1) - volume.of(rank + 2),
          .received = twice - volume.of(rank) - volume.of(rank + 1)};
}

Traffic ring_gather_traffic(const Parameters&, const MessageVolume& messages, int rank) {
  return {.sent = messages.all() - messages.of(rank + 1),
          .received = messages.all() - messages.of(rank)};
}

int ring_reduce_steps(const Parameters&, int ranks) { return 2 * (ranks - 1); }
int ring_gather_steps(const Parameters&, int ranks) { return ranks - 1; }
double ring_messages(const Parameters&, int ranks) { return 2.0 * ranks * (ranks - 1); }

const CollectiveRegistration kRing{
    {.name = "ring",
     .summary = "every rank sends to the next one: reduce-scatter and all-gather, in segments",
     .source = "Variance-based Gradient Compression, section 5",
     .reduce = ring_reduce_form(),
     .gather = GatherForm{.plan = [](const Parameters&, int ranks,
                                     int rank) { return ring_all_gather(ranks, rank); },
                          .traffic = ring_gather_traffic,
                          .steps = ring_gather_steps}}};

}  // namespace

ReduceForm ring_reduce_form() {
  return {
      .plan = [](const Parameters&, int ranks, int rank) { return ring_all_reduce(ranks, rank); },
      .traffic = ring_reduce_traffic,
      .steps = ring_reduce_steps,
      .messages = ring_messages};
}

}  // namespace thinpipe
