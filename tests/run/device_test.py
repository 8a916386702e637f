"""Runs whose gradients lie on a GPU, which a processor plays: the same bytes, sums and errors.

Environment: PLAYED_GPU is a library which, preloaded, is a machine with two GPUs.
"""
import os
import unittest

from run_case import RunCase

PLAYED = {"LD_PRELOAD": os.environ["PLAYED_GPU"],
          "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
SPECS = ["topk:ratio=0.05", "int8", "terngrad", "sparseloco:chunk=256,k=16", "demo",
         "qsgd:coding=elias", "powersgd:exchange=allgather,rank=2"]
# A sparse payload, a dense one and one of factors, where it is not for the method's sake.
FEW = ["topk:ratio=0.05", "int8", "powersgd:exchange=allgather,rank=2"]
EXACT = ["payload_bytes", "relative_error", "quality"]


class DeviceTest(RunCase):
    def setUp(self):
        super().setUp()
        self.gradients = self.trace()
        self.specs = SPECS

    def command(self, *more):
        return ("run", "--trace", self.gradients, "--out", self.out, "--ranks", "3", "--link",
                "rate=200mbit", "--steps", "2", "--warmup", "1", "--compute-scale", "0",
                *[word for spec in self.specs for word in ("-c", spec)], *more)

    def measure(self, *more, environment={}):
        self.run_thinpipe(*self.command(*more), environment=environment)
        self.assert_nothing_left()
        points = {}
        for point in self.points().values():
            self.assertIn(point["status"], ("ok", "invalid"), point["reasons"])
            self.assertTrue(point["validation"]["identical_ranks"])
            self.assertLess(point["validation"]["aggregate_max_error"], 1e-5)
            self.assertEqual(point["validation"]["checked_steps"], 2)
            points[point["axes"]["compressor"]] = point
        self.assertEqual(len(points), 1 + len(self.specs))
        return points

    def on_both(self, *more, played=PLAYED):
        """Points on the processor, and on what plays GPUs."""
        folder, both = self.out, []
        for device in ("cpu", "cuda"):
            self.out = f"{folder}-{device}"
            both.append(self.measure("--device", device, *more,
                                     environment=played if device == "cuda" else {}))
        return both

    def expect_same(self, *more, played=PLAYED, copies=True):
        here, there = self.on_both(*more, played=played)
        for compressor, point in here.items():
            other = there[compressor]
            self.assertNotIn("device", point["axes"])
            self.assertEqual(other["axes"]["device"], "cuda")
            self.assertIn("|cuda", other["id"])
            for name in EXACT:
                if name in point["metrics"]:
                    self.assertEqual(point["metrics"][name], other["metrics"][name], compressor)
            for name in ("copy_down_time", "copy_up_time"):
                self.assertNotIn(name, point["metrics"])
                if copies or compressor == "none":
                    self.assertTrue(all(s > 0 for s in other["metrics"][name]["samples"]))
                else:
                    self.assertEqual(set(other["metrics"][name]["samples"]), {0})
            self.assertNotIn("prediction", other)
        return there

    def test_it_sends_the_same_and_ends_with_the_same(self):
        self.expect_same()
        header = self.records()[0]
        self.assertEqual(header["device"]["architecture"], "played")
        self.assertFalse(header["mpi_takes_device_addresses"])
        # Three ranks of one machine that has two.
        self.assertEqual(header["rank_devices"], ["played:0", "played:1", "played:0"])

    def test_with_overlap_and_by_open_mpis_collectives(self):
        self.expect_same("--overlap", "bucket", "--buckets", "first=1kb,rest=40kb", "--pattern",
                         "openmpi")

    def test_open_mpi_takes_addresses_on_the_device(self):
        self.specs = FEW
        played = PLAYED | {"PLAYED_CUDA_MPI": "1"}
        self.expect_same("--pattern", "openmpi", played=played, copies=False)
        self.assertTrue(self.records()[0]["mpi_takes_device_addresses"])
        self.out += "-bucket"
        self.expect_same("--pattern", "openmpi", "--overlap", "bucket", "--buckets",
                         "first=1kb,rest=40kb", played=played, copies=False)
        # Other patterns send in segments, from the host's memory.
        self.out += "-ring"
        self.expect_same("--pattern", "ring", played=played)

    def test_local_steps_and_an_outer_optimiser(self):
        self.specs = FEW
        self.expect_same("--local-steps", "2", "--outer", "diloco")

    def test_with_parameter_servers(self):
        self.specs = FEW
        self.expect_same("--pattern", "ps:servers=2")
        self.out += "-pulled"
        self.expect_same("--pattern", "ps:pull=fp16", "--overlap", "bucket", "--buckets",
                         "first=1kb,rest=40kb")

    def test_elements_that_are_selected_again_on_their_way(self):
        self.specs = ["topk:ratio=0.05", "dgc:ratio=0.05", "ef21:ratio=0.05", "threshold:tau=0.001"]
        self.expect_same("--pattern", "gtopk")
        self.out += "-oktopk"
        self.expect_same("--pattern", "oktopk:thresholds=2", "--overlap", "bucket", "--buckets",
                         "first=1kb,rest=40kb")

    def test_what_a_pattern_quantises_first(self):
        self.specs = ["fedavg:delay=2"]
        self.expect_same("--pattern", "qgz:group=3")
        self.out += "-groups"
        self.expect_same("--pattern", "qgz:group=1,gather=int4", "--overlap", "bucket", "--buckets",
                         "first=1kb,rest=40kb")

    def test_rounds_of_all_reduces(self):
        self.specs = ["powersgd:rank=2", "powersgd:rank=1,memory=ef21"]
        for point in self.expect_same("--pattern", "ring").values():
            self.assertTrue(all(s > 0 for s in point["metrics"]["compress_time"]["samples"]))
        self.out += "-bucket"
        self.expect_same("--pattern", "tree", "--overlap", "bucket", "--buckets",
                         "first=1kb,rest=40kb")

    def test_in_slow_motion(self):
        self.specs = FEW
        for point in self.expect_same("--time-scale", "2").values():
            self.assertEqual(point["axes"]["time_scale"], 2)

    def test_a_run_goes_on(self):
        self.specs = FEW
        command = self.command("--device", "cuda", "--resume")
        self.run_thinpipe(*command, environment=PLAYED)
        self.assertIn(f"{1 + len(self.specs)} of {1 + len(self.specs)} points are in the records already",
                      self.run_thinpipe(*command, environment=PLAYED))

    def test_both_stand_in_one_report(self):
        self.specs = FEW
        self.measure("--device", "cpu")
        command = self.command("--device", "cuda", "--resume")
        self.assertNotIn("in the records already", self.run_thinpipe(*command, environment=PLAYED))
        report = self.run_thinpipe("report", self.out, "--format", "text")
        self.assertIn("device=cuda", report)

    def refuse(self, expected, *more, code=2, environment=PLAYED):
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
    unittest.main()
