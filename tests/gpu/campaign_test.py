#!/usr/bin/env python3
"""tests/gpu/campaign on a simulated GPU: measurements become the table, an interrupted campaign
continues, and steps that passed are not repeated.

Environment: BUILD, the build folder; SIMULATED_GPU, a library that simulates a GPU when
preloaded."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BUILD = pathlib.Path(os.environ["BUILD"])
CAMPAIGN = pathlib.Path(__file__).resolve().parent / "campaign"
SIZE = "2k"
SMALL = {"CAMPAIGN_SIZES": SIZE, "CAMPAIGN_SMALL": "1k", "CAMPAIGN_WARMUP": "2",
         "CAMPAIGN_BENCH": "--repetitions 2 --min-time 1e-5"}
STAGES = ["bench", "graphs", "roofline"]
# A wrapper that lets a packed program find the simulated GPU. The loader splits LD_PRELOAD at
# spaces, so that the library's folder goes into LD_LIBRARY_PATH.
WRAPPER = """#!/bin/sh
export LD_LIBRARY_PATH='{folder}' LD_PRELOAD='{library}' ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0"
exec "$(dirname "$0")/simulated/{name}" "$@"
"""


class Campaign(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="campaign_test_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.packed = cls.folder / "packed"
        subprocess.run([CAMPAIGN, "pack", BUILD, cls.packed], check=True,
                       env=os.environ | {"CAMPAIGN_PEERS": "off"})
        (cls.packed / "simulated").mkdir()
        folder, library = os.path.split(os.environ["SIMULATED_GPU"])
        for name in ("thinpipe", "gpu_tests"):
            (cls.packed / name).rename(cls.packed / "simulated" / name)
            (cls.packed / name).write_text(
                WRAPPER.format(folder=folder, library=library, name=name))
            (cls.packed / name).chmod(0o755)

    def setUp(self):
        self.out = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "out"

    def start(self, *stages):
        return subprocess.Popen([self.packed / "campaign", "run", self.packed, self.out, *stages],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=os.environ | SMALL)

    def finish(self, process, code=0):
        said, _ = process.communicate(timeout=600)
        self.assertEqual(process.returncode, code, said)
        return said

    def run_campaign(self, *stages, code=0):
        return self.finish(self.start(*stages), code)

    def rows(self):
        """Returns (compressor, verdict) of each row of the table."""
        lines = (self.out / "roofline.md").read_text().splitlines()
        return [(cells[0].strip(" `"), cells[-1].strip()) for cells in
                (line.strip("|").split("|") for line in lines if line.startswith("| `"))]

    def asked(self):
        return (self.out / "asked.txt").read_text().splitlines()

    def times(self):
        return {path: path.stat().st_mtime_ns for path in self.out.glob("bench-*/records.jsonl")}

    def test_everything_is_measured_judged_and_done_once(self):
        said = self.run_campaign(*STAGES)
        self.assertNotIn("FAILED", said)
        rows = self.rows()
        self.assertEqual(len(rows), len(self.asked()))
        self.assertGreater(len(rows), 40)
        # The simulated GPU is slower than CUB on an H200, but all rows have been measured.
        self.assertEqual({verdict for name, verdict in rows if name != "none"}, {"**not met**"})
        self.assertEqual({verdict for name, verdict in rows if name == "none"}, {"-"})
        text = (self.out / "roofline.md").read_text()
        self.assertIn("simulated GPU (simulated)", text)
        # In the summary, and for torch.topk of two sizes.
        self.assertEqual(text.count("not measured"), 1 + 2)
        for path in self.out.glob("bench-*.json"):
            self.assertTrue(json.loads(path.read_text())["benchmarks"], path)
        measured = self.times()
        again = self.run_campaign(*STAGES)
        self.assertEqual(again.count("passed before"), len(measured), again)
        self.assertEqual(self.times(), measured)
        self.assertEqual(self.rows(), rows)
        (self.packed / "lib" / "another").write_text("another build")
        self.addCleanup((self.packed / "lib" / "another").unlink)
        self.assertIn("of another build or GPU", self.run_campaign("roofline", code=2))

    def test_what_was_interrupted_goes_on(self):
        process = self.start("bench")
        while not list(self.out.glob("done/bench-*")):  # the first step's
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        self.assertIn("interrupted", self.finish(process, code=130))
        done = {path.name for path in self.out.glob("done/*")}
        measured = self.times()
        # Some steps may have ended before the signal, but not all of them.
        self.assertLess(len(done), 4)
        asked = self.asked()
        self.run_campaign("roofline")
        missing = [name for name, verdict in self.rows() if verdict.startswith("not measured")]
        # An interrupted step keeps the points that it has measured.
        points = [line for path in measured for line in path.read_text().splitlines()
                  if "axes" in json.loads(line)]
        self.assertEqual(len(missing), len(asked) - len(points))
        said = self.run_campaign("bench", "roofline")
        self.assertEqual(said.count("passed before"), len(done), said)
        for path, moment in self.times().items():
            if path.parent.name in done:
                self.assertEqual(moment, measured[path])
        self.assertEqual([name for name, verdict in self.rows() if verdict.startswith("not")
                          and verdict != "**not met**"], [])
        self.assertGreater(len(self.asked()), len(asked))


if __name__ == "__main__":
    unittest.main()
