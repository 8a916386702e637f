"""Step times at two time scales, held against each other."""
import os
import statistics

# By how much of a step two valid points may differ: exchanges begin up to 2 % of a step apart from
# when they should (kSkewTolerance), and a link delivers up to 3 % less than its ceiling
# (kGoodputTolerance) but no more than it, so of two at most one is 3 % slower.
TOLERANCE = 0.05


def step_time(point):
    """The median step, less what the waits for compute overran in it: a time scale leaves that out,
    and 2 ms of it are valid however short a step is (kLateSeconds)."""
    return statistics.median(
        total - max(rank["compute"][step] - rank["wanted"][step] for rank in point["per_rank"])
        for step, total in enumerate(point["metrics"]["step_time"]["samples"]))


def check_same_step(test, slowed, point):
    """A step at one time scale takes what it takes at another. What the program itself takes is not
    scaled; under ThreadSanitizer that is a tenth of these steps."""
    if "thread" in os.environ.get("THINPIPE_SANITIZE", ""):
        test.skipTest("ThreadSanitizer: the program itself takes too much of a step")
    test.assertAlmostEqual(step_time(slowed) / step_time(point), 1, delta=TOLERANCE,
                           msg=slowed["id"])
