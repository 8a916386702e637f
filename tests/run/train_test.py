"""`thinpipe train` as a whole: all ways of exchanging come to the same parameters, and so do
trainings that were interrupted; a broken one leaves a reason and a checkpoint. Each program that
loads libtorch takes half a second of CPU time, so checkpoint_test.cc has the checkpoints of all
other kinds of state.

Environment: SIGNAL_AT_RENAME is a library which, preloaded, sends its process a signal when it has
given a file its name. So a training is interrupted at a checkpoint, however busy the machine is.
"""
import glob
import json
import os
import random
import shutil
import signal
import struct
import subprocess

from run_case import RunCase, main, preloaded

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/records.schema.json")
THINPIPE = os.environ["THINPIPE"]
STEPS = 24

DIVERGING = """
title = "a training that diverges"
source = "none"
here = "one training"
differences = ["all"]
columns = ["accuracy"]
full_minutes = 1
quick_seconds = 5
[[arms]]
label = "LeNet-5"
full = "train -m lenet5 -w 2 --batch 4 --steps 8 --link rate=1gbit --compute-time 0 -c none --optimiser sgd:lr=1e30 --no-baseline --data {images}"
[[rules]]
says = "it learns"
row = "LeNet-5"
least = 50
one_side = "more is fine"
"""


