"""Sparse sums and qgZ on throttled links: their results, and the links' counters."""

from run_case import RUN, RunCase, main
from wire import SEGMENT, check_sent, in_messages

RANKS, ELEMENTS = 4, 2**19
K = ELEMENTS // 8
COLLECTIVES = ["gtopk", "oktopk:thresholds=2", "qgz:group=2"]


def messages_of(length):
    return -(-length // SEGMENT)


def gtopk():
    """Bytes and messages that each rank sends: one up, and one down to each child."""
    length = 8 + 8 * K
    return [(count * length, count * messages_of(length)) for count in (2, 1, 2, 1)]


def qgz():
    coded = lambda elements: elements // 2 + 4 * (elements // 256)
    gathered = ELEMENTS // RANKS + 4 * (ELEMENTS // RANKS // 256)
    # A rank sends a slice to the other rank of its group and a chunk to the other group, then
    # blocks of 1 and 2 chunks in the all-gather.
    lengths = [coded(ELEMENTS // 2), coded(ELEMENTS // 4), gathered, 2 * gathered]
    return [(sum(lengths), sum(map(messages_of, lengths)))] * RANKS


FORMS = {"sparsereduce-gtopk": gtopk, "allreduce-qgz:group=2": qgz}


class SparseTest(RunCase):
    def test_links_count_what_the_closed_forms_say(self):
        checked = set()
        for point in self.run_collectives(RANKS, "--steps", "2", "--compute-scale", "0"):
            collective = point["axes"]["collective"]
            if collective in FORMS:
                check_sent(self, point, [in_messages(*form) for form in FORMS[collective]()])
                checked.add(collective)
        self.assertEqual(checked, set(FORMS))

    def run_collectives(self, ranks, *arguments, what=f"elements={ELEMENTS}", collectives=COLLECTIVES):
        self.run_thinpipe(*RUN, "--trace", f"synthetic:{what},steps=2", "--out", self.out,
                          "--ranks", str(ranks), "--link", "rate=1gbit", "-c",
                          "topk:ratio=0.125", "--collective", "|".join(collectives), "--warmup", "1",
                          *arguments)
        self.assert_nothing_left()
        points = self.records()[1:]
        ways = [point["axes"]["collective"] for point in points
                if point["axes"]["method"] == "topk"]
        self.assertEqual(sorted(ways), sorted("sparsereduce-" + collective for collective in collectives
                                              if not collective.startswith("qgz")))
        for point in points:
            self.assert_right(point)
            self.assertEqual(point["validation"]["reference"], "elements")
        return points

    def test_pairs_are_what_is_sent(self):
        for point in self.run_collectives(3, "--steps", "2", what="elements=30000",
                                       collectives=["gtopk", "oktopk"]):
            if point["axes"]["method"] == "topk":
                self.assertEqual(point["metrics"]["payload_bytes"]["samples"][0], 8 * 3750)

    def test_methods_without_a_target_and_of_several_sums(self):
        self.run_collectives(2, "-c", "strom:tau=0.001", "-c", "powersgd:rank=2", "--no-baseline",
                          "--steps", "2", what="model=lenet5,workers=2")

    def test_buckets_leave_while_compute_goes_on(self):
        self.run_collectives(2, "--steps", "3", "--overlap", "bucket", "--buckets",
                          "first=10kb,rest=90kb", what="model=lenet5,workers=2")


if __name__ == "__main__":
    main()
