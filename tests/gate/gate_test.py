#!/usr/bin/env python3
"""The gate's exit codes and messages, on real measurements. Builds that are slower, larger or worse
are made by changing a real build's records, by far more than any machine's noise."""
import json
import os
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree

from support import BENCH, QUALITY, THINPIPE, GateTest

ONE_BYTE_LESS = "record['metrics']['encoded_bytes']['samples'][0] -= 1"


class Builds(GateTest):
    def against(self, change, *options, measure=BENCH, pairs=8, expect=None):
        older = self.build("older", change)
        return self.gate("--baseline-exe", older, "--pairs", pairs, "--looks", 1, *options, "--",
                         *measure, expect=expect)

    def quality_against(self, change, *options, expect):
        return self.against(change, *options, measure=QUALITY, pairs=4, expect=expect)

    def test_slower_is_found(self):
        result = self.against("scale(record, 'encode_time', 1e-6)", expect=1)
        self.assertIn("worse", result.stdout)
        self.assertIn("encode_time", result.stdout)

    def test_faster_passes_and_is_told(self):
        # By chance, all 8 pairs of a time that is not scaled may be 2 % worse, but not 99 %.
        result = self.against("scale(record, 'encode_time', 1e6)\nscale(record, 'decode_time', 1e6)",
                              "--margin", 99, expect=0)
        self.assertIn("2 better", result.stdout)

    def test_one_byte_more_is_found_always(self):
        result = self.quality_against(ONE_BYTE_LESS, expect=1)
        self.assertIn("encoded_bytes", result.stdout)

    def test_one_byte_less_passes_against_a_build(self):
        self.quality_against("record['metrics']['encoded_bytes']['samples'][0] += 1", expect=0)

    def test_worse_quality_is_found(self):
        result = self.quality_against("scale(record, 'relative_error', 0.97)", expect=1)
        self.assertIn("relative_error", result.stdout)

    def test_a_point_that_only_one_has_is_not_comparable(self):
        result = self.quality_against("record['id'] += '-old'", expect=5)
        self.assertIn("in the baseline only: point topk|*-old", result.stdout)
        self.assertIn("not in the baseline: point topk|*", result.stdout)

    def test_a_metric_that_only_one_has_is_not_comparable(self):
        self.quality_against("del record['metrics']['passes']", expect=5)

    def test_nothing_measured_is_no_pass(self):
        self.quality_against("return None", expect=5)

    def test_a_failed_point_in_the_baseline(self):
        self.quality_against("record['status'], record['reasons'] = 'invalid', ['idle']", expect=5)

    # The first launch is invalid, all later ones are good.
    DISTURBED_ONCE = """
        if not pathlib.Path(__file__ + '.run').exists():
            pathlib.Path(__file__ + '.run').touch()
            record['status'], record['reasons'] = 'invalid', ['idle']"""

    def test_a_disturbed_pair_is_taken_again(self):
        result = self.quality_against(self.DISTURBED_ONCE, "--json", "out.json", expect=0)
        self.assertTrue((self.folder / "older.run").exists(), result.stdout)

    def test_a_build_that_takes_no_turns_is_launched_in_turn(self):
        older = self.program("older", "#!/bin/sh\n[ \"$2\" = --help ] && exec echo no such thing\n"
                             f"exec '{THINPIPE}' \"$@\"\n")
        self.gate("--baseline-exe", older, "--pairs", 4, "--looks", 1, "--json", "out.json", "--",
                  *BENCH, expect=0)
        self.assertFalse(json.loads((self.folder / "out.json").read_text())["in_turns"])

    def test_turns_need_a_socket(self):
        result = subprocess.run([THINPIPE, *BENCH, "--turns"], stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("standard input is no socket", result.stderr)

    def test_a_build_that_dies_while_the_other_measures(self):
        older = self.program(
            "older", f"#!/bin/sh\n[ \"$2\" = --help ] && exec '{THINPIPE}' \"$@\"\nkill -9 $$\n")
        result = self.gate("--baseline-exe", older, "--", *BENCH, expect=4)
        self.assertIn("killed by signal 9", result.stderr)

    def test_strict_tells_what_is_unclear(self):
        # No test of 4 pairs can be significant at 5 %.
        self.against("pass", "--strict", pairs=4, expect=3)
        self.against("pass", pairs=4, expect=0)


class Stored(GateTest):
    def rewrite(self, change):
        lines = self.records("base")
        for record in lines:
            change(record)
        self.write_records("base", lines)

    def test_the_same_passes(self):
        self.save()
        result = self.compare(expect=0)
        self.assertRegex(result.stdout, r"Of \d+ metrics: \d+ the same\.")

    def test_records_against_records(self):
        self.save()
        self.gate("--baseline", "base", "--measured", "base", expect=0)

    def test_smaller_than_the_golden_value_is_told(self):
        self.save()

        def larger(record):
            if record["record"] == "point":
                record["metrics"]["encoded_bytes"]["samples"][0] += 1
        self.rewrite(larger)
        self.assertIn("record a new one", self.compare(expect=1).stdout)

    def test_seconds_of_another_machine_are_refused(self):
        self.save()

        def elsewhere(record):
            if record["record"] == "header":
                record["fingerprint"]["cpu"] = "another"
        self.rewrite(elsewhere)
        self.assertIn("another machine", self.compare("--times", "all", expect=5).stdout)
        self.compare(expect=0)

    def test_a_baseline_is_never_overwritten(self):
        self.save()
        result = self.gate("--save", "base", "--pairs", 4, "--", *QUALITY, expect=2)
        self.assertIn("there are records already", result.stderr)

    def test_too_few_launches_for_times(self):
        self.save(BENCH)
        self.write_records("base", self.records("base")[:2])  # one launch of four
        self.assertIn("times need 4", " ".join(self.compare(measure=BENCH, expect=5).stdout.split()))


class Outputs(GateTest):
    def test_all_files(self):
        self.save()
        self.compare("--markdown", "m.md", "--junit", "j.xml", "--json", "o.json", expect=0)
        self.assertIn("## thinpipe gate", (self.folder / "m.md").read_text())
        suite = xml.etree.ElementTree.parse(self.folder / "j.xml").getroot()
        outcome = json.loads((self.folder / "o.json").read_text())
        self.assertEqual(int(suite.get("tests")), len(outcome["comparisons"]))
        self.assertEqual(outcome["worse"], 0)

    def test_github(self):
        self.save()
        older = self.build("older", ONE_BYTE_LESS)
        summary = self.folder / "summary.md"
        summary.write_text("before\n")
        result = self.gate("--baseline-exe", older, "--pairs", 4, "--looks", 1, "--github", "--",
                           *QUALITY, environment={"GITHUB_STEP_SUMMARY": str(summary)}, expect=1)
        annotations = [line for line in result.stdout.splitlines() if line.startswith("::")]
        self.assertEqual(len(annotations), 1)
        self.assertIn("encoded_bytes", annotations[0])
        self.assertTrue(summary.read_text().startswith("before\n## thinpipe gate"))


class Usage(GateTest):
    def complaint(self, *words):
        return self.gate(*words, expect=2).stderr

    def test_what_is_missing_or_wrong_is_named(self):
        self.assertIn("expected one of --baseline", self.complaint("--", *QUALITY))
        self.assertIn("after --", self.complaint("--baseline-exe", THINPIPE))
        self.assertIn("found 'list'", self.complaint("--baseline-exe", THINPIPE, "--", "list"))
        self.assertIn("--out is set by the gate",
                      self.complaint("--save", "x", "--", *QUALITY, "--out", "y"))
        self.assertIn("--margin has no effect with --save",
                      self.complaint("--save", "x", "--margin", "5", "--", *QUALITY))
        self.assertIn("not an executable program",
                      self.complaint("--baseline-exe", "nowhere", "--", *QUALITY))
        self.assertIn("cannot read it", self.complaint("--baseline", "nowhere", "--", *QUALITY))
        self.assertIn("unknown compressor", self.complaint(
            "--save", "x", "--", "quality", "--trace", "synthetic:model=lenet5", "-c", "nonsense")
            .replace("unknown method", "unknown compressor").replace("no compressor",
                                                                     "unknown compressor"))

    def test_a_policy_is_read_first(self):
        (self.folder / "gate.ini").write_text("[gate]\nmargn = 2%\n")
        self.assertIn("gate.ini line 2", self.complaint("--policy", "gate.ini", "--save", "x", "--",
                                                        *QUALITY))

    def test_a_build_that_crashes_is_no_pass(self):
        older = self.program("older", "#!/bin/sh\necho broken >&2\nkill -SEGV $$\n")
        result = self.gate("--baseline-exe", older, "--pairs", 4, "--", *QUALITY, expect=4)
        self.assertIn("killed by signal 11", result.stderr)
        self.assertIn("broken", result.stderr)

    def test_interrupted_leaves_nothing(self):
        scratch = self.folder / "scratch"
        scratch.mkdir()
        process = subprocess.Popen(
            [THINPIPE, "gate", "--save", "base", "--pairs", "1000", "--", *BENCH], cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(scratch)})
        while not list(scratch.glob("*/*")):  # the first of 1000 launches has not begun
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertIn(b"interrupted", errors)
        self.assertEqual(list(scratch.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
