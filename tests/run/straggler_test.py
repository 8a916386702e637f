"""Slow hosts, slow links and payloads that differ: the record names what steps waited for."""
import os
import unittest

from run_case import RunCase


class StragglerTest(RunCase):
    ATTEMPTS = 4  # a busy machine may make any rank the last

    def measure(self, attempt, *arguments, compute=0.03):
        self.out = os.path.join(self.folder, f"out-{attempt}")
        trace = os.path.join(self.folder, "trace")
        if not os.path.exists(trace):
            self.trace(elements=100000, compute=compute)
        said = self.run_thinpipe("run", "--trace", trace, "--out", self.out, "--ranks", "4",
                                 "--steps", "5", "--warmup", "1", "--no-baseline", *arguments)
        self.assert_nothing_left()
        return said, list(self.points().values())

    def test_a_slow_host_is_named_by_its_phase(self):
        for attempt in range(self.ATTEMPTS):
            said, points = self.measure(attempt, "-c", "none", "--link", "rate=200mbit",
                                        "--straggler", "none", "--straggler", "host2:compute=4")
            self.assertEqual(len(points), 2)
            (plain,) = [p for p in points if "stragglers" not in p["axes"]]
            (slow,) = [p for p in points if "stragglers" in p["axes"]]
            self.assertEqual(slow["axes"]["stragglers"], "host2:compute=4")
            self.assertTrue(slow["id"].endswith("|straggler:host2:compute=4"))
            for point in points:
                self.assertIn(point["status"], ("ok", "invalid"), point["reasons"])
                self.assertLess(point["validation"]["aggregate_max_error"], 1e-5)
                pieces = point["critical_path"]["pieces"]
                self.assertAlmostEqual(sum(piece["share"] for piece in pieces), 1, places=6)
                self.assertEqual(len(point["critical_path"]["steps"]["host"]), 5)
            # Waited, not computed: 120 ms instead of 30, on that rank alone.
            for rank, columns in enumerate(slow["per_rank"]):
                for seconds in columns["compute"]:
                    self.assertGreaterEqual(seconds, (0.12 if rank == 2 else 0.03) * 0.999)
                self.assertAlmostEqual(columns["wanted"][0], 0.12 if rank == 2 else 0.03)
            self.assertGreaterEqual(min(slow["metrics"]["step_time"]["samples"]), 0.12)
            waits = slow["critical_path"]["waits"]
            if (waits and (waits[0]["host"], waits[0]["phase"]) == (2, "compute")
                    and waits[0]["share"] > 0.4
                    and slow["critical_path"]["steps"]["host"].count(2) >= 4
                    and "of it waiting for host 2's compute" in said
                    and sum(wait["share"] for wait in plain["critical_path"]["waits"]) < 0.3):
                return
        self.fail(f"the critical path was not named: {slow['critical_path']}, plain: "
                  f"{plain['critical_path']}")

    def test_a_slow_link_is_named_however_it_was_made(self):
        for attempt in range(self.ATTEMPTS):
            said, points = self.measure(
                attempt, "-c", "none", "--link", "rate=80mbit", "--topology",
                "star:host1=(rate=0.4x)", "--compute-scale", "0")
            found = [point["critical_path"]["link"] for point in points]
            said_of_schedule, points = self.measure(
                f"{attempt}-schedule", "-c", "none", "--link", "rate=80mbit", "--schedule",
                "host3:steps:0s=40%", "--compute-scale", "0")
            found += [point["critical_path"]["link"] for point in points]
            if ([link["name"] for link in found] == ["host1", "host3"]
                    and all(link["busy"] > 1.5 * link["others"] for link in found)
                    and "exchanges at the pace of host 1's link" in said
                    and "exchanges at the pace of host 3's link" in said_of_schedule):
                return
        self.fail(f"the slow links were not found: {found}; {said}; {said_of_schedule}")

    def test_payloads_are_recorded_as_they_differ(self):
        # A threshold keeps as many as there are: another number on every rank.
        _, (point,) = self.measure(0, "-c", "threshold:tau=0.003", "--link", "rate=200mbit")
        ranks = point["per_rank"]
        self.assertGreater(len({columns["payload_bytes"][0] for columns in ranks}), 1)
        self.assertGreater(len({columns["selected"][0] for columns in ranks}), 1)
        mean = sum(columns["payload_bytes"][0] for columns in ranks) / len(ranks)
        self.assertAlmostEqual(point["metrics"]["payload_bytes"]["samples"][0], mean)

    def test_a_straggler_that_cannot_be_is_refused(self):
        trace = self.trace()
        for spec, expected in (("host4:compute=2", "there is no host4"),
                               ("host1:slow=2", "unknown key 'slow'")):
            error = self.run_thinpipe("run", "--trace", trace, "--out", self.out, "--straggler",
                                      spec, code=2)
            self.assertIn(expected, error)


if __name__ == "__main__":
    unittest.main()
