"""Tests that measure judge only measurements that thinpipe itself accepts as valid.

A point that a busy machine spoilt is measured again, TIMES times in all; if that does not help, the
test is skipped with the record's reason. Results that do not depend on the machine's load are
judged on every measurement, the spoilt ones too. main() prints `skipped: TEST: REASON` for every
skip, and exits with 77, which ctest calls skipped, where nothing failed and the load skipped
something.
"""
import json
import os
import re
import signal
import sys
import time
import unittest

TIMES = 3
TOO_BUSY = "machine too busy"
EXIT_SKIPPED = 77

# The reasons in a record for points that are invalid because the machine lacked CPU time;
# docs/fidelity.md has their limits. Any other reason is a defect. A calibration may also end above
# the TCP ceiling: if the receiver did not run before the window, bytes that waited in its socket
# are counted within the window. measured_test.py compares this list with the program's texts.
REASONS_OF_LOAD = (
    r"CPU idle time was [\d.]+ % \(limit",
    r"5 % of timed waits overran by .+ or more",
    r".+ delivered \d{1,3}\.\d % of its TCP ceiling in the calibration",
    r"time scale [^:]+: ranks began their exchanges up to .+ off the planned time",
    r"the schedule's changes were [\d.]+ ms late")
BY_LOAD = re.compile("|".join(REASONS_OF_LOAD))


class Measured(unittest.TestCase):
    """Needs `out`, the folder of the records, and run_thinpipe(*arguments), which demands that the
    program exits with 0 and returns its output."""

    def records(self):
        with open(os.path.join(self.out, "records.jsonl")) as file:
            return [json.loads(line) for line in file]

    def assert_measured(self, point):
        """The point has figures, and if they are untrusted, then only for the machine's load."""
        self.assertIn(point["status"], ("ok", "invalid"), point["reasons"])
        for reason in point["reasons"]:
            self.assertRegex(reason, f"^(?:before the training was resumed: )?(?:{BY_LOAD.pattern})",
                             point["id"])

    def assert_right(self, point, steps=None):
        """The point is measured, and its ranks ended alike, with the right aggregates. `steps`: how
        many of them were checked."""
        self.assert_measured(point)
        validation = point["validation"]
        self.assertTrue(validation["identical_ranks"])
        self.assertLess(validation["aggregate_max_error"], 1e-5)
        if steps is not None:
            self.assertEqual(validation["checked_steps"], steps)

    def measure(self, *arguments, computed=lambda point: None, timed=lambda point: None):
        """The points of `run_thinpipe(*arguments)`, all of them valid, in the order of the records.

        `computed` judges every measurement, `timed` every valid one, both at once. `told` is then
        the whole output.
        """
        valid, again, self.told = set(), [], ""
        for more in [()] + [("--resume",)] * (TIMES - 1):
            self.told += self.run_thinpipe(*arguments, *more)
            points = {one["id"]: one for one in self.records() if one["record"] == "point"}
            new = [point for name, point in points.items() if name not in valid]
            for point in new:
                self.assert_measured(point)
                computed(point)
                if point["status"] == "ok":
                    timed(point)
                    valid.add(point["id"])
            spoilt = [point for point in new if point["status"] != "ok"]
            if not spoilt:
                for reason in again:
                    print(f"measured again: {self.name_of(self)}: {reason}", file=sys.stderr)
                return list(points.values())
            again += [f"{point['id']}: {'; '.join(point['reasons'])}" for point in spoilt]
            self.forget(spoilt)
        raise unittest.SkipTest(f"{TOO_BUSY} ({TIMES} times; last: {again[-1]})")

    def forget(self, points):
        """Takes the points out of the records: --resume measures points that the records lack."""
        names = {point["id"] for point in points}
        kept = [one for one in self.records() if one.get("id") not in names]
        with open(os.path.join(self.out, "records.jsonl"), "w") as file:
            file.writelines(json.dumps(one, separators=(",", ":")) + "\n" for one in kept)

    @staticmethod
    def name_of(test):
        return test.id().split(".", 1)[1]


class MeasuredByProcesses(Measured):
    """Needs start(*arguments), which returns a process of the program with its outputs in pipes."""

    def finish(self, process, code=0):
        out, error = process.communicate(timeout=int(os.environ["TIME_LIMIT"]))
        self.assertEqual(process.returncode, code, error)
        return out + error

    def run_thinpipe(self, *arguments, code=0, **options):
        return self.finish(self.start(*arguments, **options), code)

    def interrupt(self, process, number=signal.SIGINT):
        process.send_signal(number)
        return self.finish(process, 128 + number)

    def wait_for(self, condition, what, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, "waited in vain for " + what)
            time.sleep(0.02)


def timed(test):
    """Marks a test that compares times, and therefore needs the cores to itself."""
    test.timed = True
    return test


class Part(unittest.TestLoader):
    """Loads a part of a file's tests, so that ctest can run the parts at the same time: with
    TEST_TIMED=ON the timed ones, with OFF the others, and of these every TEST_SHARDS-th, beginning
    with number TEST_SHARD_INDEX."""

    def getTestCaseNames(self, case):
        names = super().getTestCaseNames(case)
        if "TEST_TIMED" in os.environ:
            wanted = os.environ["TEST_TIMED"] == "ON"
            names = [name for name in names if hasattr(getattr(case, name), "timed") == wanted]
        first, step = (int(os.environ.get(name, default))
                       for name, default in (("TEST_SHARD_INDEX", 0), ("TEST_SHARDS", 1)))
        return names[first::step]


def main():
    result = unittest.main(exit=False, testLoader=Part()).result
    for test, reason in result.skipped:
        print(f"skipped: {Measured.name_of(test)}: {reason}")
    busy = any(reason.startswith(TOO_BUSY) for _, reason in result.skipped)
    sys.exit(1 if not result.wasSuccessful() else EXIT_SKIPPED if busy else 0)
