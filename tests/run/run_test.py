"""`thinpipe run` from outside: what it records, and that it leaves nothing behind.

Environment: THINPIPE and MAKE_TRACE are the programs. Standard library only.
"""
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import uuid

THINPIPE = os.environ["THINPIPE"]
MAKE_TRACE = os.environ["MAKE_TRACE"]
FRAME, PAYLOAD = 1514, 1448


class RunCase(unittest.TestCase):
    """A trace, an output folder, and a mark in the environment by which our processes are known."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="thinpipe-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.mark = "THINPIPE_TEST=" + uuid.uuid4().hex
        self.out = os.path.join(self.folder, "out")
        self.interfaces = sorted(os.listdir("/sys/class/net"))

    def trace(self, ranks=2, steps=3, elements=30000, compute=0.002):
        path = os.path.join(self.folder, "trace")
        subprocess.run([MAKE_TRACE, path] + [str(x) for x in (ranks, steps, elements, compute)],
                       check=True)
        return path

    def start(self, *arguments, **options):
        environment = dict(os.environ, THINPIPE_TEST=self.mark.split("=")[1],
                           **options.pop("environment", {}))
        return subprocess.Popen([THINPIPE, *arguments], env=environment, stderr=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True, **options)

    def finish(self, process, code=0):
        out, error = process.communicate(timeout=300)
        self.assertEqual(process.returncode, code, error)
        return out + error

    def run_thinpipe(self, *arguments, code=0, **options):
        return self.finish(self.start(*arguments, **options), code)

    def records(self):
        with open(os.path.join(self.out, "records.jsonl")) as file:
            return [json.loads(line) for line in file]

    def has_a_point(self):
        try:
            with open(os.path.join(self.out, "records.jsonl")) as file:
                return '"record":"point"' in file.read()
        except FileNotFoundError:
            return False

    def points(self):
        """By id, the later record counting."""
        return {r["id"]: r for r in self.records() if r["record"] == "point"}

    def ours(self, name=""):
        """Processes that carry our mark, whatever they are called and whoever adopted them."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    marked = self.mark.encode() in file.read()
                with open(f"/proc/{pid}/comm") as file:
                    if marked and name in file.read():
                        found.append(int(pid))
            except OSError:
                pass  # ended meanwhile, or a zombie
        return found

    def assert_nothing_left(self):
        deadline = time.monotonic() + 10
        while self.ours() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(self.ours(), [])
        self.assertEqual(sorted(os.listdir("/sys/class/net")), self.interfaces)

    def wait_for(self, condition, what):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline, "waited in vain for " + what)
            time.sleep(0.02)


