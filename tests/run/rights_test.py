"""Rights that thinpipe lacks from the start, or loses in the middle of a sweep.

Environment: LOSE_RIGHTS is a library which, preloaded, drops CAP_NET_ADMIN after the first point.
"""
import os

from run_case import THINPIPE, RunCase, main, preloaded

# Root of a user namespace of its own: the same for root and for an ordinary user.
ROOT = ("unshare", "--user", "--map-root-user", "sh", "-c")
NO_NAMESPACES = "echo 0 > /proc/sys/user/max_user_namespaces; "


class RightsTest(RunCase):
    def command(self, *more, ranks=2):
        return (THINPIPE, *self.sweep(*more, trace=self.trace(compute=0.05), ranks=ranks,
                                      link="rate=200mbit", steps=5))

    def test_without_a_right_it_says_which_and_measures_nothing(self):
        command = self.command()
        for right in ("net_admin", "sys_admin"):
            script = (NO_NAMESPACES + f"exec setpriv --bounding-set=-{right} --inh-caps=-{right} "
                      '"$0" "$@"')
            error = self.finish(self.start_command(*ROOT, script, *command), 4)
            self.assertIn("this process lacks CAP_" + right.upper(), error)
            self.assert_nothing_left()
            self.assertEqual(self.records(), [])

    def test_root_without_the_right_takes_it_from_a_user_namespace(self):
        script = 'exec setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$0" "$@"'
        self.finish(self.start_command(*ROOT, script, *self.command("--no-baseline")))
        (point,) = self.points().values()
        self.assert_measured(point)

    def test_a_right_lost_fails_the_points_after_it_and_resume_measures_them(self):
        command = self.command("--repeats", "2")
        self.finish(
            self.start_command(*command, environment=preloaded(os.environ["LOSE_RIGHTS"])), 4)
        self.assert_nothing_left()
        points = [r for r in self.records() if r["record"] == "point"]
        self.assertEqual(len(points), 4)
        self.assert_measured(points[0])
        for point in points[1:]:
            self.assertEqual(point["status"], "failed")
            self.assertIn("Operation not permitted; this process lacks CAP_NET_ADMIN",
                          point["reasons"][0])
        self.finish(self.start_command(*command, "--resume"))
        for point in self.points().values():
            self.assert_measured(point)

    def test_a_limit_of_namespaces_fails_the_points_that_meet_it(self):
        # Anything but a star is built anew for each number of ranks.
        script = '''"$0" "$@" & pid=$!
            while kill -0 $pid && ! grep -qs '"record":"point"' "$OUT/records.jsonl"; do
                sleep 0.05
            done
            echo 1 > /proc/sys/user/max_net_namespaces
            wait $pid'''
        self.finish(self.start_command(*ROOT, script, *self.command(
            "--topology", "ps", "--no-baseline", ranks="2|3"), environment={"OUT": self.out}), 4)
        self.assert_nothing_left()
        two, three = sorted(self.points().values(), key=lambda p: p["axes"]["ranks"])
        self.assert_measured(two)
        self.assertEqual(three["status"], "failed")
        self.assertIn("user.max_net_namespaces", three["reasons"][0])


if __name__ == "__main__":
    main()
