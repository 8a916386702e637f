#!/usr/bin/env python3
"""The commands of docs/ci are run unchanged, but for building and for smaller measurements:
both files are read as YAML, their steps run by a shell in an empty folder."""
import os
import pathlib
import subprocess
import unittest
import xml.etree.ElementTree

try:
    import yaml
except ImportError:
    yaml = None

from support import ROOT, THINPIPE, GateTest


def smaller(command):
    """The same on a small tensor, a few times."""
    return (command.replace("--size 2.6m --repetitions 3",
                            "--size 20k --residency cache --repetitions 1 --min-time 0.001 --warmup 2")
            .replace("gate --github", "gate --pairs 6 --looks 1 --github", 1)
            .replace("--pairs 6 --looks 1 --github --junit quality.xml --pairs 4 --looks 1",
                     "--github --junit quality.xml --pairs 4 --looks 1")
            .replace("gate --save", "gate --pairs 4 --save")
            .replace("gate --baseline baseline", "gate --pairs 4 --times none --baseline baseline"))


@unittest.skipIf(yaml is None, "needs python3-yaml")
class Ci(GateTest):
    def sh(self, command, **environment):
        return subprocess.run(["bash", "-euo", "pipefail", "-c", smaller(command)], cwd=self.folder,
                              env={**os.environ, **environment}, capture_output=True, text=True,
                              timeout=250, check=False)

    def place(self, *folders):
        for folder in folders:
            binaries = self.folder / folder / "build/release/bin"
            binaries.mkdir(parents=True)
            (binaries / "thinpipe").symlink_to(THINPIPE)

    def test_github(self):
        steps = yaml.safe_load((ROOT / "docs/ci/github.yml").read_text())["jobs"]["gate"]["steps"]
        runs = {step["name"]: step["run"] for step in steps if "run" in step}
        self.assertEqual(list(runs), ["Build both", "Bytes and quality", "Speed"])
        self.place("new", "old")
        (self.folder / "new/docs").symlink_to(ROOT / "docs")
        summary = self.folder / "summary.md"
        for name in list(runs)[1:]:
            result = self.sh(runs[name], GITHUB_STEP_SUMMARY=str(summary))
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(summary.read_text().count("## thinpipe gate"), 2)
        for file in ("quality.xml", "speed.xml"):
            suite = xml.etree.ElementTree.parse(self.folder / file).getroot()
            self.assertGreater(int(suite.get("tests")), 0)
            self.assertEqual(suite.get("failures"), "0")

    def test_gitlab(self):
        jobs = yaml.safe_load((ROOT / "docs/ci/gitlab.yml").read_text())
        self.place(".")
        measure = smaller(jobs[".thinpipe"]["variables"]["MEASURE"])
        for job in ("baseline", "gate"):
            for line in jobs[job]["script"]:
                result = self.sh(line, MEASURE=measure)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        suite = xml.etree.ElementTree.parse(self.folder / "gate.xml").getroot()
        self.assertGreater(int(suite.get("tests")), 0)


if __name__ == "__main__":
    unittest.main()
