"""The documented path, walked as a new user would: the example in two ranks, then the trace replays."""
import os
import subprocess
import sys
import unittest

import support
from support import MODULE, ROOT, read_trace, thinpipe, torch


class ExampleTest(support.TestCase):
    def test_the_example_of_the_documentation(self):
        script = os.path.join(ROOT, "examples", "capture", "train.py")
        # By hand what torchrun does: Debian's torch 1.13 has one that fails with Python 3.11. Its store
        # is in this process, so that no other program can take the port before rank 0 does.
        store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        world = dict(os.environ, PYTHONPATH=MODULE, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                     MASTER_PORT=str(store.port), TORCHELASTIC_USE_AGENT_STORE="True",
                     TORCHELASTIC_RESTART_COUNT="0")
        ranks = [subprocess.Popen([sys.executable, script], cwd=self.folder, text=True,
                                  env=dict(world, RANK=str(rank)), stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL) for rank in (0, 1)]
        said = [rank.communicate(timeout=240)[1] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0], said)
        self.assertIn("8 of 8 steps recorded in trace", said[0])
        trace = read_trace(self.trace)
        self.assertTrue(trace["complete"])
        self.assertEqual([s["training_step"] for s in trace["steps"]], list(range(3, 83, 10)))
        losses = [sum(w["loss"] for w in s["workers"]) for s in trace["steps"]]
        self.assertLess(losses[-1], losses[0])  # it is a training
        self.assert_replays(self.trace)
        self.assert_is_reported()

    def assert_is_reported(self):
        """The statistics of the trace, and their page."""
        stats = os.path.join(self.folder, "stats")
        for words in (["trace", "verify", self.trace], ["trace", "info", self.trace],
                      ["trace", "stats", self.trace, "--out", stats],
                      ["report", stats, "--format", "md"]):
            code, _, said = thinpipe(*words)
            self.assertEqual(code, 0, said)
        with open(os.path.join(stats, "trace-stats.md"), encoding="utf-8") as page:
            self.assertIn("Majority, whole model", page.read())


if __name__ == "__main__":
    unittest.main()
