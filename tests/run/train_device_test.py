"""Trainings with compression on a simulated GPU: they end with the same parameters as on the CPU, bit
for bit.

Environment: SIMULATED_GPU is a library that simulates two GPUs when preloaded. train_test.py
describes SIGNAL_AT_RENAME.
"""
import os
import signal

from run_case import RunCase, main, preloaded
from train_test import signal_at

SIMULATED = preloaded(os.environ["SIMULATED_GPU"])


class TrainDeviceTest(RunCase):
    def start_training(self, device, *arguments, environment=()):
        self.out = os.path.join(self.folder, device)
        return self.start("train", "-m", "lenet5", "--out", self.out, "-w", "2", "--batch", "4",
                          "--link", "rate=500mbit", "--compute-time", "0.01", "--no-baseline",
                          "--device", device, *arguments,
                          environment=environment or (SIMULATED if device == "cuda" else {}))

    def trained(self):
        points = {}
        for point in self.points().values():
            self.assert_right(point)
            points[point["axes"]["compressor"]] = point
        return points

    def expect_same(self, here, there):
        self.assertEqual(here.keys(), there.keys())
        self.assertEqual(len({point["training"]["digest"] for point in here.values()}), len(here))
        for compressor, point in here.items():
            other = there[compressor]
            self.assertNotIn("device", point["axes"])
            self.assertEqual(other["axes"]["device"], "cuda")
            for name in ("digest", "loss", "bytes"):
                self.assertEqual(point["training"][name], other["training"][name], compressor)
            self.assertEqual(point["metrics"]["final_loss"], other["metrics"]["final_loss"])

    def test_gradients(self):
        arguments = ("--steps", "4", "--eval-every", "4", "--check-every", "2", "--overlap",
                     "bucket", "--buckets", "first=1kb,rest=40kb", "-c", "topk:ratio=0.05", "-c",
                     "ef21:ratio=0.05", "-c", "powersgd:rank=2")
        self.finish(self.start_training("cpu", *arguments))
        here = self.trained()
        self.finish(self.start_training("cuda", *arguments))
        self.assert_nothing_left()
        self.expect_same(here, self.trained())
        header = self.records()[0]
        self.assertEqual(header["device"]["architecture"], "simulated")
        self.assertEqual(header["rank_devices"], ["simulated:0", "simulated:1"])

    def test_an_outer_optimiser_also_after_an_interruption(self):
        arguments = ("--steps", "12", "--eval-every", "12", "--check-every", "3", "--local-steps",
                     "2", "--outer", "diloco", "-c", "int8:memory=residual")
        self.finish(self.start_training("cpu", *arguments))
        here = self.trained()
        interrupting = {**signal_at("/step-4", signal.SIGINT),
                        **preloaded(os.environ["SIGNAL_AT_RENAME"], os.environ["SIMULATED_GPU"])}
        self.finish(self.start_training("cuda", *arguments, "--checkpoint-every", "4",
                                        environment=interrupting), 128 + signal.SIGINT)
        self.finish(self.start_training("cuda", *arguments, "--resume"))
        self.assert_nothing_left()
        there = self.trained()
        self.expect_same(here, there)
        self.assertEqual([len(point["training"]["resumed"]) for point in there.values()], [1])

    def test_what_is_not_there_is_refused_before_anything_is_trained(self):
        error = self.finish(self.start_training("cuda", "--time-scale", "0.5"), 2)
        self.assertIn("--time-scale 0.5", error)
        self.assertFalse(os.path.exists(self.out))


if __name__ == "__main__":
    main()