class SweepTest(RunCase):
    def test_every_point_is_measured_checked_and_counted(self):
        trace = self.trace()
        self.run_thinpipe("run", "--trace", trace, "--out", self.out, "--ranks", "2|3", "--link",
                          "rate=200mbit", "-c", "topk:ratio=0.01", "-c", "3lc", "--steps", "3",
                          "--warmup", "1")
        self.assert_nothing_left()
        records = self.records()
        self.assertEqual([r["record"] for r in records], ["header"] + ["point"] * 6)
        for point in records[1:]:
            # A loaded machine may make a point doubtful, but never wrong.
            self.assertIn(point["status"], ("ok", "invalid"), point["reasons"])
            self.assertEqual(point["validation"]["checked_steps"], 3)
            self.assertTrue(point["validation"]["identical_ranks"])
            self.assertLess(point["validation"]["aggregate_max_error"], 1e-5)
            metrics, ranks = point["metrics"], point["axes"]["ranks"]
            for name in ("step_time", "compress_time", "exchange_time", "payload_bytes"):
                self.assertEqual(len(metrics[name]["samples"]), 3)
            for step in range(3):
                parts = sum(metrics[f"{part}_time"]["samples"][step]
                            for part in ("compute", "compress", "exchange", "decode"))
                total = metrics["step_time"]["samples"][step]
                # Ranks leave the exchange within a segment or two of each other.
                self.assertLess(abs(total - parts), 5e-3 + 0.05 * total)
            payload = metrics["payload_bytes"]["samples"][0]
            wire = metrics["wire_bytes"]["samples"][0]
            if point["axes"]["method"] == "none":
                self.assertEqual(payload, 120000)  # 30000 floats
                # A ring sends 2 (n-1)/n of them, in full frames, and acknowledges what comes in.
                needed = 2 * (ranks - 1) / ranks * payload * FRAME / PAYLOAD
                self.assertGreater(wire, needed)
                self.assertLess(wire, 1.06 * needed)
            else:
                self.assertLess(payload, 12000)
                self.assertGreater(wire, (ranks - 1) * payload)

    def test_more_ranks_than_the_trace_has_replay_it_later(self):
        self.run_thinpipe("run", "--trace", self.trace(ranks=1), "--out", self.out, "--ranks", "3",
                          "--link", "rate=500mbit", "--steps", "1", "--warmup", "0",
                          "--no-baseline")
        (point,) = self.points().values()
        self.assertIn(point["status"], ("ok", "invalid"))

    def test_open_mpis_own_collectives(self):
        self.run_thinpipe("run", "--trace", self.trace(), "--out", self.out, "--ranks", "2",
                          "--link", "rate=500mbit", "--steps", "1", "--warmup", "0", "--pattern",
                          "openmpi")
        self.assertEqual({p["axes"]["pattern"] for p in self.points().values()},
                         {"allreduce-openmpi", "allgather-openmpi"})

    def test_finished_points_are_not_measured_again(self):
        arguments = ("run", "--trace", self.trace(), "--out", self.out, "--ranks", "2", "--link",
                     "rate=500mbit", "--steps", "1", "--warmup", "0")
        self.run_thinpipe(*arguments)
        before = self.records()
        # Without --resume nothing is touched.
        self.assertIn("records.jsonl", self.run_thinpipe(*arguments, code=2))
        self.assertIn("2 of 2 points", self.run_thinpipe(*arguments, "--resume"))
        self.assertEqual(self.records(), before)


    def test_threads_and_instruction_set_are_recorded_and_change_no_figure(self):
        # 2^20 elements and more: below that compressors use one thread.
        trace = self.trace(elements=3200000, steps=2)
        folder = self.out
        payloads = []
        for number, options in enumerate(((), ("--threads", "2", "--simd", "best"))):
            self.out = f"{folder}-{number}"
            self.run_thinpipe("run", "--trace", trace, "--out", self.out, "--ranks", "2", "--link",
                              "rate=1gbit", "--steps", "2", "--warmup", "0", "--no-baseline", "-c",
                              "topk:ratio=0.001", *options)
            header, point = self.records()
            self.assertEqual(header["threads"], number + 1)
            self.assertRegex(header["simd"], "^[a-z0-9_]+$")
            self.assertNotEqual(header["simd"], "best")
            self.assertIn(point["status"], ("ok", "invalid"), point["reasons"])
            self.assertEqual(point["validation"]["checked_steps"], 2)
            payloads.append([point["metrics"][name]["samples"]
                             for name in ("payload_bytes", "relative_error", "quality")])
        self.assertEqual(payloads[0], payloads[1])
        # Records of two kinds must not stand in one file.
        self.assertIn("measured with --threads 2", self.run_thinpipe(
            "run", "--trace", trace, "--out", self.out, "--resume", "--threads", "1", code=2))


