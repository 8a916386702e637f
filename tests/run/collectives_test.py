"""Collectives on throttled links: the links count the bytes of docs/collectives.md."""

import json

from run_case import RUN, RunCase, main
from wire import FRAME, OVERHEAD, PAYLOAD, SEGMENT, check_sent, in_messages, frames_again

RANKS, ELEMENTS = 4, 2**19  # slices of whole segments
COLLECTIVES = ["ring", "recursive-doubling", "halving-doubling", "tree", "hierarchical:group=2",
               "gloo"]
STEPS = 2
# How many times the array's size crosses the edge of a rack in each direction: 2 (n-1)/n with a
# ring, once with two groups.
EDGES = {"ring": 2 * (RANKS - 1) / RANKS, "hierarchical:group=2": 1}
RACKS = [(0, 1), (2, 3)]  # their hosts
# Children in a binomial tree of four, and whether the rank has a parent.
TREE = [(2, 0), (0, 1), (1, 1), (0, 1)]


def all_reduce(collective, bytes):
    """Bytes that each rank sends, and in how many messages."""
    if collective == "tree":
        return [((children + parent) * bytes, (children + parent) * bytes / SEGMENT)
                for children, parent in TREE]
    sent = bytes * (2 if collective == "recursive-doubling" else 2 * (RANKS - 1) / RANKS)
    return [(sent, sent / SEGMENT)] * RANKS


def all_gather(collective, bytes):
    """The same of messages of one tensor's payload, its length before it and 8 bytes before that."""
    bytes += 4
    if collective == "gloo":  # 8 bytes for each rank go round the ring in two halves
        halves, others = 2 * (RANKS - 1), RANKS - 1
        return [(others * bytes + halves * 4 * RANKS, others * -(-bytes // SEGMENT) + halves)] * RANKS
    messages = [RANKS - 1] * RANKS
    if collective == "tree":
        messages = [RANKS * children + (1 if parent else 1 - RANKS) for children, parent in TREE]
    return [(count * (bytes + 8), count * -(-(bytes + 8) // SEGMENT)) for count in messages]


class CollectivesTest(RunCase):
    def run_collectives(self, ranks, collectives, elements, *arguments, check=lambda point: None,
                     halves=None):
        self.run_thinpipe(*RUN, "--trace", f"synthetic:elements={elements},steps=2", "--out",
                          self.out, "--ranks", str(ranks), "--link", "rate=1gbit", "-c",
                          "topk:ratio=0.25", "--collective", "|".join(collectives), "--steps",
                          str(STEPS), "--warmup", "1", "--compute-scale", "0", *arguments,
                          *(["-c", halves] if halves else []))
        self.assert_nothing_left()
        points = self.records()[1:]
        self.assertEqual(len(points), (3 if halves else 2) * len(collectives))
        for point in points:
            self.assert_right(point)
            if halves and point["axes"]["compressor"] == halves:
                self.check_halves(point, elements)
            check(point)

    def check_halves(self, point, elements):
        """Summed in 16 bits, in the collective's own order, and no further from the mean than rounding is."""
        self.assertEqual(point["axes"]["collective"].split("-")[0], "allreduce")
        self.assertEqual(point["metrics"]["payload_bytes"]["samples"][0], 2 * elements)
        validation = point["validation"]
        if point["axes"]["collective"] != "allreduce-openmpi":  # whose order is not known
            self.assertEqual(validation["aggregate_max_error"], 0)
        self.assertGreater(validation["sum_error"], 0)
        self.assertGreater(validation["sum_error_of_bound"], 0)
        self.assertLessEqual(validation["sum_error_of_bound"], 1)

    def test_links_count_what_the_closed_forms_say(self):
        self.run_collectives(RANKS, COLLECTIVES, ELEMENTS, check=self.check_hosts, halves="fp16")

    def check_hosts(self, point):
        exchange, collective = point["axes"]["collective"].split("-", 1)
        payload = point["metrics"]["payload_bytes"]["samples"][0]
        forms = all_reduce(collective, payload) if exchange == "allreduce" else \
            all_gather(collective, payload)
        check_sent(self, point, [in_messages(*form) for form in forms])

    def test_groups_send_least_over_the_edges_of_racks(self):
        self.run_collectives(RANKS, list(EDGES), ELEMENTS, "--topology",
                          "racks:racks=2,oversubscription=1", check=self.check_edges)

    def check_edges(self, point):
        exchange, collective = point["axes"]["collective"].split("-", 1)
        if exchange != "allreduce":
            return
        sent = 4 * ELEMENTS * EDGES[collective]
        payload = STEPS * in_messages(sent, sent / SEGMENT)
        self.assertEqual(len(point["trunks"]), 2)
        for rack, trunk in enumerate(point["trunks"]):
            for way, hosts in (("up_bytes", RACKS[rack]), ("down_bytes", RACKS[1 - rack])):
                # A trunk carries at least all the payload in full frames. At most it also carries
                # the headers of all segments that the hosts behind the trunk sent, even within
                # their rack, and retransmissions.
                self.assertGreaterEqual(trunk[way], payload * FRAME / PAYLOAD, point["id"])
                segments = sum(point["fidelity"]["tcp_segments_by_rank"][host] for host in hosts)
                again = sum(frames_again(point, host) for host in hosts)
                self.assertLessEqual(trunk[way], payload + STEPS * (OVERHEAD * segments + again),
                                     point["id"])

    def test_any_number_of_ranks(self):
        self.run_collectives(5, COLLECTIVES + ["hierarchical:group=3", "openmpi"], 30001,
                          halves="bf16:predivide=false")

    def test_a_rank_that_has_ended_its_step_still_sends(self):
        # With small socket buffers, Open MPI keeps the ends of messages, which it sends within its
        # calls only. Other ranks wait for them when a rank has nothing left to receive.
        self.run_thinpipe(*RUN, "--trace", "synthetic:elements=30001,steps=2", "--out", self.out,
                          "--ranks", "5", "--link", "rate=1gbit", "-c", "none", "-c",
                          "topk:ratio=0.25", "--collective", "openmpi|ring|gloo", "--steps", "10",
                          "--compute-scale", "0",
                          environment={"OMPI_MCA_btl_tcp_sndbuf": "4096"})

    def test_fp16_that_overflows_is_an_error_that_names_the_tensor(self):
        said = self.run_thinpipe(*RUN, "--trace", "synthetic:elements=1000,steps=2,scale=1e5",
                                 "--out", self.out, "--ranks", "2", "--link", "rate=1gbit", "-c",
                                 "fp16", "--no-baseline", "--steps", "1", code=4)
        self.assertIn("65504", said + json.dumps(self.records()))


if __name__ == "__main__":
    main()
