// The collective `hierarchical`, with two levels: groups of consecutive ranks, and rings of one
// rank from each group.
#include <algorithm>
#include <vector>

#include "compressors/methods/common.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/plans.h"
#include "workloads/collectives/traffic.h"

namespace thinpipe {
namespace {

/// Groups of g consecutive ranks; the last group may be smaller. There are g rings, and each ring
/// has one rank of every group. In a full group, each member is on one ring. In a smaller group, a
/// member may be on several consecutive rings.
struct RankGroups {
  /// The collective's `group` is g; with fewer ranks there is one group.
  RankGroups(const Parameters& parameters, int all)
      : ranks(all),
        group(std::min(all, static_cast<int>(parameters.integer("group")))),
        groups((all + group - 1) / group) {}
  int ranks, group;  ///< n, and the lesser of g and n
  int groups;        ///< G
  /// Returns whether all groups are of the same size.
  bool whole() const { return groups * group == ranks; }
  int group_of(int rank) const { return rank / group; }
  /// Returns the ranks of a group.
  int size(int of) const { return std::min(group, ranks - of * group); }
  /// Returns the rank of a group that is on a ring.
  int owner(int of, int ring) const { return of * group + ring * size(of) / group; }
  /// Returns the first ring with the rank, and one past the last ring with the rank.
  int first_ring(int rank) const { return ring_of(group_of(rank), rank % group); }
  int last_ring(int rank) const { return ring_of(group_of(rank), rank % group + 1); }
  /// Returns the rank of a group whose message a ring carries; -1 where an earlier ring does.
  int message_on(int of, int ring) const {
    const int rank = owner(of, ring);
    return first_ring(rank) == ring ? rank : -1;
  }

