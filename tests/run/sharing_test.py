"""Two sweeps at once on one machine."""
import os

from run_case import RunCase, main

SHARED = "another run measured on this machine at the same time"


class SharingTest(RunCase):
    def setUp(self):
        super().setUp()
        # These tests ignore runs of other users on this machine.
        self.place = {"TMPDIR": self.folder}
        self.gradients = self.trace(compute=0.05)

    def command(self, *more, **options):
        return self.sweep("--no-baseline", *more, trace=self.gradients, link="rate=200mbit",
                          **options)

    def test_both_complete_and_say_that_the_other_was_there(self):
        first = self.start(*self.command(steps=16, repeats=6), environment=self.place)
        self.wait_for(self.has_a_point, "the first point")
        long, self.out = self.out, self.out + "-short"
        said = self.run_thinpipe(*self.command("--share-machine", steps=4), environment=self.place)
        self.assertIn("another run is being measured on this machine, so the two take CPU time",
                      said)
        self.finish(first)
        self.assert_nothing_left()
        (point,) = self.points().values()
        self.assertTrue(point["fidelity"]["shared_machine"])
        self.assertNotIn(SHARED, str(point["reasons"]))
        self.out = long
        points = [r for r in self.records() if r["record"] == "point"]
        self.assertEqual(len(points), 6)
        self.assertNotIn("shared_machine", points[0]["fidelity"])
        shared = [p for p in points if p["fidelity"].get("shared_machine")]
        self.assertGreaterEqual(len(shared), 1)
        for point in shared:
            self.assertEqual(point["status"], "invalid")
            self.assertIn(SHARED, point["reasons"][-1])

    def test_records_have_one_writer(self):
        first = self.start(*self.command(steps=4, repeats=2), environment=self.place)
        self.wait_for(lambda: os.path.exists(os.path.join(self.out, "records.jsonl")), "records")
        for more in ((), ("--resume",)):
            self.assertIn("records.jsonl: another process is writing these records",
                          self.run_thinpipe(*self.command(*more), code=2, environment=self.place))
        self.finish(first)
        self.assertEqual(len(self.points()), 2)


if __name__ == "__main__":
    main()
