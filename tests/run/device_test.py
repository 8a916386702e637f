"""Runs with gradients on a simulated GPU: the same bytes, sums and errors as on the CPU.

Environment: SIMULATED_GPU is a library that simulates two GPUs when preloaded.
"""
import os
import unittest

from run_case import RunCase, main, preloaded

SIMULATED = preloaded(os.environ["SIMULATED_GPU"])
SPECS = ["topk:ratio=0.05", "int8", "terngrad", "sparseloco:chunk=256,k=16", "demo",
         "qsgd:coding=elias", "powersgd:exchange=allgather,rank=2"]
# One method each with a sparse payload, a dense payload and a payload of factors, for tests that
# need not cover all methods.
FEW = ["topk:ratio=0.05", "int8", "powersgd:exchange=allgather,rank=2"]
EXACT = ["payload_bytes", "relative_error", "quality"]


class DeviceCase(RunCase):
    def setUp(self):
        super().setUp()
        self.gradients = self.trace()
        self.specs = SPECS

    def command(self, *more):
        return self.sweep(*self.compressors(), *more, trace=self.gradients, ranks=3,
                          link="rate=200mbit", steps=2, warmup=1, compute_scale=0)

    def compressors(self):
        return [word for spec in self.specs for word in ("-c", spec)]

    def collect(self, process, out, settings):
        """By compressor, collective and bucketing; of so many `settings` of the last two."""
        self.finish(process)
        self.out = out
        points = {}
        for point in self.points().values():
            self.assert_right(point, steps=2)
            axes = point["axes"]
            points[axes["compressor"], axes["collective"], axes.get("bucketing", "")] = point
        self.assertEqual(len(points), settings * (1 + len(self.specs)))
        return points

    def on_both(self, *more, simulated=SIMULATED, settings=1):
        """Returns the points on the CPU and on the simulated GPU. Both run at the same time, so that
        their times are not compared."""
        folder, running = self.out, []
        for device, environment in (("cpu", {}), ("cuda", simulated)):
            self.out = f"{folder}-{device}"
            running.append((self.start(*self.command("--device", device, "--share-machine", *more),
                                       environment=environment), self.out))
        both = [self.collect(process, out, settings) for process, out in running]
        self.assert_nothing_left()
        return both

    def expect_same(self, *more, simulated=SIMULATED, settings=1, copies=lambda collective: True):
        """`copies`: whether a collective copies payloads through the host; with `none` always."""
        here, there = self.on_both(*more, simulated=simulated, settings=settings)
        self.assertEqual(here.keys(), there.keys())
        for (compressor, collective, bucketing), point in here.items():
            other = there[compressor, collective, bucketing]
            self.assertNotIn("device", point["axes"])
            self.assertEqual(other["axes"]["device"], "cuda")
            self.assertIn("|cuda", other["id"])
            for name in EXACT:
                if name in point["metrics"]:
                    self.assertEqual(point["metrics"][name], other["metrics"][name], compressor)
            for name in ("copy_down_time", "copy_up_time"):
                self.assertNotIn(name, point["metrics"])
                if compressor == "none" or copies(collective):
                    self.assertTrue(all(s > 0 for s in other["metrics"][name]["samples"]))
                else:
                    self.assertEqual(set(other["metrics"][name]["samples"]), {0})
            self.assertNotIn("prediction", other)
        return there


class DeviceTest(DeviceCase):
    def test_it_sends_the_same_and_ends_with_the_same(self):
        self.expect_same()
        header = self.records()[0]
        self.assertEqual(header["device"]["architecture"], "simulated")
        self.assertFalse(header["mpi_takes_device_addresses"])
        # Three ranks of one machine that has two.
        self.assertEqual(header["rank_devices"], ["simulated:0", "simulated:1", "simulated:0"])

    def test_a_run_goes_on_and_both_devices_stand_in_one_report(self):
        self.specs = FEW
        self.run_thinpipe(*self.command("--device", "cpu"))
        command = self.command("--device", "cuda", "--resume")
        self.assertNotIn("in the records already", self.run_thinpipe(*command, environment=SIMULATED))
        self.assertIn(f"{1 + len(self.specs)} of {1 + len(self.specs)} points are in the records already",
                      self.run_thinpipe(*command, environment=SIMULATED))
        report = self.run_thinpipe("report", self.out, "--format", "text")
        self.assertIn("device=cuda", report)
        predicted = self.run_thinpipe("predict", "--trace", self.gradients, "--codec-times", self.out,
                                      "--device", "cuda", "--ranks", "16", "--link", "rate=1gbit",
                                      "--message-time", "50us", *self.compressors())
        for spec in self.specs:
            self.assertIn(spec.split(":")[0], predicted)
        self.assertNotIn("not measured beforehand", predicted)

    def refuse(self, expected, *more, code=2, environment=SIMULATED):
        error = self.run_thinpipe(*self.command("--device", "cuda", *more), code=code,
                                  environment=environment)
        self.assertIn(expected, error)
        self.assert_nothing_left()
        self.assertFalse(os.path.exists(self.out), "a refused run made its output folder")

    def test_what_is_not_there_is_refused_by_name(self):
        self.refuse("--time-scale 0.5", "--time-scale", "0.5")

    @unittest.skipIf(os.path.exists("/dev/nvidia0"), "there is a GPU")
    def test_without_a_gpu_nothing_is_begun(self):
        self.refuse("--device cpu measures on this machine", code=4, environment={})


if __name__ == "__main__":
    main()
