"""Parameter servers on links of their own: results, and the links' counters."""
import os

from run_case import RUN, RunCase, main
from wire import HEADER, SEGMENT, check_sent, in_messages

HEAD = 8  # bytes before each payload
TENSORS = 2  # of the trace


def sent(bytes, units):
    """Bytes of payloads so long together, with a head each, in full segments with MPI's header."""
    framed = bytes + HEAD * units
    return in_messages(framed, framed / SEGMENT)


class ParameterServerTest(RunCase):
    def run_servers(self, *arguments, elements=30000, code=0):
        said = self.run_thinpipe(*self.sweep(*arguments, trace=self.traced(elements), ranks=None,
                                             steps=3, warmup=1, compute_scale=0), code=code)
        self.assert_nothing_left()
        return said, self.records()[1:]

    def traced(self, elements):
        path = os.path.join(self.folder, "trace")
        return path if os.path.exists(path) else self.trace(elements=elements)

    def check(self, point, ranks, servers):
        self.assert_right(point, steps=3)
        self.assertEqual(point["axes"]["ranks"], ranks)
        self.assertEqual(len(point["per_rank"]), ranks)
        self.assertEqual(len(point["servers"]), servers)
        metrics = point["metrics"]
        for step in range(3):
            pulled = sum(one["pull_bytes"][step] for one in point["servers"])
            self.assertEqual(metrics["pull_bytes"]["samples"][step], pulled)
            pushed = sum(one["push_bytes"][step] for one in point["servers"])
            self.assertAlmostEqual(metrics["payload_bytes"]["samples"][step] * ranks, pushed)

    def test_every_worker_ends_with_what_servers_answered(self):
        _, points = self.run_servers("--ranks", "1|3", "--collective", "ps:servers=3", "-c",
                                     "topk:ratio=0.1", "-c", "3lc", "-c", "powersgd:rank=2")
        self.assertEqual(len(points), 2 * 4)
        for point in points:
            servers = int(point["axes"]["collective"][-1])
            self.assertIn(point["axes"]["collective"], (f"pushpull-ps:servers={servers}",))
            self.check(point, point["axes"]["ranks"], servers)
            # The trace has two tensors, so a third server has nothing to do. The exception is
            # `none`, whose tensors are cut into four pieces.
            if servers == 3 and point["axes"]["method"] != "none":
                self.assertEqual(point["servers"][2]["push_bytes"], [0, 0, 0])
                self.assertEqual(point["servers"][2]["pull_bytes"], [0, 0, 0])

    def test_links_count_what_the_closed_form_says(self):
        _, points = self.run_servers("--ranks", "3", "--collective", "ps:servers=1|2", "-c",
                                     "topk:ratio=0.5", elements=300000)
        for point in points:
            pushed = sent(point["metrics"]["payload_bytes"]["samples"][0], TENSORS)
            pulled = [sent(one["pull_bytes"][0], TENSORS / len(point["servers"]))
                      for one in point["servers"]]
            # A unit's last message need not be full. Dense units are cut into pieces of at most a
            # segment, each with a head. So the slack is a head and a header for each unit and each
            # piece.
            units = 3 * (TENSORS + max(pulled) / SEGMENT)
            check_sent(self, point, [pushed] * 3 + [3 * bytes for bytes in pulled],
                       slack=(HEAD + HEADER) * units)

    def test_what_is_pulled_may_be_compressed_otherwise_and_leave_by_buckets(self):
        _, points = self.run_servers("--ranks", "2", "--no-baseline", "-c", "topk:ratio=0.1",
                                     "--collective", "ps:servers=2,pull=none|(3lc:s=1.5)", "--overlap",
                                     "none|bucket", "--buckets", "first=1kb,rest=1kb")
        self.assertEqual(len(points), 4)
        for point in points:
            self.check(point, 2, 2)
            dense = point["axes"]["collective"] == "pushpull-ps:pull=none,servers=2"
            self.assertEqual(point["metrics"]["pull_bytes"]["samples"][0] == 120000, dense)

    def test_servers_may_have_links_of_another_kind(self):
        _, points = self.run_servers("--ranks", "2", "-c", "topk:ratio=0.1", "--collective",
                                     "ps:servers=1", "--topology", "ps:servers=1,server=(rate=2x)")
        for point in points:
            self.check(point, 2, 1)
        said = self.run_thinpipe(*RUN, "--trace", os.path.join(self.folder, "trace"), "--out",
                                 self.out, "--ranks", "2", "--collective", "ps:servers=2",
                                 "--topology", "ps:servers=1", "--resume", code=2)
        self.assertIn("has 2 servers, but topology", said)

    def test_a_malformed_payload_fails_its_point_by_rank_and_unit(self):
        plugin = os.path.join(os.environ["TEST_PLUGINS"], "broken_methods.so")
        _, points = self.run_servers("--ranks", "2", "--no-baseline", "--plugin", plugin, "-c",
                                     "cannot-decode-others", "-c", "topk:ratio=0.1", "--collective",
                                     "ps:pull=none", code=4)
        points = {point["axes"]["method"]: point for point in points}
        self.assertEqual(points["cannot-decode-others"]["status"], "failed")
        self.assertRegex(points["cannot-decode-others"]["reasons"][0],
                         "rank 2: payload of rank 0, unit 'tensor-[01]': .*of another rank")
        self.check(points["topk"], 2, 1)  # goes on with new ranks


if __name__ == "__main__":
    main()
