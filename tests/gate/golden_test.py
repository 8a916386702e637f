#!/usr/bin/env python3
"""Every method's exact metrics (bits an element, passes, allocations) are those of the stored
records, and its quality is within bounds of them: thinpipe's gate on thinpipe itself.
THINPIPE_UPDATE_GOLDEN=1 rewrites the records; review the diff."""
import json
import os
import subprocess
import unittest

from support import ROOT, THINPIPE, GateTest

GOLDEN = ROOT / "tests/gate/golden"
BENCH = ["bench", "--size", "100k", "--residency", "cache", "--repetitions", "1", "--min-time",
         "0.0001"]


class Golden(GateTest):
    def write_golden(self, records):
        """Without the fields that change from machine to machine."""
        for record in records:
            if record["record"] == "header":
                record.update(fingerprint={}, command=["thinpipe", *BENCH], created="", simd="")
            else:
                record["axes"].pop("simd")
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / "records.jsonl").write_text(
            "".join(json.dumps(record, sort_keys=True) + "\n" for record in records))

    def test_every_method(self):
        subprocess.run([THINPIPE, *BENCH, "--out", str(self.folder / "now")], check=True,
                       capture_output=True, timeout=250)
        records = self.records("now")
        for record in records:
            if record["record"] == "point":  # results are the same with any instruction set
                record["id"] = record["id"].rsplit("/simd:", 1)[0]
                record["metrics"] = {name: metric for name, metric in record["metrics"].items()
                                     if metric["kind"] != "timed"}
        self.write_records("now", records)
        if os.environ.get("THINPIPE_UPDATE_GOLDEN"):
            self.write_golden(records)
        result = self.gate("--baseline", GOLDEN, "--measured", "now", "--times", "none", expect=0)
        self.assertRegex(result.stdout, r"^Of \d{2,} metrics: \d+ the same\.\n$")


if __name__ == "__main__":
    unittest.main()
