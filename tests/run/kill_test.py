"""Killed runs, ranks and launchers: nothing is left behind, and the rest goes on."""
import os
import random
import signal
import time

from run_case import RunCase, main


class KillTest(RunCase):
    def command(self):
        return self.sweep("--resume", trace=self.trace(elements=100000), link="rate=200mbit",
                          steps=3, warmup=1, repeats=3)

    def test_sigkill_at_random_moments_leaves_nothing_and_resume_completes(self):
        arguments = self.command()
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
        process = self.start(*self.command())
        self.wait_for(self.has_a_point, "the first point")
        self.assertIn("--resume", self.interrupt(process))
        self.assert_nothing_left()
        self.assertGreaterEqual(len(self.points()), 1)

    def start_slow_point(self):
        """Returns the process of a sweep that is in its first point's steps, which take 2 s."""
        process = self.start(*self.sweep(trace=self.trace(elements=400000), link="rate=20mbit",
                                         steps=2, warmup=1))
        self.wait_for(lambda: len(self.ours("thinpipe-worker")) >= 2, "the ranks")
        time.sleep(1.5)  # past MPI's start
        return process

    def test_a_killed_rank_fails_its_point_and_the_sweep_goes_on(self):
        process = self.start_slow_point()
        os.kill(self.ours("thinpipe-worker")[0], signal.SIGKILL)
        self.assert_only_one_failed(process)

    def test_a_killed_mpirun_fails_its_point_and_the_sweep_goes_on(self):
        process = self.start_slow_point()
        for pid in self.ours("mpirun"):
            os.kill(pid, signal.SIGKILL)
        self.assert_only_one_failed(process)

    def assert_only_one_failed(self, process):
        self.finish(process, 4)
        self.assert_nothing_left()
        failed, other = sorted(self.points().values(), key=lambda p: p["status"] != "failed")
        self.assertEqual(failed["status"], "failed")
        self.assert_measured(other)


if __name__ == "__main__":
    main()
