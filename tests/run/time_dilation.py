"""Step times at two time scales, compared with each other."""
import os

# Fraction of a step by which two valid points may differ: 2 + 3 %. An exchange may begin up to 2 %
# of a step too early or too late (kSkewTolerance). A link may deliver up to 3 % less than its
# ceiling (kGoodputTolerance), but not more. So links make two points differ by 3 % at most: one
# link at 3 % less, the other at its ceiling.
TOLERANCE = 0.05


def shortest_step(point):
    """The point's step time without overruns of waits for compute: a time scale excludes these, and
    2 ms of overrun are valid however short a step is (kLateSeconds). Returns the shortest, because
    a busy machine lengthens steps and shortens none, while a wrong time scale is wrong in each."""
    return min(
        total - max(rank["compute"][step] - rank["wanted"][step] for rank in point["per_rank"])
        for step, total in enumerate(point["metrics"]["step_time"]["samples"]))


def check_same_step(test, slowed, point):
    """A step at one time scale takes as long as at another. The program's own time is not scaled;
    under ThreadSanitizer that time is a tenth of these steps."""
    if "thread" in os.environ.get("THINPIPE_SANITIZE", ""):
        test.skipTest("ThreadSanitizer: the program itself takes too much of a step")
    test.assertAlmostEqual(shortest_step(slowed) / shortest_step(point), 1, delta=TOLERANCE,
                           msg=slowed["id"])
