"""Two sweeps at once on one machine."""
from run_case import RunCase, main

SHARED = "another run measured on this machine at the same time"


class SharingTest(RunCase):
    def setUp(self):
        super().setUp()
        self.gradients = self.trace(compute=0.05)

    def command(self, *more, **options):
        return self.sweep("--no-baseline", *more, trace=self.gradients, link="rate=200mbit",
                          **options)

    def start_first(self):
        """Returns a sweep that has a point, and has more for a minute: it is to be interrupted."""
        first = self.start(*self.command(steps=16, repeats=60))
        self.wait_for(self.has_a_point, "the first point")
        return first

    def test_both_go_on_and_say_that_the_other_was_there(self):
        first = self.start_first()
        long, self.out = self.out, self.out + "-short"
        said = self.run_thinpipe(*self.command("--share-machine", steps=4))
        self.assertIn("another run is being measured on this machine, so the two take CPU time",
                      said)
        (point,) = self.points().values()
        self.assertTrue(point["fidelity"]["shared_machine"])
        self.assertNotIn(SHARED, str(point["reasons"]))
        self.out = long
        # The point that was measured when the other run ended is recorded, too.
        ended = self.count_points()
        self.wait_for(lambda: self.count_points() > ended, "the next point")
        self.interrupt(first)
        self.assert_nothing_left()
        points = [r for r in self.records() if r["record"] == "point"]
        self.assertNotIn("shared_machine", points[0]["fidelity"])
        shared = [p for p in points if p["fidelity"].get("shared_machine")]
        self.assertGreaterEqual(len(shared), 1)
        for point in shared:
            self.assertEqual(point["status"], "invalid")
            self.assertIn(SHARED, point["reasons"][-1])

    def test_records_have_one_writer(self):
        first = self.start_first()
        for more in ((), ("--resume",)):
            self.assertIn("records.jsonl: another process is writing these records",
                          self.run_thinpipe(*self.command(*more), code=2))
        self.interrupt(first)
        self.assertGreaterEqual(len(self.points()), 1)


if __name__ == "__main__":
    main()
