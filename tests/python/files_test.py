"""thinpipe.read_trace and thinpipe.read_records."""
import json
import os
import shutil
import sys
import tempfile
import unittest

from support import ROOT, command, thinpipe

try:
    import numpy
except ImportError:
    print(f"skipped: {sys.executable} has no NumPy (Debian: python3-numpy)")
    sys.exit(77)

LENET5 = os.path.join(ROOT, "tests", "data", "lenet5")


class TestCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="thinpipe-python-")

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Trace(TestCase):
    def test_has_the_gradients_that_the_command_reads(self):
        trace = thinpipe.read_trace(LENET5)
        self.assertIn("lenet", trace.model)
        self.assertEqual(len(trace.training_steps), len(trace))
        self.assertEqual(trace.values, "gradients")
        found = trace.gradients(len(trace) - 1, trace.ranks - 1)
        self.assertEqual(list(found), trace.names)
        for name, values in found.items():
            self.assertEqual((values.shape, values.dtype), (trace.shapes[name], numpy.float32))
        with open(os.path.join(LENET5, "trace.json"), encoding="utf-8") as file:
            worker = json.load(file)["steps"][-1]["workers"][-1]
        out = os.path.join(self.folder, "out")
        command("compress", "-c", "none", "-i", os.path.join(LENET5, worker["file"]), "-o", out)
        with open(out, "rb") as file:
            frames = file.read()
        for name, values in found.items():
            self.assertIn(thinpipe.Compressor("none").encode(values), frames, name)

    def broken(self, change, words):
        copy = os.path.join(self.folder, "copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(LENET5, copy)
        with self.assertRaisesRegex(thinpipe.InputError, words):
            change(copy)
            trace = thinpipe.read_trace(copy)
            trace.gradients(0, 0)

    def test_names_file_and_member_of_what_is_wrong(self):
        def edit(**members):
            def change(copy):
                path = os.path.join(copy, "trace.json")
                with open(path, encoding="utf-8") as file:
                    manifest = json.load(file)
                manifest.update(members)
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(manifest, file)
            return change

        def first(copy):
            with open(os.path.join(copy, "trace.json"), encoding="utf-8") as file:
                return os.path.join(copy, json.load(file)["steps"][0]["workers"][0]["file"])

        def cut(copy):
            os.truncate(first(copy), 100)

        def change_offsets(offsets):
            def change(copy):
                with open(first(copy), "rb") as file:
                    data = file.read()
                length = int.from_bytes(data[:8], "little")
                header = json.loads(data[8:8 + length])
                header[thinpipe.read_trace(copy).names[0]]["data_offsets"] = offsets
                text = json.dumps(header, separators=(",", ":")).encode().ljust(length)
                with open(first(copy), "wb") as file:
                    file.write(data[:8] + text[:length] + data[8 + length:])
            return change

        def overwrite(copy):
            with open(first(copy), "r+b") as file:
                file.write(b"\xff" * 8)
        self.broken(lambda copy: os.unlink(os.path.join(copy, "trace.json")), "trace.json")
        self.broken(edit(version=2), "version 2")
        self.broken(edit(tensors=None), "trace.json")
        self.broken(edit(dtype="F16"), "F16")
        self.broken(edit(ranks=3), "expected 3 workers")
        self.broken(edit(steps=[{"training_step": 0, "workers": [{"file": "a"}]}]), "'bytes'")
        for offsets in ([0], [0, 1.5], ["a", 8], [0, 2 ** 70]):
            self.broken(change_offsets(offsets), "data_offsets")
        self.broken(cut, "100 bytes")
        self.broken(overwrite, "length")
        with self.assertRaisesRegex(thinpipe.InputError, "expected a step"):
            thinpipe.read_trace(LENET5).gradients(10_000)
        squares = thinpipe.read_trace(LENET5).squares(0)
        self.assertTrue(all((values >= 0).all() for values in squares.values()))

        def of_updates(copy):
            edit(values="updates")(copy)
            raise thinpipe.InputError(thinpipe.read_trace(copy).values)
        self.broken(of_updates, "^updates$")

        def without(copy):
            edit(squares=False)(copy)
            thinpipe.read_trace(copy).squares(0)
        self.broken(without, "second moments")

    def test_converts_16_bits_exactly(self):
        values = numpy.array([1.5, -2.0, 0.0078125, 65280.0], "<f4")
        for dtype, data in (("F16", values[:3].astype("<f2").tobytes()),
                            ("BF16", (values[:3].view("<u4") >> 16).astype("<u2").tobytes())):
            header = json.dumps({"w": {"dtype": dtype, "shape": [3], "data_offsets": [0, 6]}}).encode()
            with open(os.path.join(self.folder, "step"), "wb") as file:
                file.write(len(header).to_bytes(8, "little") + header + data)
            worker = {"file": "step", "bytes": 8 + len(header) + 6, "loss": None}
            with open(os.path.join(self.folder, "trace.json"), "w", encoding="utf-8") as file:
                json.dump({"format": "thinpipe-trace", "version": 1, "model": "m", "ranks": 1,
                           "dtype": dtype, "tensors": [{"name": "w", "shape": [3]}],
                           "steps": [{"training_step": 7, "workers": [worker]}]}, file)
            found = thinpipe.read_trace(self.folder).gradients(0)["w"]
            numpy.testing.assert_array_equal(found, values[:3])


class RecordsTest(TestCase):
    def test_is_a_table_of_points(self):
        out = os.path.join(self.folder, "out")
        command("quality", "--trace", LENET5, "-c", "topk:ratio=0.1|0.01", "-c", "none", "--out", out)
        records = thinpipe.read_records(out)
        self.assertEqual(records.header["kind"], "quality")
        rows = records.rows()
        self.assertEqual(len(rows), len(records))
        self.assertEqual({row["method"] for row in rows}, {"topk", "none"})
        self.assertTrue(all(row["status"] == "ok" for row in rows))
        try:
            import pandas  # noqa: F401
        except ImportError:
            return
        self.assertEqual(len(records.to_pandas()), len(rows))

    def test_samples_that_are_no_number_are_left_out(self):
        path = os.path.join(self.folder, "records.jsonl")
        metric = '"metrics": {"quality": {"unit": "1", "samples": [%s]}}'
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"record": "header"}\n')
            for name, samples in (("a", "1, null, 3, null"), ("b", "null")):
                file.write(f'{{"record": "point", "id": "{name}", {metric % samples}}}\n')
        medians = [[value for key, value in row.items() if key.startswith("quality")]
                   for row in thinpipe.read_records(path).rows()]
        self.assertIn(2, medians[0])
        self.assertNotIn(2, medians[1])

    def test_points_of_one_normal_id_are_one_point(self):
        path = os.path.join(self.folder, "records.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"record": "header"}\n')
            for members in ({"id": "topk"}, {"id": "b:x=1"}, {"id": "b:x=1", "normal_id": "b"},
                            {"id": "topk:ratio=0.01", "normal_id": "topk"}):
                file.write(json.dumps({"record": "point", **members}) + "\n")
        self.assertEqual([point["id"] for point in thinpipe.read_records(path)],
                         ["topk:ratio=0.01", "b:x=1"])

    def test_leaves_out_an_unfinished_line_and_names_a_wrong_one(self):
        path = os.path.join(self.folder, "records.jsonl")
        header, point = '{"record": "header"}\n', '{"record": "point", "id": "a"}\n'
        for text, found in ((header + point + point, 1), (header + '{"record": "po', 0)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertEqual(len(thinpipe.read_records(path)), found)
        damaged = [header + "{]\n", header + "3\n", header + "[" * 100_000 + "\n"] + [
            header + '{"record": "point", %s}\n' % members for members in (
                '"id": []', '"axes": 3', '"metrics": []', '"metrics": {"m": 1}',
                '"metrics": {"m": {"samples": [1, "2"]}}')]
        for text, words in (*((text, "line 2") for text in damaged), ("", "header")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            with self.assertRaisesRegex(thinpipe.InputError, words):
                thinpipe.read_records(self.folder)
        with self.assertRaisesRegex(thinpipe.InputError, "nothing"):
            thinpipe.read_records(os.path.join(self.folder, "nothing"))


if __name__ == "__main__":
    unittest.main()