class ScaleTest(RunCase):
    """--time-scale: slow motion gives the step times of the real thing, and says when it does not."""
    # Of the step time. A loaded machine delays the two runs differently; each attempt is of its own.
    TOLERANCE, ATTEMPTS = 0.05, 4

    def median(self, point, name="step_time"):
        samples = sorted(point["metrics"][name]["samples"])
        return samples[len(samples) // 2]

    def measure(self, trace, number):
        self.out = os.path.join(self.folder, f"out-{number}")
        said = self.run_thinpipe("run", "--trace", trace, "--out", self.out, "--ranks", "2",
                                 "--link", "rate=100mbit", "-c", "topk:ratio=0.05", "--steps", "7",
                                 "--warmup", "1", "--time-scale", "1|2")
        points = {(p["axes"]["method"], p["axes"]["time_scale"]): p for p in self.points().values()}
        self.assertEqual(sorted(points), [("none", 1), ("none", 2), ("topk", 1), ("topk", 2)])
        return said, points

    def test_half_speed_takes_twice_as_long_and_comes_to_the_same(self):
        trace = self.trace(elements=200000, compute=0.02)
        for attempt in range(self.ATTEMPTS):
            said, points = self.measure(trace, attempt)
            self.assert_nothing_left()
            ratios = []
            for method in ("none", "topk"):
                one, two = points[method, 1], points[method, 2]
                for point in (one, two):
                    self.assertIn(point["status"], ("ok", "invalid"), point["reasons"])
                    self.assertLess(point["validation"]["aggregate_max_error"], 1e-5)
                # What is sent does not depend on the clock.
                self.assertEqual(one["metrics"]["payload_bytes"]["samples"],
                                 two["metrics"]["payload_bytes"]["samples"])
                # Measured, not computed: the raw times are there, and nothing can be faster.
                self.assertNotIn("raw", one)
                raw = two["raw"]
                self.assertEqual(set(raw), {f"{part}_time" for part in
                                            ("step", "compute", "compress", "exchange", "decode")})
                self.assertGreaterEqual(min(raw["compute_time"]), 2 * 0.999 * min(
                    two["metrics"]["compute_time"]["samples"]))
                self.assertGreaterEqual(min(raw["step_time"]),
                                        1.9 * min(two["metrics"]["step_time"]["samples"]) - 2e-3)
                for metric in ("compute_time", "step_time"):
                    self.assertEqual(len(raw[metric]), 7)
                ratios.append(self.median(two) / self.median(one))
            # The tool compares them as well.
            self.assertRegex(said, "none on rate=100mbit, 2 ranks: .*time scale")
            if max(abs(ratio - 1) for ratio in ratios) < self.TOLERANCE:
                break
        else:
            self.fail(f"step times at time scale 2 over those at 1: {ratios}")
        # Two time scales are not mixed in a report.
        self.assertIn("time scales 1 and 2", self.run_thinpipe("report", self.out, "--format",
                                                               "text", code=2))
        text = self.run_thinpipe("report", self.out, "--format", "text", "--time-scale", "2")
        self.assertIn("Time scale 2", text)
        self.assertIn("Time scales compared", text)

    def test_fast_motion_accounts_for_the_codec_apart_or_refuses(self):
        self.run_thinpipe("run", "--trace", self.trace(elements=200000, compute=0.02), "--out",
                          self.out, "--ranks", "2", "--link", "rate=20mbit", "-c",
                          "topk:ratio=0.05", "-c", "terngrad", "--no-baseline", "--steps",
                          "3", "--warmup", "0", "--time-scale", "0.25", code=4)
        points = {p["axes"]["method"]: p for p in self.points().values()}
        self.assertEqual(points["terngrad"]["status"], "failed")
        self.assertIn("between several exchanges", points["terngrad"]["reasons"][0])
        topk = points["topk"]
        self.assertIn(topk["status"], ("ok", "invalid"), topk["reasons"])
        # 10,000 positions and values through 20 Mbit/s, not through the 80 that were set, less what
        # the bucket lets through.
        payload = topk["metrics"]["payload_bytes"]["samples"][0]
        least = (payload * FRAME / PAYLOAD - topk["fidelity"]["burst_bytes"]) * 8 / 20e6
        self.assertGreater(self.median(topk, "exchange_time"), 0.9 * least)
        self.assertLess(min(topk["raw"]["exchange_time"]),
                        min(topk["metrics"]["exchange_time"]["samples"]))

    def test_auto_chooses_by_rate_and_says_why(self):
        arguments = ("run", "--trace", self.trace(), "--out", self.out, "--ranks", "2", "--link",
                     "rate=100gbit", "--no-baseline", "-c", "topk:ratio=0.05", "--steps", "2",
                     "--warmup", "0", "--time-scale", "auto")
        self.assertRegex(self.run_thinpipe(*arguments),
                         "time scale [0-9]+ for 2 ranks on 100 Gbit/s: a TCP flow carries")
        (point,) = self.points().values()
        self.assertGreater(point["axes"]["time_scale"], 1)
        self.assertIn(point["status"], ("ok", "invalid"), point["reasons"])
        # It is the same point when it is resumed.
        self.assertIn("1 of 1 points", self.run_thinpipe(*arguments, "--resume"))

    def test_what_is_no_time_scale(self):
        trace = self.trace()
        for text, complaint in (("fast", "'fast' is not a number from 0.001 to 1000"),
                                ("0.001", "expected 1 kbit/s to 100 Gbit/s")):
            error = self.run_thinpipe("run", "--trace", trace, "--out", self.out, "--link",
                                      "rate=1gbit", "--time-scale", text, code=2)
            self.assertIn(complaint, error)
            self.assertFalse(self.has_a_point())
        self.assertIn("--time-scale 2 with --topology racks", self.run_thinpipe(
            "run", "--trace", trace, "--out", self.out, "--link", "rate=1gbit", "--time-scale", "2",
            "--topology", "racks", code=2))


class KillTest(RunCase):
    ARGUMENTS = ("--ranks", "2", "--link", "rate=50mbit|500mbit", "--steps", "3", "--warmup", "1",
                 "--repeats", "2", "--resume")

    def test_sigkill_at_random_moments_leaves_nothing_and_resume_completes(self):
        trace = self.trace(elements=100000)
        arguments = ("run", "--trace", trace, "--out", self.out, *self.ARGUMENTS)
        kills = int(os.environ.get("THINPIPE_KILLS", "6"))
        generator = random.Random(20)
        for _ in range(kills):
            process = self.start(*arguments)
            time.sleep(generator.uniform(0, 3))
            process.kill()
            process.communicate()
            self.assert_nothing_left()
        self.run_thinpipe(*arguments)
        self.assert_nothing_left()
        points = self.points()
        self.assertEqual(len(points), 8)  # 2 compressors, 2 links, 2 repeats
        for point in points.values():
            self.assertIn(point["status"], ("ok", "invalid"))

    def test_ctrl_c_keeps_what_was_measured(self):
        process = self.start("run", "--trace", self.trace(elements=100000), "--out", self.out,
                             *self.ARGUMENTS)
        self.wait_for(self.has_a_point, "the first point")
        process.send_signal(signal.SIGINT)
        self.assertIn("--resume", self.finish(process, 128 + signal.SIGINT))
        self.assert_nothing_left()
        self.assertGreaterEqual(len(self.points()), 1)

    def test_a_killed_rank_fails_its_point_and_the_sweep_goes_on(self):
        # A slow point, so that the rank is killed within it.
        process = self.start("run", "--trace", self.trace(elements=400000), "--out", self.out,
                             "--ranks", "2", "--link", "rate=20mbit", "--steps", "2", "--warmup",
                             "1")
        self.wait_for(lambda: len(self.ours("thinpipe-worker")) >= 2, "the ranks")
        time.sleep(2.5)  # past the calibration of the link, into the steps
        os.kill(self.ours("thinpipe-worker")[0], signal.SIGKILL)
        self.finish(process, 4)
        self.assert_nothing_left()
        statuses = sorted(p["status"] for p in self.points().values())
        self.assertEqual(len(statuses), 2)
        self.assertEqual(statuses[0], "failed")
        self.assertIn(statuses[1], ("invalid", "ok"))

    def test_a_killed_mpirun_fails_its_point_and_the_sweep_goes_on(self):
        process = self.start("run", "--trace", self.trace(elements=400000), "--out", self.out,
                             "--ranks", "2", "--link", "rate=20mbit", "--steps", "2", "--warmup",
                             "1")
        self.wait_for(lambda: len(self.ours("thinpipe-worker")) >= 2, "the ranks")
        time.sleep(2.5)
        for pid in self.ours("mpirun"):
            os.kill(pid, signal.SIGKILL)
        self.finish(process, 4)
        self.assert_nothing_left()
        self.assertEqual(len(self.points()), 2)


class ScheduleTest(RunCase):
    """--schedule: links that change while ranks run."""

    def test_each_record_says_what_the_link_was(self):
        # 400000 floats take 134 ms at 100 Mbit/s between two ranks: the outage is in the second step.
        self.run_thinpipe("run", "--trace", self.trace(elements=400000, compute=0), "--out",
                          self.out, "--ranks", "2", "--link", "rate=100mbit", "--schedule", "none",
                          "--schedule", "outage:first=250ms,lasts=400ms", "-c", "none",
                          "--steps", "3", "--warmup", "0")
        self.assert_nothing_left()
        (plain,) = [p for i, p in self.points().items() if "schedule" not in i]
        (point,) = [p for i, p in self.points().items() if "schedule" in i]
        self.assertNotIn("schedule", plain)
        self.assertEqual(point["axes"]["link"],
                         "rate=100mbit,schedule=outage:first=250ms,lasts=400ms")
        self.assertIn(point["status"], ("ok", "invalid"), point["reasons"])
        self.assertLess(point["validation"]["aggregate_max_error"], 1e-5)
        schedule, taken = point["schedule"], point["metrics"]["step_time"]["samples"]
        self.assertGreaterEqual(schedule["changes"], 2)
        steps = schedule["steps"]
        for begin, end, up, down, seconds in zip(steps["begin"], steps["end"], steps["rate_up"],
                                                 steps["rate_down"], taken):
            self.assertGreaterEqual(end - begin, seconds)
            out = max(0, min(end, 0.65) - max(begin, 0.25))
            for rate in (up, down):
                self.assertAlmostEqual(rate / 100e6, 1 - out / (end - begin), places=6)
        self.assertEqual(len(taken), 3)
        # One of the steps waited for the outage to end.
        self.assertGreater(max(taken), 0.4)
        self.assertLess(min(taken), 0.4)

    def test_ctrl_c_ends_it_in_an_outage(self):
        process = self.start("run", "--trace", self.trace(), "--out", self.out, "--ranks", "2",
                             "--link", "rate=50mbit", "--schedule",
                             "outage:first=1s,lasts=1000s", "--steps", "1000")
        self.wait_for(lambda: len(self.ours("thinpipe-worker")) >= 2, "the ranks")
        time.sleep(4)  # past the calibration of the link and the first second
        process.send_signal(signal.SIGINT)
        self.finish(process, 128 + signal.SIGINT)
        self.assert_nothing_left()


class PluginTest(RunCase):
    """--plugin reaches the ranks; what a plug-in does wrong fails its points by name."""
    ARGUMENTS = ("--ranks", "2", "--link", "rate=500mbit", "--steps", "2", "--warmup", "0",
                 "--no-baseline")

    def test_a_plug_in_is_measured_as_any_method(self):
        folder = os.environ["EXAMPLE_PLUGINS"]
        # A relative path: the ranks start elsewhere.
        self.run_thinpipe("run", "--trace", self.trace(), "--out", self.out, *self.ARGUMENTS,
                          "--plugin", "example_sign.so", "--plugin", "example_stride.so",
                          "-c", "example-sign", "-c", "example-stride:n=10", cwd=folder)
        self.assert_nothing_left()
        points = {p["axes"]["method"]: p for p in self.points().values()}
        self.assertEqual(sorted(points), ["example-sign", "example-stride"])
        for point in points.values():
            self.assertIn(point["status"], ("ok", "invalid"), point["reasons"])
            self.assertLess(point["validation"]["aggregate_max_error"], 1e-5)
        # 10000 and 20000 elements: 4 bytes a tensor and one bit each, or every tenth whole.
        self.assertEqual(points["example-sign"]["metrics"]["payload_bytes"]["samples"],
                         [2 * 4 + 30000 / 8] * 2)
        self.assertEqual(points["example-stride"]["metrics"]["payload_bytes"]["samples"],
                         [2 * 4 + 4 * 30000 / 10] * 2)

    def test_a_broken_one_fails_its_point_by_name(self):
        broken = os.path.join(os.environ["TEST_PLUGINS"], "broken_methods.so")
        self.run_thinpipe("run", "--trace", self.trace(), "--out", self.out, *self.ARGUMENTS,
                          "--plugin", broken, "-c", "writes-after", code=4)
        self.assert_nothing_left()
        (point,) = self.points().values()
        self.assertEqual(point["status"], "failed")
        self.assertIn(f"plug-in '{broken}', method 'writes-after': encode wrote outside",
                      point["reasons"][0])


class FaultTest(RunCase):
    def overwrite_first_value(self, trace, value):
        """Puts `value` where the first gradient of the first file begins."""
        files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(trace)
                       for name in names if name.endswith(".safetensors"))
        with open(files[0], "r+b") as file:
            (header,) = struct.unpack("<Q", file.read(8))
            file.seek(8 + header)
            file.write(struct.pack("<f", value))

    def test_a_nan_fails_its_points_by_name_or_is_replaced(self):
        trace = self.trace()
        self.overwrite_first_value(trace, float("nan"))
        arguments = ("run", "--trace", trace, "--ranks", "2", "--link", "rate=500mbit", "--steps",
                     "2", "--warmup", "0", "--no-baseline")
        self.run_thinpipe(*arguments, "--out", self.out, code=4)
        (point,) = self.points().values()
        self.assertEqual(point["status"], "failed")
        self.assertIn("tensor 'tensor-", point["reasons"][0])
        self.assertIn("--non-finite zero", point["reasons"][0])
        self.out += "-zero"
        self.run_thinpipe(*arguments, "--out", self.out, "--non-finite", "zero")

    def test_a_full_disk_leaves_whole_records(self):
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writes then fail instead
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

        # 300 elements: what the ranks share fits into 5000 bytes, two records do not.
        error = self.run_thinpipe("run", "--trace", self.trace(elements=300), "--out", self.out,
                                  "--ranks", "2", "--link", "rate=500mbit", "--repeats", "4",
                                  code=4, preexec_fn=small_files)
        self.assertIn("records.jsonl", error)
        self.assert_nothing_left()
        self.assertGreaterEqual(len(self.records()), 1)  # each line is JSON


