"""Links that go away in the middle of a step: by a schedule, or behind thinpipe's back."""
import time

from run_case import RunCase, main

# The work of an administrator's tools, in the network namespace in which each script is run.
LINK_DOWN = """
import fcntl, socket, struct
SIOCSIFFLAGS = 0x8914
fcntl.ioctl(socket.socket(), SIOCSIFFLAGS, struct.pack("16sH22x", b"thin0", 0))
"""
QDISC_AWAY = """
import socket, struct
RTM_DELQDISC, REQUEST, ACK, ROOT = 37, 1, 4, 0xffffffff
kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
kernel.send(struct.pack("IHHII", 36, RTM_DELQDISC, REQUEST | ACK, 1, 0) +
            struct.pack("BxxxiIII", 0, socket.if_nametoindex("thin0"), 0, ROOT, 0))
error, = struct.unpack_from("i", kernel.recv(4096), 16)
assert error == 0, error
"""


class OutageTest(RunCase):
    """The one that ends is in schedule_test.py."""

    def test_an_outage_that_never_ends_fails_its_points_and_the_rest_goes_on(self):
        self.run_thinpipe(*self.sweep("--schedule", "none", "--schedule", "steps:0s=100%,100ms=0",
                                      "-c", "topk:ratio=0.01", steps=4, timeout=0.5,
                                      trace=self.trace(elements=100000, compute=0.05)), code=4)
        self.assert_nothing_left()
        points = self.points()
        self.assertEqual(len(points), 4)
        for name, point in points.items():
            if "schedule" in name:
                self.assertEqual(point["status"], "failed")
                self.assertRegex(point["reasons"][0],
                                 r"^step \d+: [12] of 2 ranks did not answer within [0-9.]+ s; "
                                 r"schedule 'steps:.*' \(the step began at [-0-9.e]+ s\): "
                                 r"no traffic passes the links from 0\.\d+ s on, permanently")
            else:
                self.assert_measured(point)

    def test_a_link_that_somebody_else_takes_away_fails_its_point_and_the_rest_goes_on(self):
        process = self.start(*self.sweep("-c", "topk:ratio=0.01", trace=self.trace(compute=0.1),
                                         link="rate=200mbit", repeats=3, steps=7, timeout=0.5))
        for before, script in ((1, LINK_DOWN), (3, QDISC_AWAY)):
            self.wait_for(lambda: self.count_points() >= before, f"{before} points")
            time.sleep(0.3)  # into the steps of the next
            self.run_inside(self.ours("thinpipe-worker")[0], script)
        self.finish(process, 4)
        self.assert_nothing_left()
        points = [r for r in self.records() if r["record"] == "point"]
        self.assertEqual(len(points), 6)
        self.assertEqual(points[1]["status"], "failed")
        self.assertRegex(points[1]["reasons"][0],
                         r"did not answer within [0-9.]+ s \(see --timeout\).*; "
                         "link host[01]: thin0 is down")
        # No rank waits in vain at that point.
        self.assertEqual(points[3]["status"], "invalid")
        self.assertIn("qdisc tbf on thin0: deleted", str(points[3]["reasons"]))
        for number in (0, 2, 4, 5):
            self.assert_measured(points[number])
            self.assertNotIn("thin0", str(points[number]["reasons"]))


if __name__ == "__main__":
    main()
