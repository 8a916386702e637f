"""Two-shot exchanges on throttled links: results, refusals, and the links' counters."""

from run_case import RUN, RunCase, main
from wire import HEADER, check_sent, in_messages

HEAD = 8  # bytes before each payload


class TwoShotTest(RunCase):
    def run_two_shots(self, *arguments, code=0, elements=2**18):
        said = self.run_thinpipe(*RUN, "--trace", f"synthetic:elements={elements},steps=2",
                                 "--out", self.out, "--link", "rate=1gbit", "--steps", "3",
                                 "--warmup", "1", "--compute-scale", "0", "--no-baseline",
                                 *arguments, code=code)
        self.assert_nothing_left()
        return said, self.records()[1:] if code == 0 else []

    def check(self, point):
        self.assert_right(point, steps=3)
        self.assertEqual(point["axes"]["collective"].split(":")[0], "pushpull-twoshot")
        self.assertEqual(point["validation"]["reference"], "elements")
        self.assertNotIn("servers", point)
        error = point["metrics"]["second_relative_error"]["samples"]
        self.assertEqual(len(error), 3)
        lossless = "second=none" in point["axes"]["collective"]
        self.assertTrue(all(value == 0 if lossless else 0 < value < 1 for value in error), error)

    def test_links_count_what_the_closed_form_says(self):
        _, points = self.run_two_shots("--ranks", "2|4", "--collective", "twoshot", "-c", "int8",
                                       "-c", "blockint4")
        self.assertEqual(len(points), 4)
        for point in points:
            self.check(point)
            ranks = point["axes"]["ranks"]
            metrics = point["metrics"]
            there, back = (metrics[name]["samples"][0] for name in ("payload_bytes", "pull_bytes"))
            self.assertAlmostEqual(there, back, delta=64)  # all slices, of the same method
            messages = 2 * (ranks - 1)
            sent = (ranks - 1) / ranks * (there + back) + HEAD * messages
            # No message but the last of a payload is less than a segment.
            check_sent(self, point, [in_messages(sent, sent / 32768)] * ranks,
                       slack=HEADER * messages + 64)

    def test_prime_numbers_of_ranks_second_methods_and_overlap(self):
        _, points = self.run_two_shots("--ranks", "3", "--collective",
                                       "twoshot:second=none|(int8:bucket=512)", "-c", "topk:ratio=0.01",
                                       "-c", "fp16", "--overlap", "none|bucket", "--buckets",
                                       "first=1kb,rest=64kb", elements=50001)
        self.assertEqual(len(points), 8)
        for point in points:
            self.check(point)

    def test_fewer_elements_than_ranks_and_local_steps(self):
        _, points = self.run_two_shots("--ranks", "5", "--collective", "twoshot", "-c", "3lc",
                                       "--local-steps", "2", elements=3)
        self.assertEqual(len(points), 1)
        self.assertTrue(points[0]["validation"]["identical_ranks"])

    def test_steps_that_are_not_checked_have_both_errors_too(self):
        _, (point,) = self.run_two_shots("--ranks", "2", "--collective", "twoshot", "-c", "int8",
                                         "--check-every", "2")
        self.assert_right(point, steps=2)  # the first and the third
        for name in ("relative_error", "second_relative_error"):
            samples = point["metrics"][name]["samples"]
            self.assertEqual(len(samples), 3)
            self.assertTrue(all(0 < value < 1 for value in samples), samples)

    def test_what_cannot_be_sliced_is_refused_by_name(self):
        for spec in ("powersgd", "demo", "dgc:clip=1"):
            said, _ = self.run_two_shots("--ranks", "2", "--collective", "twoshot", "-c", spec, code=2)
            self.assertIn(spec.split(":")[0], said)
            self.assertIn("slices", said)
        said, _ = self.run_two_shots("--ranks", "2", "--collective", "twoshot:second=variance", "-c",
                                     "int8", code=2)
        self.assertIn("second=none", said)


if __name__ == "__main__":
    main()