class BadInputTest(RunCase):
    def refuse(self, expected, *arguments, code=2, **options):
        error = self.run_thinpipe(*arguments, code=code, **options)
        self.assertIn(expected, error)
        self.assert_nothing_left()
        self.assertFalse(os.path.exists(self.out), "a refused run made its output folder")

    def test_input_that_cannot_be(self):
        trace = self.trace()
        run = ("run", "--trace", trace, "--out", self.out)
        self.refuse("trace.json", "run", "--trace", self.folder, "--out", self.out)
        self.refuse("did you mean 'topk'?", *run, "-c", "topkk")
        self.refuse("ratio", *run, "-c", "topk:ratio=2")
        self.refuse("did you mean 'ratio'?", *run, "-c", "topk:ratoi=0.1")
        self.refuse("rate=0", *run, "--link", "rate=0")
        self.refuse("--ranks", *run, "--ranks", "0")
        self.refuse("--threads: found '0'", *run, "--threads", "0")
        self.refuse("unknown SIMD target 'avx9'", *run, "--simd", "avx9")

    def test_no_mpirun(self):
        self.refuse("mpirun", "run", "--trace", self.trace(), "--out", self.out, code=4,
                    environment={"PATH": "/nonexistent"})

    def test_no_namespaces(self):
        # Inside a user namespace of its own the command is root there, but may make none.
        script = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$0" net verify --seconds 0.5'
        result = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", script,
                                 THINPIPE], capture_output=True, text=True)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("user.max_net_namespaces", result.stderr)


if __name__ == "__main__":
    unittest.main()
