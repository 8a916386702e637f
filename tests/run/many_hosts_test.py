"""64 emulated hosts on any machine, and the limits that they reach."""
import resource

from run_case import RunCase, main


class ManyHostsTest(RunCase):
    def measure(self, ranks, files, code):
        def limit_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, files)

        return self.run_thinpipe(*self.sweep("--no-baseline", trace=self.trace(elements=3000),
                                             ranks=ranks, steps=2, timeout=120),
                                 code=code, preexec_fn=limit_files)

    def test_64_hosts_raise_the_limit_of_open_files(self):
        self.measure("64", (128, 4096), 0)
        self.assert_nothing_left()
        (point,) = self.points().values()
        # Few CPUs are idle then: the point may have a warning.
        self.assert_measured(point)
        self.assertEqual(point["validation"]["checked_steps"], 2)
        self.assertTrue(point["validation"]["identical_ranks"])
        self.assertEqual(len(point["per_rank"]), 64)

    def test_where_it_cannot_be_raised_their_point_fails_and_the_rest_goes_on(self):
        self.measure("64|2", (128, 200), 4)
        self.assert_nothing_left()
        many, two = sorted(self.points().values(), key=lambda p: -p["axes"]["ranks"])
        self.assertEqual(many["status"], "failed")
        self.assertRegex(many["reasons"][0], "64 emulated hosts need [0-9]+ open files, but the "
                                             r"limit is 200 \(ulimit -Hn\)")
        self.assert_measured(two)


if __name__ == "__main__":
    main()
