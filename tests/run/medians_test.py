"""`run`, its report, the export and the gate print the same median of the same samples, the mean of
the two middle ones of an even number (base/statistics.h)."""
import json
import os
import re
import statistics

from run_case import RunCase, main

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def seconds(text):
    number, unit = re.match(r"([\d.]+) (\w+)", text).groups()
    return float(number) * UNITS[unit]


class MediansTest(RunCase):
    def test_of_an_even_number_of_steps(self):
        told = self.run_thinpipe(*self.sweep("-c", "topk:ratio=0.01", steps=4, warmup=1))
        told = dict(re.findall(r"2 x (\w+)\S* on 100 Mbit/s: (\S+ \S+) a step", told))
        table = self.run_thinpipe("report", self.out, "--format", "md", "-o", "-")
        for point in self.points().values():
            samples = point["metrics"]["step_time"]["samples"]
            self.assertEqual(len(samples), 4)
            method, expected = point["axes"]["method"], statistics.median(samples)
            # Three digits are printed.
            self.assertAlmostEqual(seconds(told[method]) / expected, 1, delta=0.006)
            self.assertIn(told[method], table)

    def test_of_samples_that_differ(self):
        self.test_of_an_even_number_of_steps()
        file = os.path.join(self.out, "records.jsonl")
        with open(file, encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        for record in records:
            if record["record"] == "point":
                # The two middle samples are 2 and 4 ms, so the median is 3 ms. A median that is one
                # of the two samples is a third off.
                record["metrics"]["step_time"]["samples"] = [0.009, 0.002, 0.001, 0.004]
                record.update(status="ok", reasons=[])  # for any other load of the machine
        with open(file, "w", encoding="utf-8") as lines:
            # The gate wants four launches.
            lines.writelines(json.dumps(record) + "\n" for record in 4 * records)
        self.assertIn("| 3 ms", self.run_thinpipe("report", self.out, "--format", "md", "-o", "-"))
        report = os.path.join(self.folder, "gate.json")
        self.run_thinpipe("gate", "--baseline", self.out, "--measured", self.out, "--times", "all",
                          "--all", "--json", report)
        with open(report, encoding="utf-8") as compared:
            times = [one for one in json.load(compared)["comparisons"]
                     if one["metric"] == "step_time"]
        self.assertTrue(times)
        for one in times:
            self.assertEqual((one["before"], one["after"]), (0.003, 0.003))


if __name__ == "__main__":
    main()
