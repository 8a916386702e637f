"""Exchange patterns on throttled links: what the links count is what docs/patterns.md says."""
import unittest

from run_case import RunCase

SEGMENT, HEADER, FRAME, PAYLOAD = 32768, 22, 1514, 1448
RANKS, ELEMENTS = 4, 2**19  # parts of whole segments
PATTERNS = ["ring", "recursive-doubling", "halving-doubling", "tree", "hierarchical:group=2"]
# Children in a binomial tree of four, and whether there is a parent.
TREE = [(2, 0), (0, 1), (1, 1), (0, 1)]


def all_reduce(pattern, bytes):
    """Bytes that each rank sends, and in how many messages."""
    if pattern == "tree":
        return [((children + parent) * bytes, (children + parent) * bytes / SEGMENT)
                for children, parent in TREE]
    sent = bytes * (2 if pattern == "recursive-doubling" else 2 * (RANKS - 1) / RANKS)
    return [(sent, sent / SEGMENT)] * RANKS


def all_gather(pattern, bytes):
    """The same of messages of that length, with 8 bytes before each."""
    messages = [RANKS - 1] * RANKS
    if pattern == "tree":
        messages = [RANKS * children + (1 if parent else 1 - RANKS) for children, parent in TREE]
    return [(count * (bytes + 8), count * -(-(bytes + 8) // SEGMENT)) for count in messages]


class PatternsTest(RunCase):
    ATTEMPTS = 4

    def measure(self, ranks, patterns, elements, *arguments):
        self.run_thinpipe("run", "--trace", f"synthetic:elements={elements},steps=2", "--out",
                          self.out, "--ranks", str(ranks), "--link", "rate=1gbit", "-c",
                          "topk:ratio=0.25", "--pattern", "|".join(patterns), "--warmup", "1",
                          "--compute-scale", "0", *arguments)
        self.assert_nothing_left()
        points = self.records()[1:]
        self.assertEqual(len(points), 2 * len(patterns))
        for point in points:
            self.assertIn(point["status"], ("ok", "invalid"), point["reasons"])
            self.assertTrue(point["validation"]["identical_ranks"])
            self.assertLess(point["validation"]["aggregate_max_error"], 1e-5)
        return points

    def test_links_count_what_the_closed_forms_say(self):
        folder, patterns = self.out, PATTERNS
        for attempt in range(self.ATTEMPTS):
            self.out = f"{folder}-{attempt}"
            points = self.measure(RANKS, patterns, ELEMENTS, "--steps", "2")
            off = {point["axes"]["pattern"]: list(self.off(point)) for point in points}
            # What was off is measured again.
            patterns = [name for name in patterns
                        if off["allreduce-" + name] or off["allgather-" + name]]
            if not patterns:
                return
        self.fail(off)

    def off(self, point):
        """A frame that TCP sends again is one too many: on a busy machine some are."""
        exchange, pattern = point["axes"]["pattern"].split("-", 1)
        payload = point["metrics"]["payload_bytes"]["samples"][0]
        forms = all_reduce(pattern, payload) if exchange == "allreduce" else \
            all_gather(pattern, payload)
        counted = point["fidelity"]["wire_bytes_by_rank"]
        self.assertEqual(len(counted), RANKS)
        for rank, (bytes, messages) in enumerate(forms):
            needed = (bytes + HEADER * messages) * FRAME / PAYLOAD
            # 0.3 %, and what comes in is acknowledged.
            if not 0.997 * needed <= counted[rank] <= 1.003 * needed + 6000:
                yield f"{point['id']}: rank {rank} sent {counted[rank]} for {needed}"

    def test_groups_send_least_over_the_edges_of_racks(self):
        """Of two groups D crosses each way, of a ring 2 (n-1)/n D."""
        edges = {"ring": 2 * (RANKS - 1) / RANKS, "hierarchical:group=2": 1}
        folder = self.out
        for attempt in range(self.ATTEMPTS):
            self.out = f"{folder}-{attempt}"
            points = self.measure(RANKS, list(edges), ELEMENTS, "--steps", "2", "--topology",
                                  "racks:racks=2,oversubscription=1")
            off = [what for point in points for what in self.off_at_the_edge(point, edges)]
            if not off:
                return
        self.fail(off)

    def off_at_the_edge(self, point, edges):
        exchange, pattern = point["axes"]["pattern"].split("-", 1)
        if exchange != "allreduce":
            return
        sent = 4 * ELEMENTS * edges[pattern]
        needed = 2 * (sent + HEADER * sent / SEGMENT) * FRAME / PAYLOAD  # in two steps
        self.assertEqual(len(point["trunks"]), 2)
        for trunk in point["trunks"]:
            for way in ("up_bytes", "down_bytes"):
                if not 0.997 * needed <= trunk[way] <= 1.003 * needed + 2 * 6000:
                    yield f"{point['id']}: {trunk['link']} {way} {trunk[way]} for {needed}"

    def test_any_number_of_ranks(self):
        self.measure(5, PATTERNS + ["hierarchical:group=3"], 30001, "--steps", "2")


if __name__ == "__main__":
    unittest.main()
