#!/usr/bin/env python3
"""Google Benchmark's own compare.py reads what `thinpipe export -f google-benchmark` and
`thinpipe bench --json` write, and shows the measured figures.

Skipped without that program (Debian: libbenchmark-tools) or SciPy (python3-scipy), which it needs."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from support import RecordsTest

# A library that simulates a GPU when preloaded.
# By name and folder: ld.so takes a space in LD_PRELOAD for the end of a path.
SIMULATED = {"LD_PRELOAD": os.path.basename(os.environ["SIMULATED_GPU"]),
             "LD_LIBRARY_PATH": os.path.dirname(os.environ["SIMULATED_GPU"]),
             "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
COMPARE = pathlib.Path("/usr/share/benchmark/compare.py")
BENCH = ["bench", "-c", "topk", "-c", "3lc", "--size", "20k", "--residency", "cache",
         "--repetitions", "3", "--min-time", "0.001", "--warmup", "2"]


def interpreter():
    for python in (sys.executable, "/usr/bin/python3"):
        if shutil.which(python) and subprocess.run(
                [python, "-c", "import scipy.stats"], capture_output=True, check=False).returncode == 0:
            return python
    return None


class Compare(RecordsTest):
    def compared(self, old, new):
        """Relative changes of time, old and new, by the row's name."""
        text = self.run_in_folder(interpreter(), COMPARE, "--no-color", "benchmarks", old,
                                  new).stdout
        rows = {}
        for line in text.splitlines()[3:]:
            name, *figures = line.split()
            if len(figures) == 6:
                rows.setdefault(name, []).append(float(figures[0]))
        return rows

    def test_exported_records(self):
        self.thinpipe(*BENCH, "--out", "old")
        lines = self.records("old")
        for point in lines[1:]:  # half the time
            for metric in point["metrics"].values():
                if metric["unit"] == "s":
                    metric["samples"] = [sample / 2 for sample in metric["samples"]]
        failed = dict(lines[1], id="broken", status="invalid", reasons=["of no use"])
        (self.folder / "new").mkdir()
        (self.folder / "new/records.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in lines + [failed]))
        for name in ("old", "new"):
            told = self.thinpipe("export", name, "-f", "google-benchmark", "-o",
                                 f"{name}.json").stderr
            self.assertEqual("left out 1 of 3 points" in told, name == "new", told)
        rows = self.compared("old.json", "new.json")
        for point in lines[1:]:
            for metric in ("encode_time", "decode_time"):
                self.assertEqual(rows[f"{metric}/{point['id']}"], [-0.5] * 3)
        self.assertFalse([name for name in rows if "broken" in name])

    def compare_with_itself(self, ends, *options, environment=None):
        self.thinpipe(*BENCH, *options, "--json", "bench.json", environment=environment)
        rows = self.compared("bench.json", "bench.json")
        for end in ends:
            for name in ("topk", "3lc"):
                self.assertTrue([row for row in rows if name in row and end in row], rows.keys())
        self.assertEqual({change for changes in rows.values() for change in changes}, {0.0})

    def test_json_of_a_bench(self):
        self.compare_with_itself([""])

    def test_json_of_a_bench_on_both_devices(self):
        self.compare_with_itself(["threads:1/simd:", "/cuda/manual_time"], "--device", "cpu|cuda",
                                 environment=SIMULATED)


if __name__ == "__main__":
    if not COMPARE.exists() or not interpreter():
        print(f"skipped: needs {COMPARE} (Debian: libbenchmark-tools) and SciPy (python3-scipy)")
        sys.exit(77)
    unittest.main()
