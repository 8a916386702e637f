#!/usr/bin/env python3
"""Outputs that differ in figures are the same, those that differ in words are not."""
import sys
import unittest

from compare import complaint, masked, unwrapped, words


def same(shown, printed, **how):
    return complaint(shown.split("\n"), printed.split("\n"), **how) == ""


class Compare(unittest.TestCase):
    def test_figures_are_masked(self):
        self.assertTrue(same("ok      2 x none on 100 Mbit/s: 187 ms a step",
                             "ok      2 x none on 100 Mbit/s: 1.2 s a step"))
        self.assertTrue(same("  round trip    22.4 us (95 % within 25.2 us)",
                             "  round trip    1.4 ms (95 % within 2 ms)"))
        self.assertTrue(same("conv1.weight  500  27 B  74.1  -", "conv1.weight 500 27 B 74.1 3"))
        self.assertEqual("# (# to #)", masked("139 (111 to 155)"))

    def test_words_and_settings_are_not(self):
        for shown, printed in (("2 ranks agree", "2 ranks differ"), ("goodput there 9 Mbit/s", "goodput 9 Mbit/s"),
                               ("topk:ratio=0.01 won", "topk:ratio=0.1 won"), ("host0 up", "host1 up"),
                               ("rate=100mbit", "rate=10mbit"), ("a\nb", "a"), ("a", "a\nb")):
            self.assertFalse(same(shown, printed), shown)

    def test_a_busy_machine(self):
        self.assertTrue(same("ok      2 x none on 1 Mbit/s: 187 ms a step",
                             "invalid 2 x none on 1 Mbit/s: 1 s a step; CPU idle time was 0.0 %"))
        self.assertFalse(same("ok      2 x none on 1 Mbit/s: 187 ms a step",
                              "failed  2 x none on 1 Mbit/s; step 1: no answer"))
        self.assertTrue(same("rate=1mbit: passed", "rate=1mbit: FAILED"))

    def test_elisions(self):
        self.assertTrue(same("a\n...\nc", "a\nb\nb\nc"))
        self.assertTrue(same("a\n...\nc", "a\nc"))
        self.assertFalse(same("a\n...\nc", "a\nb"))
        self.assertTrue(same("why: [...]; then", "why: this or that; then"))
        self.assertFalse(same("why: [...]; then", "why: this or that; else"))

    def test_exact_and_order(self):
        self.assertFalse(same("1 x", "2 x", exact=True))
        self.assertTrue(same("b 1\na 2", "a 3\nb 4", any_order=True))
        self.assertFalse(same("b 1\na 2", "a 3\nb 4"))
        self.assertTrue(same("b 1\na 2\n...", "a 3\nc\nb 4", any_order=True))
        self.assertFalse(same("b 1\na 2\n...", "a 3\nc", any_order=True))

    def test_sentences_may_be_broken_elsewhere(self):
        shown = ["a  1", "", "It is 1.25 times as", "fast (0.5).", "  x  1"]
        self.assertEqual(unwrapped(shown), ["a  1", "", "It is 1.25 times as fast (0.5).", "  x  1"])
        self.assertEqual(complaint(unwrapped(shown), unwrapped(
            ["a  2", "", "It is 1", "times as fast (0.123).", "  x  2"])), "")
        self.assertNotEqual(complaint(unwrapped(shown), unwrapped(
            ["a  2", "", "It is 1", "times as slow (0.123).", "  x  2"])), "")

    def test_words(self):
        self.assertEqual({"wins", "idle", "processors"},
                         words(["wins 12.5 at rate=10mbit; idle processors (a b) topk:ratio=0.1"]))

    def test_the_processors_name_is_no_word_of_ours(self):
        self.assertEqual({"cores", "cache"}, words(["Some Maker's Chip; 2 cores, cache 336 MB"]))
        self.assertEqual({"Some", "chip", "with", "cores"}, words(["Some chip with 2 cores"]))


if __name__ == "__main__":
    sys.exit(unittest.main())
