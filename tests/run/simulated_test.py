"""`run --engine simgrid`: the same points and reports, without ranks; and its refusals."""
import json
import os
import subprocess
import sys

from run_case import THINPIPE, RunCase, main

if not os.path.exists(os.path.join(os.path.dirname(THINPIPE), "thinpipe-simulate")):
    print("skipped: this build is without SimGrid")
    sys.exit(77)

# TCP's payload in bytes a second on a link of 100 Mbit/s: full frames of 1514 bytes, and an
# acknowledgement of 66 bytes for every second one.
RATE = 100e6 / 8 * 1448 / 1514 / (1 + 66 / (2 * 1514))
CREDIT = 12500 * 1448 / 1514  # bytes that pass an idle link at once: 1 ms


class SimulatedTest(RunCase):
    def command(self, *arguments, **options):
        # The default message time is measured on this machine, which may be busy.
        options = {"trace": "synthetic:elements=1000000,steps=2", "steps": 2, "compute_scale": 0,
                   "engine": "simgrid", "message_time": "20us", **options}
        return self.sweep("--no-baseline", *arguments, **options)

    def simulate(self, *arguments, code=0, **options):
        process = self.start(*self.command(*arguments, **options))
        self.told = process.communicate()[1]
        self.assertEqual(process.returncode, code, self.told)
        return list(self.points().values()) if code == 0 else []

    def test_none_takes_the_rings_time(self):
        for point in self.simulate("-c", "none", ranks="2|4|8"):
            n, metrics = point["axes"]["ranks"], point["metrics"]
            self.assertEqual(point["status"], "ok")
            self.assertEqual(point["axes"]["engine"], "simgrid")
            self.assertTrue(point["id"].endswith("|simgrid"), point["id"])
            # 2(n-1)/n of 4 MB cross each link. Segments of 32 kB cross a link of their own before
            # the next rank can send them on; 1.5 % covers these for 8 ranks.
            expected = (2 * (n - 1) / n * 4e6 - CREDIT) / RATE
            for seconds in metrics["exchange_time"]["samples"]:
                self.assertAlmostEqual(seconds / expected, 1, delta=0.015)
            self.assertNotIn("relative_error", metrics)
            self.assertEqual(metrics["payload_bytes"]["samples"], [4e6, 4e6])

    def test_a_slow_trunk_sets_the_pace(self):
        (point,) = self.simulate("-c", "none", ranks=4,
                                 topology="racks:racks=2,oversubscription=4")
        # One host's data at a time crosses each trunk, at half of a host's rate.
        expected = (1.5 * 4e6 - CREDIT) / (RATE / 2)
        self.assertAlmostEqual(point["metrics"]["exchange_time"]["samples"][0] / expected, 1,
                               delta=0.03)

    def test_more_ranks_than_the_machine_carries(self):
        (point,) = self.simulate("-c", "topk:ratio=0.01", ranks=128)
        # Each link carries the messages of 127 others, of 10,000 values and positions each.
        carried = 127 * point["metrics"]["payload_bytes"]["samples"][0]
        expected = (carried - CREDIT) / RATE
        self.assertAlmostEqual(point["metrics"]["exchange_time"]["samples"][0] / expected, 1,
                               delta=0.02)
        self.assertGreater(point["simulation"]["messages"], 128 * 127)
        self.assertNotIn("per_rank", point)

    def test_a_straggler_delays_all(self):
        trace = self.trace(elements=100000, compute=0.03)
        points = self.simulate("-c", "none", "--straggler", "none", "--straggler",
                               "host1:compute=4", trace=trace, compute_scale=1, ranks=4)
        times = {point["axes"].get("stragglers", "none"): point["metrics"]["step_time"]["samples"][0]
                 for point in points}
        self.assertAlmostEqual(times["host1:compute=4"] - times["none"], 0.09, delta=1e-3)

    def test_servers_are_on_hosts_of_their_own(self):
        for collective, links in (("ps", 2 * 4), ("twoshot", 2 * 3 / 4)):
            self.out = os.path.join(self.folder, collective)
            (point,) = self.simulate("-c", "int8", ranks=4, collective=collective,
                                     link="rate=1mbit")
            metrics = {name: one["samples"][0] for name, one in point["metrics"].items()}
            # A server receives the whole tensor from 4 workers, and then answers 4. A rank of two
            # shots sends (n-1)/n of its payload, then as much of its answers. Codecs of servers are
            # timed on this machine, which may be busy. They take milliseconds beside these seconds.
            expected = links * metrics["payload_bytes"] / (RATE / 100)
            self.assertAlmostEqual(metrics["exchange_time"] / expected, 1, delta=0.05)
            self.assertGreater(metrics["pull_bytes"], 0)

    def test_overlap_hides_exchanges(self):
        trace = self.trace(elements=300000, compute=0.1)
        points = self.simulate("-c", "none", "--overlap", "none|bucket", "--buckets",
                               "first=100kb,rest=100kb", trace=trace, compute_scale=1)
        by_overlap = {"overlap=bucket" in point["axes"]["bucketing"]: point["metrics"]
                      for point in points}
        step = {overlap: metrics["step_time"]["samples"][0]
                for overlap, metrics in by_overlap.items()}
        self.assertLess(step[True], step[False])
        self.assertLess(by_overlap[True]["exposed_time"]["samples"][0],
                        by_overlap[False]["exposed_time"]["samples"][0])

    def test_reports_say_who_simulated(self):
        self.simulate("-c", "topk:ratio=0.01", "-c", "none", link="rate=10mbit|1gbit")
        report = subprocess.run([THINPIPE, "report", self.out, "--format", "md", "-o", "-"],
                                capture_output=True, text=True, check=True).stdout
        self.assertIn("simulated by SimGrid", report.split("## Findings")[0])
        self.assertNotIn("passed their", report)

    def test_resumes_and_keeps_engines_apart(self):
        self.simulate("-c", "none")
        self.simulate("-c", "none", "-c", "topk:ratio=0.01", "--resume")
        self.assertIn("1 of 2 points are in the records already", self.told)
        self.simulate("-c", "none", "--resume", engine="emulation", message_time=None, code=2)
        self.assertIn("--engine simgrid", self.told)

    def test_refuses_what_it_cannot_simulate(self):
        for arguments, reason in (
                (("--schedule", "outage:every=10s,lasts=1s"), "--schedule"),
                (("--time-scale", "2"), "--time-scale 1"),
                (("--link", "rate=1gbit,loss=1%"), "loses"),
                (("--collective", "openmpi"), "Open MPI's own code"),
                (("-c", "int8", "--collective", "twoshot", "--ranks", "128"), "only up to 64"),
                (("-c", "topk", "--collective", "gtopk", "--ranks", "128"), "only up to 64"),
                (("--compute", "work"), "--compute wait"),
                (("--check-every", "2"), "no effect"),
                (("--collective", "ps", "--overlap", "bucket"), "--overlap none"),
                (("--ranks", "5000"), "4096")):
            options = {"ranks": None} if "--ranks" in arguments else {}
            if "--link" in arguments:
                options["link"] = None
            self.simulate(*arguments, code=2, **options)
            self.assertIn(reason, self.told)
            self.assertFalse(os.path.exists(self.out), arguments)

    def test_a_record_is_valid_json_of_the_schema(self):
        self.simulate("-c", "none")
        header = self.records()[0]
        self.assertEqual(header["settings"]["engine"], "simgrid")
        json.dumps(self.records(), allow_nan=False)


if __name__ == "__main__":
    main()
