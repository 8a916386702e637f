#!/usr/bin/env python3
"""Every kind of record that the command writes conforms to docs/records.schema.json, and records
that break its rules are really refused by it."""
import copy
import csv
import io
import json
import os
import pathlib
import re
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

from support import ROOT, TRACE, RecordsTest


@unittest.skipIf(jsonschema is None, "needs python3-jsonschema")
class Schema(RecordsTest):
    @classmethod
    def setUpClass(cls):
        schema = json.loads((ROOT / "docs/records.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        cls.validator = jsonschema.Draft202012Validator(schema)

    def measure(self, *words, file="records.jsonl"):
        end = words.index("--") if "--" in words else len(words)  # of thinpipe's own options
        self.thinpipe(*words[:end], "--out", "out", *words[end:])
        return self.records("out", file)

    def measure_quality(self, *options, out="out"):
        self.thinpipe("quality", "--trace", TRACE, "-c", "topk", *options, "--out", out)
        return self.records(out)

    def hold(self, records, kinds):
        for record in records:
            errors = [f"{error.json_path}: {error.message}"
                      for error in self.validator.iter_errors(record)]
            self.assertEqual(errors, [], json.dumps(record)[:500])
        self.assertEqual({record["record"] for record in records}, kinds)

    def test_run(self):
        records = self.measure("run", "--trace", TRACE, "--ranks", "2", "--link", "rate=200mbit",
                               "-c", "topk", "-c", "sidco", "--steps", "3", "--warmup", "1",
                               "--overlap", "bucket")
        self.hold(records, {"header", "point"})
        self.assertEqual(records[0]["kind"], "run")
        self.assertEqual(len(records), 5)
        events = json.loads(self.thinpipe("export", "out", "-f", "perfetto").stdout)["traceEvents"]
        self.assertEqual({event["name"] for event in events if event["ph"] == "X"} -
                         {"compute", "compress", "exchange", "decode"}, set())
        self.assertEqual(len({event["pid"] for event in events}), 4 * 2)  # points, ranks

    def test_simulated_run(self):
        if not (pathlib.Path(os.environ["THINPIPE"]).parent / "thinpipe-simulate").exists():
            self.skipTest("this build is without SimGrid")
        records = self.measure("run", "--engine", "simgrid", "--trace", TRACE, "--ranks", "2",
                               "--link", "rate=200mbit", "-c", "topk", "--steps", "2")
        self.hold(records, {"header", "point"})
        self.assertTrue(all("simulation" in point for point in records[1:]))

    def test_job(self):
        records = self.measure("net", "torchrun", "--link", "rate=200mbit", "--", "sh", "-c",
                               'echo "{\\"step_time\\": 0.1}" >"$THINPIPE_STEPS/$RANK"')
        self.hold(records, {"header", "point"})
        self.assertEqual((records[0]["kind"], len(records)), ("job", 2))

    def test_bench(self):
        records = self.measure("bench", "-c", "topk", "-c", "none", "--size", "20k", "--residency",
                               "cache", "--repetitions", "2", "--min-time", "0.001", "--warmup", "2")
        self.hold(records, {"header", "point"})
        metrics = records[1]["metrics"]
        self.assertEqual(len(metrics["encode_time"]["samples"]), 2)
        if not os.environ["SANITIZE"]:  # sanitizers bring an operator new of their own
            self.assertEqual(metrics["allocations"]["samples"], [0])
        for over, time in (("encode_over_read", "encode_time"), ("decode_over_read", "decode_time")):
            for ratio, seconds in zip(metrics[over]["samples"], metrics[time]["samples"]):
                self.assertAlmostEqual(ratio * metrics["read_time"]["samples"][0] / seconds, 1)

    def test_quality(self):
        records = self.measure_quality("-c", "3lc")
        self.hold(records, {"header", "point"})
        self.assertEqual(len(records), 1 + 2 * (1 + 8))  # LeNet-5 has eight tensors
        whole = records[1]["metrics"]
        self.assertEqual(len(whole["relative_error"]["samples"]), 2 * 4)  # ranks and steps
        self.assertEqual(len(whole["quality"]["samples"]), 2 * 4)
        self.assertEqual(len(whole["tensor_quality"]["samples"]), 8 * 2 * 4)

    def test_merged_records_hold_too_and_what_differs_is_refused(self):
        for name, seed in (("one", 1), ("two", 1), ("three", 2)):
            self.measure_quality("--seed", seed, out=name)
        self.thinpipe("merge", "one", "two", "--out", "whole")
        merged = self.records("whole")
        self.hold(merged, {"header", "point"})
        self.assertEqual(len(merged), 2 * (1 + 1 + 8))
        refusal = self.thinpipe("merge", "one", "three", "--out", "other", expect=2).stderr
        self.assertIn("seed: 1 against 2", refusal)
        self.assertFalse((self.folder / "other").exists())
        self.assertIn("there are records already",
                      self.thinpipe("merge", "one", "--out", "whole", expect=2).stderr)

    def test_exports(self):
        self.measure_quality(out="one")
        rows = list(csv.DictReader(io.StringIO(self.thinpipe("export", "one").stdout)))
        self.assertEqual({row["tensor"] for row in rows if row["metric"] == "drift"}
                         & {"*", "conv1.weight"}, {"*", "conv1.weight"})
        self.assertIn("topk|*", json.loads(self.thinpipe("export", "one", "-f", "bmf").stdout))
        benchmarks = json.loads(self.thinpipe("export", "one", "-f", "google-benchmark").stdout)
        self.assertTrue(all(row["real_time"] > 0 for row in benchmarks["benchmarks"]))
        self.assertIn("no point of these records has a timeline",
                      self.thinpipe("export", "one", "-f", "perfetto", expect=2).stderr)

    def test_launches_are_appended_but_kinds_are_not_mixed(self):
        self.measure_quality()
        records = self.measure_quality()
        self.assertEqual([record["record"] for record in records].count("header"), 2)
        self.thinpipe("bench", "-c", "topk", "--size", "20k", "--out", "out", expect=2)

    def test_examples_of_the_document(self):
        text = (ROOT / "docs/records.md").read_text()
        records = []
        for block in re.findall(r"```json\n(.*?)```", text, re.S):
            while block := block.strip():
                record, end = json.JSONDecoder().raw_decode(block)
                records.append(record)
                block = block[end:]
        self.hold(records, {"header", "point", "gradient", "similarity"})
        del records[0]["calibration"]  # optional for readers
        self.hold(records[:1], {"header"})

    def test_metrics_are_those_of_the_command(self):
        metrics = json.loads(self.thinpipe("list", "metrics", "--json").stdout)["metrics"]
        text = (ROOT / "docs/records.md").read_text()
        table = re.search(r"\| metric \|.*\n\|[-|]+\n((?:\|.*\n)+)", text)[1]
        self.assertEqual(table, "".join(
            f"| `{name}` | {unit} | {better} | {kind} | {meaning} |\n"
            for name, unit, better, kind, meaning in map(dict.values, metrics)))
        self.assertEqual(self.validator.schema["$defs"]["metrics"]["properties"], {
            metric["name"]: {"$ref": "#/$defs/metric",
                             "properties": {field: {"const": metric[field]}
                                            for field in ("unit", "better", "kind")}}
            for metric in metrics})

    def test_formats_have_options_of_their_own(self):
        self.measure_quality(out="one")
        for name in ("csv", "google-benchmark", "bmf"):
            self.assertEqual(self.thinpipe("export", "one", f"--{name}").stdout,
                             self.thinpipe("export", "one", "-f", name).stdout)
        self.assertIn("expected one format, found csv and bmf",
                      self.thinpipe("export", "one", "--csv", "--bmf", expect=2).stderr)

    def test_statistics(self):
        records = self.measure("trace", "stats", TRACE, file="trace-stats.jsonl")
        self.hold(records, {"header", "gradient", "similarity"})

    def test_what_is_forbidden_is_refused(self):
        header, point, *_ = self.measure_quality()
        for path, value in ((("version",), 2), (("kind",), "walk"), (("seed",), -1),
                            (("fingerprint", "cores"), 0), (("command",), "thinpipe"),
                            (("fingerprint", "environment"), {"A": 1})):
            self.assert_refused(header, path, value)
        for path, value in ((("status",), "fine"), (("id",), ""), (("axes",), []),
                            (("metrics", "passes", "kind"), "guessed"),
                            (("metrics", "passes", "better"), "more"),
                            (("metrics", "passes", "samples"), [None]),  # without a reason
                            (("metrics", "passes", "samples"), ["1"])):
            self.assert_refused(point, path, value)
        for key in ("record", "id", "axes", "status", "metrics"):
            broken = copy.deepcopy(point)
            del broken[key]
            self.assertFalse(self.validator.is_valid(broken), key)

    def assert_refused(self, record, path, value):
        broken = copy.deepcopy(record)
        place = broken
        for key in path[:-1]:
            place = place[key]
        self.assertIn(path[-1], place)
        place[path[-1]] = value
        self.assertFalse(self.validator.is_valid(broken), f"{path}: {value}")

    def test_what_is_not_on_the_list_stays_out(self):
        for name, value in (("SECRET_TOKEN", "hunter2"), ("OMP_NUM_THREADS", "2")):
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)
        records = self.measure_quality()
        self.assertEqual(records[0]["fingerprint"]["environment"]["OMP_NUM_THREADS"], "2")
        self.assertNotIn("hunter2", json.dumps(records))
        self.assertTrue(re.fullmatch(r"[0-9a-f]*(-dirty)?", records[0]["fingerprint"]["git"]))


if __name__ == "__main__":
    unittest.main()
