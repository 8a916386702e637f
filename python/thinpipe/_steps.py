"""Reports the steps of a job to `thinpipe net torchrun` (docs/exec.md, "Steps of a job")."""
import json
import os
import time

_VARIABLE = "THINPIPE_STEPS"


class Steps:
    """The report of one rank. Does nothing outside of `thinpipe net torchrun`.

    rank: this process's rank in the job.
    facts: values written once, before the first step, such as compressor and collective.
    """

    def __init__(self, rank, **facts):
        # Removed, so that only one part of the program reports.
        folder = os.environ.pop(_VARIABLE, "")
        self.active = os.path.isdir(folder)
        self._file = open(os.path.join(folder, str(rank)), "a", buffering=1,
                          encoding="utf-8") if self.active else None
        self._last = None
        if self.active:
            self._write(facts)

    def begin(self, totals, **constants):
        """Marks the begin of a step, and reports the step before it.

        totals: {metric: sum over all steps so far}; a step's metric is the difference of two calls.
            The sums "k" and "k_hat" are reported as the metric "quality", k_hat / k.
        constants: metrics that are the same in every step.
        """
        now = time.perf_counter()
        if self._last is not None:
            begun, before = self._last
            step = {name: value - before.get(name, 0) for name, value in totals.items()}
            k, k_hat = step.pop("k", 0), step.pop("k_hat", 0)
            self._write({"step_time": now - begun, **step, **constants,
                         **({"quality": k_hat / k} if k else {})})
        self._last = now, totals

    def _write(self, line):
        self._file.write(json.dumps(line) + "\n")
