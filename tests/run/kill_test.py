"""Killed runs, ranks and launchers: nothing is left behind, and the rest goes on."""
import os
import random
import signal
import time

from run_case import RunCase, main

ENDLESS = 400  # repeats, which take a minute; no test waits for their end


class KillTest(RunCase):
    def command(self, repeats):
        return self.sweep("--resume", trace=self.trace(elements=100000), link="rate=200mbit",
                          steps=3, warmup=1, repeats=repeats)

    def test_sigkill_at_random_moments_leaves_nothing_and_resume_completes(self):
        arguments = self.command(3)
        kills = int(os.environ.get("THINPIPE_KILLS", "5"))
        generator = random.Random(20)
        for _ in range(kills):
            process = self.start(*arguments)
            time.sleep(generator.uniform(0, 3.5))  # calibration takes half of it
            process.kill()
            process.communicate()
            self.assert_nothing_left()
        self.run_thinpipe(*arguments)
        self.assert_nothing_left()
        points = self.points()
        self.assertEqual(len(points), 6)  # 2 compressors, 3 repeats
        for point in points.values():
            self.assert_measured(point)

    def test_ctrl_c_keeps_what_was_measured(self):
        process = self.start(*self.command(ENDLESS))
        self.wait_for(self.has_a_point, "the first point")
        self.assertIn("--resume", self.interrupt(process))
        self.assert_nothing_left()
        self.assertGreaterEqual(len(self.points()), 1)

    def test_a_killed_rank_fails_its_point_and_the_sweep_goes_on(self):
        self.check_only_one_fails("thinpipe-worker")

    def test_a_killed_mpirun_fails_its_point_and_the_sweep_goes_on(self):
        self.check_only_one_fails("mpirun")

    def check_only_one_fails(self, name):
        """Kills a process of this name in the middle of a sweep."""
        process = self.start(*self.command(ENDLESS))
        self.wait_for(self.has_a_point, "the first point")
        os.kill(self.ours(name)[0], signal.SIGKILL)
        measured = self.count_points()
        # One more may end well, one fails, and one comes after that.
        self.wait_for(lambda: self.count_points() >= measured + 3, "the points after it")
        self.interrupt(process)
        self.assert_nothing_left()
        points = sorted(self.points().values(), key=lambda point: point["status"] != "failed")
        self.assertEqual(points[0]["status"], "failed")
        for point in points[1:]:
            self.assert_measured(point)


if __name__ == "__main__":
    main()
