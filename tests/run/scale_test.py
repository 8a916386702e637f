"""--time-scale: time dilation gives the real step times, and warns when it does not."""
import os

from run_case import RunCase, main, timed
from time_dilation import check_same_step

FRAME, PAYLOAD = 1514, 1448


class ScaleTest(RunCase):
    def median(self, point, name="step_time"):
        samples = sorted(point["metrics"][name]["samples"])
        return samples[len(samples) // 2]

    def check_result(self, point):
        self.assertLess(point["validation"]["aggregate_max_error"], 1e-5)
        if point["axes"]["time_scale"] == 1:
            self.assertNotIn("raw", point)

    @timed
    def test_half_speed_takes_twice_as_long_and_comes_to_the_same(self):
        points = self.measure(*self.sweep("-c", "topk:ratio=0.05", steps=7, warmup=1,
                                          trace=self.trace(elements=200000, compute=0.02),
                                          time_scale="1|2"), computed=self.check_raw)
        self.assert_nothing_left()
        points = {(p["axes"]["method"], p["axes"]["time_scale"]): p for p in points}
        self.assertEqual(sorted(points), [("none", 1), ("none", 2), ("topk", 1), ("topk", 2)])
        for method in ("none", "topk"):
            one, two = points[method, 1], points[method, 2]
            # Payloads do not depend on the clock.
            self.assertEqual(one["metrics"]["payload_bytes"]["samples"],
                             two["metrics"]["payload_bytes"]["samples"])
            check_same_step(self, two, one)
        # The tool compares them as well.
        self.assertRegex(self.told, "none on rate=100mbit, 2 ranks: .*time scale")
        # Two time scales are not mixed in a report.
        self.assertIn("time scales 1 and 2", self.run_thinpipe("report", self.out, "--format",
                                                               "text", code=2))
        text = self.run_thinpipe("report", self.out, "--format", "text", "--time-scale", "2")
        self.assertIn("Time scale 2", text)
        self.assertIn("Time scales compared", text)

    def check_raw(self, point):
        """Measured, not computed: the raw times are recorded, and nothing can be faster."""
        self.check_result(point)
        if point["axes"]["time_scale"] == 1:
            return
        raw, metrics = point["raw"], point["metrics"]
        self.assertEqual(set(raw), {f"{part}_time" for part in
                                    ("step", "compute", "compress", "exchange", "decode")})
        self.assertGreaterEqual(min(raw["compute_time"]),
                                2 * 0.999 * min(metrics["compute_time"]["samples"]))
        self.assertGreaterEqual(min(raw["step_time"]),
                                1.9 * min(metrics["step_time"]["samples"]) - 2e-3)
        for metric in ("compute_time", "step_time"):
            self.assertEqual(len(raw[metric]), 7)

    @timed
    def test_overlap_comes_to_the_same_at_half_speed(self):
        # A backward pass of 90 ms that must hide 70 ms of exchanges.
        points = self.measure(*self.sweep("-c", "topk:ratio=0.2", "--no-baseline", steps=4,
                                          trace="synthetic:model=lenet5,workers=2,steps=2",
                                          warmup=1, compute_scale=8, overlap="bucket",
                                          buckets="first=10kb,rest=90kb", time_scale="1|2"),
                              computed=self.check_overlapped, timed=self.check_exposed)
        self.assert_nothing_left()
        one, two = sorted(points, key=lambda point: point["axes"]["time_scale"])
        self.assertEqual((one["axes"]["time_scale"], two["axes"]["time_scale"]), (1, 2))
        check_same_step(self, two, one)

    def check_overlapped(self, point):
        self.check_result(point)
        if point["axes"]["time_scale"] == 1:
            return
        for raw, step, ideal in zip(point["raw"]["step_time"],
                                    point["metrics"]["step_time"]["samples"],
                                    point["metrics"]["ideal_time"]["samples"]):
            self.assertAlmostEqual(raw, 2 * step, places=9)
            self.assertGreater(step, ideal)

    def check_exposed(self, point):
        """Exchanges run under the rest."""
        self.assertLess(self.median(point, "exposed_time"), self.median(point, "exchange_time"))

    def in_fast_motion(self, compressor):
        return self.sweep("-c", compressor, "--no-baseline", link="rate=20mbit", steps=3,
                          trace=self.trace(elements=200000, compute=0.02), time_scale=0.25)

    def test_fast_motion_refuses_a_codec_between_exchanges(self):
        self.run_thinpipe(*self.in_fast_motion("terngrad"), code=4)
        (point,) = self.points().values()
        self.assertEqual(point["status"], "failed")
        self.assertIn("between several exchanges", point["reasons"][0])

    @timed
    def test_fast_motion_accounts_for_the_codec_apart(self):
        self.measure(*self.in_fast_motion("topk:ratio=0.05"), timed=self.check_fast)

    def check_fast(self, topk):
        # The minimum time is that of 10,000 positions and values at 20 Mbit/s, not at the 80 Mbit/s
        # that were set. The bytes that the bucket lets through at once are subtracted.
        payload = topk["metrics"]["payload_bytes"]["samples"][0]
        least = (payload * FRAME / PAYLOAD - topk["fidelity"]["burst_bytes"]) * 8 / 20e6
        self.assertGreater(self.median(topk, "exchange_time"), 0.9 * least)
        self.assertLess(min(topk["raw"]["exchange_time"]),
                        min(topk["metrics"]["exchange_time"]["samples"]))

    def test_auto_chooses_by_rate_and_says_why(self):
        arguments = self.sweep("--no-baseline", "-c", "topk:ratio=0.05", link="rate=100gbit",
                               steps=2, time_scale="auto")
        self.assertRegex(self.run_thinpipe(*arguments),
                         "time scale [0-9]+ for 2 ranks on 100 Gbit/s: a TCP flow reaches")
        (point,) = self.points().values()
        self.assertGreater(point["axes"]["time_scale"], 1)
        self.assert_measured(point)
        # It is the same point when it is resumed.
        self.assertIn("1 of 1 points", self.run_thinpipe(*arguments, "--resume"))

    def test_what_is_no_time_scale(self):
        trace, hosts = self.trace(), os.path.join(self.folder, "hosts")
        with open(hosts, "w") as file:
            file.write("192.0.2.1\n192.0.2.2\n")
        for scale, more, complaint in (
                ("fast", {}, "'fast' is not a number from 0.001 to 1000"),
                (0.001, {}, "allowed: 1 kbit/s to 100 Gbit/s"),
                # A link of the topology is checked as well.
                (100, {"topology": "racks:uplink=(rate=50kbit)"}, "rack0-spine: time scale 100"),
                (2, {"hosts": hosts}, "the network would not be slowed down"),
                ("auto", {"hosts": hosts, "shape": "eth0"}, "with --hosts expected a number")):
            command = self.sweep(trace=trace, link="rate=1gbit", ranks=None, warmup=None,
                                 time_scale=scale, **more)
            self.assertIn(complaint, self.run_thinpipe(*command, code=2))
            self.assertFalse(self.has_a_point())


if __name__ == "__main__":
    main()
