#!/usr/bin/env python3
"""roofline.py: floors, targets and verdicts of made-up records, and that its default memories are
those of thinpipe."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import roofline  # beside this file

THINPIPE = os.environ["THINPIPE"]
HERE = pathlib.Path(__file__).resolve().parent
HEADER = {"record": "header", "version": 1, "kind": "bench", "created": "2026-01-31T12:00:00Z",
          "fingerprint": {"thinpipe": "0.1.0", "git": "5b3dd5d"},
          "device": {"name": "some GPU", "architecture": "sm_90", "cuda_runtime": "13.0",
                     "cuda_driver": "13.0", "driver": None, "sm_hz": 1980000000, "memory_hz": None}}
LARGE, SMALL = 26_000_000, 260_000
READ = 30e-6  # s, of 26 million elements


def record(spec, encode, elements=LARGE, ratio=0.01, passes=1.0, bits=0.0, **more):
    times = {"encode_time": encode, "encode_wall_time": 2 * encode, "decode_time": encode,
             "read_time": READ * elements / LARGE}
    metrics = {name: {"unit": "s", "samples": [0.9 * time, time, 1.5 * time]}
               for name, time in times.items()}
    metrics["read_time"]["samples"] = [times["read_time"]]
    metrics["passes"] = {"samples": [passes]}
    metrics["bits_per_element"] = {"samples": [bits]}
    return {"record": "point", "status": "ok", "reasons": [], "metrics": metrics,
            "axes": {"compressor": spec, "elements": elements, "ratio": ratio, "device": "cuda",
                     "residency": "memory"}, **more}


class Floors(unittest.TestCase):
    """Bytes per element, computed by hand."""

    def expect(self, spec, moved, passes=1, bits=0):
        self.assertAlmostEqual(roofline.floor_bytes(spec, passes, bits), moved, msg=spec)

    def test_selection(self):
        self.expect("topk:memory=none", 4)  # one read
        self.expect("topk:memory=none", 4.08, bits=0.64)  # and a payload of 0.64 bits
        self.expect("threshold:tau=4.6", 12)  # gradient and residual read, residual written
        self.expect("redsync", 16, passes=2)
        self.expect("sidco:stages=1", 16, passes=2)
        self.expect("sidco", 20, passes=3)
        self.expect("sidco:memory=none", 10, passes=2.5)  # the second half of its steps took more
        self.expect("dgc:positions=raw32", 20)  # velocity and residual read and written

    def test_quantisers(self):
        self.expect("none", 8, bits=32)
        self.expect("int8", 4 + 4 + 1, bits=8)
        self.expect("int8:bucket=512", 4 + 1, bits=8)
        # Memory update (12), then c read and residual written (8); 0.2 bytes packed and read again.
        self.expect("3lc", 12 + 8 + 2 * 0.2, passes=3)
        self.expect("3lc:memory=none", 4 + 4 + 2 * 0.2)
        self.expect("3lc:memory=none,zre=false", 4 + 4 + 0.2, bits=1.6)

    def test_memories_are_thinpipes(self):
        methods = {method["name"]: method for method in json.loads(subprocess.run(
            [THINPIPE, "list", "--json"], capture_output=True, text=True, check=True).stdout)["compressors"]}
        for name in [*roofline.SELECTING, *roofline.QUANTISING]:
            parameters = {p["name"]: p["default"] for p in methods[name]["parameters"]}
            self.assertEqual(parameters.get("memory", "none"), roofline.memory_of(name, {}), name)
            if name in roofline.QUANTISING and roofline.QUANTISING[name] == 2 and name != "stoch3":
                self.assertEqual(str(parameters["bucket"]), "0", name)


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="roofline_test_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, run, *points):
        (self.folder / run).mkdir()
        lines = "".join(json.dumps(line) + "\n" for line in (HEADER, *points))
        (self.folder / run / "records.jsonl").write_text(lines + '{"record": "poi')

    def page(self, code=0):
        result = subprocess.run([sys.executable, HERE / "roofline.py", self.folder],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout

    def rows(self, page, what):
        """Returns the cells of the rows whose first cell is `what`."""
        return [[cell.strip() for cell in line.strip("|").split("|")]
                for line in page.splitlines() if line.startswith(f"| {what} |")]

    def verdict(self, page, what):
        (row,) = self.rows(page, what)
        return row[-2:]

    def test_verdicts_of_large_tensors(self):
        # A read of 4 bytes per element takes 30 us: floors of 30, 90 (12 bytes), 60 (8) and 30 us.
        self.write("bench-26m", record("topk:memory=none", 59e-6), record("topk:memory=none,k=1", 61e-6),
                   record("threshold:tau=1", 143e-6), record("threshold:tau=2", 145e-6),
                   record("int8", 83e-6, ratio=None), record("int8:x=1", 85e-6, ratio=None),
                   record("none", 1, ratio=None),
                   record("sidco", 1, status="failed", reasons=["out of\nmemory | room"]))
        page = self.page()
        for name, factor, met in (("topk:memory=none", 2, True), ("topk:memory=none,k=1", 2, False),
                                  ("threshold:tau=1", 1.6, True), ("threshold:tau=2", 1.6, False),
                                  ("int8", 1.4, True), ("int8:x=1", 1.4, False)):
            self.assertEqual(self.verdict(page, f"`{name}`"),
                             [f"at most {factor:g} floors", "met" if met else "**not met**"], name)
        self.assertEqual(self.verdict(page, "`none`"), ["-", "-"])
        self.assertEqual(self.rows(page, "`topk:memory=none`")[0][1:6],
                         ["59", "118", "59", "30", "1.97"])
        self.assertIn("not measured: out of memory \\", page)
        self.assertIn("some GPU (sm_90), CUDA 13.0, driver unknown (CUDA 13.0), "
                      "clocks under load: SM 1980 MHz", page)
        self.assertIn("2026-01-31T12:00:00Z", page)
        # The rows not measured include torch.topk, which has no records.
        self.assertIn("3 met, 3 not met, 2 not measured.", page)

    def test_small_tensors_are_compared_with_cub(self):
        self.write("bench-260k", record("topk:memory=none", 13e-6, SMALL),
                   record("3lc", 15e-6, SMALL, ratio=None))
        page = self.page()
        self.assertEqual(self.verdict(page, "`topk:memory=none`"), ["under CUB's 14 us (H200)", "met"])
        self.assertEqual(self.verdict(page, "`3lc`"), ["under CUB's 14 us (H200)", "**not met**"])
        # With CUB's times, the limit is the faster of its two methods at the row's ratio: 12 us.
        (self.folder / "peers-cub-260k.txt").write_text("".join(
            ["a word before\n"] + [json.dumps({
                "method": method, "ratio": ratio, "elements": SMALL,
                "ns_per_element": micro * 1000 / SMALL}) + "\n"
                for method, ratio, micro in (("CUB radix sort + gather", 0.01, 40),
                                             ("CUB DeviceTopK + gather", 0.01, 12),
                                             ("CUB DeviceTopK + gather", 0.1, 9))]))
        self.assertEqual(self.verdict(self.page(), "`topk:memory=none`"),
                         ["under CUB's 12 us", "**not met**"])

    def test_torch(self):
        self.write("bench-26m", record("topk:memory=none,ratio=0.001", 50e-6, ratio=0.001),
                   record("topk:memory=none", 1e-6))
        self.assertEqual(self.rows(self.page(), "26 000 000"),
                         [["26 000 000", "50", "-", "-", "not measured"]])
        peers = self.folder / "peers-torch-26m.jsonl"
        for micro, factor, said in ((510, "10.2", "met"), (490, "9.8", "**not met**")):
            peers.write_text("".join(json.dumps({
                "method": "torch.topk", "ratio": ratio, "elements": LARGE,
                "ns_per_element": micro * 1000 / LARGE}) + "\n"
                for ratio, micro in ((0.001, micro), (0.01, 1))))
            self.assertEqual(self.rows(self.page(), "26 000 000"),
                             [["26 000 000", "50", f"{micro}", factor, said]])

    def test_requested_points_without_records(self):
        self.write("bench-a", record("topk", 50e-6), record("dgc:positions=raw32", 50e-6))
        (self.folder / "asked.txt").write_text(
            "bench-a\t26m\ttopk:ratio=0.01\nbench-a\t26m\tdgc:positions=raw32,ratio=0.01\n"
            "bench-a\t26m\ttopk:ratio=0.1\nbench-b\t260k\t3lc\n")
        page = self.page()
        self.assertEqual(len(re.findall(r"not measured: its step did not end", page)), 2)
        self.assertEqual(self.verdict(page, "`topk:ratio=0.1`")[1], "not measured: its step did not end")
        self.assertEqual(self.verdict(page, "`3lc`")[1], "not measured: its step did not end")

    def test_nothing(self):
        self.assertIn("No records of a GPU.", self.page())
        self.folder, folder = self.folder / "nowhere", self.folder
        self.page(code=2)
        self.folder = folder


if __name__ == "__main__":
    unittest.main()
