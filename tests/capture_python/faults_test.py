"""Killed ranks and a full disk: the trace that is left opens, and is reported as incomplete."""
import json
import os
import resource
import signal
import subprocess
import sys
import time
import unittest

import support
from support import (MODULE, batch_of, loss_of, make_model, nn, read_trace, thinpipe,
                     thinpipe_capture, torch)

MANIFEST = thinpipe_capture.MANIFEST


class FaultsTest(support.TestCase):
    def steps_of(self, rank):
        """Training steps in the manifest of a rank that may be writing it."""
        path = os.path.join(self.trace, f"rank-{rank:03d}", MANIFEST)
        if not os.path.exists(path):
            return []
        return sorted(thinpipe_capture._read_manifest(path)[1])

    def train_until_killed(self, victims):
        """Two ranks record every step; the victims kill themselves once both have 3 on disk."""
        def rank(number):
            model = nn.parallel.DistributedDataParallel(make_model("mlp")[0])
            thinpipe_capture.ddp(model, self.trace, steps=1000, first=1)
            step = 0
            while True:
                if number in victims and step >= 4 and min(len(self.steps_of(0)),
                                                           len(self.steps_of(1))) >= 3:
                    os.kill(os.getpid(), signal.SIGKILL)
                model.zero_grad()
                loss_of(model, batch_of("mlp", step, number)).backward()
                step += 1
        return self.codes_of(2, rank)

    def assert_incomplete(self, words):
        code, out, err = thinpipe("trace", "verify", self.trace)
        self.assertEqual(code, 4, out + err)
        self.assertIn("all hashes match", out)
        self.assertRegex(out, words)
        code, out, err = thinpipe("quality", "--trace", self.trace, "-c", "topk:ratio=0.1")
        self.assertEqual(code, 0, out + err)
        self.assertIn("is incomplete", err)

    def test_one_killed_rank(self):
        for victim in (0, 1):
            with self.subTest(victim=victim):
                self.trace = os.path.join(self.folder, f"victim-{victim}")
                codes = self.train_until_killed({victim})
                self.assertEqual(codes[victim], -signal.SIGKILL)
                self.assertEqual(codes[1 - victim], 1)  # its all-reduce failed
                trace = read_trace(self.trace)
                self.assertGreaterEqual(len(trace["steps"]), 3)
                self.assertEqual([s["training_step"] for s in trace["steps"]],
                                 sorted(set(self.steps_of(0)) & set(self.steps_of(1))))
                self.assert_incomplete(f"incomplete: rank {victim}: not closed")

    def test_all_ranks_killed(self):
        codes = self.train_until_killed({0, 1})
        self.assertIn(-signal.SIGKILL, codes)
        # However complete trace.json is, the manifests have all steps. No torch is needed.
        command = [sys.executable, "-S", os.path.join(MODULE, "thinpipe_capture.py"), "assemble",
                   self.trace]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("steps recorded by all ranks; incomplete: rank", done.stdout)
        self.assertGreaterEqual(len(read_trace(self.trace)["steps"]), 3)
        self.assert_incomplete("incomplete: rank [01]: not closed")

    def test_a_disk_that_takes_no_more(self):
        # The first file-size limit, 20 kB, is below the size of a step file, 40 kB. The second
        # limit, 8 bytes, is below the length of any line.
        for limit, words in ((20_000, "rank 0: .*File too large"), (8, "rank 0: not closed")):
            with self.subTest(limit=limit):
                self.trace = os.path.join(self.folder, str(limit))
                model = nn.Linear(100, 100)
                before = resource.getrlimit(resource.RLIMIT_FSIZE)
                with support.heard() as said:
                    capture = thinpipe_capture.module(model, self.trace, steps=20, first=0)
                    try:
                        for step in range(20):
                            if step == 5:
                                while len(self.steps_of(0)) < 5 or not os.path.exists(
                                        os.path.join(self.trace, "trace.json")):
                                    time.sleep(0.01)
                                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
                            model(torch.ones(2, 100)).sum().backward()
                        capture.close()
                    finally:
                        resource.setrlimit(resource.RLIMIT_FSIZE, before)
                self.assertEqual(float(model.bias.grad[0]), 20 * 2)  # training went on
                self.assertIn("File too large", said.getvalue())
                left = [name for _, _, names in os.walk(self.trace) for name in names]
                self.assertFalse([name for name in left if name.endswith(".partial")], left)
                self.assertGreaterEqual(len(read_trace(self.trace)["steps"]), 1)
                self.assert_incomplete(words)

    def test_ranks_without_a_common_step_or_of_other_captures(self):
        def part(rank, model, ranks=2, **options):
            with support.heard():
                with thinpipe_capture.module(model, self.trace, rank=rank, ranks=ranks, steps=1,
                                             **options):
                    for _ in range(5):
                        model(torch.ones(1, 3)).sum().backward()
        part(0, nn.Linear(3, 2), first=0)
        self.assertEqual(thinpipe_capture.assemble(self.trace),
                         (0, ["rank 1: no files in this folder"]))
        code, _, err = thinpipe("trace", "verify", self.trace)
        self.assertEqual(code, 2)
        self.assertIn("trace.json: missing", err)
        part(1, nn.Linear(3, 2), first=1)
        self.assertEqual(thinpipe_capture.assemble(self.trace), (0, []))
        os.rename(os.path.join(self.trace, "rank-001"), os.path.join(self.folder, "other"))
        part(1, nn.Linear(3, 4), first=0)
        with self.assertRaisesRegex(ValueError, "rank 1 and rank 0 differ in tensors"):
            thinpipe_capture.assemble(self.trace)

    def test_folders_of_several_hosts_put_together(self):
        for rank in (0, 1):
            model = nn.Linear(3, 2)
            with support.heard(), thinpipe_capture.module(
                    model, os.path.join(self.folder, f"host-{rank}"), rank=rank, ranks=2, steps=2):
                for _ in range(5):
                    model(torch.ones(1, 3)).sum().backward()
        os.mkdir(self.trace)
        for rank in (0, 1):
            os.rename(os.path.join(self.folder, f"host-{rank}", f"rank-00{rank}"),
                      os.path.join(self.trace, f"rank-00{rank}"))
        self.assertEqual(thinpipe_capture.assemble(self.trace), (2, []))
        self.assert_replays(self.trace)

    def test_a_line_cut_short_by_a_kill_is_left_out(self):
        model = nn.Linear(3, 2)
        with support.heard(), thinpipe_capture.module(model, self.trace, steps=3, first=0):
            for _ in range(3):
                model(torch.ones(1, 3)).sum().backward()
        path = os.path.join(self.trace, "rank-000", MANIFEST)
        with open(path) as file:
            lines = file.readlines()
        self.assertEqual(len(lines), 5)  # header, 3 steps, the end
        json.loads(lines[3])
        with open(path, "w") as file:
            file.write("".join(lines[:3]) + lines[3][:-20])
        steps, missing = thinpipe_capture.assemble(self.trace)
        self.assertEqual(steps, 2)
        self.assertEqual(len(missing), 1)
        self.assert_incomplete("rank 0: not closed")


if __name__ == "__main__":
    unittest.main()
