#!/usr/bin/env python3
"""How often the gate is right, on real measurements of this machine: campaign.py BUILD [--gates N]
[--beside N] [--only NAME...]. Prints a Markdown table. Each gate is a real one, with its default settings:

aa       two builds that are the same: alarms are false
slower   a codec that really takes 5 % longer (burden.c); calibrated before, listed in the table
faster   the same in reverse, 20 %: must pass and be reported
byte     one byte more of payload
quality  a relative error 2 % greater
link     a run over a link of 90 Mbit/s against one of 100 Mbit/s

`byte` and `quality` change the older build's records; the others change the program that runs."""
import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


class Campaign:
    def __init__(self, build, folder, beside):
        self.beside = beside
        self.thinpipe = build / "bin/thinpipe"
        self.plugin = build / "tests/gate/burden.so"
        self.folder = folder
        self.seeds = itertools.count(1)

    def bench(self):
        return ["bench", "--plugin", str(self.plugin), "-c", "test-burden", "-c", "topk:memory=none",
                "-c", "3lc", "--size", "1m", "--repetitions", "3", "--min-time", "0.01",
                "--warmup", "3", "--residency", "cache"]

    def older(self, name, before="", after=""):
        """A build that sets something before it measures, or changes its records afterwards."""
        path = self.folder / name
        path.write_text(
            "#!/usr/bin/env python3\n"
            "import json, os, pathlib, subprocess, sys\n"
            f"words = sys.argv[1:]\n{before}\n"
            f"code = subprocess.run(['{self.thinpipe}', *words]).returncode\n"
            "file = pathlib.Path(words[words.index('--out') + 1], 'records.jsonl')\n"
            "records = [json.loads(line) for line in file.read_text().splitlines()]\n"
            "for record in records:\n"
            "    if record['record'] == 'header': continue\n"
            f"    {after or 'pass'}\n"
            "file.write_text(''.join(json.dumps(record) + '\\n' for record in records))\n"
            "sys.exit(code)\n")
        path.chmod(0o755)
        return path

    def gate(self, older, measure, *options, burden=0.0):
        seed = next(self.seeds)
        out = self.folder / f"outcome{seed}.json"
        result = subprocess.run(
            [str(self.thinpipe), "gate", "--baseline-exe", str(older), "--seed", str(seed),
             "--json", str(out), *options, "--", *measure],
            env={**os.environ, "TEST_BURDEN": str(burden)}, capture_output=True, text=True,
            check=False)
        if result.returncode not in (0, 1):
            raise RuntimeError(result.stdout + result.stderr)
        outcome = json.loads(out.read_text())
        worse = {(one["point"].split("/")[0], one["metric"]) for one in outcome["comparisons"]
                 if one["verdict"] == "worse"}
        better = {(one["point"].split("/")[0], one["metric"]) for one in outcome["comparisons"]
                  if one["verdict"] == "better"}
        return result.returncode, worse, better, outcome

    def gates(self, count, *arguments, **options):
        """The outcomes of so many gates, some of which run beside others."""
        with concurrent.futures.ThreadPoolExecutor(self.beside) as pool:
            waiting = [pool.submit(self.gate, *arguments, **options) for _ in range(count)]
            return [one.result() for one in waiting]

    def encode_time(self, burden):
        out = self.folder / "calibration"
        subprocess.run([str(self.thinpipe), *self.bench(), "--out", str(out)], check=True,
                       capture_output=True, env={**os.environ, "TEST_BURDEN": str(burden)})
        records = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
        (out / "records.jsonl").unlink()
        return statistics.median(record["metrics"]["encode_time"]["samples"][0]
                                 for record in records
                                 if record["record"] == "point" and
                                 record["axes"]["method"] == "test-burden")

    def share_for(self, slowdown):
        """The burden at which an encode takes so much longer; from interleaved pairs."""
        ratios = [self.encode_time(1) / self.encode_time(0) for _ in range(15)]
        return slowdown / (statistics.median(ratios) - 1), statistics.median(ratios)

    def aa(self, gates):
        plain = self.older("same")
        outcomes = self.gates(gates, plain, self.bench())
        worse = sum(code == 1 for code, *_ in outcomes)
        better = sum(bool(better) for _, _, better, _ in outcomes)
        unclear = sum(outcome["unclear"] > 0 for *_, outcome in outcomes)
        pairs = statistics.mean(outcome["launches"] for *_, outcome in outcomes)
        return (f"{worse} of {gates} raised an alarm, {better} said that something is better, "
                f"{unclear} left something unclear; {pairs:.1f} pairs a gate")

    def slower(self, gates):
        share, ratio = self.share_for(0.05)
        none = self.older("light", before="os.environ['TEST_BURDEN'] = '0'")
        outcomes = self.gates(gates, none, self.bench(), burden=share)
        slow = ("test-burden", "encode_time")
        found = sum(slow in worse for _, worse, *_ in outcomes)
        wrong = sum(bool(worse - {slow}) for _, worse, *_ in outcomes)
        return (f"{found} of {gates} found it, {wrong} accused another codec as well (burden "
                f"{share:.3f}: a whole second pass makes {ratio:.2f} times)")

    def faster(self, gates):
        share, _ = self.share_for(0.20)
        heavy = self.older("heavy", before=f"os.environ['TEST_BURDEN'] = '{share}'")
        outcomes = self.gates(gates, heavy, self.bench())
        passed = sum(code == 0 for code, *_ in outcomes)
        told = sum(("test-burden", "encode_time") in better for _, _, better, _ in outcomes)
        return f"{passed} of {gates} passed, {told} said that it is better"

    QUALITY = ["quality", "--trace", "synthetic:model=lenet5,steps=2", "-c", "topk"]

    def byte(self, gates):
        fewer = self.older("fewer", after="record['metrics']['encoded_bytes']['samples'][0] -= 1")
        found = sum(code == 1 for code, *_ in
                    self.gates(gates, fewer, self.QUALITY, "--pairs", "4", "--looks", "1"))
        return f"{found} of {gates} found it"

    def quality(self, gates):
        better = self.older("closer", after="record['metrics']['relative_error']['samples'] = "
                            "[x / 1.02 for x in record['metrics']['relative_error']['samples']]")
        found = sum(code == 1 for code, *_ in
                    self.gates(gates, better, self.QUALITY, "--pairs", "4", "--looks", "1"))
        return f"{found} of {gates} found it"

    def link(self, gates):
        run = ["run", "--trace", "synthetic:model=resnet20,workers=2,steps=4", "--ranks", "2",
               "--link", "rate=90mbit", "-c", "none", "--no-baseline", "--steps", "6", "--warmup",
               "2"]
        faster = self.older(
            "faster-link",
            before="words = [word.replace('rate=90mbit', 'rate=100mbit') for word in words]",
            after="record['id'] = record['id'].replace('100mbit', '90mbit')")
        # Never beside another: a run whose machine is busy is refused.
        outcomes = [self.gate(faster, run, "--looks", "1") for _ in range(gates)]
        found = sum(any(metric == "step_time" for _, metric in worse)
                    for _, worse, *_ in outcomes)
        return f"{found} of {gates} found it"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="as build/release")
    parser.add_argument("--gates", type=int, default=100)
    parser.add_argument("--beside", type=int, default=1,
                        help="gates at a time, each disturbing the others (default 1)")
    names = ["aa", "slower", "faster", "byte", "quality", "link"]
    parser.add_argument("--only", nargs="*", choices=names, default=names)
    arguments = parser.parse_args()
    print("| gate | outcome | s a gate |\n|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(arguments.build.resolve(), pathlib.Path(folder), arguments.beside)
        for name in arguments.only:
            begin = time.monotonic()
            outcome = getattr(campaign, name)(arguments.gates)
            each = (time.monotonic() - begin) / arguments.gates
            print(f"| {name} | {outcome} | {each:.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
