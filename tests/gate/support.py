"""Shared by the tests of the gate: starting it, and builds that measure something else."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import textwrap
import unittest

THINPIPE = os.environ["THINPIPE"]
ROOT = pathlib.Path(os.environ.get("ROOT", pathlib.Path(__file__).parents[2]))
QUALITY = ["quality", "--trace", "synthetic:model=lenet5,steps=2", "-c", "topk"]
BENCH = ["bench", "-c", "topk:memory=none", "--size", "20k", "--residency", "cache",
         "--repetitions", "1", "--min-time", "0.001", "--warmup", "2"]


class GateTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gate_test_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def gate(self, *words, expect=None, environment=None):
        """Runs the gate; its temporary files must be gone afterwards."""
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        result = subprocess.run(
            [THINPIPE, "gate", *map(str, words)], capture_output=True, text=True, check=False,
            cwd=self.folder, timeout=200,
            env={**os.environ, "TMPDIR": str(scratch), **(environment or {})})
        self.assertEqual(list(scratch.iterdir()), [], "left behind")
        if expect is not None:
            self.assertEqual(result.returncode, expect, result.stdout + result.stderr)
        return result

    def save(self, measure=QUALITY):
        self.gate("--save", "base", "--pairs", 4, "--", *measure, expect=0)

    def compare(self, *options, measure=QUALITY, expect):
        return self.gate("--baseline", "base", "--pairs", 4, *options, "--", *measure, expect=expect)

    def program(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def build(self, name, change):
        """A program that measures as thinpipe does and then changes its records: `change` is the
        body of a function of `record`, whose end returns the record."""
        return self.program(name, textwrap.dedent(f"""\
            #!/usr/bin/env python3
            import json, pathlib, subprocess, sys
            code = subprocess.run(["{THINPIPE}", *sys.argv[1:]]).returncode
            file = pathlib.Path(sys.argv[sys.argv.index("--out") + 1], "records.jsonl")
            def scale(record, metric, factor):
                samples = record["metrics"][metric]["samples"]
                record["metrics"][metric]["samples"] = [factor * x for x in samples]
            def change(record):
            """) + textwrap.indent(textwrap.dedent(change), "    ") + textwrap.dedent("""
                return record
            lines = []
            for line in file.read_text().splitlines():
                record = json.loads(line)
                if record["record"] == "point" and "metrics" in record:
                    record = change(record)
                if record: lines.append(json.dumps(record) + "\\n")
            file.write_text("".join(lines))
            sys.exit(code)
            """))

    def records(self, folder):
        return [json.loads(line) for line in
                (self.folder / folder / "records.jsonl").read_text().splitlines()]

    def write_records(self, folder, records):
        (self.folder / folder / "records.jsonl").write_text(
            "".join(json.dumps(record) + "\n" for record in records))
