"""`thinpipe run`: its records of every point."""
import json
import os
import shutil
import socket
import subprocess
import sys

from run_case import THINPIPE, RunCase, main
from wire import FRAME, PAYLOAD, SEGMENT, check_sent, in_messages

PARTS = ("compute", "compress", "exchange", "decode")
# The work of an administrator's tools, in the network namespace in which the script is run.
QDISC_AWAY = """
import socket, struct
RTM_DELQDISC, REQUEST, ACK, ROOT = 37, 1, 4, 0xffffffff
kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
kernel.send(struct.pack("IHHII", 36, RTM_DELQDISC, REQUEST | ACK, 1, 0) +
            struct.pack("BxxxiIII", 0, socket.if_nametoindex("thin0"), 0, ROOT, 0))
error, = struct.unpack_from("i", kernel.recv(4096), 16)
assert error == 0, error
"""


class SweepTest(RunCase):
    def test_every_point_is_measured_checked_and_counted(self):
        self.run_thinpipe("run", "--trace", self.trace(), "--out", self.out, "--ranks", "2|3",
                          "--link", "rate=200mbit", "-c", "topk:ratio=0.01", "-c", "3lc", "--steps",
                          "3", "--warmup", "1")
        self.assert_nothing_left()
        records = self.records()
        self.assertEqual([r["record"] for r in records], ["header"] + ["point"] * 8)
        for point in records[1:]:
            self.check_point(point)
            self.check_parts(point)

    def check_point(self, point):
        self.assert_right(point, steps=3)
        metrics, ranks = point["metrics"], point["axes"]["ranks"]
        for name in ("step_time", "compress_time", "exchange_time", "payload_bytes"):
            self.assertEqual(len(metrics[name]["samples"]), 3)
        payload = metrics["payload_bytes"]["samples"][0]
        if point["axes"]["method"] in ("none", "bf16"):
            self.assertEqual(payload, {"none": 120000, "bf16": 60000}[point["axes"]["method"]])
            # A ring sends 2 (n-1) n-ths of them.
            times, chunk = 2 * (ranks - 1), payload / ranks
            sent = in_messages(times * chunk, times * -(-chunk // SEGMENT))
            check_sent(self, point, [sent] * ranks)
        else:
            self.assertLess(payload, 12000)
            self.assertGreater(metrics["wire_bytes"]["samples"][0], (ranks - 1) * payload)

    def check_parts(self, point):
        """A step's time is the slowest rank's, its phases are the last-arriving rank's, and a
        rank's phases do not overlap."""
        metrics = point["metrics"]
        for step in range(3):
            ranks = [{name: values[step] for name, values in rank.items()}
                     for rank in point["per_rank"]]
            self.assertEqual(metrics["step_time"]["samples"][step],
                             max(rank["total"] for rank in ranks))
            last = max(ranks, key=lambda rank: rank["compute"] + rank["compress"])
            for part in PARTS:
                self.assertEqual(metrics[f"{part}_time"]["samples"][step], last[part])
            for rank in ranks:
                self.assertLessEqual(sum(rank[part] for part in PARTS), rank["total"] + 1e-9)

    def test_synthetic_gradients_are_drawn_and_checked_like_captured_ones(self):
        self.run_thinpipe(*self.sweep("-c", "topk:ratio=0.01", link="rate=200mbit", steps=3,
                                      trace="synthetic:elements=30000,steps=2,rho_step=0.5",
                                      warmup=1))
        header, *points = self.records()
        self.assertEqual(header["trace"]["identity"],
                         "synthetic-3:elements=30000,dist=laplace,scale=0.001,workers=4,steps=2,"
                         "rho_step=0.5,rho_worker=0,seed=1")
        self.assertEqual(len(points), 2)
        for point in points:
            self.check_point(point)

    def test_the_header_says_what_every_distinct_link_delivered(self):
        said = self.run_thinpipe(*self.sweep("--link", "up.rate=20mbit,down.rate=50mbit", "-c",
                                             "none", ranks="2|3", steps=1))
        header, *points = self.records()
        links = {link["link"]: link for link in header["calibration"]["links"]}
        # Once each, although two launches use them.
        self.assertEqual(len(header["calibration"]["links"]), 2)
        self.assertEqual(sorted(links), sorted({p["axes"]["link"] for p in points}))
        self.assertEqual(said.count("calibrated rate=100mbit:"), 1)
        for text, link in links.items():
            self.assertEqual([way["where"] for way in link["ways"]], ["host0 up", "host0 down"])
            for way in link["ways"]:
                self.assertEqual(way["set"], text)
                self.assertGreater(way["round_trip"], 0)
                self.assertAlmostEqual(way["ratio"], way["goodput"] / way["ceiling"])
                # Unthrottled it would be hundreds. Just above 1 it is no defect: bytes that waited in
                # the socket of a busy receiver count too.
                self.assertLess(way["ratio"], 10)
            off = max(abs(way["ratio"] - 1) for way in link["ways"])
            self.assertAlmostEqual(abs(link["ratio"] - 1), off)
            self.assertEqual(link["verdict"], "holds" if off <= 0.03 else "off")
        # On its own uplink a flow gets 20 Mbit/s; two others fill its downlink.
        up, down = links["up.rate=20mbit,down.rate=50mbit"]["ways"]
        self.assertAlmostEqual(up["ceiling"], 20e6 * PAYLOAD / FRAME)
        self.assertAlmostEqual(down["ceiling"], 40e6 * PAYLOAD / FRAME)
        self.assertEqual((up["flows"], down["flows"], up["fills"], down["fills"]),
                         (1, 2, True, False))
        for point in points:
            link = links[point["axes"]["link"]]
            self.assertEqual(point["fidelity"]["goodput_ratio"], link["ratio"])
            named = [r for r in point["reasons"] if "in the calibration" in r]
            self.assertEqual(len(named), 0 if link["verdict"] == "holds" else 1)

    def test_links_that_somebody_changes_make_their_point_invalid(self):
        if not shutil.which("tc") or not shutil.which("nsenter"):
            self.skipTest("tc (iproute2) or nsenter (util-linux) is not installed")
        # 400000 floats are 1.6 MB a step: the point takes 33 s, unless both uplinks become faster.
        # It thus cannot end before the changes.
        process = self.start(*self.sweep("-c", "none", trace=self.trace(elements=400000),
                                         link="up.rate=2mbit", steps=4, warmup=1))
        # A change before the point sets its links is overwritten, or makes the point fail.
        # Afterwards the point's ranks exchange less than 0.5 MB before their first step.
        self.wait_until_sent(1_000_000)
        changed, freed = self.ours("thinpipe-worker")
        self.run_inside(changed, *"tc qdisc change dev thin0 root handle 1: tbf rate 500mbit "
                                  "burst 64kb limit 1mb".split())
        self.run_inside(freed, sys.executable, "-c", QDISC_AWAY)
        self.finish(process)
        self.assert_nothing_left()
        header, point = self.records()
        # The point took seconds, after which the header was written.
        self.assertLessEqual(header["created"], point["started"])
        self.assertEqual(point["status"], "invalid")
        changes = [r for r in point["reasons"]
                   if "another program changed the links during the measurement" in r]
        self.assertEqual(len(changes), 2, point["reasons"])
        self.assertRegex(str(changes), "link host[01]: qdisc tbf on thin0: tbf rate.*"
                                       "requested 250000, got 62500000")
        self.assertRegex(str(changes), "link host[01]: qdisc tbf on thin0: deleted")

    def test_more_ranks_than_the_trace_has_replay_it_later(self):
        self.run_thinpipe(*self.sweep("--no-baseline", trace=self.trace(ranks=1), ranks=3, steps=1))
        (point,) = self.points().values()
        self.assert_measured(point)

    def test_collectives_are_an_axis(self):
        self.run_thinpipe(*self.sweep(steps=1, collective="ring|openmpi"))
        self.assertEqual(sorted(p["axes"]["collective"] for p in self.points().values()),
                         ["allgather-openmpi", "allgather-ring", "allreduce-openmpi",
                          "allreduce-ring"])

    def test_finished_points_are_not_measured_again(self):
        arguments = self.sweep(steps=1)
        self.run_thinpipe(*arguments)
        before = self.records()
        # Without --resume nothing is touched.
        self.assertIn("records.jsonl", self.run_thinpipe(*arguments, code=2))
        self.assertIn("2 of 2 points", self.run_thinpipe(*arguments, "--resume"))
        self.assertEqual(self.records(), before)

    def test_a_sweep_goes_on_when_nobody_reads_its_messages(self):
        reading, writing = os.pipe()
        os.close(reading)
        result = subprocess.run([THINPIPE, *self.sweep(steps=1)], stdout=subprocess.DEVNULL,
                                stderr=writing, env=dict(os.environ, TMPDIR=self.folder),
                                timeout=int(os.environ["TIME_LIMIT"]), check=False)
        os.close(writing)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(self.points()), 2)

    def test_shards_share_the_points(self):
        ids, trace = [], self.trace(elements=1000)
        for shard in ("1/2", "2/2"):
            out = os.path.join(self.folder, shard.replace("/", "-"))
            self.run_thinpipe("run", "--trace", trace, "--out", out, "--ranks", "2", "--link",
                              "rate=1gbit|2gbit", "-c", "topk", "-c", "3lc", "--steps", "1",
                              "--warmup", "0", "--compute-scale", "0", "--shard", shard)
            ids.append(self.ids_in(out))
        self.assertEqual(len(ids[0]) + len(ids[1]), 8)
        self.assertEqual(len(set(ids[0] + ids[1])), 8)
        self.assertTrue(ids[0] and ids[1])

    def ids_in(self, folder):
        with open(os.path.join(folder, "records.jsonl")) as file:
            records = [json.loads(line) for line in file]
        return [record["id"] for record in records if record["record"] == "point"]

    def test_a_folder_has_points_of_one_kind(self):
        arguments = self.sweep("--no-baseline", "--resume")
        self.run_thinpipe(*arguments, "--steps", "1")
        before = self.records()
        self.assertEqual(before[0]["settings"], {"steps": 1, "warmup": 0, "compute_scale": 1,
                                                 "non_finite": "error"})
        said = self.run_thinpipe(*arguments, "--steps", "2", code=2)
        self.assertIn("measured with --steps 1, not with --steps 2; give another --out", said)
        self.assertEqual(self.records(), before)

    def test_threads_and_instruction_set_are_recorded_and_change_no_figure(self):
        # 2^20 elements and more: below that compressors use one thread.
        trace = self.trace(elements=3200000, steps=2)
        folder = self.out
        payloads = []
        for number, options in enumerate(({}, {"threads": 2, "simd": "best"})):
            self.out = f"{folder}-{number}"
            self.run_thinpipe(*self.sweep("--no-baseline", "-c", "topk:ratio=0.001", trace=trace,
                                          link="rate=1gbit", steps=2, **options))
            header, point = self.records()
            self.assertEqual(header["threads"], number + 1)
            self.assertRegex(header["simd"], "^[a-z0-9_]+$")
            self.assertNotEqual(header["simd"], "best")
            self.assert_measured(point)
            self.assertEqual(point["validation"]["checked_steps"], 2)
            payloads.append([point["metrics"][name]["samples"]
                             for name in ("payload_bytes", "relative_error", "quality")])
        self.assertEqual(payloads[0], payloads[1])
        # Records of two kinds must not stand in one file.
        again = self.sweep("--resume", trace=trace, ranks=None, link=None, threads=1, steps=2)
        self.assertIn("measured with --threads 2, not with --threads 1",
                      self.run_thinpipe(*again, code=2))

    def test_a_job_of_a_batch_system_does_not_take_the_ranks(self):
        # Open MPI would start ranks on the job's nodes, by the batch system's launcher.
        node, trace = socket.gethostname(), self.trace()
        nodes = os.path.join(self.folder, "nodes")
        with open(nodes, "w") as file:
            file.write(f"{node} 2 all.q UNDEFINED\n")
        for environment in ({"SLURM_JOB_ID": "7", "SLURM_JOBID": "7", "SLURM_NODELIST": node,
                             "SLURM_TASKS_PER_NODE": "2", "SLURM_NNODES": "1"},
                            {"SGE_ROOT": "/nonexistent", "ARC": "lx-amd64", "JOB_ID": "7",
                             "PE_HOSTFILE": nodes}):
            with self.subTest(job=next(iter(environment))):
                shutil.rmtree(self.out, ignore_errors=True)
                self.run_thinpipe(*self.sweep("--no-baseline", "-c", "none", steps=1, trace=trace),
                                  environment=environment)
                (point,) = self.points().values()
                self.assert_right(point, steps=1)


if __name__ == "__main__":
    main()
