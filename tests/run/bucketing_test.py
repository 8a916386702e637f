"""`thinpipe run` with gradients in buckets, by rules and accumulated over several steps."""

import statistics

from run_case import RUN, RunCase, main, timed

TRACE = "synthetic:model=lenet5,workers=2,steps=2"


class BucketingTest(RunCase):
    def run_lenet5(self, *arguments, steps=2):
        self.run_thinpipe(*self.command(*arguments, steps=steps))
        self.assert_nothing_left()
        points = self.records()[1:]
        for point in points:
            self.assert_right(point)
        return points

    def command(self, *more, steps=2):
        return self.sweep(*more, trace=TRACE, link="rate=200mbit", steps=steps, warmup=1)

    @timed
    def test_buckets_leave_while_compute_goes_on(self):
        points = self.measure(*self.command("-c", "topk:ratio=0.1", "--overlap", "none|bucket",
                                            "--codec", "inline|thread", "--buckets",
                                            "first=10kb,rest=90kb", "--compute-scale", "20"),
                              computed=self.check_timeline, timed=self.check_overlap)
        self.assert_nothing_left()
        # Without overlap the codec's thread shows nothing.
        self.assertEqual(len(points), 2 * 3)

    def test_compute_may_use_the_cpus(self):
        points = self.run_lenet5("-c", "topk:ratio=0.1", "--no-baseline", "--compute", "work",
                                 "--overlap", "none|bucket", "--codec", "inline|thread",
                                 "--compute-scale", "20")
        self.assertEqual(self.records()[0]["settings"]["compute"], "work")
        self.assertEqual(len(points), 3)
        for point in points:
            self.assertIn("|work", point["id"])
            for step, ideal in zip(point["metrics"]["step_time"]["samples"],
                                   point["metrics"]["ideal_time"]["samples"]):
                self.assertGreater(step, ideal)

    def check_timeline(self, point):
        self.assert_right(point)
        metrics = point["metrics"]
        self.assertEqual(len(metrics["noop_time"]["samples"]), 3)
        for name in ("step_time", "exposed_time", "link_idle_time", "ideal_time"):
            self.assertEqual(len(metrics[name]["samples"]), 2)
        for step, ideal in zip(metrics["step_time"]["samples"], metrics["ideal_time"]["samples"]):
            self.assertGreater(step, ideal)
        self.assertGreaterEqual(min(metrics["noop_time"]["samples"]),
                                min(metrics["ideal_time"]["samples"]))
        overlapped = "overlap=bucket" in point["axes"]["bucketing"]
        self.assertEqual(len(point["timeline"]["ranks"]), 2)
        for spans in point["timeline"]["ranks"]:
            if not overlapped:
                (compute,) = (s for s in spans if s[0] == "compute")
                self.assertGreaterEqual(min(s[2] for s in spans if s[0] == "exchange"), compute[3])
            buckets = {span[1] for span in spans if span[0] == "exchange"}
            self.assertEqual(buckets, set(range(4)) if overlapped else {0})
            for bucket in buckets:
                (compress,) = (s for s in spans if s[:2] == ["compress", bucket])
                (exchange,) = (s for s in spans if s[:2] == ["exchange", bucket])
                (decode,) = (s for s in spans if s[:2] == ["decode", bucket])
                self.assertLess(compress[2], compress[3])
                self.assertLessEqual(compress[3], exchange[2])
                self.assertLessEqual(exchange[3], decode[2])

    def check_overlap(self, point):
        """The first bucket is in transit before the backward pass is over: 176 ms before the end of
        its 331 ms, where waits of a valid point end 3 ms late at most (1 % of a step, 95 % of
        them)."""
        if "overlap=bucket" not in point["axes"]["bucketing"]:
            return
        for spans in point["timeline"]["ranks"]:
            (compute,) = (s for s in spans if s[0] == "compute")
            first = min(s[2] for s in spans if s[0] == "exchange")
            self.assertLess(first, compute[3], point["id"])

    def test_rules_choose_by_name_and_small_tensors_stay_whole(self):
        (point,) = self.run_lenet5("--no-baseline", "-c", "conv*:none;*:topk:ratio=0.01",
                                   "--min-elements", "20", "--granularity", "bucket")
        self.assertEqual(point["axes"]["method"], "rules")
        self.assertEqual(point["axes"]["collective"], "mixed-ring")
        self.assertEqual(point["axes"]["bucketing"], "granularity=bucket;min_elements=20")
        # Dense are conv1 with 500 + 20 elements, conv2 with 25000 + 50, and the last bias of 10. Of
        # the rest 1 % is sent, with 8 bytes per element.
        dense = 4 * (520 + 25050 + 10)
        rest = 431080 - 520 - 25050 - 10
        for payload in point["metrics"]["payload_bytes"]["samples"]:
            self.assertGreater(payload, dense + 8 * rest // 100)
            self.assertLess(payload, dense + 8 * rest // 100 + 200)

    def test_sums_of_several_steps_are_sent_at_once(self):
        points = self.run_lenet5("--no-baseline", "-c", "none", "-c", "sbc:p=0.01,delay=2",
                                 "--local-steps", "1|2", steps=3)
        self.assertEqual(len(points), 4)
        for point in points:
            local = 2 if "local_steps=2" in point["axes"]["bucketing"] else 1
            period = local * (2 if point["axes"]["method"] == "sbc" else 1)
            samples = point["metrics"]["payload_bytes"]["samples"]
            self.assertEqual(len(samples), {1: 3, 2: 2, 4: 1}[period])
            if point["axes"]["method"] == "none":
                self.assertEqual(samples[0], 431080 * 4 / period)
            errors = point["metrics"]["relative_error"]["samples"]
            if point["axes"]["method"] == "none":
                self.assertLess(max(errors), 1e-6)
            else:
                self.assertGreater(min(errors), 0.1)

    def test_fragments_are_sent_in_turn(self):
        points = self.run_lenet5("--no-baseline", "-c", "none", "--local-steps", "4", "--fragments",
                                 "1|2", "--outer", "diloco", steps=8)
        self.assertEqual({point["axes"]["bucketing"] for point in points},
                         {"local_steps=4;outer=diloco", "local_steps=4;fragments=2;outer=diloco"})
        for point in points:  # each element is sent once in four steps
            self.assertEqual(point["metrics"]["payload_bytes"]["samples"], [431080.0] * 2)
            self.assertLess(max(point["metrics"]["relative_error"]["samples"]), 1e-6)

    @timed
    def test_a_delayed_fragment_is_exchanged_during_compute(self):
        points = self.measure(*self.command("--no-baseline", "-c", "none", "--local-steps", "4",
                                            "--fragment-delay", "0|3", "--compute-scale", "4",
                                            steps=8),
                              computed=self.check_delayed_payload, timed=self.check_delayed_time)
        self.assert_nothing_left()
        self.assertEqual({point["axes"]["bucketing"] for point in points},
                         {"local_steps=4", "local_steps=4;fragment_delay=3"})

    def check_delayed_payload(self, point):
        self.assert_right(point)
        self.assertEqual(point["metrics"]["payload_bytes"]["samples"], [431080.0] * 2)
        self.assertLess(max(point["metrics"]["relative_error"]["samples"]), 1e-6)

    def check_delayed_time(self, point):
        """1.72 MB take at least 69 ms at 200 Mbit/s, a quarter of it in the average step. The three
        steps of a delay compute for 3 * 66 ms, so nothing of the exchange is left to wait for."""
        exposed, exchange = (statistics.mean(point["metrics"][name]["samples"])
                             for name in ("exposed_time", "exchange_time"))
        if "fragment_delay" in point["axes"]["bucketing"]:
            self.assertLess(exposed, 1e-3)
        else:
            self.assertGreater(exposed, 0.069 / 4)
        self.assertGreater(exchange, 0.069 / 4)

    def test_says_what_is_wrong(self):
        for arguments, words in (
            (["--overlap", "sometimes"], "expected none, bucket"),
            (["--codec", "gpu"], "expected inline or thread"),
            (["--buckets", "first=0"], "at least 1 byte"),
            (["--granularity", "layer"], "expected tensor, bucket, model"),
            (["--min-elements", "-1"], "whole number"),
            (["--local-steps", "1.5"], "whole number"),
            (["--epoch", "x"], "number"),
            (["--epoch", "0|4"], "all epochs would measure the same"),
            (["--overlap", "bucket", "--time-scale", "0.5"], "only the links can be sped up"),
            (["-c", "conv*:"], "is no rule"),
            (["-c", "conv*:nothing;"], "nothing"),
        ):
            with self.subTest(arguments=arguments):
                said = self.run_thinpipe(*RUN, "--trace", TRACE, "--out", self.out, *arguments,
                                         code=2)
                self.assertIn(words, said)


if __name__ == "__main__":
    main()
