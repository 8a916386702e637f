#!/usr/bin/env python3
"""./demo does its whole job, and ends as README shows: with other figures, in the same words."""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run"))
from measured import TOO_BUSY, Measured, main  # noqa: E402
from compare import words
from pages import ROOT, blocks_of


def shown():
    """The sentences in README's block of a demo's last lines; the table above is a terminal's only."""
    for block in blocks_of(ROOT / "README.md"):
        if any(re.match(r"\S+ is fastest at ", line) for line in block.body):
            return block.body[block.body.index("") + 1:]
    raise AssertionError("README does not show what a demo found")


class Demo(Measured):
    def test_it_ends_with_a_verdict_and_a_report(self):
        with tempfile.TemporaryDirectory(prefix="thinpipe-demo-") as folder:
            out = pathlib.Path(folder) / "out"
            result = subprocess.run([ROOT / "demo", "--out", out], text=True, check=False,
                                    timeout=1500, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            text = result.stdout
            if result.returncode == 4 and "invalid" in text:
                self.skipTest(f"{TOO_BUSY} (no point is believed)")
            self.assertEqual(0, result.returncode, text[-3000:])
            self.assertTrue((out / "records.jsonl").stat().st_size > 10000)
            self.assertIn("<svg", (out / "report.html").read_text(encoding="utf-8"))
            self.out = out
            points = [record for record in self.records() if record["record"] == "point"]
        begins = list(re.finditer(r"\n[^\n]*(?:is fastest|fastest compressor|step time) at 10 Mbit/s",
                                  result.stdout))
        self.assertTrue(begins, text[-3000:])
        end = result.stdout[begins[-1].start():]
        verdict = end[:end.index("The report: ")].split("\n")
        self.assertRegex(end, r"The whole job took \d+ s after the build\.")
        text = " ".join(verdict)
        self.assertRegex(text, r" at 10 Mbit/s.*\. .* at 100 Mbit/s")
        self.assertRegex(text, r"\d links passed calibration")
        for point in points:
            self.assert_measured(point)
        spoilt = [point["reasons"][0] for point in points if point["status"] != "ok"]
        if spoilt:  # then many words differ
            self.skipTest(f"{TOO_BUSY} ({len(spoilt)} of {len(points)} points: {spoilt[0]})")
        sentences = [line for line in shown() if "×" not in line]
        common = words(verdict) & words(sentences)
        self.assertGreater(len(common), 0.7 * len(words(sentences)), text)


if __name__ == "__main__":
    main()
