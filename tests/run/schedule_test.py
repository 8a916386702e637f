"""--schedule: links that change while ranks run."""
import time

from run_case import RunCase, main, timed


OUTAGE = "outage:first=250ms,lasts=400ms"


class ScheduleTest(RunCase):
    @timed
    def test_each_record_says_what_the_link_was(self):
        # 400000 floats take 134 ms at 100 Mbit/s between two ranks: the outage is in the second
        # step.
        points = self.measure(*self.sweep("--schedule", "none", "--schedule", OUTAGE, "-c", "none",
                                          trace=self.trace(elements=400000, compute=0), steps=3),
                              computed=self.check_rates, timed=self.check_wait)
        self.assert_nothing_left()
        self.assertEqual(sorted("schedule" in point for point in points), [False, True])

    def check_rates(self, point):
        self.assertLess(point["validation"]["aggregate_max_error"], 1e-5)
        taken = point["metrics"]["step_time"]["samples"]
        self.assertEqual(len(taken), 3)
        if "schedule" not in point["id"]:
            self.assertNotIn("schedule", point)
            return
        self.assertEqual(point["axes"]["link"], "rate=100mbit,schedule=" + OUTAGE)
        steps = point["schedule"]["steps"]
        for begin, end, up, down, seconds in zip(steps["begin"], steps["end"], steps["rate_up"],
                                                 steps["rate_down"], taken):
            self.assertGreaterEqual(end - begin, seconds)
            out = max(0, min(end, 0.65) - max(begin, 0.25))
            for rate in (up, down):
                self.assertAlmostEqual(rate / 100e6, 1 - out / (end - begin), places=6)

    def check_wait(self, point):
        """No step ends in the outage, the others take 134 ms. In a valid point the outage begins at
        most 21 ms late: 20 ms at the 95th percentile of two changes. A step ends between its time
        after its `begin` and its `end`, which a stall sets apart."""
        taken = point["metrics"]["step_time"]["samples"]
        self.assertLess(min(taken), 0.4)
        if "schedule" not in point:
            return
        self.assertGreaterEqual(point["schedule"]["changes"], 2)
        steps = point["schedule"]["steps"]
        for begin, end, seconds in zip(steps["begin"], steps["end"], taken):
            self.assertFalse(0.3 < begin + seconds and end < 0.65, (begin, end, seconds))

    def test_a_straggler_and_an_uplink_each_have_their_own(self):
        schedule = "host1:steps:0s=50%;rack0:outage:first=100ms,lasts=300ms"
        self.run_thinpipe(*self.sweep("-c", "none", "--no-baseline", ranks=4, topology="racks",
                                      trace=self.trace(elements=400000, compute=0),
                                      link="rate=200mbit", schedule=schedule, steps=2))
        self.assert_nothing_left()
        (point,) = self.points().values()
        self.assertEqual(point["axes"]["link"], "rate=200mbit,schedule=" + schedule)
        self.assert_right(point)
        schedule = point["schedule"]
        steps, links = schedule["steps"], {tuple(l["names"]): l for l in schedule["links"]}
        # The two differ, so neither stands for all.
        self.assertEqual(sorted(steps), ["begin", "end"])
        self.assertEqual(sorted(links), [("host1",), ("rack0-spine",)])
        for rate in links["host1",]["rate_up"]:
            self.assertAlmostEqual(rate / 100e6, 1, places=9)
        # Two hosts of 200 Mbit/s, oversubscribed 4:1.
        for begin, end, rate in zip(steps["begin"], steps["end"],
                                    links["rack0-spine",]["rate_down"]):
            out = max(0, min(end, 0.4) - max(begin, 0.1))
            self.assertAlmostEqual(rate / 100e6, 1 - out / (end - begin), places=6)
        # A step cannot have ended while nothing crossed between the racks.
        self.assertGreater(steps["end"][0], 0.4)

    def test_names_of_no_link_are_refused_before_anything_runs(self):
        trace = self.trace()
        for topology, schedule, complaint in (
                ("star", "host7:steps:0s=50%", "host7: the hosts are host0 to host3"),
                ("racks", "rack9:steps:0s=50%", "no link 'rack9'"),
                ("wan", "host0:steps:0s=50%", "host0 (unthrottled)")):
            command = self.sweep(trace=trace, ranks=None, warmup=None, topology=topology,
                                 link="rate=50mbit", schedule=schedule)
            self.assertIn(complaint, self.run_thinpipe(*command, code=2))
            self.assertFalse(self.has_a_point())

    def test_ctrl_c_ends_it_in_an_outage(self):
        process = self.start(*self.sweep(link="rate=50mbit", steps=1000, warmup=None,
                                         schedule="outage:first=1s,lasts=1000s"))
        self.wait_for(lambda: len(self.ours("thinpipe-worker")) >= 2, "the ranks")
        time.sleep(3)  # past MPI's start and the first second
        self.interrupt(process)
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
