#include "workloads/exchange/cost/forms.h"
#include "workloads/exchange/hierarchical.h"

namespace thinpipe {

namespace {

// The member of its group that stands so many to the right.
int to_the_right(const RankGroups& groups, int rank, int steps) {
  const int begin = groups.group_of(rank) * groups.group;
  const int members = groups.size(groups.group_of(rank));
  return begin + (rank - begin + steps + members) % members;
}

// What came over the rings that a member is on, from other groups, and its own.
Volume share_of(const RankGroups& groups, const MessageVolume& messages, int rank) {
  Volume sum = messages.of(rank);
  for (int of = 0; of < groups.groups; ++of)
    for (int ring = groups.first_ring(rank); ring < groups.last_ring(rank); ++ring)
      if (of != groups.group_of(rank))
        if (const int message = groups.message_on(of, ring); message >= 0)
          sum = sum + messages.of(message);
  return sum;
}

}  // namespace

Traffic hierarchical_reduce_traffic(const SummedArray& array, int ranks, int rank, int group) {
  const RankGroups groups(ranks, group);
  const int n = groups.groups, at = groups.group_of(rank);
  const ArrayVolume volume(array, groups.group * n);
  const auto share = [&](int member) {
    return volume.of(groups.first_ring(member) * n, groups.last_ring(member) * n);
  };
  // Within the group as on a ring of its members, each with its share.
  const Volume twice = volume.all() * 2;
  Traffic traffic{.sent = twice - share(rank) - share(to_the_right(groups, rank, 1)),
                  .received = twice - share(rank) - share(to_the_right(groups, rank, -1))};
  for (int ring = groups.first_ring(rank); n > 1 && ring < groups.last_ring(rank); ++ring) {
    const auto part = [&](int of) { return volume.of(ring * n + of % n); };
    const Volume round = volume.of(ring * n, (ring + 1) * n) * 2;
    traffic.sent = traffic.sent + (round - part(at + 1) - part(at + 2));
    traffic.received = traffic.received + (round - part(at) - part(at + 1));
  }
  return traffic;
}

Traffic hierarchical_gather_traffic(const MessageVolume& messages, int rank, int group) {
  const RankGroups groups(messages.ranks(), group);
  const int n = groups.groups, at = groups.group_of(rank);
  // Round the group everything but what the next member has already.
  Traffic traffic{
      .sent = messages.all() - share_of(groups, messages, to_the_right(groups, rank, 1)),
      .received = messages.all() - messages.of(rank)};
  for (int ring = groups.first_ring(rank); n > 1 && ring < groups.last_ring(rank); ++ring)
    for (int of = 0; of < n; ++of)
      if (const int message = groups.message_on(of, ring); message >= 0 && of != (at + 1) % n)
        traffic.sent = traffic.sent + messages.of(message);
  return traffic;
}

}  // namespace thinpipe
