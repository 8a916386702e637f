"""--time-scale on a topology: the links between switches are slowed down too."""
import os
import unittest

from run_case import RunCase


class ScaleTopologyTest(RunCase):
    TOLERANCE, ATTEMPTS = 0.05, 4  # as in scale_test.py

    def median(self, point):
        samples = sorted(point["metrics"]["step_time"]["samples"])
        return samples[len(samples) // 2]

    def test_all_links_of_a_topology_are_slowed_down(self):
        # Two racks of one host each; the uplinks have a rate of their own and limit the exchange.
        trace = self.trace(elements=100000, compute=0.01)
        for attempt in range(self.ATTEMPTS):
            self.out = os.path.join(self.folder, f"out-{attempt}")
            self.run_thinpipe("run", "--trace", trace, "--out", self.out, "--ranks", "2",
                              "--topology", "racks:uplink=(rate=40mbit)", "--link", "rate=200mbit",
                              "-c", "none", "--steps", "5", "--warmup", "1", "--time-scale", "1|3")
            points = {p["axes"]["time_scale"]: p for p in self.points().values()}
            self.assertEqual(sorted(points), [1, 3])
            for point in points.values():
                self.assertIn(point["status"], ("ok", "invalid"), point["reasons"])
            # 400 kB each way through 13.3 Mbit/s cannot take less.
            self.assertGreater(min(points[3]["raw"]["exchange_time"]), 0.9 * 400e3 * 8 / (40e6 / 3))
            ratio = self.median(points[3]) / self.median(points[1])
            if abs(ratio - 1) < self.TOLERANCE:
                return
        self.fail(f"step time at time scale 3 over that at 1: {ratio}")


if __name__ == "__main__":
    unittest.main()
