"""--plugin reaches the ranks; errors of a plug-in fail its points by name."""
import os

from run_case import RunCase, main


class PluginTest(RunCase):
    def command(self, *more):
        return self.sweep("--no-baseline", *more, link="rate=500mbit", steps=2)

    def test_a_plug_in_is_measured_as_any_method(self):
        folder = os.environ["EXAMPLE_PLUGINS"]
        # A relative path: the ranks start elsewhere.
        self.run_thinpipe(*self.command("--plugin", "example_sign.so", "--plugin",
                                        "example_stride.so", "-c", "example-sign", "-c",
                                        "example-stride:n=10"), cwd=folder)
        self.assert_nothing_left()
        points = {p["axes"]["method"]: p for p in self.points().values()}
        self.assertEqual(sorted(points), ["example-sign", "example-stride"])
        for point in points.values():
            self.assert_right(point)
        # 10000 and 20000 elements: 4 bytes a tensor and one bit each, or every tenth whole.
        self.assertEqual(points["example-sign"]["metrics"]["payload_bytes"]["samples"],
                         [2 * 4 + 30000 / 8] * 2)
        self.assertEqual(points["example-stride"]["metrics"]["payload_bytes"]["samples"],
                         [2 * 4 + 4 * 30000 / 10] * 2)

    def test_one_that_crashes_or_hangs_fails_its_point_alone(self):
        unsafe = os.path.join(os.environ["TEST_PLUGINS"], "unsafe.so")
        # On a busy machine the ranks of the other points may stand still for some seconds.
        self.run_thinpipe(*self.command("--plugin", unsafe, "-c", "crashes", "-c", "hangs", "-c",
                                        "topk", "--timeout", "10"), code=4)
        self.assert_nothing_left()
        points = {point["axes"]["method"]: point for point in self.points().values()}
        self.assertEqual({name: point["status"] == "failed" for name, point in points.items()},
                         {"crashes": True, "hangs": True, "topk": False})
        self.assertIn("did not answer", points["hangs"]["reasons"][0])
        self.assertRegex(points["crashes"]["reasons"][0], r"^rank \d was killed by SIGABRT")

    def test_a_broken_one_fails_its_point_by_name(self):
        broken = os.path.join(os.environ["TEST_PLUGINS"], "broken_methods.so")
        self.run_thinpipe(*self.command("--plugin", broken, "-c", "writes-after"), code=4)
        self.assert_nothing_left()
        (point,) = self.points().values()
        self.assertEqual(point["status"], "failed")
        self.assertIn(f"plug-in '{broken}', method 'writes-after': encode wrote outside",
                      point["reasons"][0])


if __name__ == "__main__":
    main()
