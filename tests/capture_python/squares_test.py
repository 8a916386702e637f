"""Second moments: against a loop over samples, and the method that the trace names for them."""
import os
import unittest

import support
from support import batch_of, loss_of, make_model, nn, read_trace, thinpipe_capture, torch


def by_hand(model, loss, parts, size):
    """Sum over parts of (gradient of a part's mean loss * its fraction of the mini-batch)^2."""
    squares = [torch.zeros_like(p, dtype=torch.float64) for p in model.parameters()]
    for part, count in parts:
        gradients = torch.autograd.grad(loss(model, part), list(model.parameters()))
        for square, gradient in zip(squares, gradients):
            square += (gradient.double() * count / size) ** 2
    return squares


def samples(batch, size=8):
    return [((batch[0][i:i + 1], batch[1][i:i + 1]), 1) for i in range(size)]


class SquaresTest(support.TestCase):
    def record(self, kind, loss=loss_of, model=None, batch=None, **options):
        """One step; returns (its worker, the trace, the model at that step, its batch)."""
        model, batch = model or make_model(kind)[0], batch or batch_of(kind, 1)
        with thinpipe_capture.module(model, self.trace, steps=1, first=0, squares=loss,
                                     **options) as capture:
            with capture.step(batch):
                capture.loss(loss(model, batch)).backward()
        trace = read_trace(self.trace)
        return trace["steps"][0]["workers"][0], trace, model, batch

    def assert_close(self, worker, model, expected):
        for (name, _), square in zip(model.named_parameters(), expected):
            found = worker["values"]["q:" + name]
            self.assertEqual(found.dtype, torch.float32)
            # Sums of 8 in another order, in FP32: a few units in the last place.
            scale = float(square.max())
            self.assertGreater(scale, 0)
            self.assertLess(float((found.double() - square).abs().max()), 2e-6 * scale, name)

    def test_per_sample_by_vmap_or_by_a_pass_each(self):
        # vmap of torch 2 can do an LSTM.
        of_lstm = "a backward pass for each sample" if torch.__version__ < "2" else "by vmap"
        for kind, how in (("mlp", "by vmap"), ("transformer", "by vmap"), ("lstm", of_lstm)):
            with self.subTest(kind):
                self.trace = os.path.join(self.folder, kind)
                worker, trace, model, batch = self.record(kind)
                self.assert_close(worker, model, by_hand(model, loss_of, samples(batch), 8))
                self.assertIn(how, trace["provenance"]["squares"])
                self.assertEqual((trace["squares"], trace["squares_of"]), (True, "samples"))
                self.assertAlmostEqual(worker["squares_norm_ratio"], 1, 5)
                self.assert_replays(self.trace)
                out = support.thinpipe("quality", "--trace", self.trace, "-c", "variance:alpha=1")[1]
                self.assertIn("variance", out)

    def test_in_chunks_that_fit_the_memory(self):
        memory, thinpipe_capture._SQUARES_BYTES = thinpipe_capture._SQUARES_BYTES, 3 * 4 * 500
        try:  # 3 samples of the 499 parameters at a time, then 3, then 2
            worker, trace, model, batch = self.record("mlp")
        finally:
            thinpipe_capture._SQUARES_BYTES = memory
        self.assertIn("by vmap", trace["provenance"]["squares"])
        self.assert_close(worker, model, by_hand(model, loss_of, samples(batch), 8))

    def test_micro_batches_where_batch_normalisation_mixes_samples(self):
        model, inputs, targets = make_model("normed")
        model[3].p = 0.0  # no dropout: the same gradients at each evaluation
        state = {name: value.clone() for name, value in model.state_dict().items()}
        with thinpipe_capture.module(model, self.trace, steps=1, first=0,
                                     squares=loss_of) as capture:
            with capture.step((inputs, targets)):
                for name, value in model.state_dict().items():  # running statistics, too
                    self.assertTrue(torch.equal(value, state[name]), name)
                loss_of(model, (inputs, targets)).backward()
        trace = read_trace(self.trace)
        self.assertEqual(trace["squares_of"], "micro-batches")
        self.assertIn("micro-batches of 2 of 8 samples (BatchNorm1d '1'",
                      trace["provenance"]["squares"])
        parts = [((inputs[i:i + 2], targets[i:i + 2]), 2) for i in range(0, 8, 2)]
        worker = trace["steps"][0]["workers"][0]
        self.assert_close(worker, model, by_hand(model, loss_of, parts, 8))
        self.assert_replays(self.trace)
        self.assertIn("yes, of micro-batches", support.thinpipe("trace", "info", self.trace)[1])

    def test_a_single_sample_is_no_micro_batch(self):
        model, inputs, targets = make_model("normed")
        model[3].p = 0.0
        # Nine samples in micro-batches of two: batch normalisation would refuse the ninth alone.
        batch = (torch.cat([inputs, inputs[:1] + 1]), torch.cat([targets, targets[:1]]))
        worker, _, _, _ = self.record("normed", model=model, batch=batch)
        parts = [((batch[0][i:j], batch[1][i:j]), j - i)
                 for i, j in ((0, 2), (2, 4), (4, 6), (6, 9))]
        self.assert_close(worker, model, by_hand(model, loss_of, parts, 9))

    def test_in_evaluation_batch_normalisation_does_not(self):
        model = make_model("normed")[0].eval()
        worker, trace, _, batch = self.record("normed", model=model)
        self.assertEqual(trace["squares_of"], "samples")
        self.assert_close(worker, model, by_hand(model, loss_of, samples(batch), 8))

    def test_micro_batches_when_asked_for_the_last_one_smaller(self):
        worker, trace, model, batch = self.record("mlp", micro_batch=3)
        parts = [((batch[0][i:i + 3], batch[1][i:i + 3]), min(3, 8 - i)) for i in (0, 3, 6)]
        self.assert_close(worker, model, by_hand(model, loss_of, parts, 8))
        self.assertEqual(trace["squares_of"], "micro-batches")

    def test_samples_along_another_dimension_in_a_batch_of_names(self):
        model = nn.Linear(5, 3)
        batch = {"x": torch.randn(5, 8), "y": torch.randn(3, 8), "what": "regression"}

        def loss(called, part):
            return nn.functional.mse_loss(called(part["x"].t()), part["y"].t())
        worker, trace, _, _ = self.record("linear", loss, model, batch, batch_dim=1)
        parts = [({"x": batch["x"][:, i:i + 1], "y": batch["y"][:, i:i + 1]}, 1) for i in range(8)]
        self.assert_close(worker, model, by_hand(model, loss, parts, 8))
        self.assertIn("by vmap", trace["provenance"]["squares"])

    def test_a_loss_that_is_not_the_mean_is_noticed(self):
        def sum_of(model, batch):
            return nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="sum")
        model, _, _ = make_model("mlp")
        batch = batch_of("mlp", 1)
        with support.heard() as said:
            with thinpipe_capture.module(model, self.trace, steps=1, first=0,
                                         squares=loss_of) as capture:
                with capture.step(batch):
                    sum_of(model, batch).backward()
        self.assertIn("0.125 times the norm", said.getvalue())

    def test_without_the_batch_it_says_what_is_needed(self):
        model, _, _ = make_model("mlp")
        with support.heard() as said:
            with thinpipe_capture.module(model, self.trace, steps=1, first=0, squares=loss_of):
                loss_of(model, batch_of("mlp", 1)).backward()
        self.assertIn("needs `with capture.step(batch):`", said.getvalue())


if __name__ == "__main__":
    unittest.main()
