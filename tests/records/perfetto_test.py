#!/usr/bin/env python3
"""The output of `thinpipe export -f perfetto`, opened in the Perfetto UI's own parser: an SQL query
asks its trace processor for every slice of every rank, and must return the record's figures.

Skipped without a trace processor; tests/records/get_perfetto fetches one."""
import json
import os
import pathlib
import shutil
import sys
import unittest

from support import ROOT, TRACE, RecordsTest

FOLDER = pathlib.Path(os.environ.get("THINPIPE_PERFETTO") or ROOT / "build/perfetto")

SLICES = """
  select process.name as process, thread.name as thread, slice.name as phase, ts, dur,
         extract_arg(slice.arg_set_id, 'args.bucket') as bucket
  from slice join thread_track on slice.track_id = thread_track.id
       join thread using (utid) join process using (upid)"""
# Input that the parser could not read.
COMPLAINTS = "select name, value from stats where severity != 'info' and value > 0"
FLOWS = """
  select process.name as process, extract_arg(a.arg_set_id, 'args.bucket') as bucket,
         extract_arg(b.arg_set_id, 'args.bucket') as to_bucket, a.name as a, b.name as b,
         a.ts as begin, b.ts as next
  from flow join slice a on flow.slice_out = a.id join slice b on flow.slice_in = b.id
       join thread_track on a.track_id = thread_track.id
       join thread using (utid) join process using (upid)"""


class Perfetto(RecordsTest):
    def query(self, trace, *queries):
        script = pathlib.Path(__file__).resolve().parent / "trace_processor.mjs"
        return json.loads(self.run_in_folder("node", script, FOLDER.resolve(), trace,
                                             input=json.dumps(queries)).stdout)

    def run_and_hold(self, *options, rate="200mbit"):
        self.thinpipe("run", "--trace", TRACE, "--out", "out", "--ranks", "2", "--link",
                      f"rate={rate}", "--steps", "3", "--warmup", "1", *options)
        self.thinpipe("export", "out", "-f", "perfetto", "-o", "trace.json")
        slices, complaints, flows = self.query("trace.json", SLICES, COMPLAINTS, FLOWS)
        self.assertEqual(complaints, [])
        self.hold(slices)
        for flow in flows:
            self.assertEqual(flow["bucket"], flow["to_bucket"], flow)
            self.assertLessEqual(flow["begin"], flow["next"], flow)
            self.assertNotEqual((flow["a"], flow["b"]), ("decode", "compress"), flow)
        return slices, flows

    def hold(self, slices):
        """Every phase of the record is one slice, of its rank, name, bucket, begin and length."""
        recorded = 0
        begin = 0
        for point in self.records("out")[1:]:
            end = begin
            for rank, phases in enumerate(point["timeline"]["ranks"]):
                name = f"rank {rank}, {point['id']}"
                drawn = sorted((piece["ts"], piece["dur"], piece["phase"], piece["bucket"])
                               for piece in slices if piece["process"] == name)
                meant = sorted((begin + round(1e9 * phase[2]),
                                round(1e9 * phase[3]) - round(1e9 * phase[2]), phase[0], phase[1])
                               for phase in phases)
                self.assertEqual(drawn, meant, name)
                recorded += len(meant)
                end = max([end, *(ts + dur for ts, dur, _, _ in meant)])
            begin = end + 1_000_000
        self.assertEqual(len(slices), recorded)
        for piece in slices:
            kind = {"compute": "computes", "exchange": "exchanges"}.get(piece["phase"], "codec")
            self.assertEqual(piece["thread"].split()[0], kind)

    def test_hooks_in_the_backward_pass(self):
        slices, flows = self.run_and_hold("-c", "topk", "-c", "3lc", "--overlap", "bucket",
                                          "--buckets", "first=20k,rest=200k")
        self.assertGreater(max(piece["bucket"] for piece in slices), 0)
        self.assertTrue(flows)

    def test_one_exchange_after_the_backward_pass_and_codecs_beside_it(self):
        self.run_and_hold("-c", "topk", "-c", "sidco")
        shutil.rmtree(self.folder / "out")
        self.run_and_hold("-c", "topk", "--overlap", "bucket", "--codec", "thread",
                          "--buckets", "first=20k,rest=200k")

    def test_exchanges_that_overlap_each_other(self):
        # The server of the largest tensor receives 4000 elements from each of two workers, and sends as
        # many to each: at 10 Mbit/s, 32 kB and more in each direction take 51 ms. Compute takes 17 ms, so
        # the last bucket is pushed meanwhile.
        slices, _ = self.run_and_hold("-c", "topk", "--overlap", "bucket", "--pattern",
                                      "ps:servers=2", "--topology", "ps:servers=2",
                                      "--buckets", "first=20k,rest=200k", rate="10mbit")
        self.assertIn("exchanges 2", {piece["thread"] for piece in slices})

    def test_what_overlaps_on_one_thread_would_be_noticed(self):
        (self.folder / "overlapping.json").write_text(json.dumps({"traceEvents": [
            {"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 100}
            for name, ts in (("one", 0), ("two", 50))]}))
        self.assertTrue(self.query("overlapping.json", COMPLAINTS)[0])


def absence():
    if not (FOLDER / "trace_processor.wasm").exists():
        return f"no Perfetto trace processor in {FOLDER}; tests/records/get_perfetto fetches one"
    return None if shutil.which("node") else "no Node.js, in which Perfetto's trace processor runs"


if __name__ == "__main__":
    if absence():
        print("skipped:", absence())
        sys.exit(77)
    unittest.main()
