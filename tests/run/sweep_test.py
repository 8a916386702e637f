"""`thinpipe run`: what it records of every point."""
import unittest

from run_case import RunCase

FRAME, PAYLOAD = 1514, 1448


class SweepTest(RunCase):
    def test_every_point_is_measured_checked_and_counted(self):
        trace = self.trace()
        self.run_thinpipe("run", "--trace", trace, "--out", self.out, "--ranks", "2|3", "--link",
                          "rate=200mbit", "-c", "topk:ratio=0.01", "-c", "3lc", "--steps", "3",
                          "--warmup", "1")
        self.assert_nothing_left()
        records = self.records()
        self.assertEqual([r["record"] for r in records], ["header"] + ["point"] * 6)
        for point in records[1:]:
            # A loaded machine may make a point doubtful, but never wrong.
            self.assertIn(point["status"], ("ok", "invalid"), point["reasons"])
            self.assertEqual(point["validation"]["checked_steps"], 3)
            self.assertTrue(point["validation"]["identical_ranks"])
            self.assertLess(point["validation"]["aggregate_max_error"], 1e-5)
            metrics, ranks = point["metrics"], point["axes"]["ranks"]
            for name in ("step_time", "compress_time", "exchange_time", "payload_bytes"):
                self.assertEqual(len(metrics[name]["samples"]), 3)
            for step in range(3):
                parts = sum(metrics[f"{part}_time"]["samples"][step]
                            for part in ("compute", "compress", "exchange", "decode"))
                total = metrics["step_time"]["samples"][step]
                # Ranks leave the exchange within a segment or two of each other.
                self.assertLess(abs(total - parts), 5e-3 + 0.05 * total)
            payload = metrics["payload_bytes"]["samples"][0]
            wire = metrics["wire_bytes"]["samples"][0]
            if point["axes"]["method"] == "none":
                self.assertEqual(payload, 120000)  # 30000 floats
                # A ring sends 2 (n-1)/n of them, in full frames, and acknowledges what comes in.
                needed = 2 * (ranks - 1) / ranks * payload * FRAME / PAYLOAD
                self.assertGreater(wire, needed)
                self.assertLess(wire, 1.06 * needed)
            else:
                self.assertLess(payload, 12000)
                self.assertGreater(wire, (ranks - 1) * payload)

    def test_more_ranks_than_the_trace_has_replay_it_later(self):
        self.run_thinpipe("run", "--trace", self.trace(ranks=1), "--out", self.out, "--ranks", "3",
                          "--link", "rate=500mbit", "--steps", "1", "--warmup", "0",
                          "--no-baseline")
        (point,) = self.points().values()
        self.assertIn(point["status"], ("ok", "invalid"))

    def test_open_mpis_own_collectives(self):
        self.run_thinpipe("run", "--trace", self.trace(), "--out", self.out, "--ranks", "2",
                          "--link", "rate=500mbit", "--steps", "1", "--warmup", "0", "--pattern",
                          "openmpi")
        self.assertEqual({p["axes"]["pattern"] for p in self.points().values()},
                         {"allreduce-openmpi", "allgather-openmpi"})

    def test_finished_points_are_not_measured_again(self):
        arguments = ("run", "--trace", self.trace(), "--out", self.out, "--ranks", "2", "--link",
                     "rate=500mbit", "--steps", "1", "--warmup", "0")
        self.run_thinpipe(*arguments)
        before = self.records()
        # Without --resume nothing is touched.
        self.assertIn("records.jsonl", self.run_thinpipe(*arguments, code=2))
        self.assertIn("2 of 2 points", self.run_thinpipe(*arguments, "--resume"))
        self.assertEqual(self.records(), before)

    def test_threads_and_instruction_set_are_recorded_and_change_no_figure(self):
        # 2^20 elements and more: below that compressors use one thread.
        trace = self.trace(elements=3200000, steps=2)
        folder = self.out
        payloads = []
        for number, options in enumerate(((), ("--threads", "2", "--simd", "best"))):
            self.out = f"{folder}-{number}"
            self.run_thinpipe("run", "--trace", trace, "--out", self.out, "--ranks", "2", "--link",
                              "rate=1gbit", "--steps", "2", "--warmup", "0", "--no-baseline", "-c",
                              "topk:ratio=0.001", *options)
            header, point = self.records()
            self.assertEqual(header["threads"], number + 1)
            self.assertRegex(header["simd"], "^[a-z0-9_]+$")
            self.assertNotEqual(header["simd"], "best")
            self.assertIn(point["status"], ("ok", "invalid"), point["reasons"])
            self.assertEqual(point["validation"]["checked_steps"], 2)
            payloads.append([point["metrics"][name]["samples"]
                             for name in ("payload_bytes", "relative_error", "quality")])
        self.assertEqual(payloads[0], payloads[1])
        # Records of two kinds must not stand in one file.
        self.assertIn("measured with --threads 2", self.run_thinpipe(
            "run", "--trace", trace, "--out", self.out, "--resume", "--threads", "1", code=2))


if __name__ == "__main__":
    unittest.main()
