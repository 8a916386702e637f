"""Gradients that are not finite fail their points by name; those of 16 bits replay."""
import hashlib
import json
import os
import shutil
import struct

from run_case import RunCase, main


class GradientTest(RunCase):
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
        given = {"trace": trace, "link": "rate=500mbit", "steps": 2}
        self.run_thinpipe(*self.sweep("--no-baseline", **given), code=4)
        (point,) = self.points().values()
        self.assertEqual(point["status"], "failed")
        self.assertIn("tensor 'tensor-", point["reasons"][0])
        self.assertIn("--non-finite zero", point["reasons"][0])
        self.out += "-zero"
        self.run_thinpipe(*self.sweep("--no-baseline", "--non-finite", "zero", **given))

    def store_in_16_bits(self, trace, dtype):
        """Rewrites the trace's FP32 files as docs/trace-format.md specifies."""
        path = os.path.join(trace, "trace.json")
        with open(path) as file:
            root = json.load(file)
        for worker in (worker for step in root["steps"] for worker in step["workers"]):
            with open(os.path.join(trace, worker["file"]), "rb") as file:
                data = file.read()
            (length,) = struct.unpack_from("<Q", data)
            header = json.loads(data[8:8 + length])
            header.pop("__metadata__", None)
            for entry in header.values():
                entry.update(dtype=dtype, data_offsets=[at // 2 for at in entry["data_offsets"]])
            count = (len(data) - 8 - length) // 4
            if dtype == "F16":
                values = struct.pack(f"<{count}e", *struct.unpack_from(f"<{count}f", data, 8 + length))
            else:
                words = struct.unpack_from(f"<{count}I", data, 8 + length)
                values = struct.pack(f"<{count}H", *(word >> 16 for word in words))
            text = json.dumps(header).encode()
            text += b" " * (-len(text) % 8)
            data = struct.pack("<Q", len(text)) + text + values
            with open(os.path.join(trace, worker["file"]), "wb") as file:
                file.write(data)
            worker.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
        root["dtype"] = dtype
        with open(path, "w") as file:
            json.dump(root, file)

    def test_gradients_of_16_bits_replay(self):
        """And so does a slice of them, which keeps the dtype. Values that are bfloat16 already lose
        nothing to the method of that name."""
        for dtype, method in (("BF16", "bf16"), ("F16", "fp16")):
            whole = self.trace()
            self.store_in_16_bits(whole, dtype)
            part = os.path.join(self.folder, dtype)
            self.run_thinpipe("trace", "slice", whole, "--steps", "1-2", "--out", part)
            shutil.rmtree(whole)
            self.out = os.path.join(self.folder, "out-" + dtype)
            self.run_thinpipe(*self.sweep("-c", method, "--no-baseline", trace=part,
                                          link="rate=500mbit", steps=2))
            (point,) = self.points().values()
            self.assert_measured(point)
            self.assertEqual(point["metrics"]["relative_error"]["samples"], [0, 0])
            self.assertEqual(point["validation"]["checked_steps"], 2)
            self.assertEqual(self.records()[0]["trace"]["steps"], 2)


if __name__ == "__main__":
    main()