def write_images(folder, count=300, bands=False):
    """Images in MNIST's format, of which every fifth is held out: noise or, with `bands`, a bright
    band whose place is the label. The held-out images then have labels that no other image has, so
    a training makes their loss worse. A few images are read far faster than thinpipe draws its own
    5,000, which happens in three processes a training."""
    os.mkdir(folder)
    kinds = [(i // 5 % (5 if bands else 10), i % 5 == 4) for i in range(count)]
    labels = bytes(kind + 5 * (bands and held_out) for kind, held_out in kinds)
    pixels = random.Random(1).randbytes(count * 28 * 28)
    if bands:
        pixels = b"".join((bytes(140 * kind) + b"\xff" * 140).ljust(28 * 28, b"\0") for kind, _ in kinds)
    with open(os.path.join(folder, "train-images-idx3-ubyte"), "wb") as file:
        file.write(struct.pack(">4I", 0x803, count, 28, 28) + pixels)
    with open(os.path.join(folder, "train-labels-idx1-ubyte"), "wb") as file:
        file.write(struct.pack(">2I", 0x801, count) + labels)


def signal_at(path, number):
    """The environment in which the process that names a file gets the signal. `path`: a name's end"""
    return {**preloaded(os.environ["SIGNAL_AT_RENAME"]), "SIGNAL_AT": path,
            "SIGNAL_NUMBER": str(int(number))}


class TrainTest(RunCase):
    def setUp(self):
        super().setUp()
        self.images = os.path.join(self.folder, "images")
        write_images(self.images)

    def train(self, *arguments, code=0, **options):
        return self.finish(self.start_training(*arguments, **options), code)

    def start_training(self, *arguments, out=None, batch="4", steps=str(STEPS), eval_every="12",
                       compute="0.03", check_every="5", data=None, environment=()):
        data = self.images if data is None else data
        return self.start("train", "-m", "lenet5", "--out", out or self.out, "-w", "2", "--batch",
                          batch, "--steps", steps, "--eval-every", eval_every, "--link",
                          "rate=200mbit", "--compute-time", compute, "--no-baseline",
                          "--check-every", check_every, *arguments,
                          *(("--data", data) if data else ()), environment=environment)

    def train_until(self, step, *arguments, **options):
        """A training that gets SIGINT when it has this step's checkpoint. Returns what it printed."""
        interrupting = signal_at(f"/step-{step}", signal.SIGINT)
        return self.train(*arguments, code=128 + signal.SIGINT, environment=interrupting, **options)

    def digests(self, *outs):
        """By method, the digests of these folders' points, each of which trained well."""
        found = {}
        for self.out in outs:
            for point in self.points().values():
                self.check_trained(point)
                found.setdefault(point["axes"]["method"], []).append(point["training"]["digest"])
        return found

    def count_resumed(self):
        return sum(len(point["training"]["resumed"]) for point in self.points().values())

    def checkpoints(self):
        """Numbers of steps of those that are whole, over all points."""
        names = glob.glob(os.path.join(self.out, "checkpoints", "*", "step-*"))
        return sorted(int(name.rsplit("-", 1)[1]) for name in names if not name.endswith("partial"))

    def check_schema(self):
        if jsonschema is None:
            return
        with open(SCHEMA) as file:
            validator = jsonschema.Draft202012Validator(json.load(file))
        for record in self.records():
            self.assertEqual([f"{error.json_path}: {error.message}"
                              for error in validator.iter_errors(record)], [])

    def check_trained(self, point):
        self.assert_right(point)
        training = point["training"]
        for column in ("loss", "seconds", "bytes"):
            self.assertEqual(len(training[column]), STEPS)
        self.assertEqual(training["seconds"], sorted(training["seconds"]))
        self.assertGreater(training["seconds"][-1], 0.03 * STEPS)
        self.assertEqual(training["evaluations"]["steps"], [12, 24])
        self.assertEqual(len(training["evaluations"]["accuracy"]), 2)
        self.assertGreaterEqual(point["validation"]["checked_steps"], 4)
        self.assertEqual(point["metrics"]["final_loss"]["samples"],
                         training["evaluations"]["loss"][-1:])

    def test_interrupted_trainings_end_like_one_that_was_not(self):
        # The sums of two workers are the same in any order and with any bucketing. With a delay,
        # workers take local steps between exchanges.
        specs = ("-c", "dgc:ratio=0.05", "-c", "sbc:p=0.05,delay=2")
        reference = os.path.join(self.folder, "reference")
        traces = os.path.join(self.folder, "traces")
        self.out, out = reference, self.out
        said = self.train(*specs, "--collective", "ring|ps:servers=1,pull=none", "--overlap",
                          "bucket", "--target", "loss=2.4", "--capture", traces,
                          "--capture-every", "12")
        self.assertIn("accuracy %", said)
        self.assert_nothing_left()
        self.check_schema()
        digests = self.digests(reference)
        self.assertEqual({name: (len(found), len(set(found))) for name, found in digests.items()},
                         {"dgc": (2, 1), "sbc": (2, 1)})
        self.assertNotEqual(digests["dgc"], digests["sbc"])
        self.assertFalse(os.path.exists(os.path.join(reference, "checkpoints")))
        captured = os.listdir(traces)
        self.assertEqual(len(captured), 4)
        for name in captured:
            info = json.loads(subprocess.run(
                [THINPIPE, "trace", "info", os.path.join(traces, name), "--json"], check=True,
                capture_output=True, text=True).stdout)
            self.assertEqual((info["steps"], info["ranks"], info["values"]),
                             (2, 2, "updates" if "sbc" in name else "gradients"))

        self.out = out
        arguments = (*specs, "--checkpoint-every", "4", "--resume")
        self.assertIn("--resume", self.train_until(4, *arguments))
        self.assert_nothing_left()
        self.assertGreaterEqual(self.checkpoints()[-1], 4)

        # A rank is killed while the checkpoint after the next one is written.
        (folder,) = glob.glob(os.path.join(out, "checkpoints", "*"))
        killing = signal_at(os.path.join(folder, "step-12.partial", "rank-1"), signal.SIGKILL)
        self.train(*arguments, code=4, environment=killing)
        self.assert_nothing_left()
        failed = [point for point in self.points().values() if point["status"] == "failed"]
        self.assertEqual(len(failed), 1)
        self.assertRegex(failed[0]["reasons"][0], "rank [01] was killed by SIGKILL")
        self.assertEqual(self.checkpoints(), [8])

        self.train(*arguments)
        for name, found in self.digests(out).items():
            self.assertEqual(set(found), set(digests[name]))
        self.assertGreaterEqual(self.count_resumed(), 2)
        self.assertFalse(os.path.exists(os.path.join(out, "checkpoints")))

    def test_fragments_take_turns(self):
        self.train("-c", "topk:ratio=0.05", "--local-steps", "4", "--fragments", "2",
                   "--fragment-delay", "1", "--fragment-mix", "0.25", "--outer", "diloco")
        (point,) = self.points().values()
        self.check_trained(point)

    def test_fragments_are_refused_where_they_have_no_turns(self):
        for words, said in (((), "expected --local-steps of at least 3, not 1"),
                            (("--local-steps", "8", "--granularity", "model"), "--granularity model"),
                            (("--local-steps", "8", "--overlap", "bucket"), "--overlap bucket"),
                            (("--local-steps", "8", "--collective", "twoshot"), "collective twoshot"),
                            (("--local-steps", "8", "-c", "sbc:delay=2"), "its delay would skip"),
                            (("--local-steps", "8", "--fragment-delay", "2"), "expected at most 1 with"),
                            (("--local-steps", "8", "--fragment-delay", "1", "--time-scale", "0.5"),
                             "expected at least 1, or --fragment-delay 0")):
            self.assertIn(said, self.train("-c", "none", "--fragments", "3", *words, code=2))
        self.assertIn("the model has 8 tensors",
                      self.train("-c", "none", "--fragments", "9", "--local-steps", "9", code=2))

    def test_servers_that_update_train_as_workers_that_do(self):
        optimiser = ("--optimiser", "sgd:lr=0.01,momentum=0.9,weight_decay=0.001")
        # Uncompressed, the servers' changes of the model are those that workers make themselves.
        self.train("-c", "none", "--collective", "ps:servers=2|ps:servers=2,update=servers", *optimiser)
        losses = []
        for point in self.points().values():
            self.check_trained(point)
            losses.append(point["training"]["loss"])
        for one, other in zip(*losses):
            self.assertAlmostEqual(one, other, delta=1e-3 * one)
        self.assertNotEqual(losses[0], [losses[0][0]] * STEPS)
        self.assertAlmostEqual(self.records()[0]["training"]["chance"], 0.1, delta=0.04)

    def test_servers_that_update_leave_nothing_to_workers_optimisers(self):
        for words, said in ((("--local-steps", "4"), "--local-steps with collective"),
                            (("--outer", "diloco"), "--outer with collective"),
                            (("--exchange", "updates"), "--exchange updates with collective"),
                            (("--clip", "1"), "no server has the whole gradient"),
                            (("-c", "ef21:ratio=0.1"), "expected another memory than ef21")):
            self.assertIn(said, self.train("--collective", "ps:update=servers", *words, code=2))
            self.assertFalse(os.path.exists(os.path.join(self.out, "records.jsonl")))

    def test_trainings_that_exchange_all_elements_are_alike(self):
        # Without momentum, the mean of the workers' steps is the step by the mean gradient. The
        # estimate of ef21 is then the gradient, but for rounding. Each seed is another training.
        found = {}
        for what, more in (("gradients", ("-c", "ef21:ratio=1")), ("updates", ("--seeds", "2"))):
            self.out = os.path.join(self.folder, what)
            self.train("-c", "none", "--optimiser", "sgd:lr=0.05", "--exchange", what, *more)
            for point in self.points().values():
                self.check_trained(point)
                axes = point["axes"]
                found[what, axes["method"], axes["seed"]] = point["training"]
        plain, *alike, other = (found.pop(key) for key in (
            ("gradients", "none", 1), ("gradients", "ef21", 1), ("updates", "none", 1),
            ("updates", "none", 2)))
        self.assertEqual(found, {})
        for training in alike:
            for one, two in zip(plain["loss"], training["loss"], strict=True):
                self.assertAlmostEqual(one, two, delta=1e-3 * one)
        self.assertNotIn(other["digest"], [training["digest"] for training in alike])

    def test_momentum_is_masked_where_workers_step_alone(self):
        masked = ("-c", "topk:ratio=0.05,delay=2", "--mask-momentum")
        updates = ("--exchange", "updates", "--optimiser")
        self.assertIn("expected updates", self.train(*masked, code=2))
        self.assertIn("has no momentum", self.train(*masked, *updates, "sgd:lr=0.05", code=2))
        self.train(*masked, *updates, "sgd:lr=0.01,momentum=0.9")
        (point,) = self.points().values()
        self.check_trained(point)
        self.assertIs(self.records()[0]["training"]["options"]["mask_momentum"], True)

    def test_time_dilation_leaves_the_parameters_as_they_are(self):
        self.train("-c", "dgc:ratio=0.05", "--time-scale", "1|2", data="")  # thinpipe's own
        self.assertEqual(sorted(point["axes"]["time_scale"] for point in self.points().values()), [1, 2])
        (digests,) = self.digests(self.out).values()
        self.assertEqual(len(set(digests)), 1)

    def test_workers_that_step_alone_agree_on_all_parameters_at_once(self):
        self.train("-c", "sbc:p=0.05,delay=2", "-c", "variance", "--exchange", "updates",
                   "--min-elements", "100", code=4)
        reasons = {point["axes"]["method"]: point["reasons"][0] for point in self.points().values()}
        self.assertIn("expected one delay", reasons["sbc"])
        self.assertIn("second moments are of grad", reasons["variance"])

    def test_a_loss_that_is_not_finite_fails_its_point_for_good(self):
        diverging = ("-c", "topk:ratio=0.5", "--optimiser", "sgd:lr=1e30", "--checkpoint-every", "1")
        said = self.train(*diverging, code=4)
        self.assertIn("1 failed", said)
        self.assert_nothing_left()
        (point,) = self.points().values()
        self.assertEqual(point["status"], "failed")
        self.assertEqual(point["axes"]["seed"], 1)
        self.assertRegex(point["reasons"][0],
                         r"rank [01]: step \d+: (the loss of the mini-batch is|element \d+ of)")
        self.assertIs(point["diverged"], True)
        self.assertEqual(self.checkpoints(), [])
        self.assertIn("1 of 1 points are in the records", self.train(*diverging, "--resume"))

    def test_for_a_recipe_a_training_that_diverged_is_a_result(self):
        recipe = os.path.join(self.folder, "diverging.toml")
        with open(recipe, "w") as file:
            file.write(DIVERGING.format(images=self.images))
        said = self.run_thinpipe("reproduce", recipe, "--out", self.out)
        self.assertIn("void: it learns", said)
        with open(os.path.join(self.out, "diverging.md")) as file:
            self.assertIn("seed 1: diverged, rank ", file.read())
        self.assertTrue(os.path.exists(os.path.join(self.out, "diverging", "LeNet-5", "finished")))

    def test_workers_that_part_fail_their_point(self):
        # Without the check of aggregates, which would find it first.
        uneven = os.path.join(os.environ["TEST_PLUGINS"], "uneven.so")
        self.train("--plugin", uneven, "-c", "uneven", steps="3", check_every="0", code=4)
        (point,) = self.points().values()
        self.assertRegex(point["reasons"][0],
                         "after step 2 the parameters of rank 1 differ from those of rank 0")

    def test_an_outage_that_never_ends_fails_its_point_and_leaves_a_checkpoint(self):
        self.train("-c", "topk:ratio=0.05", "--schedule", "steps:0s=100%,300ms=0", "--timeout",
                   "0.5", "--checkpoint-every", "1", code=4)
        self.assert_nothing_left()
        (point,) = self.points().values()
        self.assertEqual(point["status"], "failed")
        self.assertRegex(point["reasons"][0], r"^step \d+: [12] of 2 ranks did not answer within .*"
                                              "no traffic passes the links")
        # The outage comes in a later step, unless the machine stalls in the first one.
        step = int(point["reasons"][0].split()[1].rstrip(":"))
        self.assertEqual(self.checkpoints(), [step] if step > 0 else [])

    def test_a_plateau_lowers_the_rate_of_all_workers_alike_also_after_an_interruption(self):
        arguments = ("-c", "topk:ratio=0.05", "--optimiser", "sgd:lr=0.01,momentum=0.9",
                     "--lr-schedule", "plateau:after=1,factor=0.5,least=0.01")
        bands = {"data": os.path.join(self.folder, "bands"), "eval_every": "2"}
        write_images(bands["data"], bands=True)
        self.train(*arguments, check_every="1", **bands)
        (whole,) = self.points().values()
        evaluations = whole["training"]["evaluations"]
        expected, factor, best = [], 1, float("inf")
        for loss in evaluations["loss"]:
            factor = factor if loss < best else max(0.01, factor / 2)
            best = min(best, loss)
            expected.append(factor)
        self.assertLess(factor, 1, "no evaluation was worse than one before: nothing was tried")
        self.assertEqual(evaluations["rate_factor"], expected)
        self.assertTrue(whole["validation"]["identical_ranks"])
        self.check_schema()

        self.out = os.path.join(self.folder, "interrupted")
        arguments += ("--checkpoint-every", "1", "--resume")
        self.train_until(16, *arguments, **bands)
        self.train(*arguments, **bands)
        (resumed,) = self.points().values()
        self.assertEqual(len(resumed["training"]["resumed"]), 1)
        self.assertEqual(resumed["training"]["evaluations"]["rate_factor"], expected)
        self.assertEqual(resumed["training"]["digest"], whole["training"]["digest"])

    def check_schedule_by_emulated_time(self, point, first):
        """Half the rate from 0.4 s on, of steps that were taken since the `first`."""
        steps, seconds = point["schedule"]["steps"], [0, *point["training"]["seconds"]]
        self.assertEqual(len(steps["begin"]), STEPS - first)
        for begin, end, rate, before, after in zip(steps["begin"], steps["end"], steps["rate_up"],
                                                   seconds[first:], seconds[first + 1:]):
            self.assertAlmostEqual(begin, before, places=9)
            self.assertAlmostEqual(end, after, places=9)
            late = max(0, end - max(begin, 0.4))
            self.assertAlmostEqual(rate / 200e6, 1 - late / 2 / (end - begin), places=6)

    def test_schedules_go_by_emulated_time_also_after_an_interruption(self):
        # Mini-batches that take far longer for real than the 0.4 emulated s.
        arguments = ("-c", "topk:ratio=0.05", "--schedule", "steps:0s=100%,400ms=50%",
                     "--checkpoint-every", "1", "--resume")
        self.train_until(5, *arguments, batch="64")
        (first,) = self.checkpoints()
        self.train(*arguments, batch="64")
        (point,) = self.points().values()
        self.assert_measured(point)
        self.assertEqual(point["training"]["resumed"], [first])
        # How many changes are counted depends on the machine: only those within a step are, and the
        # thread that sets the links may wake up after the step's end.
        self.check_schedule_by_emulated_time(point, first)

    def test_a_damaged_checkpoint_is_named_before_anything_starts(self):
        arguments = ("-c", "topk:ratio=0.05", "--checkpoint-every", "1", "--resume")
        self.train_until(1, *arguments)
        (folder,) = glob.glob(os.path.join(self.out, "checkpoints", "*", "step-*"))
        with open(os.path.join(self.out, "records.jsonl")) as file:
            before = file.read()
        self.assertIn("rank-0: a checkpoint of '", self.train(*arguments, compute="0.05", code=2))
        state, model = os.path.join(folder, "rank-1"), os.path.join(self.out, "model.json")
        os.truncate(state, os.path.getsize(state) // 2)
        said = self.train(*arguments, code=2)
        self.assertIn(f"{state}: damaged", said)
        self.assertIn(f"remove {os.path.dirname(folder)} to train", said)
        os.remove(state)
        self.assertIn(f"{state}: cannot be opened", self.train(*arguments, code=2))
        shutil.rmtree(os.path.dirname(folder))
        os.truncate(model, 20)
        self.assertIn(f"{model}: not JSON", self.train(*arguments, code=2))
        with open(os.path.join(self.out, "records.jsonl")) as file:
            self.assertEqual(file.read(), before)
        self.assert_nothing_left()

    def test_a_folder_has_trainings_of_one_kind(self):
        arguments, short = ("-c", "none", "--resume"), {"steps": "2", "eval_every": "2"}
        self.train(*arguments, **short)
        model = os.path.join(self.out, "model.json")
        with open(model) as file:
            before = (file.read(), self.records())
        for more, said in (({"compute": "0.2"}, "--compute-time 0.03, not with --compute-time 0.2"),
                           ({"eval_every": "6"}, "--eval-every 2, not with --eval-every 6"),
                           ({"steps": "30"}, "--steps 2, not with --steps 30")):
            self.assertIn(said, self.train(*arguments, code=2, **{**short, **more}))
        # tests/harness/train/checkpoint_test.cc tries every option of the training.
        for more, said in ((("--target", "loss=2.4"), "without --target, not with --target loss=2.4"),
                           (("--clip", "1"), "these records are of a different trace")):
            self.assertIn(said, self.train(*arguments, *more, code=2, **short))
        with open(model) as file:
            self.assertEqual((file.read(), self.records()), before)

    def test_data_that_cannot_be_are_refused_before_anything_starts(self):
        for batch, data, said in (("5000", None, "5000 images"), ("4", "/does/not/exist", "/does/not/exist")):
            self.assertIn(said, self.train(batch=batch, data=data, code=2))
            self.assertFalse(os.path.exists(os.path.join(self.out, "records.jsonl")))


if __name__ == "__main__":
    main()
