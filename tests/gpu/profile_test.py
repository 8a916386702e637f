#!/usr/bin/env python3
"""profile.py: the table of kernels, from CSV in the form that ncu wrote on an H200."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "profile.py"
HEADS = ["ID", "Kernel Name", "gpu__time_duration.sum",
         "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
         "sm__throughput.avg.pct_of_peak_sustained_elapsed",
         "sm__warps_active.avg.pct_of_peak_sustained_active", "launch__registers_per_thread",
         "launch__grid_size", "launch__block_size",
         "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
         "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
         "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio"]


def csv(*rows):
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows)


def row(kernel, nanoseconds, barrier="13.6"):
    return ["0", f"void run<{kernel}>(T1)", nanoseconds, "18.95", "30.4", "48.9", "50", "6,348",
            "512", barrier, "4.7", "99"]


class Profile(unittest.TestCase):
    def table(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "profile-topk.csv"
            path.write_text(text)
            return subprocess.run([sys.executable, SCRIPT, path], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout

    def test_a_row_per_kernel_with_medians(self):
        text = self.table("==PROF== Connected to process 7\n" + csv(
            HEADS, [""] * len(HEADS), row("thinpipe::cuda::AddUp<0, 0>", "104,352"),
            row("Choose<1>", "116,896"), row("Choose<1>", "118,896"), row("Choose<1>", "500")))
        self.assertIn("**profile-topk**", text)
        self.assertIn("| `AddUp<0, 0>` | 104.4 | 19 | 30 | 49 | 50 | 6348 | 512 | "
                      "barrier 13.6, long_scoreboard 4.7 |", text)
        self.assertIn("| `Choose<1>` | 116.9 |", text)
        self.assertEqual(text.count("\n| `"), 2)

    def test_the_most_frequent_reason_comes_first(self):
        text = self.table(csv(HEADS, [""] * len(HEADS), row("K", "1", barrier="0.1")))
        self.assertIn("long_scoreboard 4.7, barrier 0.1", text)

    def test_a_file_without_launches_has_no_rows(self):
        self.assertNotIn("`", self.table("==ERROR== no kernels were profiled\n"))


if __name__ == "__main__":
    unittest.main()