 private:
  // Returns the first ring j with j * size / g >= member.
  int ring_of(int of, int member) const { return (member * group + size(of) - 1) / size(of); }
};

// Tags: 0 within a group, 1 and up for the rings through groups.
int tag_of_ring(int ring) { return ring + 1; }

// A rank among its group.
struct Place {
  Place(const RankGroups& groups, int rank)
      : group(groups.group_of(rank)),
        begin(group * groups.group),
        members(groups.size(group)),
        member(rank - begin),
        right(begin + (member + 1) % members),
        left(begin + (member + members - 1) % members) {}
  int group, begin, members, member, right, left;
  // Returns the member so many places to the left.
  int back(int steps) const { return begin + (member + 2 * members - steps) % members; }
};

// Adds the all-reduce on one ring through all groups: ring j carries slices [j G, (j+1) G).
void add_ring_through_groups(const RankGroups& groups, int at, int ring, AllReducePlan& plan) {
  const int n = groups.groups;
  const int right = groups.owner((at + 1) % n, ring), left = groups.owner((at + n - 1) % n, ring);
  for (int step = 0; step < 2 * (n - 1); ++step) {
    const int out = ring * n + (at + 2 * n - step) % n;
    const int in = ring * n + (at + 3 * n - 1 - step) % n;
    plan.send(right, out, out + 1, tag_of_ring(ring), groups.whole());
    if (step < n - 1)
      plan.add(left, in, in + 1, tag_of_ring(ring), step == n - 2);
    else
      plan.replace(left, in, in + 1, tag_of_ring(ring));
  }
}

// Appends messages that a rank passes on within its group: those that its rings brought from the
// group that is `groups_back` groups before its own. With `groups_back` = 0, appends the rank's own
// message.
void add_messages(const RankGroups& groups, int rank, int groups_back, std::vector<int>& messages) {
  if (groups_back == 0) {
    messages.push_back(rank);
    return;
  }
  const int from = (groups.group_of(rank) + groups.groups - groups_back) % groups.groups;
  for (int ring = groups.first_ring(rank); ring < groups.last_ring(rank); ++ring)
    if (const int message = groups.message_on(from, ring); message >= 0)
      messages.push_back(message);
}

// Returns the volume of a member's own message and of other groups' messages on its rings.
Volume share_of(const RankGroups& groups, const MessageVolume& messages, int rank) {
  Volume sum = messages.of(rank);
  for (int of = 0; of < groups.groups; ++of)
    for (int ring = groups.first_ring(rank); ring < groups.last_ring(rank); ++ring)
      if (of != groups.group_of(rank))
        if (const int message = groups.message_on(of, ring); message >= 0)
          sum += messages.of(message);
  return sum;
}

/// Reduce-scatter on a ring in each group, then an all-reduce of each member's slices on the rings
/// through the groups, then an all-gather in each group. The array has d floats; n ranks form G
/// groups of g. If n is a multiple of g, every rank sends and receives 2(n-1)/n * 4d bytes, as in
/// one ring. Every group then sends and receives 2(G-1)/G * 4d bytes across its edge, which is the
/// minimum. The alternative is a leader that reduces, exchanges and broadcasts for its group. The
/// same number of bytes then crosses the edge, but the leader's link carries g times as many bytes
/// as any other link.
AllReducePlan hierarchical_all_reduce(const Parameters& parameters, int ranks, int rank) {
  const RankGroups groups(parameters, ranks);
  const Place place(groups, rank);
  AllReducePlan plan{.parts = groups.group * groups.groups};
  const int n = groups.groups;
  // Adds a step for each slice that belongs to the rings of the member `owner`. On each ring, the
  // steps begin with slice `from`. Their order is the order in which the ring first sends the
  // slices, or completes their sums.
  const auto steps_about = [&](StepKind kind, int peer, int owner, int from,
                               bool completes = false) {
    for (int step = 0; step < n; ++step)
      for (int ring = groups.first_ring(owner); ring < groups.last_ring(owner); ++ring) {
        const int part = ring * n + (from + n - step) % n;
        plan.steps.push_back({.kind = kind,
                              .peer = peer,
                              .first = part,
                              .last = part + 1,
                              .completes = completes,
                              .paced = groups.whole()});
      }
  };
  for (int step = 0; step < place.members - 1; ++step) {
    steps_about(StepKind::kSend, place.right, place.back(step + 1), place.group);
    steps_about(StepKind::kAdd, place.left, place.back(step + 2), place.group,
                n == 1 && step == place.members - 2);
  }
  for (int ring = groups.first_ring(rank); ring < groups.last_ring(rank); ++ring)
    add_ring_through_groups(groups, place.group, ring, plan);
  for (int step = 0; step < place.members - 1; ++step) {
    steps_about(StepKind::kSend, place.right, place.back(step), place.group + 1);
    steps_about(StepKind::kReplace, place.left, place.back(step + 1), place.group + 1);
  }
  return plan;
}

/// Messages travel along the rings through the groups. Each member also passes its own message, and
/// the messages that its rings bring, along a ring within its group. Every message enters every
/// other group once.
AllGatherPlan hierarchical_all_gather(const Parameters& parameters, int ranks, int rank) {
  const RankGroups groups(parameters, ranks);
  const Place place(groups, rank);
  const int n = groups.groups, at = place.group;
  AllGatherPlan plan;
  for (int ring = groups.first_ring(rank); n > 1 && ring < groups.last_ring(rank); ++ring) {
    GatherChannel in{
        .out = false, .peer = groups.owner((at + n - 1) % n, ring), .tag = tag_of_ring(ring)};
    GatherChannel out{
        .out = true, .peer = groups.owner((at + 1) % n, ring), .tag = tag_of_ring(ring)};
    for (int back = 0; back < n - 1; ++back) {
      if (const int message = groups.message_on((at + n - back) % n, ring); message >= 0)
        out.messages.push_back(message);
      if (const int message = groups.message_on((at + 2 * n - 1 - back) % n, ring); message >= 0)
        in.messages.push_back(message);
    }
    plan.push_back(in);
    plan.push_back(out);
  }
  if (place.members == 1) return plan;
  GatherChannel in{.out = false, .peer = place.left}, out{.out = true, .peer = place.right};
  // In the order in which messages can arrive: each hop through the groups and within the group
  // takes a message's time. If a message waited for one that arrives later, the two rings would not
  // overlap, and the exchange would take n(members - 1) hops instead of n + members - 2.
  for (int hops = 0; hops < n + place.members - 2; ++hops)
    for (int step = std::max(0, hops - n + 1); step <= std::min(hops, place.members - 2); ++step) {
      add_messages(groups, place.back(step), hops - step, out.messages);
      add_messages(groups, place.back(step + 1), hops - step, in.messages);
    }
  plan.push_back(in);
  plan.push_back(out);
  return plan;
}

Traffic hierarchical_reduce_traffic(const Parameters& parameters, const SummedArray& array,
                                    int ranks, int rank) {
  const RankGroups groups(parameters, ranks);
  const Place place(groups, rank);
  const int n = groups.groups, at = place.group;
  const ArrayVolume volume(array, groups.group * n);
  const auto share = [&](int member) {
    return volume.of(groups.first_ring(member) * n, groups.last_ring(member) * n);
  };
  // Within the group: as on a ring of its members, each with its slices.
  const Volume twice = volume.all() * 2;
  Traffic traffic{.sent = twice - share(rank) - share(place.right),
                  .received = twice - share(rank) - share(place.left)};
  for (int ring = groups.first_ring(rank); n > 1 && ring < groups.last_ring(rank); ++ring) {
    const auto part = [&](int of) { return volume.of(ring * n + of % n); };
    const Volume round = volume.of(ring * n, (ring + 1) * n) * 2;
    traffic.sent += round - part(at + 1) - part(at + 2);
    traffic.received += round - part(at) - part(at + 1);
  }
  return traffic;
}

Traffic hierarchical_gather_traffic(const Parameters& parameters, const MessageVolume& messages,
                                    int rank) {
  const RankGroups groups(parameters, messages.ranks());
  const Place place(groups, rank);
  const int n = groups.groups, at = place.group;
  // Round the group: all messages but those that the next member has already.
  Traffic traffic{.sent = messages.all() - share_of(groups, messages, place.right),
                  .received = messages.all() - messages.of(rank)};
  for (int ring = groups.first_ring(rank); n > 1 && ring < groups.last_ring(rank); ++ring)
    for (int of = 0; of < n; ++of)
      if (const int message = groups.message_on(of, ring); message >= 0 && of != (at + 1) % n)
        traffic.sent += messages.of(message);
  return traffic;
}

int hierarchical_gather_steps(const Parameters& parameters, int ranks) {
  const RankGroups groups(parameters, ranks);
  return groups.group - 1 + groups.groups - 1;
}
int hierarchical_reduce_steps(const Parameters& parameters, int ranks) {
  return 2 * hierarchical_gather_steps(parameters, ranks);
}

double hierarchical_messages(const Parameters& parameters, int ranks) {
  const RankGroups groups(parameters, ranks);
  return 2.0 * ranks * groups.groups * groups.group;
}

const CollectiveRegistration kHierarchical{
    {.name = "hierarchical",
     .summary = "reduce-scatter in groups of consecutive ranks, rings through all groups, "
                "all-gather in groups",
     .source = "the two levels of NCCL and BlueConnect (Cho et al. 2019)",
     .parameters = {integer_parameter(
         "group", "4", "ranks of a group; the last group may have fewer", 1, 1024)},
     .reduce = ReduceForm{.plan = hierarchical_all_reduce,
                          .traffic = hierarchical_reduce_traffic,
                          .steps = hierarchical_reduce_steps,
                          .messages = hierarchical_messages},
     .gather = GatherForm{.plan = hierarchical_all_gather,
                          .traffic = hierarchical_gather_traffic,
                          .steps = hierarchical_gather_steps}}};

}  // namespace
}  // namespace thinpipe
