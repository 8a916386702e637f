"""Links that go away in the middle of a step: by a schedule, or behind thinpipe's back."""
import re
import sys

from run_case import RunCase, main

TIMEOUT = 10  # s: on a busy machine, ranks of points that are to end well may stand still for some

# The work of an administrator's tools, in the network namespace in which the script is run.
LINK_DOWN = """
import fcntl, socket, struct
SIOCSIFFLAGS = 0x8914
fcntl.ioctl(socket.socket(), SIOCSIFFLAGS, struct.pack("16sH22x", b"thin0", 0))
"""


class OutageTest(RunCase):
    """The one that ends is in schedule_test.py."""

    def test_an_outage_that_never_ends_fails_its_points_and_the_rest_goes_on(self):
        self.run_thinpipe(*self.sweep("--schedule", "none", "--schedule", "steps:0s=100%,100ms=0",
                                      "--no-baseline", steps=4, timeout=TIMEOUT,
                                      trace=self.trace(elements=100000, compute=0.05)), code=4)
        self.assert_nothing_left()
        points = self.points()
        self.assertEqual(len(points), 2)
        for name, point in points.items():
            if "schedule" not in name:
                self.assert_measured(point)
                continue
            self.assertEqual(point["status"], "failed")
            found = re.match(r"step \d+: [12] of 2 ranks did not answer within [0-9.]+ s; "
                             r"schedule 'steps:.*' \(the step began at (\S+) s\): "
                             r"no traffic passes the links from (\S+) s on, permanently",
                             point["reasons"][0])
            self.assertTrue(found, point["reasons"])
            # On a busy machine the step may begin within the outage.
            began, since = map(float, found.groups())
            self.assertEqual(since, max(began, 0.1))

    def test_a_link_that_somebody_else_takes_down_fails_its_point_and_the_sweep_goes_on(self):
        # A point of 5000 steps takes more than a minute, so it cannot end before it is interrupted.
        process = self.start(*self.sweep("-c", "none", trace=self.trace(compute=0.01),
                                         link="rate=200mbit", repeats=2, steps=5000,
                                         timeout=TIMEOUT))
        steps = 16_000_000  # bytes: ranks exchange less than 11 MB before their first step
        self.wait_until_sent(steps)
        rank = self.ours("thinpipe-worker")[0]
        self.run_inside(rank, sys.executable, "-c", LINK_DOWN)
        self.wait_for(lambda: rank not in self.ours("thinpipe-worker"), "the end of the point")
        self.wait_until_sent(steps)
        self.interrupt(process)
        self.assert_nothing_left()
        (point,) = self.points().values()
        self.assertEqual(point["status"], "failed")
        self.assertRegex(point["reasons"][0],
                         r"did not answer within [0-9.]+ s \(see --timeout\).*; "
                         "link host[01]: thin0 is down")


if __name__ == "__main__":
    main()
