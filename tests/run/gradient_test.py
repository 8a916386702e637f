"""Gradients that are not finite fail their points by name."""
import os
import struct
import unittest

from run_case import RunCase


class GradientTest(RunCase):
    def overwrite_first_value(self, trace, value):
        """Puts `value` where the first gradient of the first file begins."""
        files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(trace)
                       for name in names if name.endswith(".safetensors"))
        with open(files[0], "r+b") as file:
            (header,) = struct.unpack("<Q", file.read(8))
            file.seek(8 + header)
            file.write(struct.pack("<f", value))

    def test_a_nan_fails_its_points_by_name_or_is_replaced(self):
        trace = self.trace()
        self.overwrite_first_value(trace, float("nan"))
        arguments = ("run", "--trace", trace, "--ranks", "2", "--link", "rate=500mbit", "--steps",
                     "2", "--warmup", "0", "--no-baseline")
        self.run_thinpipe(*arguments, "--out", self.out, code=4)
        (point,) = self.points().values()
        self.assertEqual(point["status"], "failed")
        self.assertIn("tensor 'tensor-", point["reasons"][0])
        self.assertIn("--non-finite zero", point["reasons"][0])
        self.out += "-zero"
        self.run_thinpipe(*arguments, "--out", self.out, "--non-finite", "zero")


if __name__ == "__main__":
    unittest.main()
