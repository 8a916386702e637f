"""Two sweeps at once on one machine."""
import os

from run_case import RUN, RunCase, main

SHARED = "another run measured on this machine at the same time"


class SharingTest(RunCase):
    def setUp(self):
        super().setUp()
        # These tests ignore runs of other users on this machine.
        self.place = {"TMPDIR": self.folder}
        self.arguments = (*RUN, "--trace", self.trace(compute=0.05), "--ranks", "2", "--link",
                          "rate=200mbit", "--warmup", "0", "--no-baseline")

    def test_both_complete_and_say_that_the_other_was_there(self):
        long, short = self.out, self.out + "-short"
        first = self.start(*self.arguments, "--out", long, "--steps", "16", "--repeats", "6",
                           environment=self.place)
        self.wait_for(self.has_a_point, "the first point")
        said = self.run_thinpipe(*self.arguments, "--out", short, "--steps", "4", "--share-machine",
                                 environment=self.place)
        self.assertIn("another run is being measured on this machine, so the two take CPU time",
                      said)
        self.finish(first)
        self.assert_nothing_left()
        points = [r for r in self.records() if r["record"] == "point"]
        self.assertEqual(len(points), 6)
        self.assertNotIn("shared_machine", points[0]["fidelity"])
        shared = [p for p in points if p["fidelity"].get("shared_machine")]
        self.assertGreaterEqual(len(shared), 1)
        for point in shared:
            self.assertEqual(point["status"], "invalid")
            self.assertIn(SHARED, point["reasons"][-1])
        self.out = short
        (point,) = self.points().values()
        self.assertTrue(point["fidelity"]["shared_machine"])
        self.assertNotIn(SHARED, str(point["reasons"]))

    def test_records_have_one_writer(self):
        first = self.start(*self.arguments, "--out", self.out, "--steps", "4", "--repeats", "2",
                           environment=self.place)
        self.wait_for(lambda: os.path.exists(os.path.join(self.out, "records.jsonl")), "records")
        for more in ((), ("--resume",)):
            self.assertIn("records.jsonl: another process is writing these records",
                          self.run_thinpipe(*self.arguments, "--out", self.out, *more, code=2,
                                            environment=self.place))
        self.finish(first)
        self.assertEqual(len(self.points()), 2)


if __name__ == "__main__":
    main()
